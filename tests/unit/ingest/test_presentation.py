"""Presentations: the bullets that a slide has from its layout and master, and the text of tables and diagrams."""

import io
import zipfile
from collections.abc import Callable
from copy import deepcopy

import pytest
from pptx import Presentation
from pptx.oxml import parse_xml
from pptx.slide import Slide
from pptx.util import Length

from sourcebound.contracts.corpus.document import BlockKind
from sourcebound.ingest.loaders.archive import Element
from sourcebound.ingest.loaders.office import presentation
from sourcebound.ingest.loaders.office.presentation_bullets import Layer, read_layer
from support.loading import Load, blocks

A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
DIAGRAM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
BOX = (Length(0), Length(0), Length(100), Length(100))
RELATIONSHIP = (
    '<Relationship Id="rId90" Target="../diagrams/data1.xml" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData"/></Relationships>'
)


def make_slide(write: Callable[[Slide], None], layout: int = 1) -> bytes:
    deck = Presentation()
    write(deck.slides.add_slide(deck.slide_layouts[layout]))
    buffer = io.BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def add_to(data: bytes, members: dict[str, str], relationship: str) -> bytes:
    """Add members to a presentation, and a relationship to its slide."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(buffer, "w") as changed:
        for name in given.namelist():
            content = given.read(name)
            if name == "ppt/slides/_rels/slide1.xml.rels":
                content = content.replace(b"</Relationships>", relationship.encode())
            changed.writestr(name, content)
        for name, text in members.items():
            changed.writestr(name, text)
    return buffer.getvalue()


def number(slide: Slide, kind: str, attributes: str = "") -> None:
    """Number the paragraphs of the body of a slide."""
    for paragraph in slide.placeholders[1].text_frame.paragraphs:
        paragraph._p.get_or_add_pPr().append(parse_xml(f'<a:buAutoNum {A} type="{kind}" {attributes}/>'))


@pytest.mark.parametrize(
    ("kind", "attributes", "shown"),
    [
        ("arabicPeriod", "", ["1. Stop", "2. Drain"]),
        ("arabicParenBoth", 'startAt="4"', ["(4) Stop", "(5) Drain"]),
        ("alphaLcParenR", "", ["a) Stop", "b) Drain"]),
        ("romanLcPeriod", "", ["i. Stop", "ii. Drain"]),
    ],
)
def test_numbered_paragraphs_of_a_slide_have_their_numbers(
    load: Load, kind: str, attributes: str, shown: list[str]
) -> None:
    def write(slide: Slide) -> None:
        slide.placeholders[1].text = "Stop\nDrain"
        number(slide, kind, attributes)

    assert blocks(load("a.pptx", make_slide(write)).pages[0], BlockKind.LIST_ITEM) == shown


def test_a_slide_counts_each_level_and_begins_anew_after_a_paragraph_without_number(load: Load) -> None:
    def write(slide: Slide) -> None:
        frame = slide.placeholders[1].text_frame
        frame.text = "Stop\nPump\nDrain\nTank\nWait.\nFill"
        for paragraph in (frame.paragraphs[1], frame.paragraphs[3]):
            paragraph.level = 1
        number(slide, "arabicPeriod")
        plain = frame.paragraphs[4]._p.pPr
        plain.replace(plain[0], parse_xml(f"<a:buNone {A}/>"))

    shown = ["1. Stop", "1. Pump", "2. Drain", "1. Tank", "Wait.", "1. Fill"]
    assert blocks(load("a.pptx", make_slide(write)).pages[0]) == shown


def test_paragraphs_of_a_text_box_and_of_a_subtitle_are_no_items(load: Load) -> None:
    def write(slide: Slide) -> None:
        slide.placeholders[1].text = "By Ann\nfor the mill"
        slide.shapes.add_textbox(*BOX).text_frame.text = "Call us\non Monday"

    page = load("a.pptx", make_slide(write, layout=0)).pages[0]
    assert page.text == "By Ann\n\nfor the mill\n\nCall us\n\non Monday"


def test_the_only_paragraph_of_a_slide_is_no_list(load: Load) -> None:
    def write(slide: Slide) -> None:
        slide.placeholders[1].text = "It runs."

    assert load("a.pptx", make_slide(write)).pages[0].text == "It runs."


def test_paragraphs_and_merged_cells_of_a_table_on_a_slide(load: Load) -> None:
    def write(slide: Slide) -> None:
        table = slide.shapes.add_table(4, 3, *BOX).table
        texts = ["Pump", "Flow", "Head", "P-101\nspare", "40", "9", "", "45", "8", "P-102", "none", ""]
        for position, text in enumerate(texts):
            table.cell(position // 3, position % 3).text = text
        table.cell(1, 0).merge(table.cell(2, 0))
        table.cell(3, 1).merge(table.cell(3, 2))

    assert blocks(load("a.pptx", make_slide(write)).pages[0]) == [
        "Pump: P-101 spare; Flow: 40; Head: 9",
        "Pump: P-101 spare; Flow: 45; Head: 8",
        "Pump: P-102; Flow: none; Head: none",
    ]


def test_text_for_programs_that_cannot_show_a_shape_is_not_read_twice(load: Load) -> None:
    def write(slide: Slide) -> None:
        box = slide.shapes.add_textbox(*BOX)
        box.text_frame.text = "It runs."
        names = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
        both = parse_xml(f'<mc:AlternateContent {names}><mc:Choice Requires="x"/><mc:Fallback/></mc:AlternateContent>')
        copy = deepcopy(box._element)
        box._element.addprevious(both)
        both[0].append(box._element)
        both[1].append(copy)

    assert load("a.pptx", make_slide(write)).pages[0].text == "It runs."


@pytest.mark.parametrize(
    "added",
    [
        RELATIONSHIP,
        '<Relationship Id="rId91"/></Relationships>',
        RELATIONSHIP.replace("diagramData", "slideLayout"),
        RELATIONSHIP.replace("diagramData", "notesSlide"),
    ],
)
def test_a_slide_is_read_without_a_part_that_is_missing(load: Load, added: str) -> None:
    def write(slide: Slide) -> None:
        slide.placeholders[0].text = "Pump"

    assert load("a.pptx", add_to(make_slide(write), {}, added)).pages[0].text == "Pump"


def test_a_diagram_with_damaged_links_is_read(load: Load) -> None:
    point = '<dgm:pt modelId="{key}" type="{key}"><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>'
    points = point.format(key="doc", text="") + point.format(key="a", text="Stop") + point.format(key="b", text="Drain")
    links = "".join(f'<dgm:cxn srcId="doc" {each}/>' for each in ('destId="b" srcOrd="x"', "", 'destId="a" srcOrd="1"'))
    data = f'<dgm:dataModel xmlns:dgm="{DIAGRAM}" {A}>{points}{links}</dgm:dataModel>'
    deck = add_to(make_slide(lambda slide: None), {"ppt/diagrams/data1.xml": data}, RELATIONSHIP)
    assert blocks(load("a.pptx", deck).pages[0]) == ["- Drain", "- Stop"]


def test_a_layout_is_read_once_for_all_its_slides(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    roots: list[str] = []

    def count(root: Element) -> Layer:
        roots.append(root.tag)
        return read_layer(root)

    monkeypatch.setattr(presentation, "read_layer", count)
    deck = Presentation()
    for text in ("Stop", "Drain"):
        deck.slides.add_slide(deck.slide_layouts[1]).placeholders[1].text = f"{text}\nWait."
    buffer = io.BytesIO()
    deck.save(buffer)
    pages = load("a.pptx", buffer.getvalue()).pages
    assert [blocks(page) for page in pages] == [["- Stop", "- Wait."], ["- Drain", "- Wait."]]
    assert len(roots) == 2  # the layout and the master


def test_the_points_of_a_diagram_are_a_list_in_its_order(load: Load) -> None:
    points = [
        ("doc", "doc", ""),
        ("b", "node", "Drain"),
        ("a", "node", "Stop"),
        ("c", "node", "Tank"),
        ("p", "pres", ""),
    ]
    shown = "".join(
        f'<dgm:pt modelId="{key}" type="{kind}"><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>'
        for key, kind, text in points
    )
    links = [("doc", "b", 1), ("doc", "a", 0), ("a", "c", 0), ("c", "doc", 0)]
    joined = "".join(f'<dgm:cxn srcId="{above}" destId="{below}" srcOrd="{order}"/>' for above, below, order in links)
    data = f'<dgm:dataModel xmlns:dgm="{DIAGRAM}" {A}><dgm:ptLst>{shown}</dgm:ptLst><dgm:cxnLst>{joined}</dgm:cxnLst>'
    deck = add_to(make_slide(lambda slide: None), {"ppt/diagrams/data1.xml": f"{data}</dgm:dataModel>"}, RELATIONSHIP)
    assert blocks(load("a.pptx", deck).pages[0], BlockKind.LIST_ITEM) == ["- Stop", "- Tank", "- Drain"]


def test_a_slide_has_the_bullets_of_the_placeholder_that_it_fills(load: Load) -> None:
    def write(slide: Slide) -> None:
        for placeholder in slide.placeholders:
            placeholder.text_frame.text = f"Stop {placeholder.placeholder_format.idx}\nDrain"

    page = load("a.pptx", make_slide(write, layout=4)).pages[0]  # a comparison: two headings, each above a list
    assert blocks(page, BlockKind.PARAGRAPH) == ["Stop 1", "Drain", "Stop 3", "Drain"]
    assert blocks(page, BlockKind.LIST_ITEM) == ["- Stop 2", "- Drain", "- Stop 4", "- Drain"]
