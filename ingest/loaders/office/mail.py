"""The loader of mail messages (.eml): subject, sender, recipients and date, then the text of the body.

The names or types of attachments are listed. Their content is not read: save an attachment as a file to ingest it.
"""

from collections.abc import Sequence
from datetime import date
from email import policy
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser
from pathlib import Path
from typing import Final, NamedTuple

from sourcebound.contracts.corpus.document import Block, BlockKind, Page, ParsedDocument
from sourcebound.errors import DocumentError
from sourcebound.ingest.chunking.page_text import PageComposer
from sourcebound.ingest.loaders.markup.html import load_html
from sourcebound.ingest.loaders.metadata import build_metadata
from sourcebound.ingest.loaders.text import decode, load_text
from sourcebound.ingest.sandbox import failures

MEDIA_TYPE: Final = "message/rfc822"
_SHOWN: Final = ("From", "To", "Cc", "Date")
_MAIL_ERRORS: Final = (ValueError, LookupError, TypeError, AttributeError)
"""The exceptions that the parser of the standard library raises for malformed headers and parts."""
_MUCH_MORE: Final = 2
_FOOTER: Final = 20
"""The words that a program may add to HTML alone, such as `View in browser`."""


class Mail(NamedTuple):
    """The content of a message that becomes text."""

    subject: str
    headers: Sequence[tuple[str, str]]
    body: str
    is_html: bool
    attachments: Sequence[str]
    """The names of the attachments, or their types."""
    sent: date | None


def load_mail(path: Path, data: bytes) -> ParsedDocument:
    """Read a mail message.

    Args:
        path: The path of the file. Messages name the file, and its stem is the fallback title.
        data: The bytes of the file.

    Returns:
        A document of one page without a number. Its date is that of the message.

    Raises:
        DocumentError: With the code UNREADABLE if it has no headers of a message, or NO_TEXT.
    """
    try:
        message = BytesParser(policy=policy.default).parsebytes(data)
        subject, sender = str(message["Subject"] or ""), message["From"]
        sent = getattr(message["Date"], "datetime", None)
        headers = [(name, str(message[name])) for name in _SHOWN if message[name]]
        body, is_html = _read_body(path, message)
        attachments = [part.get_filename() or part.get_content_type() for part in message.iter_attachments()]
    except _MAIL_ERRORS as error:
        raise failures.unreadable(path, f"is not a readable mail message ({type(error).__name__})") from error
    if not sender and not subject:
        raise failures.unreadable(path, "is not a mail message", "Save the message again as .eml.")
    mail = Mail(subject, headers, body, is_html, attachments, sent.date() if sent else None)
    return compose_mail(path, mail, MEDIA_TYPE)


def compose_mail(path: Path, mail: Mail, media_type: str) -> ParsedDocument:
    """Return the document of a message: its subject, its headers, its body and the names of its attachments.

    Raises:
        DocumentError: With the code NO_TEXT.
    """
    composer = PageComposer()
    composer.add(BlockKind.HEADING, " ".join(mail.subject.split()), level=1)
    composer.add(BlockKind.PARAGRAPH, "\n".join(f"{name}: {' '.join(value.split())}" for name, value in mail.headers))
    if mail.body.strip():
        _append(composer, (load_html if mail.is_html else load_text)(path, _encode(mail.body)).pages[0])
    for name in mail.attachments:
        composer.add(BlockKind.LIST_ITEM, f"Attachment: {name}")
    page = composer.page()
    if not page.text:
        raise failures.no_text(path)
    metadata = build_metadata(path, (page,), title=mail.subject, event_date=mail.sent)
    return ParsedDocument(media_type=media_type, metadata=metadata, pages=(page,))


def _read_body(path: Path, message: EmailMessage) -> tuple[str, bool]:
    """Return the text of the body, and whether it is HTML. Plain text is preferred, unless it leaves much out."""
    plain, markup = (_read_part(path, message.get_body(preferencelist=(kind,))) for kind in ("plain", "html"))
    if plain.strip() and not _says_more(path, markup, plain):
        return plain, False
    return markup, bool(markup)


def _read_part(path: Path, part: MIMEPart | None) -> str:
    if part is None:
        return ""
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else str(payload or "").encode("utf-8", "surrogateescape")
    try:
        return raw.decode(part.get_content_charset() or "ascii")
    except (LookupError, UnicodeError):
        return decode(path, raw)


def _says_more(path: Path, markup: str, plain: str) -> bool:
    """Return whether HTML shows twice the words of the plain text. Some programs cut this, or quote no HTML in it."""
    if not markup:
        return False
    try:
        shown = load_html(path, _encode(markup)).pages[0].text
    except DocumentError:
        return False
    return len(shown.split()) > _MUCH_MORE * len(plain.split()) + _FOOTER


def _encode(body: str) -> bytes:
    return ("\ufeff" + body).encode("utf-8", "replace")  # the mark overrides an encoding that HTML declares


def _append(composer: PageComposer, page: Page) -> None:
    """Append the blocks of another page, its headings one level deeper."""
    for block in page.blocks:
        composer.add(block.kind, page.text[block.char_start : block.char_end], level=_level(block))


def _level(block: Block) -> int:
    return block.level + 1 if block.kind is BlockKind.HEADING else 0
