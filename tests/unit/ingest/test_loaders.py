"""Loaders: text, structure, metadata and refusals of each format, over files that the tests make."""

import io
import zipfile
from collections.abc import Callable
from datetime import date

import docx
import pytest
from docx.document import Document as WordDocument
from fpdf import FPDF
from PIL import Image

from sourcebound.contracts.corpus.document import BlockKind
from sourcebound.ingest.loaders.select import SUPPORTED_SUFFIXES
from support.loading import Load, blocks, headings, refusal


def make_pdf(*pages: Callable[[FPDF], None], prepare: Callable[[FPDF], None] = lambda pdf: None) -> bytes:
    pdf = FPDF()
    prepare(pdf)
    for write in pages:
        pdf.add_page()
        write(pdf)
    return bytes(pdf.output())


def body(text: str) -> Callable[[FPDF], None]:
    def write(pdf: FPDF) -> None:
        pdf.set_font("Helvetica", size=11)
        pdf.multi_cell(0, 6, text, new_x="LMARGIN", new_y="NEXT")

    return write


def section(title: str, text: str, size: int = 18, bookmark: bool = False) -> Callable[[FPDF], None]:
    def write(pdf: FPDF) -> None:
        pdf.set_font("Helvetica", style="B", size=size)
        if bookmark:
            pdf.start_section(title)
        pdf.cell(0, 12, title, new_x="LMARGIN", new_y="NEXT")
        body(text)(pdf)

    return write


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


LONG = "The pump moves water from the basin to the tower. It must not run dry at any time. " * 6


# PDF


def test_pdf_pages_are_numbered_from_one_and_keep_their_text(load: Load) -> None:
    document = load("pump.pdf", make_pdf(body("Close the valve.\n" + LONG), body("Torque 45 Nm."), lambda pdf: None))
    assert document.media_type == "application/pdf"
    assert [(page.index, page.number) for page in document.pages] == [(0, 1), (1, 2), (2, 3)]
    assert document.pages[0].text.startswith("Close the valve.\nThe pump")
    assert document.pages[1].text == "Torque 45 Nm."
    assert document.pages[2].text == ""


def test_pdf_headings_come_from_the_outline(load: Load) -> None:
    data = make_pdf(
        section("1 Safety", LONG, size=11, bookmark=True), section("2 Repair", LONG, size=11, bookmark=True)
    )
    assert headings(load("pump.pdf", data)) == [(1, "1 Safety"), (1, "2 Repair")]


def test_pdf_headings_come_from_type_when_there_is_no_outline(load: Load) -> None:
    data = make_pdf(
        section("Pump manual", LONG, size=22), section("Repair", LONG, size=15), section("Seal", LONG, size=11)
    )
    assert headings(load("pump.pdf", data)) == [(1, "Pump manual"), (2, "Repair"), (3, "Seal")]


def test_a_line_repeated_on_every_page_is_not_a_heading(load: Load) -> None:
    data = make_pdf(*[section("ACME Corp", f"Page {number}. {LONG}") for number in range(5)])
    assert headings(load("pump.pdf", data)) == []


def test_pdf_lists_and_table_rows_are_blocks_of_their_own(load: Load) -> None:
    data = make_pdf(body("Check these:\n- the oil level\n- the seal\nFlow 40 45 50\nHead 12 11 10\nAll in SI units."))
    page = load("pump.pdf", data).pages[0]
    assert blocks(page, BlockKind.LIST_ITEM) == ["- the oil level", "- the seal"]
    assert blocks(page, BlockKind.TABLE_ROW) == ["Flow 40 45 50", "Head 12 11 10"]


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("Pump P-101 manual", "Pump P-101 manual"),
        ("Microsoft Word - pump_v3_final.docx", "Centrifugal pump"),
        ("0000764478-23-000006", "Centrifugal pump"),
        ("", "Centrifugal pump"),
    ],
)
def test_pdf_title_is_declared_or_the_first_heading(load: Load, declared: str, expected: str) -> None:
    data = make_pdf(section("Centrifugal pump", LONG), prepare=lambda pdf: pdf.set_title(declared))
    assert load("p.pdf", data).metadata.title == expected


def test_pdf_title_of_last_resort_is_the_file_name(load: Load) -> None:
    assert load("pump p-101.pdf", make_pdf(body(LONG))).metadata.title == "pump p-101"


def test_the_day_a_pdf_was_made_is_not_its_date(load: Load) -> None:
    assert load("p.pdf", make_pdf(body(LONG))).metadata.event_date is None


def test_revision_and_date_are_read_from_labelled_lines(load: Load) -> None:
    metadata = load("p.pdf", make_pdf(body("Pump manual\nRevision C\nEffective date: 2024-03-01\n" + LONG))).metadata
    assert (metadata.revision, metadata.event_date) == ("C", date(2024, 3, 1))


def test_encrypted_pdf_asks_for_a_copy_without_the_password(load: Load) -> None:
    data = make_pdf(body(LONG), prepare=lambda pdf: pdf.set_encryption("owner", "user"))
    error = refusal(load, "secret.pdf", data)
    assert error.failure_code == "ENCRYPTED"
    assert "is protected by a password" in error.message


def test_pdf_that_only_its_owner_may_change_is_read(load: Load) -> None:
    data = make_pdf(body("Readable."), prepare=lambda pdf: pdf.set_encryption("owner", ""))
    assert load("locked.pdf", data).pages[0].text == "Readable."


def test_pdf_of_pictures_needs_ocr(load: Load) -> None:
    def picture(pdf: FPDF) -> None:
        pdf.image(Image.new("RGB", (40, 40), "grey"), x=10, y=10, w=50)

    error = refusal(load, "scan.pdf", make_pdf(picture))
    assert (error.failure_code, "no text: needs OCR" in error.message) == ("NO_TEXT", True)


def test_broken_pdf_is_unreadable(load: Load) -> None:
    assert refusal(load, "broken.pdf", b"%PDF-1.7\nnothing follows").failure_code == "UNREADABLE"
    assert refusal(load, "not.pdf", "only words").failure_code == "UNREADABLE"


# HTML


def test_html_keeps_content_and_leaves_furniture(load: Load) -> None:
    document = load(
        "pump.html",
        "<!DOCTYPE html><html><head><title>Pump P-101</title>"
        '<meta property="article:published_time" content="2024-03-01T10:00:00Z"><style>p{}</style></head>'
        "<body><header>ACME</header><nav><a href=a>Home</a></nav>"
        "<ul><li><a href=b>Products</a><li><a href=c>News</a><li><a href=d>Contact</a></ul>"
        "<h1>Pump</h1><p>Close the <b>in</b>let.<br>Then open it.</p><script>alert(1)</script>"
        "<p hidden>Invisible.</p><ol start=3><li>Drain<li>Fill</ol><pre>a\n  b</pre>"
        "<footer>(c) ACME</footer></body></html>",
    )
    page = document.pages[0]
    assert blocks(page) == ["Pump", "Close the inlet.\nThen open it.", "3. Drain", "4. Fill", "a\n  b"]
    assert (document.metadata.title, document.metadata.event_date) == ("Pump P-101", date(2024, 3, 1))
    assert blocks(page, BlockKind.CODE) == ["a\n  b"]


def test_html_table_rows_carry_headers_through_spans(load: Load) -> None:
    page = load(
        "t.html",
        "<table><tr><th>Pump<th>Point<th>Flow</tr><tr><td rowspan=2>P-101<td>A<td>40</tr><tr><td>B<td>45</tr></table>",
    ).pages[0]
    assert blocks(page) == ["Pump: P-101; Point: A; Flow: 40", "Pump: P-101; Point: B; Flow: 45"]


def test_html_row_headers_are_not_column_headers(load: Load) -> None:
    page = load("t.html", "<table><tr><th>Colour<td>Red</tr><tr><th>Size<td>Large</tr></table>").pages[0]
    assert blocks(page) == ["Colour: Red", "Size: Large"]


def test_html_table_without_names_of_columns_has_a_term_in_each_row(load: Load) -> None:
    rows = "<tr><td>HUP<td>Reads the settings again.</tr><tr><td>TERM<td>Cleans up and exits.</tr>"
    assert blocks(load("t.html", f"<table>{rows}</table>").pages[0]) == [
        "HUP: Reads the settings again.",
        "TERM: Cleans up and exits.",
    ]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<ul><li><p>Oil</p></li><li> <div><p>Gas</p></div></li></ul>", "- Oil\n- Gas"),
        ("<ol><li><p>Drain.</p><li><p>Fill.</p></ol>", "1. Drain.\n2. Fill."),
        ("<ol><li><p>Drain.</p><p>Wait.</p></li><li><p>Fill.</p></li></ol>", "1. Drain.\n\nWait.\n\n2. Fill."),
        ("<ol><li><p>A</p><ul><li><p>B</p><li>C</ul><li><p>D</p></ol>", "1. A\n- B\n- C\n2. D"),
        ("<ul><li><ul><li><p>A</p></li></ul>B</li></ul>", "- A\n\nB"),
        ("<ul><li><ul><li></li></ul><p>A</p></li></ul>", "- A"),
        ("<ul><li><p></p></li><li></li></ul><p>A</p>", "A"),
        ("<ol><li><pre>make</pre><p>A</p></li><li>B</li></ol>", "make\n\nA\n\n2. B"),
        ("<ul><li><dl><dt>A<dd><p>B</p></dl></li><li>C</li></ul>", "- A: B\n- C"),
    ],
)
def test_html_item_has_its_marker_at_its_first_text(load: Load, html: str, text: str) -> None:
    assert load("a.html", html).pages[0].text == text


def test_html_paragraphs_of_items_are_items(load: Load) -> None:
    page = load("a.html", "<ul><li><p>Oil</p><p>Any.</p></li><li><p>Gas</p></li></ul>").pages[0]
    assert blocks(page, BlockKind.LIST_ITEM) == ["- Oil", "Any.", "- Gas"]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<dt>mbit</dt><dd><p>Megabits.</p></dd><dt>mbps<dd>Megabytes.", "mbit: Megabits.\n\nmbps: Megabytes."),
        ("<dt>Name:</dt><dd>A pump.</dd>", "Name: A pump."),
        ("<dt>-a</dt><dt>--all</dt><a id=x></a><dd>Every file.</dd>", "-a, --all: Every file."),
        ("<dt><a name=x></a><dt><b>Book</b></dt></dt><dd>All accounts.</dd>", "Book: All accounts."),
        ("<div><dt>A</dt><dd>B</dd></div><div><dt>C</dt><dd>D</dd></div>", "A: B\n\nC: D"),
        ("<dt>A</dt><dd>B<dl><dt>C</dt><dd>D</dd></dl></dd>", "A\n\nB\n\nC: D"),
        ("<dt>A</dt><dd><p>B</p><p>C</p></dd>", "A\n\nB\n\nC"),
        ("<dt>A</dt><dd>B<br>C</dd>", "A\n\nB\nC"),
        ("<dt>A</dt><dd>B</dd><dd>C</dd>", "A\n\nB\n\nC"),
        ("<dt>A</dt><dd><ul><li>B</li></ul></dd>", "A\n\n- B"),
        ("<dt>A</dt><dd><pre>b</pre></dd>", "A\n\nb"),
        ("<dt>A</dt><dd><table><tr><td>B</td></tr></table></dd>", "A\n\nB"),
        ("<dt>A</dt><dd><dl><dt>B</dt></dl></dd>", "A\n\nB"),
        ("stray <dt hidden>X</dt><dt>A</dt><dd>B</dd>", "stray\n\nA: B"),
        ("<dt>Is it safe?</dt><dd>No.</dd>", "Is it safe?\n\nNo."),
        ("<dt>A</dt><dd hidden>B</dd><dt>C</dt><dd>D</dd>", "A\n\nC: D"),
        ("<dt>A</dt> stray <dd>B</dd> tail <dt>C</dt>", "A\n\nstray\n\nB\n\ntail\n\nC"),
        (f"<dt>A</dt><dd>{'b' * 397}</dd>", f"A: {'b' * 397}"),
        (f"<dt>A</dt><dd>{'b' * 398}</dd>", f"A\n\n{'b' * 398}"),
    ],
)
def test_html_short_definition_is_on_the_line_of_its_term(load: Load, html: str, text: str) -> None:
    page = load("a.html", f"<dl>{html}</dl>").pages[0]
    assert page.text == text
    assert not blocks(page, BlockKind.TABLE_ROW)


def test_html_nested_definitions_are_read_once(load: Load) -> None:
    html = "<p>First.</p>" + "<div><dt>A</dt><dd>" * 60 + "B"
    assert blocks(load("a.html", html).pages[0]) == ["First.", *["A"] * 59, "A: B"]


def test_html_layout_tables_are_read_as_content(load: Load) -> None:
    html = "<table><tr><td><h1>Pump</h1><p>One.</p><p>Two.</p></td><td>Beside.</td></tr><tr><p>Stray.</p></tr></table>"
    assert set(blocks(load("t.html", html).pages[0])) == {"Pump", "One.", "Two.", "Beside.", "Stray."}


def test_html_of_links_only_keeps_its_links(load: Load) -> None:
    html = "<ul><li><a href=a>One</a></li><li><a href=b>Two</a></li><li><a href=c>Three</a></li></ul>"
    assert blocks(load("index.html", html).pages[0]) == ["- One", "- Two", "- Three"]


def test_html_main_content_is_preferred(load: Load) -> None:
    html = f"<div>Cookies?</div><main><p>{LONG}</p></main><div>More from us</div>"
    assert load("a.html", html).pages[0].text == LONG.strip()


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-8", "utf-16"])
def test_html_encodings(load: Load, encoding: str) -> None:
    html = f'<html><head><meta charset="{encoding}"></head><body><p>Größe: 5 µm</p></body></html>'
    assert load("a.html", html.encode(encoding)).pages[0].text == "Größe: 5 µm"


def test_html_made_by_scripts_has_no_text(load: Load) -> None:
    error = refusal(load, "app.html", "<!doctype html><html><body><script>render()</script></body></html>")
    assert error.failure_code == "NO_TEXT"


def test_html_that_the_parser_would_cut_short_is_refused(load: Load) -> None:
    html = "<p>Before.</p>" + "<div>" * 3000 + "deep" + "</div>" * 3000 + "<p>After.</p>"
    assert refusal(load, "deep.html", html).failure_code == "UNREADABLE"


# Markdown


def test_markdown_prose_stays_as_written_and_headings_drop_their_marks(load: Load) -> None:
    source = "# Pump\n\nUse **grade 8** bolts.\n\n- one\n- two\n\n## Oil ##\n\nISO VG 46\n\n```\ncode  here\n```\n"
    document = load("pump.md", source)
    page = document.pages[0]
    assert headings(document) == [(1, "Pump"), (2, "Oil")]
    assert page.text.startswith("# Pump\n\nUse **grade 8** bolts.\n\n- one\n- two\n\n## Oil")
    assert blocks(page, BlockKind.LIST_ITEM) == ["- one", "- two"]
    assert blocks(page, BlockKind.CODE) == ["```\ncode  here\n```"]


def test_markdown_table_rows_carry_headers(load: Load) -> None:
    page = load("t.md", "Values:\n\n| Part | Torque |\n|---|---|\n| Nut | 45 Nm |\n| Bolt | |\n\nEnd.\n").pages[0]
    assert page.text == "Values:\n\nPart: Nut; Torque: 45 Nm\nPart: Bolt\n\nEnd."


@pytest.mark.parametrize(
    "front",
    [
        "---\ntitle: 'Pump: manual'\ndate: 2024-03-01\nrevision: C\n---\n",
        '+++\ntitle = "Pump: manual"\ndate = 2024-03-01\nrev = "C"\n+++\n',
    ],
)
def test_markdown_front_matter_is_metadata_and_not_text(load: Load, front: str) -> None:
    document = load("p.md", front + "Body.\n")
    metadata = document.metadata
    assert (metadata.title, metadata.revision, metadata.event_date) == ("Pump: manual", "C", date(2024, 3, 1))
    assert document.pages[0].text == "Body."


def test_front_matter_is_text_where_a_file_has_no_other(load: Load) -> None:
    front = "---\ntitle: Library\ncontent: >-\n  {}\n---\n"
    said = "Members may borrow up to two books for fifteen days, and journals for three days."
    document = load("p.md", front.format(said))
    assert said in document.pages[0].text
    assert document.metadata.title == "Library"
    assert said not in load("p.md", front.format(said) + "Body.\n").pages[0].text
    assert "is empty" in refusal(load, "p.md", front.format("A library.")).message


def test_markdown_rules_are_not_front_matter(load: Load) -> None:
    assert "First" in load("p.md", "---\nFirst.\n\n---\nSecond.\n").pages[0].text


def test_a_document_cannot_declare_its_own_authority(load: Load) -> None:
    assert load("p.md", "---\nauthority: regulator\ntitle: Pump\n---\nBody.\n").metadata.authority is None


def test_markdown_underlined_heading_and_link_definition(load: Load) -> None:
    document = load("p.md", "Pump\n====\n\nSee [x].\n\n[x]: https://example.org\n")
    assert headings(document) == [(1, "Pump")]
    assert "[x]: https://example.org" in document.pages[0].text


# Text and tables


def test_text_paragraphs_lists_and_headings(load: Load) -> None:
    document = load(
        "p.txt", "PUMP MANUAL\n\n4.2 Lubrication\n\nUse oil:\n  - one\n    more\n  - two\n\nNotes\n-----\n\nEnd.\r\n"
    )
    assert headings(document) == [(1, "PUMP MANUAL"), (2, "4.2 Lubrication"), (2, "Notes")]
    assert blocks(document.pages[0], BlockKind.LIST_ITEM) == ["- one\n    more", "- two"]
    assert "\r" not in document.pages[0].text


def test_text_clauses_are_blocks_of_their_own(load: Load) -> None:
    clauses = "6.1.\tThe buyer pays at\n2.5 Volts less.\n6.2.\tIt lasts at least six\n(6) months."
    page = load("p.txt", f"6.\tLiability\n{clauses}\n(7) An item\n").pages[0]
    assert blocks(page, BlockKind.PARAGRAPH) == [
        "6.1.\tThe buyer pays at\n2.5 Volts less.",
        "6.2.\tIt lasts at least six\n(6) months.",
    ]
    assert blocks(page, BlockKind.LIST_ITEM) == ["6.\tLiability", "(7) An item"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_text_encodings(load: Load, encoding: str) -> None:
    text = "Die Größe der Öffnung beträgt fünf Millimeter, und die Düse ist heiß."
    assert load("p.txt", text.encode(encoding)).pages[0].text == text


def test_text_that_postgresql_would_refuse_is_cleaned(load: Load) -> None:
    assert load("p.txt", "a\x00b" + "." * 200).pages[0].text == "ab" + "." * 200


@pytest.mark.parametrize("name", ["p.txt", "p.md", "p.csv", "p.html", "p.bin"])
def test_binary_is_not_text(load: Load, name: str) -> None:
    error = refusal(load, name, bytes(range(256)) * 20)
    assert (error.failure_code, "is not text" in error.message) == ("UNREADABLE", True)


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("t.csv", 'Part,Torque,Note\nNut,45,"two\nlines"\nBolt,,x\n', "text/csv"),
        ("t.csv", "Part;Torque;Note\nNut;45;two lines\nBolt;;x\n", "text/csv"),
        ("t.tsv", "Part\tTorque\tNote\nNut\t45\ttwo lines\nBolt\t\tx\n", "text/tab-separated-values"),
    ],
)
def test_table_rows_carry_headers(load: Load, name: str, data: str, media_type: str) -> None:
    document = load(name, data)
    assert document.media_type == media_type
    assert blocks(document.pages[0], BlockKind.TABLE_ROW) == [
        "Part: Nut; Torque: 45; Note: two lines",
        "Part: Bolt; Note: x",
    ]


def test_table_with_a_cell_over_the_limit_is_unreadable(load: Load) -> None:
    assert refusal(load, "t.csv", "a,b\n" + "x" * 200_000 + ",1\n").failure_code == "UNREADABLE"


# Choice of loader, and what every format refuses


def test_content_decides_before_the_name(load: Load) -> None:
    assert load("page.pdf", "<!DOCTYPE html><html><body><p>Hi.</p></body></html>").media_type == "text/html"
    assert load("manual.txt", make_pdf(body("Hi."))).media_type == "application/pdf"
    assert load("manual", make_word(one_paragraph("Hi."))).pages[0].text == "Hi."
    assert load("README", "Hi.").media_type == "text/plain"


def test_supported_suffixes() -> None:
    assert {".pdf", ".docx", ".html", ".md", ".txt", ".rst", ".csv", ".tsv"} <= SUPPORTED_SUFFIXES


def test_restructured_text_has_its_underlined_headings(load: Load) -> None:
    document = load("notes.rst", "Pump\n====\n\nIntro.\n\nCare\n----\n\nGrease it.\n")
    assert headings(document) == [(1, "Pump"), (2, "Care")]


@pytest.mark.parametrize("mark", "=~^*+#\"'-")
def test_restructured_text_has_its_headings_with_a_line_above_and_below(load: Load, mark: str) -> None:
    line = mark * 6
    document = load("notes.rst", f"{line}\n Pump\n{line}\n\nIntro.\n\n____\n\nThe pump.\n")
    assert headings(document) == [(1, "Pump")]


@pytest.mark.parametrize("mark", "^*+#\"'`")
def test_restructured_text_has_headings_with_further_marks(load: Load, mark: str) -> None:
    text = f"Pump\n====\n\nIntro.\n\n``grease``\n{mark * 10}\n\nUse it sparingly.\n"
    assert headings(load("notes.rst", text)) == [(1, "Pump"), (2, "grease")]
    assert headings(load("notes.txt", text)) == [(1, "Pump"), (2, "``grease``")]


def test_the_level_of_a_heading_is_the_order_in_which_its_lines_come_first(load: Load) -> None:
    lines = ("====\n{}\n====", "{}\n****", "{}\n====")
    titles = [(0, "Book"), (1, "Pump"), (2, "Care"), (1, "Fan"), (2, "Use")]
    text = "\n\n".join(lines[kind].format(title) for kind, title in titles)
    for name in ("notes.rst", "notes.txt"):
        assert headings(load(name, text)) == [(kind + 1, title) for kind, title in titles]


@pytest.mark.parametrize(
    "text",
    [
        "Pump\n***",
        "Grease it\n^^^^",
        "Grease it now.\n^^^^^^^^^^^^^^",
        "====\nPump",
        "====\nPump\nValve\n====",
        "Name\n====  ====",
        "********\nDo not open.\n********",
        "******\nDanger: hot surface\n******",
        "########\n# Pump\n########",
        "````\nPump\n````",
        "::::\nPump\n::::",
    ],
)
def test_text_with_other_lines_is_no_heading(load: Load, text: str) -> None:
    assert headings(load("notes.txt", f"{text}\n\nIt runs.\n")) == []


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.html", "a.md", "a.txt", "a.csv"])
@pytest.mark.parametrize("data", [b"", b" \n\t "])
def test_empty_files(load: Load, name: str, data: bytes) -> None:
    assert refusal(load, name, data).failure_code == "EMPTY"


def test_files_over_the_limit(load: Load) -> None:
    error = refusal(load, "big.txt", "x" * 101, limit=100)
    assert (error.failure_code, "the limit is 100" in error.message) == ("TOO_LARGE", True)


def test_foreign_formats_are_named(load: Load) -> None:
    drawing = io.BytesIO()
    with zipfile.ZipFile(drawing, "w") as archive:
        archive.writestr("visio/document.xml", "<document/>")
    legacy = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    assert refusal(load, "a.vsdx", drawing.getvalue()).failure_code == "UNSUPPORTED"
    assert refusal(load, "a.doc", legacy).failure_code == "UNSUPPORTED"
    assert refusal(load, "a.docx", legacy + "EncryptedPackage".encode("utf-16-le")).failure_code == "ENCRYPTED"


@pytest.mark.parametrize("mark", "●■➢❖\uf0b7−∗♦\x84\x88")
@pytest.mark.parametrize("name", ["list.txt", "list.md"])
def test_a_mark_of_a_list_in_another_shape_is_a_bullet(load: Load, name: str, mark: str) -> None:
    text = f"You need:\n\n{mark} a pump\n{mark} a valve\n"
    assert load(name, text).pages[0].text == "You need:\n\n• a pump\n• a valve"


@pytest.mark.parametrize(("full", "hollow"), ["■□", "●○"])
def test_a_full_and_a_hollow_mark_are_not_the_same_bullet(load: Load, full: str, hollow: str) -> None:
    page = load("form.txt", f"{full} Approved\n{hollow} Rejected").pages[0]
    assert blocks(page, BlockKind.LIST_ITEM) == ["• Approved", "◦ Rejected"]


def test_a_mark_within_a_line_or_alone_is_left(load: Load) -> None:
    text = "The lamp shows ● when it runs.\n\n●\n\n■ ■ ■\n\n− 5 and − x\n\n− log p\n\n−dry"
    assert load("lamp.txt", text).pages[0].text == text


def test_an_indented_letter_o_before_text_is_a_bullet(load: Load) -> None:
    page = load("list.txt", b"You need\n\n  o a pump\n  o a valve\n\nDi Roma\no di Milano").pages[0]
    assert page.text == "You need\n\n  • a pump\n  • a valve\n\nDi Roma\no di Milano"
    assert [block.kind for block in page.blocks].count(BlockKind.LIST_ITEM) == 2
    assert load("verse.txt", b"Di Roma\n  o di Milano").pages[0].text == "Di Roma\n  o di Milano"
