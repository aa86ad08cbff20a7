"""Small office files, written by the libraries that write such files where the tests have one."""

import io
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from email.message import EmailMessage
from typing import Final

import xlsxwriter
from pptx import Presentation

from support import outlook_files as outlook

ODF: Final = "urn:oasis:names:tc:opendocument:xmlns"
CONTENT: Final = f"""<?xml version="1.0" encoding="UTF-8"?>
<office:document-content xmlns:office="{ODF}:office:1.0" xmlns:text="{ODF}:text:1.0" xmlns:table="{ODF}:table:1.0">
<office:body><office:text>
<text:tracked-changes><text:p>Deleted words.</text:p></text:tracked-changes>
<text:h text:outline-level="1">Pump care</text:h>
<text:p>Grease the bearing<text:s text:c="2"/>twice<text:note><text:note-citation>1</text:note-citation>
<text:note-body><text:p>see the plan</text:p></text:note-body></text:note> a year.</text:p>
<text:list><text:list-item><text:p>Stop the pump.</text:p></text:list-item></text:list>
<table:table><table:table-row><table:table-cell><text:p>Part</text:p></table:table-cell>
<table:table-cell><text:p>Torque</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell><text:p>Bolt</text:p></table:table-cell>
<table:table-cell><text:p>27 N·m</text:p></table:table-cell></table:table-row></table:table>
</office:text></office:body></office:document-content>"""
MASTERS: Final = f"""<?xml version="1.0" encoding="UTF-8"?>
<office:document-styles xmlns:office="{ODF}:office:1.0" xmlns:text="{ODF}:text:1.0" xmlns:table="{ODF}:table:1.0"
 xmlns:style="{ODF}:style:1.0">
<office:styles><style:style style:name="Cover" style:family="paragraph" style:master-page-name="First"/></office:styles>
<office:master-styles>
<style:master-page style:name="Standard"><style:header><text:p>Pump care, revision 3</text:p></style:header>
<style:footer><text:p>Mill 7<text:tab/>Page <text:page-number>1</text:page-number> of
<text:page-count>9</text:page-count></text:p><text:p><text:page-number/></text:p><table:table><table:table-row><table:table-cell><text:p>Order</text:p>
</table:table-cell><table:table-cell><text:p>42</text:p></table:table-cell></table:table-row></table:table></style:footer>
<style:footer-left style:display="false"><text:p>Hidden line</text:p></style:footer-left></style:master-page>
<style:master-page style:name="First" style:next-style-name="Standard"><style:header>
<text:p>Pump care, revision 3</text:p><text:p>Confidential</text:p></style:header></style:master-page>
<style:master-page style:name="Envelope"><style:header><text:p>Stamp here</text:p></style:header></style:master-page>
</office:master-styles></office:document-styles>"""
"""Three master pages: the first is followed by the standard one, and no style names the third."""
PACKAGE: Final = """<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title>The Pump Book</dc:title></metadata><manifest><item id="b" href="second%20part.xhtml"/>
<item id="a" href="one.xhtml"/><item id="c" href="cover.xhtml"/></manifest>
<spine><itemref idref="c"/><itemref idref="a"/><itemref idref="b"/></spine></package>"""
CONTAINER: Final = """<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>"""


def chapter(text: str) -> str:
    """Return a chapter of a book."""
    return f"<html xmlns='http://www.w3.org/1999/xhtml'><head><title>x</title></head><body>{text}</body></html>"


def archive(members: Mapping[str, str]) -> bytes:
    """Pack members, in order."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return buffer.getvalue()


def presentation() -> bytes:
    """Write two slides: the second has a table and notes, and was moved to the front."""
    deck = Presentation()
    first = deck.slides.add_slide(deck.slide_layouts[1])
    first.shapes.title.text = "Seals"
    first.placeholders[1].text = "Check the seal.\nReplace it every year."
    second = deck.slides.add_slide(deck.slide_layouts[5])
    second.shapes.title.text = "Torques"
    cells = second.shapes.add_table(2, 2, 0, 0, 100, 100).table
    for position, text in enumerate(("Part", "Torque", "Bolt", "27 N·m")):
        cells.cell(position // 2, position % 2).text = text
    second.notes_slide.notes_text_frame.text = "Say why 27."
    order = deck.slides._sldIdLst
    order.insert(0, order[1])
    buffer = io.BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def spreadsheet() -> bytes:
    """Write two sheets and an empty one: numbers, a date and a formula with its value."""
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        parts = book.add_worksheet("Parts")
        parts.write_row(0, 0, ["Part", "Torque", "Weight", "Due"])
        parts.write_row(1, 0, ["Bolt", 27, 0.25])
        parts.write_datetime(1, 3, date(2024, 3, 1), book.add_format({"num_format": "yyyy-mm-dd"}))
        book.add_worksheet("Empty")
        book.add_worksheet("Sum").write_formula(0, 0, "=1+1", value=2)
    return buffer.getvalue()


def mail() -> bytes:
    """Write a message with a plain and an HTML body and an attachment."""
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = "Größe der Öffnung", "Ann <ann@example.org>", "bob@example.org"
    message["Date"] = "Fri, 01 Mar 2024 10:00:00 +0100"
    message.set_content("The opening is 5 µm wide.\n", charset="iso-8859-1")
    message.add_alternative("<p>The opening is <b>5 µm</b> wide.</p>", subtype="html")
    message.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="drawing.pdf")
    return message.as_bytes()


def outlook_mail() -> bytes:
    """Write an Outlook message with two recipients, a copy and three attachments, one of them a message."""
    recipients: list[outlook.Properties] = [
        {outlook.NAME: "Bob", outlook.ADDRESS: "bob@example.org", outlook.RECIPIENT_KIND: 1},
        {outlook.NAME: "eve@example.org", outlook.ADDRESS: "eve@example.org", outlook.RECIPIENT_KIND: 1},
        {outlook.NAME: "Žofie", outlook.RECIPIENT_KIND: 2},
        {outlook.NAME: "Hidden", outlook.RECIPIENT_KIND: 3},
    ]
    attachments: list[outlook.Properties] = [
        {outlook.FILE_NAME: "drawing of the pump.pdf", outlook.SHORT_FILE_NAME: "DRAWIN~1.PDF"},
        {outlook.SHORT_FILE_NAME: "A~1.PDF"},
        {outlook.NAME: "Re: pump"},
    ]
    message: outlook.Properties = {
        outlook.SUBJECT: "Größe der Öffnung",
        outlook.SENDER: "Ann",
        outlook.SENDER_ADDRESS: "ann@example.org",
        outlook.SENT: datetime(2024, 3, 1, 9, tzinfo=UTC),
        outlook.BODY: "The opening is 5 µm wide.\r\n",
        outlook.HTML: b"<p>The opening is <b>5 &micro;m</b> wide.</p>",
    }
    return outlook.outlook_message(message, recipients, attachments)


OFFICE_FILES: Final[Mapping[str, Callable[[], bytes]]] = {
    "deck.pptx": presentation,
    "parts.xlsx": spreadsheet,
    "mail.eml": mail,
    "mail.msg": outlook_mail,
    "care.odt": lambda: archive({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": CONTENT}),
    "book.epub": lambda: archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": CONTAINER,
            "OEBPS/book.opf": PACKAGE,
            "OEBPS/cover.xhtml": chapter("<img src='x.png'/>"),
            "OEBPS/one.xhtml": chapter("<h1>One</h1><p>The pump runs.</p>"),
            "OEBPS/second part.xhtml": chapter("<h1>Two</h1><p>The pump stops.</p>"),
        }
    ),
    "note.rtf": lambda: rb"{\rtf1\ansi\ansicpg1250 {\b Pump}\par \'a3o\'bfysko runs at 5 bar.\par}",
}
