"""The loader of Outlook messages (.msg): the same content as of a mail message (.eml).

A message without a plain text is read from its HTML. Outlook also stores the text as compressed Rich Text, which is not
read: a message that has nothing else is refused.
"""

import io
import struct
from datetime import datetime
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sourcebound.contracts.corpus.document import ParsedDocument
from sourcebound.ingest.loaders.office.mail import Mail, compose_mail
from sourcebound.ingest.loaders.text import decode
from sourcebound.ingest.sandbox import failures

if TYPE_CHECKING:
    from oxmsg import Message
    from oxmsg.attachment import Attachment

MEDIA_TYPE: Final = "application/vnd.ms-outlook"
_PROPERTIES: Final = "__properties_version1.0"
_OUTLOOK_ERRORS: Final = (
    *(ValueError, LookupError, TypeError, AttributeError, OSError, AssertionError, OverflowError, RecursionError),
    struct.error,
)
"""The exceptions that oxmsg and olefile raise for a damaged file, or for one with a long chain of directory entries."""
_RECIPIENT_KINDS: Final = {1: "To", 2: "Cc"}


def is_outlook_message(data: bytes) -> bool:
    """Check whether an OLE file is an Outlook message, by the stream of properties in its root."""
    from olefile import OleFileIO

    try:
        with OleFileIO(io.BytesIO(data)) as file:
            return bool(file.exists(_PROPERTIES))
    except _OUTLOOK_ERRORS:
        return False


def load_outlook(path: Path, data: bytes) -> ParsedDocument:
    """Read an Outlook message.

    Args:
        path: The path of the file. Messages name the file, and its stem is the fallback title.
        data: The bytes of the file.

    Returns:
        A document of one page without a number. Its date is that of the message.

    Raises:
        DocumentError: With the code UNREADABLE if it is damaged or its text is in a form that is not read, or NO_TEXT.
    """
    from oxmsg import Message
    from oxmsg.domain import constants

    try:
        message = Message.load(io.BytesIO(data))
        body, is_html = _read_body(path, message)
        has_rich_text = bool(message.properties.binary_prop_value(constants.PID_RTF_COMPRESSED))
        sent = _read_date(message)
        mail = Mail(
            subject=message.subject,
            headers=_read_headers(message, sent),
            body=body,
            is_html=is_html,
            attachments=[_name_attachment(attachment) for attachment in message.attachments],
            sent=sent.date() if sent else None,
        )
    except _OUTLOOK_ERRORS as error:
        raise failures.unreadable(path, f"is not a readable Outlook message ({type(error).__name__})") from error
    if has_rich_text and not mail.body.strip():
        raise failures.unreadable(path, "has its text as Rich Text only", "Save the message again as .eml or as text.")
    return compose_mail(path, mail, MEDIA_TYPE)


def _read_body(path: Path, message: "Message") -> tuple[str, bool]:
    """Return the text of the body, and whether it is HTML. Plain text is preferred."""
    from oxmsg.domain import constants

    if (plain := message.body) and plain.strip("\0 \r\n"):
        return plain, False
    markup = message.properties.binary_prop_value(constants.PID_HTML)
    if not markup:
        return message.properties.str_prop_value(constants.PID_BODY_HTML) or "", True
    try:
        return markup.decode(message.properties.body_encoding), True
    except (LookupError, UnicodeError):
        return decode(path, markup), True


def _read_date(message: "Message") -> datetime | None:
    """Return the date of the message's header, which has the sender's time zone, else the date of its submission."""
    try:
        return parsedate_to_datetime(message.message_headers["Date"])
    except (LookupError, ValueError, OverflowError, TypeError):
        return message.sent_date


def _read_headers(message: "Message", sent: datetime | None) -> list[tuple[str, str]]:
    from oxmsg.domain import constants

    recipients: dict[str, list[str]] = {name: [] for name in _RECIPIENT_KINDS.values()}
    for recipient in message.recipients:
        kind = _RECIPIENT_KINDS.get(recipient.properties.int_prop_value(constants.PID_RECIPIENT_TYPE) or 0)
        address = f"<{recipient.email_address}>" if recipient.email_address else ""
        if kind and (name := f"{recipient.name} {address}".strip()):
            recipients[kind].append(address.strip("<>") if recipient.name == recipient.email_address else name)
    headers = [
        ("From", _decode_words(message.sender or "")),
        *((kind, ", ".join(names)) for kind, names in recipients.items()),
    ]
    return [(name, value) for name, value in headers if value] + ([("Date", format_datetime(sent))] if sent else [])


def _decode_words(header: str) -> str:
    """Return a header with its encoded words decoded: `=?utf-8?q?...?=`, for names with other letters than ASCII."""
    try:
        return str(make_header(decode_header(header)))
    except (HeaderParseError, LookupError, ValueError):
        return header


def _name_attachment(attachment: "Attachment") -> str:
    from oxmsg.domain import constants

    names = (constants.PID_ATTACH_FILENAME, constants.PID_DISPLAY_NAME)
    found = (attachment.properties.str_prop_value(name) for name in names)
    return attachment.file_name or next(filter(None, found), None) or attachment.mime_type or "without a name"
