"""The Word loader: order, structure, what other readers leave out, and refusals."""

import io
import zipfile
from collections.abc import Callable

import docx
import pytest
from docx.document import Document as WordDocument
from docx.oxml import parse_xml
from docx.oxml.ns import qn
from docx.shared import Inches

from sourcebound.contracts.corpus.document import BlockKind
from sourcebound.ingest.chunking.chunker import chunk_document
from sourcebound.ingest.loaders.office.word_numbering import show_number
from sourcebound.ingest.prepare import LexicalCounter
from support.loading import Load, blocks, headings, refusal

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def make_word(write: Callable[[WordDocument], None]) -> bytes:
    document = docx.Document()
    write(document)
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def one_paragraph(text: str) -> Callable[[WordDocument], None]:
    def write(document: WordDocument) -> None:
        document.add_paragraph(text)

    return write


def test_word_headings_lists_and_tables_in_order(load: Load) -> None:
    def write(document: WordDocument) -> None:
        document.add_heading("Pump manual", 0)
        document.add_heading("Maintenance", 1)
        document.add_paragraph("Drain first.")
        document.add_paragraph("Oil", style="List Bullet")
        table = document.add_table(rows=2, cols=2)
        for cell, text in zip(table._cells, ["Part", "Torque", "Gland nut", "45 Nm"], strict=True):
            cell.text = text
        document.add_paragraph("Done.")

    document = load("pump.docx", make_word(write))
    page = document.pages[0]
    assert headings(document) == [(1, "Pump manual"), (1, "Maintenance")]
    assert blocks(page) == [
        "Pump manual",
        "Maintenance",
        "Drain first.",
        "- Oil",
        "Part: Gland nut; Torque: 45 Nm",
        "Done.",
    ]
    assert blocks(page, BlockKind.LIST_ITEM) == ["- Oil"]
    assert (page.number, document.metadata.title) == (None, "Pump manual")


NUMBERING = f"""<w:numbering {W}>
<w:abstractNum w:abstractNumId="90">
<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%2)"/></w:lvl>
<w:lvl w:ilvl="2"><w:numFmt w:val="lowerRoman"/><w:lvlText w:val="%3)"/></w:lvl>
<w:lvl w:ilvl="3"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%4"/></w:lvl>
<w:lvl w:ilvl="4"><w:numFmt w:val="bullet"/><w:lvlText w:val="&#xF0B7;"/></w:lvl>
<w:lvl w:ilvl="5"><w:numFmt w:val="none"/><w:lvlText w:val=""/></w:lvl></w:abstractNum>
<w:num w:numId="90"><w:abstractNumId w:val="90"/></w:num>
<w:num w:numId="91"><w:abstractNumId w:val="90"/></w:num>
<w:num w:numId="92"><w:abstractNumId w:val="90"/>
<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num></w:numbering>"""


def make_list(items: list[tuple[int, int, str]]) -> Callable[[WordDocument], None]:
    """Write paragraphs, each of a list and on a level of it."""

    def write(document: WordDocument) -> None:
        document.part.numbering_part.element.extend(list(parse_xml(NUMBERING)))
        for list_id, level, text in items:
            number = f'<w:numPr {W}><w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/></w:numPr>'
            document.add_paragraph(text)._p.get_or_add_pPr().append(parse_xml(number))

    return write


def test_items_of_a_word_list_have_their_numbers_and_bullets(load: Load) -> None:
    items = [(90, 0, "Stop"), (90, 1, "Pump"), (90, 2, "Main"), (90, 1, "Fan"), (90, 4, "Oil"), (90, 0, "Drain")]
    document = load("a.docx", make_word(make_list([*items, (90, 1, "Tank")])))
    shown = ["1. Stop", "(a) Pump", "i) Main", "(b) Fan", "- Oil", "2. Drain", "(a) Tank"]
    assert blocks(document.pages[0], BlockKind.LIST_ITEM) == shown
    assert document.pages[0].text == "\n".join(shown)


def test_a_word_list_goes_on_counting_in_another_of_its_kind_unless_that_starts_anew(load: Load) -> None:
    items = [(90, 0, "Stop"), (0, 0, "Wait."), (91, 0, "Drain"), (92, 0, "Fill"), (92, 0, "Start")]
    document = load("a.docx", make_word(make_list(items)))
    assert blocks(document.pages[0]) == ["1. Stop", "Wait.", "2. Drain", "1. Fill", "2. Start"]


def test_a_word_clause_has_its_number_and_is_a_paragraph(load: Load) -> None:
    items = [(90, 0, "Terms"), (90, 3, "The buyer pays."), (90, 3, "The seller ships."), (90, 5, "No number.")]
    page = load("a.docx", make_word(make_list(items))).pages[0]
    assert blocks(page, BlockKind.PARAGRAPH) == ["1.1 The buyer pays.", "1.2 The seller ships.", "No number."]


LEGAL = """<w:lvl w:ilvl="{level}">{more}<w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>"""


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ("", ["Article I Terms", "I.1 Price", "Article II End", "II.1 Notice"]),
        ("<w:isLgl/>", ["Article I Terms", "1.1 Price", "Article II End", "2.1 Notice"]),
        ('<w:isLgl w:val="0"/>', ["Article I Terms", "I.1 Price", "Article II End", "II.1 Notice"]),
        ('<w:lvlRestart w:val="0"/>', ["Article I Terms", "I.1 Price", "Article II End", "II.2 Notice"]),
    ],
)
def test_a_word_clause_is_counted_and_shown_as_its_level_says(load: Load, more: str, shown: list[str]) -> None:
    levels = LEGAL.format(level=0, more="", form="upperRoman", text="Article %1") + LEGAL.format(
        level=1, more=more, form="decimal", text="%1.%2"
    )

    def write(document: WordDocument) -> None:
        make_list([(95, 0, "Terms"), (95, 1, "Price"), (95, 0, "End"), (95, 1, "Notice")])(document)
        lists = (
            f'<w:numbering {W}><w:abstractNum w:abstractNumId="95">{levels}</w:abstractNum>'
            '<w:num w:numId="95"><w:abstractNumId w:val="95"/></w:num></w:numbering>'
        )
        document.part.numbering_part.element.extend(list(parse_xml(lists)))

    assert blocks(load("a.docx", make_word(write)).pages[0]) == shown


def test_a_number_of_many_digits_makes_no_word_document_unreadable(load: Load) -> None:
    def write(document: WordDocument) -> None:
        make_list([(90, 0, "Stop")])(document)
        level = document.paragraphs[-1]._p.find(f".//{qn('w:ilvl')}")
        level.set(qn("w:val"), "9" * 5000)
        document.add_paragraph("45")._p.append(parse_xml(f'<w:r {W}><w:sym w:font="Arial" w:char="-5"/></w:r>'))

    assert load("a.docx", make_word(write)).pages[0].text == "1. Stop\n\n45"


def test_a_word_list_has_nine_levels_at_most(load: Load) -> None:
    def write(document: WordDocument) -> None:
        levels = "".join(LEGAL.format(level=each, more="", form="decimal", text="%1)") for each in range(12))
        lists = (
            f'<w:numbering {W}><w:abstractNum w:abstractNumId="96">{levels}</w:abstractNum>'
            '<w:num w:numId="96"><w:abstractNumId w:val="96"/></w:num></w:numbering>'
        )
        document.part.numbering_part.element.extend(list(parse_xml(lists)))
        make_list([(96, 0, "Stop"), (96, 11, "Oil")])(document)

    assert blocks(load("a.docx", make_word(write)).pages[0]) == ["1) Stop", "- Oil"]


def test_word_items_with_a_typed_marker_are_one_list_and_indented_text_is_none(load: Load) -> None:
    def write(document: WordDocument) -> None:
        for text in ("• Oil", "• Grease"):
            document.add_paragraph(text)
        document.add_paragraph("Both are toxic", style="List Continue")
        document.add_paragraph("Wear gloves", style="List Continue")

    assert load("a.docx", make_word(write)).pages[0].text == "• Oil\n• Grease\n\nBoth are toxic\n\nWear gloves"


def test_word_text_in_insertions_controls_and_boxes_is_read_and_deletions_are_not(load: Load) -> None:
    def write(document: WordDocument) -> None:
        paragraph = document.add_paragraph("Use ")
        paragraph._p.append(parse_xml(f'<w:ins {W} w:id="1" w:author="a"><w:r><w:t>grade 8</w:t></w:r></w:ins>'))
        paragraph._p.append(
            parse_xml(f'<w:del {W} w:id="2" w:author="a"><w:r><w:delText>grade 5</w:delText></w:r></w:del>')
        )
        document.element.body.insert(
            1,
            parse_xml(f"<w:sdt {W}><w:sdtContent><w:p><w:r><w:t>Controlled.</w:t></w:r></w:p></w:sdtContent></w:sdt>"),
        )
        box = f"<w:r {W}><w:pict><w:txbxContent><w:p><w:r><w:t>Boxed.</w:t></w:r></w:p></w:txbxContent></w:pict></w:r>"
        document.add_paragraph("Beside")._p.append(parse_xml(box))

    assert blocks(load("a.docx", make_word(write)).pages[0]) == ["Use grade 8", "Controlled.", "Beside", "Boxed."]


def test_word_merged_cells_give_their_text_to_each_row_and_column(load: Load) -> None:
    def write(document: WordDocument) -> None:
        table = document.add_table(rows=3, cols=2)
        for cell, text in zip(table._cells, ["Pump", "Flow (l/s)", "P-101", "40", "", "45"], strict=True):
            cell.text = text
        table.cell(1, 0).merge(table.cell(2, 0))

    rows = blocks(load("a.docx", make_word(write)).pages[0], BlockKind.TABLE_ROW)
    assert rows == ["Pump: P-101; Flow (l/s): 40", "Pump: P-101; Flow (l/s): 45"]


def test_a_text_box_in_a_cell_is_read_once_and_a_deleted_row_is_not(load: Load) -> None:
    box = "<w:r><w:pict><w:txbxContent><w:p><w:r><w:t>new</w:t></w:r></w:p></w:txbxContent></w:pict></w:r>"
    names = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    both = f'<mc:Choice Requires="wps">{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>'

    def write(document: WordDocument) -> None:
        table = document.add_table(rows=3, cols=2)
        for cell, text in zip(table._cells, ["Part", "Torque", "Bolt", "45", "Nut", "30"], strict=True):
            cell.text = text
        content = f"<w:r {W} {names}><mc:AlternateContent>{both}</mc:AlternateContent></w:r>"
        table.cell(1, 0).paragraphs[0]._p.append(parse_xml(content))
        table.rows[2]._tr.get_or_add_trPr().append(parse_xml(f'<w:del {W} w:id="1" w:author="a"/>'))

    assert blocks(load("a.docx", make_word(write)).pages[0]) == ["Part: Bolt new; Torque: 45"]


def test_a_word_table_of_contents_is_not_read(load: Load) -> None:
    def write(document: WordDocument) -> None:
        style = f'<w:style {W} w:type="paragraph" w:styleId="Inhalt1"><w:name w:val="toc 1"/></w:style>'
        document.styles.element.append(parse_xml(style))
        document.add_paragraph("Care\t3")._p.get_or_add_pPr().append(parse_xml(f'<w:pStyle {W} w:val="Inhalt1"/>'))
        document.add_heading("Care", 1)
        document.add_paragraph("It runs.")

    assert blocks(load("a.docx", make_word(write)).pages[0]) == ["Care", "It runs."]


def add_contents(document: WordDocument, style: str, text: str) -> None:
    """Add a paragraph in a style of the lines or of the title of a table of contents."""
    for name in ("toc 1", "TOC Heading"):
        made = f'<w:style {W} w:type="paragraph" w:styleId="{name}"><w:name w:val="{name}"/></w:style>'
        document.styles.element.append(parse_xml(made))
    document.add_paragraph(text)._p.get_or_add_pPr().append(parse_xml(f'<w:pStyle {W} w:val="{style}"/>'))


def test_text_in_a_style_of_contents_is_read_unless_it_repeats_a_heading(load: Load) -> None:
    def write(document: WordDocument) -> None:
        add_contents(document, "TOC Heading", "Preface")
        document.add_paragraph("It is short.")
        add_contents(document, "TOC Heading", "Contents")
        add_contents(document, "toc 1", "1\tCare\t3")
        document.add_heading("Care", 1)
        add_contents(document, "toc 1", "Spare seal\t25")
        document.add_paragraph("25")

    assert blocks(load("a.docx", make_word(write)).pages[0]) == [
        "Preface",
        "It is short.",
        "Care",
        "Spare seal\t25",
        "25",
    ]


@pytest.mark.parametrize(
    "added",
    [
        f"<w:r {W}><w:instrText> PAGEREF _Toc1 </w:instrText></w:r>",
        f'<w:hyperlink {W} w:anchor="_Toc1"><w:r><w:t>3</w:t></w:r></w:hyperlink>',
    ],
)
def test_a_line_of_contents_with_a_link_to_a_page_is_not_read(load: Load, added: str) -> None:
    def write(document: WordDocument) -> None:
        add_contents(document, "toc 1", "An older heading")
        document.paragraphs[-1]._p.append(parse_xml(added))
        document.add_paragraph("It runs.")

    assert blocks(load("a.docx", make_word(write)).pages[0]) == ["It runs."]


@pytest.mark.parametrize(
    ("font", "place", "shown"),
    [
        ("Symbol", "F0B1", "±"),
        ("Symbol", "F06D", "μ"),
        ("Symbol", "F057", "Ω"),
        ("Symbol", "F03C", "<"),
        ("Wingdings", "F0FC", "✓"),
        ("Wingdings 3", "F0FC", ""),
        ("Wingdings", "F04A", ""),
        ("Arial", "00B5", "µ"),
        ("Other", "F041", ""),
        ("Symbol", "x", ""),
    ],
)
def test_a_symbol_of_word_is_its_character(load: Load, font: str, place: str, shown: str) -> None:
    def write(document: WordDocument) -> None:
        symbol = f'<w:r {W}><w:sym w:font="{font}" w:char="{place}"/></w:r>'
        document.add_paragraph("45 ")._p.append(parse_xml(symbol))

    assert load("a.docx", make_word(write)).pages[0].text == f"45 {shown}".rstrip()


def test_an_aligned_tab_of_a_page_header_separates_words(load: Load) -> None:
    def write(document: WordDocument) -> None:
        document.add_paragraph("It runs.")
        header = document.sections[0].header.paragraphs[0]
        header.text = "PX-7"
        header._p.append(parse_xml(f'<w:r {W}><w:ptab w:alignment="right"/><w:t>Revision 3</w:t></w:r>'))

    assert load("a.docx", make_word(write)).pages[0].text == "PX-7 Revision 3\n\nIt runs."


def test_word_without_text_needs_ocr(load: Load) -> None:
    assert refusal(load, "scan.docx", make_word(lambda document: None)).failure_code == "NO_TEXT"


def test_word_decompression_bomb_is_too_large(load: Load) -> None:
    def write(document: WordDocument) -> None:
        document.add_paragraph("0" * 3_000_000)

    error = refusal(load, "bomb.docx", make_word(write), limit=100_000)
    assert (error.failure_code, "unpacks to" in error.message) == ("TOO_LARGE", True)


@pytest.mark.parametrize("member", ["word/document.xml", "[Content_Types].xml", "word/styles.xml"])
def test_damaged_word_file_is_unreadable(load: Load, member: str) -> None:
    damaged = io.BytesIO()
    source = io.BytesIO(make_word(one_paragraph("x")))
    with zipfile.ZipFile(source) as good, zipfile.ZipFile(damaged, "w") as bad:
        for name in good.namelist():
            bad.writestr(name, b"<broken" if name == member else good.read(name))
    assert refusal(load, "damaged.docx", damaged.getvalue()).failure_code == "UNREADABLE"


def test_truncated_archive_is_unreadable(load: Load) -> None:
    data = make_word(lambda document: None)
    assert refusal(load, "cut.docx", data[: len(data) // 2]).failure_code == "UNREADABLE"


@pytest.mark.contract("IX-1")
def test_the_headers_and_footers_of_pages_are_read_once_and_without_page_numbers(load: Load) -> None:
    def write(document: WordDocument) -> None:
        document.add_paragraph("The pump runs.")
        document.sections[0].header.paragraphs[0].text = "Document PX-7,\tRevision B"
        document.sections[0].footer.paragraphs[0].text = "Page 1 of 3"
        second = document.add_section()
        for part, text in ((second.header, "Document PX-7, Revision B"), (second.footer, "Confidential")):
            part.is_linked_to_previous = False
            part.paragraphs[0].text = text

    document = load("a.docx", make_word(write))
    assert document.pages[0].text == "Document PX-7, Revision B\n\nConfidential\n\nThe pump runs."


def test_a_header_is_before_every_heading_and_a_row_of_it_is_one_line(load: Load) -> None:
    def write(document: WordDocument) -> None:
        document.add_heading("Care", 1)
        document.add_paragraph("The pump runs.")
        header = document.sections[0].header
        table = header.add_table(1, 4, Inches(6))
        for cell, text in zip(table._cells, ["Document", "PX-7", "Revision 3", "Page 2 of 9"], strict=True):
            cell.text = text

    document = load("a.docx", make_word(write))
    assert document.pages[0].text == "Document | PX-7 | Revision 3\n\nCare\n\nThe pump runs."
    assert document.metadata.title == "Care"
    (chunk,) = chunk_document(document, "KB", LexicalCounter(), 300)
    assert chunk.heading_path == ()


def test_a_header_that_no_section_shows_is_not_read(load: Load) -> None:
    def write(document: WordDocument) -> None:
        document.add_paragraph("The pump runs.")
        document.sections[0].header.paragraphs[0].text = "Draft"
        (reference,) = document.sections[0]._sectPr.findall(qn("w:headerReference"))
        document.sections[0]._sectPr.remove(reference)

    assert load("a.docx", make_word(write)).pages[0].text == "The pump runs."


@pytest.mark.parametrize("text", ["Revision 3", "HP-200", "SOP-017", "EN 1090", "Issue 2 of 2024"])
def test_a_name_with_a_number_is_no_page_number(load: Load, text: str) -> None:
    def write(document: WordDocument) -> None:
        document.add_paragraph("The pump runs.")
        document.sections[0].header.paragraphs[0].text = text

    assert load("a.docx", make_word(write)).pages[0].text == f"{text}\n\nThe pump runs."


def test_a_document_of_pictures_is_not_readable_by_its_header(load: Load) -> None:
    def write(document: WordDocument) -> None:
        document.sections[0].header.paragraphs[0].text = "Document PX-7"

    assert refusal(load, "a.docx", make_word(write)).failure_code == "NO_TEXT"


@pytest.mark.parametrize("text", ["Page 3", "3", "- 3 -", "Seite 3 von 12", "3/12"])
def test_a_page_number_of_a_footer_is_not_read(load: Load, text: str) -> None:
    def write(document: WordDocument) -> None:
        document.add_paragraph("The pump runs.")
        document.sections[0].footer.paragraphs[0].text = text

    assert load("a.docx", make_word(write)).pages[0].text == "The pump runs."


@pytest.mark.parametrize(
    ("number", "form", "shown"),
    [
        (27, "lowerLetter", "aa"),
        (79, "upperLetter", "AAA"),
        (3, "decimalZero", "03"),
        (44, "upperRoman", "XLIV"),
        (4000, "lowerRoman", "4000"),
        (5, "none", ""),
    ],
)
def test_a_number_of_a_list_has_the_form_of_its_level(number: int, form: str, shown: str) -> None:
    assert show_number(number, form) == shown


def test_a_word_list_may_have_the_levels_of_another_and_its_own_instead(load: Load) -> None:
    def write(document: WordDocument) -> None:
        level = LEGAL.format(level=0, more="", form="decimal", text="%1)")
        own = LEGAL.format(level=0, more="", form="upperLetter", text="%1)")
        lists = (
            f'<w:numbering {W}><w:abstractNum w:abstractNumId="97"><w:styleLink w:val="Steps"/>{level}</w:abstractNum>'
            '<w:abstractNum w:abstractNumId="98"><w:numStyleLink w:val="Steps"/></w:abstractNum>'
            '<w:num w:numId="97"><w:abstractNumId w:val="98"/></w:num>'
            f'<w:num w:numId="98"><w:abstractNumId w:val="97"/><w:lvlOverride w:ilvl="0">{own}</w:lvlOverride></w:num>'
            "</w:numbering>"
        )
        document.part.numbering_part.element.extend(list(parse_xml(lists)))
        make_list([(97, 0, "Stop"), (98, 0, "Drain")])(document)

    assert blocks(load("a.docx", make_word(write)).pages[0]) == ["1) Stop", "B) Drain"]


def test_an_empty_item_of_a_word_list_is_counted_and_has_no_line(load: Load) -> None:
    items = [(90, 0, "Stop"), (90, 0, ""), (90, 0, "Drain")]
    assert load("a.docx", make_word(make_list(items))).pages[0].text == "1. Stop\n3. Drain"


def test_a_word_style_has_its_level_of_a_list(load: Load) -> None:
    def write(document: WordDocument) -> None:
        named = LEGAL.format(level=1, more='<w:pStyle w:val="Named"/>', form="decimal", text="%1.%2")
        lists = (
            f'<w:numbering {W}><w:abstractNum w:abstractNumId="99">'
            f"{LEGAL.format(level=0, more='', form='decimal', text='%1)')}{named}</w:abstractNum>"
            '<w:num w:numId="99"><w:abstractNumId w:val="99"/></w:num></w:numbering>'
        )
        document.part.numbering_part.element.extend(list(parse_xml(lists)))
        for name, level in (("Named", ""), ("Deep", '<w:ilvl w:val="1"/>')):
            style = (
                f'<w:style {W} w:type="paragraph" w:styleId="{name}"><w:name w:val="{name}"/>'
                f'<w:pPr><w:numPr>{level}<w:numId w:val="99"/></w:numPr></w:pPr></w:style>'
            )
            document.styles.element.append(parse_xml(style))
        own = '<w:numPr><w:numId w:val="99"/></w:numPr>'
        for style, text, number in (("Deep", "Terms", own), ("Named", "Price", ""), ("Deep", "Notice", "")):
            properties = parse_xml(f'<w:pPr {W}><w:pStyle w:val="{style}"/>{number}</w:pPr>')
            document.add_paragraph(text)._p.insert(0, properties)

    assert blocks(load("a.docx", make_word(write)).pages[0]) == ["1) Terms", "1.1 Price", "1.2 Notice"]
