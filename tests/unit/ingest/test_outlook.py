"""Outlook messages are read like other mail, and what cannot be read is refused with a code (IX-1)."""

from datetime import UTC, date, datetime

import pytest

from sourcebound.ingest.loaders.select import SUPPORTED_SUFFIXES
from support import outlook_files as outlook
from support.loading import Load, headings, refusal
from support.office_files import OFFICE_FILES
from support.outlook_files import outlook_message


@pytest.mark.contract("IX-1")
def test_a_message_has_its_headers_its_text_and_the_names_of_its_attachments(load: Load) -> None:
    assert ".msg" in SUPPORTED_SUFFIXES
    document = load("mail.msg", OFFICE_FILES["mail.msg"]())
    (page,) = document.pages
    assert page.text == (
        "Größe der Öffnung\n\n"
        'From: "Ann" <ann@example.org>\nTo: Bob <bob@example.org>, eve@example.org\nCc: Žofie\n'
        "Date: Fri, 01 Mar 2024 09:00:00 +0000\n\n"
        "The opening is 5 µm wide.\n\n"
        "Attachment: drawing of the pump.pdf\nAttachment: A~1.PDF\nAttachment: Re: pump"
    )
    assert headings(document) == [(1, "Größe der Öffnung")]
    assert (document.metadata.title, document.metadata.event_date) == ("Größe der Öffnung", date(2024, 3, 1))
    assert document.media_type == "application/vnd.ms-outlook"


def test_the_date_is_that_of_the_header_in_the_time_zone_of_the_sender(load: Load) -> None:
    headers = "From: ann@example.org\r\nDate: Fri, 01 Mar 2024 00:30:00 +0200\r\n"
    sent = datetime(2024, 2, 29, 22, 30, tzinfo=UTC)
    document = load("a.msg", outlook_message({outlook.HEADERS: headers, outlook.SENT: sent, outlook.BODY: "Hello."}))
    assert document.metadata.event_date == date(2024, 3, 1)
    assert "From: ann@example.org\nDate: Fri, 01 Mar 2024 00:30:00 +0200" in document.pages[0].text


@pytest.mark.parametrize(
    ("sender", "shown"),
    [
        ("=?utf-8?q?J=C3=BCrgen?= <j@example.org>", "Jürgen <j@example.org>"),
        ("=?GBK?B?1cXI/Q==?= <z@example.org>", "张三 <z@example.org>"),
        ("=?none?q?J?= <j@example.org>", "=?none?q?J?= <j@example.org>"),
        ("=?utf-8?b?A?= <j@example.org>", "=?utf-8?b?A?= <j@example.org>"),
    ],
)
def test_a_sender_with_other_letters_is_decoded(load: Load, sender: str, shown: str) -> None:
    data = outlook_message({outlook.HEADERS: f"From: {sender}\r\n", outlook.BODY: "Hello."})
    assert load("a.msg", data).pages[0].text == f"From: {shown}\n\nHello."


@pytest.mark.parametrize("code_page", [1250, 65001])
def test_a_message_without_plain_text_is_read_from_its_html(load: Load, code_page: int) -> None:
    markup = "<html><h1>Care</h1><p>Łożysko runs <b>at</b> 5 bar.</p></html>"
    encoded = markup.encode("cp1250" if code_page == 1250 else "utf-8")
    data = outlook_message({outlook.SUBJECT: "Pump", outlook.HTML: encoded, outlook.CODE_PAGE: code_page})
    document = load("a.msg", data)
    assert headings(document) == [(1, "Pump"), (2, "Care")]
    assert document.pages[0].text.endswith("Łożysko runs at 5 bar.")


def test_the_encoding_that_the_html_declares_does_not_count_for_decoded_text(load: Load) -> None:
    markup = '<html><head><meta charset="iso-8859-1"></head><p>Die Öffnung ist 5 µm weit.</p></html>'
    data = outlook_message({outlook.SUBJECT: "Pump", outlook.HTML: markup.encode(), outlook.CODE_PAGE: 65001})
    mail = f"Subject: Pump\nContent-Type: text/html; charset=utf-8\n\n{markup}\n"
    for document in (load("a.msg", data), load("a.eml", mail)):
        assert document.pages[0].text == "Pump\n\nDie Öffnung ist 5 µm weit."


def test_a_message_is_known_by_its_content_and_not_by_its_attachments(load: Load) -> None:
    attached: outlook.Properties = {outlook.NAME: "book", 0x3701: "Workbook\0EncryptedPackage".encode("utf-16-le")}
    data = outlook_message({outlook.SUBJECT: "Pump", outlook.BODY: "Hello."}, attachments=[attached])
    assert load("a.xls", data).pages[0].text == "Pump\n\nHello.\n\nAttachment: book"


def test_a_message_with_a_damaged_date_has_the_date_of_its_submission(load: Load) -> None:
    sent = datetime(2024, 2, 29, 22, 30, tzinfo=UTC)
    for damaged in ("Fri, 01 Mar 2024 09:00:00 +9999999999999", "Fri, 99 Mar 99999999999999999999 09:00:00"):
        headers = f"From: ann@example.org\r\nDate: {damaged}\r\n"
        data = outlook_message({outlook.HEADERS: headers, outlook.SENT: sent, outlook.BODY: "Hello."})
        assert load("a.msg", data).metadata.event_date == date(2024, 2, 29)


@pytest.mark.contract("IX-1")
@pytest.mark.parametrize("name", ["a.msg", "a.xls", "a.doc"])
def test_a_directory_that_is_nested_too_deeply_is_refused(load: Load, name: str) -> None:
    data = outlook.compound_file({f"s{number}": b"" for number in range(3000)})
    assert refusal(load, name, data).failure_code in {"UNREADABLE", "UNSUPPORTED"}


@pytest.mark.contract("IX-1")
@pytest.mark.parametrize(
    ("data", "code", "text"),
    [
        (outlook_message({outlook.SUBJECT: "Pump", outlook.RICH_TEXT: b"LZFu"}), "UNREADABLE", "as Rich Text only"),
        (outlook_message({}), "NO_TEXT", ""),
        (outlook_message({outlook.SUBJECT: "Pump"})[:1536], "UNREADABLE", "not a readable Outlook message"),
        (outlook_message({outlook.SUBJECT: "Pump"})[:600], "UNREADABLE", "not a readable Outlook message"),
        (outlook.compound_file({"WordDocument": b"x"}), "UNREADABLE", "not a readable Outlook message"),
        (b"::msgcat::mcset cs About", "UNREADABLE", "is not an Outlook message"),
    ],
)
def test_a_message_that_cannot_be_read_has_a_code(load: Load, data: bytes, code: str, text: str) -> None:
    error = refusal(load, "a.msg", data)
    assert (error.failure_code, text in error.message) == (code, True)
