"""OpenDocument texts: the numbers of lists, and the cells and shapes that other readers write twice or glue."""

import io
import zipfile

import pytest

from sourcebound.contracts.corpus.document import BlockKind
from support.loading import Load, blocks
from support.office_files import ODF, archive

ROOT = " ".join(
    f'xmlns:{prefix}="{ODF}:{name}:1.0"'
    for prefix, name in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("style", "style"), ("draw", "drawing"),
    )
)  # fmt: skip
LIST_STYLES = """<text:list-style style:name="L1">
<text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>
<text:list-level-style-number text:level="2" style:num-format="a" style:num-prefix="(" style:num-suffix=")"/>
<text:list-level-style-bullet text:level="3" text:bullet-char="\u2022"/></text:list-style>
<text:list-style style:name="L2">
<text:list-level-style-number text:level="1" style:num-format="1" text:start-value="2"/>
<text:list-level-style-number text:level="2" style:num-format="1" text:display-levels="2"/></text:list-style>
<text:list-style style:name="L3"><text:list-level-style-number text:level="1" style:num-format=""/></text:list-style>"""


def make_text(body: str) -> bytes:
    content = (
        f"<office:document-content {ROOT}><office:automatic-styles>{LIST_STYLES}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    return archive({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})


def make_list(items: str, attributes: str = 'text:style-name="L1"') -> str:
    return f"<text:list {attributes}>{items}</text:list>"


def item(*content: str, attributes: str = "") -> str:
    inner = "".join(each if each.startswith("<") else f"<text:p>{each}</text:p>" for each in content)
    return f"<text:list-item {attributes}>{inner}</text:list-item>"


def table(*rows: str) -> str:
    return "<table:table>" + "".join(f"<table:table-row>{row}</table:table-row>" for row in rows) + "</table:table>"


def cell(content: str, attributes: str = "") -> str:
    inner = content if content.startswith("<") else f"<text:p>{content}</text:p>"
    return f"<table:table-cell {attributes}>{inner}</table:table-cell>"


COVERED = "<table:covered-table-cell/>"


def test_items_of_an_opendocument_list_have_their_numbers_and_bullets(load: Load) -> None:
    deep = make_list(item(make_list(item("Oil"), "")), "")
    inner = make_list(item("Pump") + item("Fan", deep), "")
    body = make_list(item("Stop", inner) + item("Drain", make_list(item("Tank"), "")))
    page = load("a.odt", make_text(body)).pages[0]
    assert page.text == "1. Stop\n(a) Pump\n(b) Fan\n- Oil\n2. Drain\n(a) Tank"
    assert len(blocks(page, BlockKind.LIST_ITEM)) == 6


@pytest.mark.parametrize(
    ("attributes", "number"),
    [
        ("", 1),
        ('text:continue-numbering="true"', 2),
        ('text:continue-list="list1"', 2),
    ],
)
def test_an_opendocument_list_goes_on_with_another_if_it_says_so(load: Load, attributes: str, number: int) -> None:
    first = make_list(item("Stop"), 'text:style-name="L1" xml:id="list1"')
    body = first + "<text:p>Wait.</text:p>" + make_list(item("Drain"), f'text:style-name="L1" {attributes}')
    assert blocks(load("a.odt", make_text(body)).pages[0]) == ["1. Stop", "Wait.", f"{number}. Drain"]


def test_an_opendocument_clause_has_its_number_and_a_further_paragraph_of_an_item_has_none(load: Load) -> None:
    body = make_list(
        item("Terms", "They are long.", make_list(item("The buyer pays."), ""))
        + item("End", attributes='text:start-value="7"'),
        'text:style-name="L2"',
    )
    body += make_list(item("Without number"), 'text:style-name="L3"') + make_list(item("Oil"), "")
    document = load("a.odt", make_text(body))
    assert blocks(document.pages[0], BlockKind.PARAGRAPH) == [
        "2 Terms",
        "They are long.",
        "2.1 The buyer pays.",
        "7 End",
        "Without number",
    ]
    assert blocks(document.pages[0], BlockKind.LIST_ITEM) == ["- Oil"]


def test_merged_cells_of_an_opendocument_table_give_their_text_to_each_row_and_column(load: Load) -> None:
    spans = 'table:number-rows-spanned="2"'
    body = table(
        cell("Pump") + cell("Flow") + cell("Head"),
        cell("P-101", spans) + cell("40") + cell("9"),
        COVERED + cell("45") + cell("8"),
        cell("P-102") + cell("none yet", 'table:number-columns-spanned="2"') + COVERED,
    )
    assert blocks(load("a.odt", make_text(body)).pages[0]) == [
        "Pump: P-101; Flow: 40; Head: 9",
        "Pump: P-101; Flow: 45; Head: 8",
        "Pump: P-102; Flow: none yet; Head: none yet",
    ]


def test_empty_cells_of_an_opendocument_table_that_are_written_once_are_as_many_columns(load: Load) -> None:
    empty = '<table:table-cell table:number-columns-repeated="2"/>'
    body = table(
        "".join(map(cell, ("Pump", "Flow", "Head", "Power"))),
        cell("P-101") + empty + cell("3"),
        "".join(map(cell, ("P-102", "45", "8", "4"))),
        cell("P-103") + cell("", 'table:number-columns-repeated="many"') + cell("7") + cell("2"),
    )
    assert blocks(load("a.odt", make_text(body)).pages[0]) == [
        "Pump: P-101; Power: 3",
        "Pump: P-102; Flow: 45; Head: 8; Power: 4",
        "Pump: P-103; Head: 7; Power: 2",
    ]


def test_notes_comments_and_tables_in_a_cell_of_an_opendocument_table_are_read_once(load: Load) -> None:
    note = "<text:note><text:note-body><text:p>tested</text:p></text:note-body></text:note>"
    comment = "<office:annotation><text:p>Check this.</text:p></office:annotation>"
    inner = table(cell("cold") + cell("40"), cell("hot") + cell("45"))
    body = table(
        cell("Pump") + cell("Flow"),
        cell(f"<text:p>P-101{comment}{note}</text:p>") + cell("40"),
        cell("P-102") + cell(inner),
    )
    assert blocks(load("a.odt", make_text(body)).pages[0]) == [
        "Pump: P-101 (tested); Flow: 40",
        "Pump: P-102; Flow: cold 40 hot 45",
    ]


def test_an_opendocument_table_of_one_column_and_a_text_box_are_paragraphs(load: Load) -> None:
    title = '<svg:desc xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0">A drawing</svg:desc>'
    box = f"<draw:frame><draw:text-box><text:p>Boxed.</text:p></draw:text-box>{title}</draw:frame>"
    body = f"<text:p>Beside{box} it.</text:p>" + table(cell(f"<text:p>Warning</text:p>{make_list(item('Hot'))}"))
    page = load("a.odt", make_text(body)).pages[0]
    assert blocks(page) == ["Beside it.", "Boxed.", "Warning", "1. Hot"]


def test_indexes_of_an_opendocument_text_are_not_read(load: Load) -> None:
    index = "<text:index-body><text:p>Pump\t7</text:p></text:index-body>"
    body = f"<text:alphabetical-index>{index}</text:alphabetical-index><text:p>It runs.</text:p>"
    assert load("a.odt", make_text(body)).pages[0].text == "It runs."


def test_an_entity_in_an_opendocument_text_does_no_harm(load: Load) -> None:
    body = "<text:p>It &x; runs.</text:p>"
    content = make_text(body)
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        members = {name: packed.read(name).decode() for name in packed.namelist()}
    members["content.xml"] = f'<!DOCTYPE d [<!ENTITY x "really">]>{members["content.xml"]}'
    assert load("a.odt", archive(members)).pages[0].text == "It &x; runs."


@pytest.mark.parametrize("level", ["&x;", '<text:list-level-style-bullet text:level="deep"/>'])
def test_a_damaged_list_style_makes_no_opendocument_text_unreadable(load: Load, level: str) -> None:
    start = '<text:list-style style:name="L1">'
    with zipfile.ZipFile(io.BytesIO(make_text(make_list(item("Stop"))))) as packed:
        members = {name: packed.read(name).decode() for name in packed.namelist()}
    content = members["content.xml"].replace(start, start + level)
    members["content.xml"] = f'<!DOCTYPE d [<!ENTITY x "really">]>{content}'
    assert load("a.odt", archive(members)).pages[0].text == "1. Stop"


def test_a_covered_cell_below_a_span_is_empty(load: Load) -> None:
    body = table(
        cell("Pump") + cell("Flow"),
        cell("P-101", 'table:number-rows-spanned="2"') + cell("40"),
        COVERED + cell("45"),
        COVERED + cell("50"),
    )
    assert blocks(load("a.odt", make_text(body)).pages[0])[-2:] == ["Pump: P-101; Flow: 45", "Flow: 50"]


def test_a_text_box_of_a_note_is_read_once(load: Load) -> None:
    box = "<draw:frame><draw:text-box><text:p>tested</text:p></draw:text-box></draw:frame>"
    note = f"<text:note><text:note-body><text:p>{box}</text:p></text:note-body></text:note>"
    assert load("a.odt", make_text(f"<text:p>It runs{note}.</text:p>")).pages[0].text.count("tested") == 1


def test_a_media_type_with_a_line_end_is_read(load: Load) -> None:
    with zipfile.ZipFile(io.BytesIO(make_text("<text:p>It runs.</text:p>"))) as packed:
        members = {name: packed.read(name).decode() for name in packed.namelist()}
    assert load("a.odt", archive({**members, "mimetype": f"{members['mimetype']}\n"})).pages[0].text == "It runs."
