"""Office files are read whole, in order, and what cannot be read is refused with a code (IX-1)."""

import io
import zipfile
from datetime import date, datetime, time, timedelta

import pytest
import xlsxwriter

from sourcebound.contracts.corpus.document import BlockKind
from sourcebound.ingest.loaders.select import SUPPORTED_SUFFIXES
from sourcebound.ingest.loaders.sheets.load import show_cell
from sourcebound.ingest.loaders.text import decode
from support.loading import Load, blocks, headings, refusal
from support.office_files import CONTAINER, CONTENT, MASTERS, ODF, OFFICE_FILES, PACKAGE, archive, chapter
from support.places import ROOT


@pytest.mark.contract("IX-1")
def test_office_files_are_among_the_supported_kinds() -> None:
    kinds = {".pptx", ".xlsx", ".xls", ".ods", ".odt", ".epub", ".rtf", ".eml"}
    assert kinds <= SUPPORTED_SUFFIXES


def test_a_presentation_has_a_page_for_each_slide_in_the_order_of_the_show(load: Load) -> None:
    document = load("deck.pptx", OFFICE_FILES["deck.pptx"]())
    assert [(page.index, page.number) for page in document.pages] == [(0, 1), (1, 2)]
    assert [text for _, text in headings(document)] == ["Torques", "Seals"]
    assert blocks(document.pages[0], BlockKind.TABLE_ROW) == ["Part: Bolt; Torque: 27 N·m"]
    assert document.pages[0].text.endswith("Say why 27.")
    assert blocks(document.pages[1], BlockKind.LIST_ITEM) == ["- Check the seal.", "- Replace it every year."]
    assert document.metadata.title == "Torques"


def test_a_spreadsheet_has_a_page_for_each_sheet_and_rows_with_their_headers(load: Load) -> None:
    document = load("parts.xlsx", OFFICE_FILES["parts.xlsx"]())
    assert [page.text for page in document.pages] == [
        "Parts\n\nPart: Bolt; Torque: 27; Weight: 0.25; Due: 2024-03-01",
        "Sum\n\n2",
    ]
    assert (document.metadata.title, document.pages[1].index) == ("parts", 1)


def test_merged_cells_of_a_spreadsheet_give_their_text_to_each_row_and_column(load: Load) -> None:
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        sheet = book.add_worksheet("Pumps")
        sheet.write_row(3, 1, ["Pump", "Flow", "Head"])
        sheet.merge_range(4, 1, 5, 1, "P-101")
        sheet.write_row(4, 2, [40, 9])
        sheet.write_row(5, 2, [45, 8])
        sheet.write(6, 1, "P-102")
        sheet.merge_range(6, 2, 6, 3, "none yet")
        sheet.merge_range(8, 0, 9, 0, "")
    assert blocks(load("pumps.xlsx", buffer.getvalue()).pages[0], BlockKind.TABLE_ROW) == [
        "Pump: P-101; Flow: 40; Head: 9",
        "Pump: P-101; Flow: 45; Head: 8",
        "Pump: P-102; Flow: none yet; Head: none yet",
    ]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (True, "TRUE"),
        (3.0, "3"),
        (0.1 + 0.2, "0.3"),
        (1e300, "1e+300"),
        (datetime(2024, 3, 1), "2024-03-01"),
        (datetime(2024, 3, 1, 9, 30), "2024-03-01 09:30:00"),
        (date(2024, 3, 1), "2024-03-01"),
        (time(9, 30), "09:30:00"),
        (timedelta(hours=30), "1 day, 6:00:00"),
        ("x", "x"),
    ],
)
def test_a_cell_is_shown_as_a_reader_sees_it(cell: object, text: str) -> None:
    assert show_cell(cell) == text  # type: ignore[arg-type]


def test_a_mail_has_its_headers_its_plain_text_and_the_names_of_its_attachments(load: Load) -> None:
    document = load("mail.eml", OFFICE_FILES["mail.eml"]())
    (page,) = document.pages
    assert page.text == (
        "Größe der Öffnung\n\n"
        "From: Ann <ann@example.org>\nTo: bob@example.org\nDate: Fri, 01 Mar 2024 10:00:00 +0100\n\n"
        "The opening is 5 µm wide.\n\nAttachment: drawing.pdf"
    )
    assert (document.metadata.title, document.metadata.event_date) == ("Größe der Öffnung", date(2024, 3, 1))


def test_a_mail_without_plain_text_is_read_from_its_html(load: Load) -> None:
    text = "Subject: Pump\nContent-Type: text/html; charset=utf-8\n\n<h1>Care</h1><p>Grease <b>it</b>.</p>\n"
    document = load("mail.eml", text)
    assert headings(document) == [(1, "Pump"), (2, "Care")]
    assert document.pages[0].text.endswith("Grease it.")


@pytest.mark.parametrize(
    ("plain", "shown"),
    [("Grease it, and see the rest of this message below, where I wrote it all down.", False), ("Thanks.", True)],
)
def test_a_mail_whose_plain_text_leaves_much_out_is_read_from_its_html(load: Load, plain: str, shown: bool) -> None:
    part = "--cut\nContent-Type: text/{}; charset=utf-8\n\n{}\n"
    quoted = f"It costs $50. {'We need it soon. ' * 7}"
    html = f"<style>p {{ margin: 0 }}</style><p>{plain}</p><blockquote>{quoted}</blockquote>"
    parts = part.format("plain", plain) + part.format("html", html)
    head = "Subject: Pump\nFrom: ann@example.org\nContent-Type: multipart/alternative; boundary=cut\n\n"
    text = load("mail.eml", f"{head}{parts}--cut--\n").pages[0].text
    assert ("It costs $50." in text, plain in text) == (shown, True)


def test_a_mail_whose_html_shows_nothing_or_is_badly_encoded_is_read(load: Load) -> None:
    part = "--cut\nContent-Type: text/{}; charset={}\n\n{}\n"
    head = "Subject: Pump\nFrom: ann@example.org\nContent-Type: multipart/alternative; boundary=cut\n\n"
    shown = part.format("plain", "utf-8", "Grease it.") + part.format("html", "utf-8", "<style>p { margin: 0 }</style>")
    assert load("mail.eml", f"{head}{shown}--cut--\n").pages[0].text.endswith("Grease it.")
    lone_surrogate = part.format("plain", "utf-7", "Grease +2AA- it.")
    assert "Grease" in load("mail.eml", f"{head}{lone_surrogate}--cut--\n").pages[0].text


def test_an_opendocument_text_has_its_headings_lists_tables_and_notes(load: Load) -> None:
    document = load("care.odt", OFFICE_FILES["care.odt"]())
    (page,) = document.pages
    assert headings(document) == [(1, "Pump care")]
    assert "Grease the bearing  twice (see the plan) a year." in page.text
    assert blocks(page, BlockKind.LIST_ITEM) == ["- Stop the pump."]
    assert blocks(page, BlockKind.TABLE_ROW) == ["Part: Bolt; Torque: 27 N·m"]
    assert "Deleted" not in page.text


def open_document(content: str) -> bytes:
    return archive(
        {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content, "styles.xml": MASTERS}
    )


STANDARD = ["Pump care, revision 3", "Mill 7", "Order | 42"]


@pytest.mark.parametrize(
    ("style", "lines"),
    [
        ("", STANDARD),
        ("Cover", [STANDARD[0], "Confidential", *STANDARD[1:]]),
        ("P1", [STANDARD[0], "Confidential", *STANDARD[1:]]),
    ],
)
def test_the_headers_and_footers_of_an_opendocument_text_are_read_once_and_without_page_numbers(
    load: Load, style: str, lines: list[str]
) -> None:
    automatic = (
        f'<office:automatic-styles xmlns:style="{ODF}:style:1.0"><style:style style:name="P1" '
        'style:parent-style-name="Cover"/></office:automatic-styles><office:body>'
    )
    content = CONTENT.replace("<office:body>", automatic).replace("<text:h ", f'<text:h text:style-name="{style}" ')
    document = load("care.odt", open_document(content))
    assert document.pages[0].text.split("\n\n")[: len(lines) + 1] == [*lines, "Pump care"]
    assert headings(document) == [(1, "Pump care")]


def test_an_opendocument_text_of_pictures_is_not_readable_by_its_header(load: Load) -> None:
    root = f'<office:document-content xmlns:office="{ODF}:office:1.0">'
    content = f"{root}<office:body><office:text/></office:body></office:document-content>"
    assert refusal(load, "care.odt", open_document(content)).failure_code == "NO_TEXT"


def test_a_book_has_its_chapters_in_reading_order(load: Load) -> None:
    document = load("book.epub", OFFICE_FILES["book.epub"]())
    assert [(page.index, page.text) for page in document.pages] == [
        (0, "One\n\nThe pump runs."),
        (1, "Two\n\nThe pump stops."),
    ]
    assert document.metadata.title == "The Pump Book"


@pytest.mark.parametrize("name", ["book.epub", "care.odt"])
def test_an_archive_that_was_packed_again_is_read(load: Load, name: str) -> None:
    data = OFFICE_FILES[name]()
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        members = {each: packed.read(each).decode() for each in reversed(packed.namelist())}
    assert load(name, archive(members)).pages == load(name, data).pages


def test_rich_text_is_read_in_its_code_page(load: Load) -> None:
    assert load("note.rtf", OFFICE_FILES["note.rtf"]()).pages[0].text == "Pump\n\nŁożysko runs at 5 bar."


@pytest.mark.contract("IX-1")
@pytest.mark.parametrize("name", ["deck.pptx", "parts.xlsx", "care.odt", "book.epub"])
def test_a_truncated_or_oversized_archive_is_refused_with_a_code(load: Load, name: str) -> None:
    data = OFFICE_FILES[name]()
    assert refusal(load, name, data[: len(data) // 2]).failure_code == "UNREADABLE"
    assert refusal(load, name, data, limit=len(data) - 1).failure_code == "TOO_LARGE"
    bomb = archive({"mimetype": _mime(data), "word": "0" * 3_000_000, **_folder(data)})
    assert refusal(load, name, bomb, limit=200_000).failure_code == "TOO_LARGE"


def _mime(data: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        return packed.read("mimetype").decode() if "mimetype" in packed.namelist() else ""


def _folder(data: bytes) -> dict[str, str]:
    return {name: "" for name in ("ppt/x", "xl/x") if name.split("/")[0].encode() + b"/" in data}


@pytest.mark.contract("IX-1")
@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("a.rtf", rb"{\rtf1 }", "NO_TEXT"),
        ("a.eml", "only a sentence", "UNREADABLE"),
        ("a.pptx", archive({"ppt/presentation.xml": "<a"}), "UNREADABLE"),
        ("a.xlsx", archive({"xl/workbook.xml": "<a"}), "UNREADABLE"),
        ("a.odt", archive({"mimetype": "application/vnd.oasis.opendocument.text"}), "UNREADABLE"),
        (
            "a.odt",
            archive(
                {
                    "mimetype": "application/vnd.oasis.opendocument.text",
                    "META-INF/manifest.xml": "<manifest:encryption-data/>",
                    "content.xml": "garbled",
                }
            ),
            "ENCRYPTED",
        ),
        (
            "a.epub",
            archive({"mimetype": "application/epub+zip", "META-INF/encryption.xml": "<x/>"}),
            "ENCRYPTED",
        ),
        (
            "a.epub",
            archive(
                {
                    "mimetype": "application/epub+zip",
                    "META-INF/container.xml": CONTAINER,
                    "OEBPS/book.opf": PACKAGE,
                    **{f"OEBPS/{name}.xhtml": chapter("") for name in ("cover", "one", "second part")},
                }
            ),
            "NO_TEXT",
        ),
        ("a.zip", archive({"x.txt": "x"}), "UNSUPPORTED"),
    ],
)
def test_what_cannot_be_read_has_a_code(load: Load, name: str, data: bytes | str, code: str) -> None:
    assert refusal(load, name, data).failure_code == code


@pytest.mark.parametrize(
    ("text", "encodings"),
    [
        ("Die Größe der Öffnung beträgt 5 µm bei 20 °C, und das Gerät „ruht“.", ("cp1252",)),
        ("La pompe est vérifiée après chaque arrêt ; l’opérateur relève la température.", ("cp1252",)),
        ("A manutenção da bomba não é necessária até à próxima revisão.", ("cp1252", "latin-1")),
        ("Pumpens lager smörjs två gånger om året och går annars sönder.", ("cp1252", "latin-1")),
        ("The pump’s seal – see “Seals” – costs €20 in the café.", ("cp1252",)),
        ("Łożysko należy smarować dwa razy w roku, a źródło ciśnienia sprawdzać.", ("cp1250", "iso8859-2")),
        ("Čerpadlo se kontroluje každý den, těsnění je třeba vyměnit po opotřebení.", ("cp1250", "iso8859-2")),
        ("A szivattyút ellenőrizni kell, a csapágyat évente kétszer zsírozni.", ("cp1250", "iso8859-2")),
        ("Насос проверяется каждые 12 часов, подшипник смазывают два раза в год.", ("cp1251", "koi8-r")),
    ],
)
@pytest.mark.parametrize("padding", ["", "The pump is checked every day. " * 40])
def test_an_encoding_is_detected_alone_and_among_english_text(
    text: str, encodings: tuple[str, ...], padding: str
) -> None:
    for encoding in encodings:
        assert decode(ROOT / "note.txt", (padding + text).encode(encoding)) == padding + text, encoding


BOLD_HEADINGS = (
    rb"{\rtf1\ansi{\fonttbl{\f0 Arial;}}\f0\fs28\b Report on the mill\b0\fs22\par "
    rb"It stopped twice.\par {\b Cause}\par The belt was \b worn\b0  out.\par "
    rb"\b Stop the mill before the lid is opened.\b0\par "
    rb"\trowd\b Part\cell Torque\cell\row\b0\pard It runs.\par It is red.\par It is new.\par}"
)


def test_bold_paragraphs_of_rich_text_are_headings(load: Load) -> None:
    document = load("report.rtf", BOLD_HEADINGS)
    assert headings(document) == [(1, "Report on the mill"), (2, "Cause")]
    assert "The belt was worn out." in document.pages[0].text
    assert "\ue000" not in document.pages[0].text
    assert "\ue001" not in document.pages[0].text


def test_lines_of_bold_cells_are_no_headings(load: Load) -> None:
    rtf = (
        rb"{\rtf1\ansi\pard It runs.\par It is red.\par It is new.\par It is old.\par "
        rb"\trowd\pard\intbl\b Serial\par number\cell Torque\par of bolt\par in Nm\cell\row"
        rb"\pard Parts\b0\par It ends.\par}"
    )
    assert headings(load("cells.rtf", rtf)) == [(2, "Parts")]


def test_a_backslash_at_the_end_of_a_line_ends_a_paragraph_of_rich_text(load: Load) -> None:
    rtf = b"{\\rtf1\\ansi\\b\\fs36 Mill\\\n\\fs28 Cause\\\n\\b0\\fs24 It stopped.\\\r\nIt is red.\\\r\n}"
    assert headings(load("notes.rtf", rtf)) == [(1, "Mill"), (2, "Cause")]


def test_a_rich_text_that_is_bold_throughout_has_no_headings(load: Load) -> None:
    assert headings(load("loud.rtf", rb"{\rtf1\ansi\b One\par Two\par Three\par\b0 Four.\par}")) == []


ITEM = rb"\pard{\listtext\'b7\tab}\ls1\ilvl0\b %s\b0\par "
OLD_ITEM = rb"\pard{\pntext\f1\'b7\tab}{\*\pn\pnlvlblt}\b %s\b0\par "
APPLE_ITEM = rb"\pard\ls1\ilvl0{\listtext\uc0\u8226 }\b %s\b0\par "
TYPED_ITEM = rb"\pard\b \'95 %s\b0\par "
BODY = rb"\pard It runs.\par It is red.\par It is new.\par It is old.\par "


@pytest.mark.parametrize("item", [ITEM, OLD_ITEM, APPLE_ITEM, TYPED_ITEM])
def test_bold_items_of_a_list_in_rich_text_are_no_headings(load: Load, item: bytes) -> None:
    rtf = rb"{\rtf1\ansi\b Parts\b0\par " + item % b"Belt" + item % b"Lid" + BODY + rb"\b Cause\b0\par It broke.\par}"
    document = load("list.rtf", rtf)
    assert headings(document) == [(2, "Parts"), (2, "Cause")]
    assert "Belt" in document.pages[0].text


def test_a_numbered_heading_between_other_paragraphs_of_rich_text_is_one(load: Load) -> None:
    item = ITEM.replace(rb"\'b7", rb" 1.")
    rtf = rb"{\rtf1\ansi " + item % b"Belt" + BODY + item % b"Lid" + BODY + rb"}"
    assert headings(load("numbered.rtf", rtf)) == [(2, "1. Belt"), (2, "1. Lid")]
    outlined = rb"{\rtf1\ansi " + 2 * (item % b"Belt").replace(rb"\ls1", rb"\ls1\outlinelevel1") + BODY + rb"}"
    assert headings(load("outlined.rtf", outlined)) == [(2, "1. Belt"), (2, "1. Belt")]


@pytest.mark.contract("IX-1")
@pytest.mark.parametrize("data", [b"}}}}", b"{{{{", rb"\par\b Not a word\b0\par", b"\\bin3 ", bytes(range(256)) * 40])
@pytest.mark.parametrize("delimiter", [b"", b" "])
def test_binary_pictures_of_rich_text_are_no_text(load: Load, data: bytes, delimiter: bytes) -> None:
    delimiter = delimiter or (b" " if data[:1].isdigit() or data[:1] == b" " else b"")
    picture = rb"{\*\shppict{\pict{\*\blipuid 00ff}\jpegblip\picw9\bin%d" % len(data) + delimiter + data + b"}}"
    rtf = (
        rb"{\rtf1\ansi\b Mill\b0\par "
        + picture
        + rb"It costs \\bin5 pounds.\par"
        + picture
        + rb"It is red.\par It ends.\par}"
    )
    document = load("picture.rtf", rtf)
    assert document.pages[0].text == "Mill\n\nIt costs \\bin5 pounds.\n\nIt is red.\n\nIt ends."
    assert headings(document) == [(2, "Mill")]


@pytest.mark.contract("IX-1")
def test_a_picture_of_rich_text_that_says_it_is_longer_than_the_file_leaves_what_is_before_it(load: Load) -> None:
    document = load("cut.rtf", rb"{\rtf1\ansi It runs.\par{\pict\bin9999999999 abc}}")
    assert document.pages[0].text == "It runs."


def test_outline_levels_of_rich_text_are_headings(load: Load) -> None:
    rtf = (
        rb"{\rtf1\ansi{\stylesheet{\s1\outlinelevel0\b heading 1;}}"
        rb"\pard\s1\outlinelevel0 Mill\par\pard The mill grinds.\par"
        rb"\pard\outlinelevel1 Lid\par\pard\outlinelevel9 The lid is \u8222?red\u8221?\par}"
    )
    document = load("mill.rtf", rtf)
    assert headings(document) == [(1, "Mill"), (2, "Lid")]
    assert document.pages[0].text.endswith("The lid is „red”")
