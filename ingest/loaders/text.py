"""Reads plain text: the encoding from its byte-order mark, else UTF-8, else by detection; paragraphs from blank lines.

Detection is a guess, so what it yields must still look like text; a binary file renamed to .txt is refused.
"""

import codecs
import re
from pathlib import Path

from sourcebound.contracts.corpus.document import BlockKind, ParsedDocument
from sourcebound.ingest.chunking.page_text import PageComposer, clean_text
from sourcebound.ingest.loaders.metadata import describe
from sourcebound.ingest.sandbox import failures

MEDIA_TYPE = "text/plain"

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MOST_CONTROLS = 0.02
_SAMPLE = 1_000_000
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*?(?=\S|[ \t]+\S)")
_BULLET = re.compile(r"[ \t]*(?:[-*+•●▪◦‣–]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]+\S")
_NUMBERED_HEADING = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,3})*)\.?[ \t]+[A-Z][^\n]{1,78}")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9 ,&/()'–-]{3,78}")
_UNDERLINE = re.compile(r"(?P<title>[^\n]{2,100})\n(?P<line>=+|-+|~+)[ \t]*")


def load_text(path: Path, data: bytes) -> ParsedDocument:
    """Read a plain text file.

    Args:
        path: The file, for messages and as the title of last resort.
        data: Its bytes.

    Returns:
        One page, number None: paragraphs, list items and the headings that are beyond doubt.

    Raises:
        DocumentError: EMPTY, or UNREADABLE when it is not text.
    """
    composer = PageComposer()
    for paragraph in _BLANK_LINES.split(decode(path, data)):
        _add_paragraph(composer, paragraph)
    page = composer.page()
    if not page.text:
        raise failures.empty(path)
    return ParsedDocument(media_type=MEDIA_TYPE, metadata=describe(path, (page,)), pages=(page,))


def decode(path: Path, data: bytes) -> str:
    """Decode the bytes of a text file of any format.

    Args:
        path: The file, for messages.
        data: Its bytes.

    Returns:
        The text, with newlines as line ends and without NULs.

    Raises:
        DocumentError: UNREADABLE, when the bytes are not text.
    """
    text = _decode_marked(data)
    if text is None:
        text = _detect(data)
    sample = text[:_SAMPLE]
    if len(_CONTROL.findall(sample)) > len(sample) * _MOST_CONTROLS:
        raise failures.unreadable(path, "is not text", "If it is a document, export it as PDF, DOCX, HTML or text.")
    return clean_text(text)


def _decode_marked(data: bytes) -> str | None:
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _detect(data: bytes) -> str:
    """Decode with the most likely encoding; otherwise as UTF-8 with damaged bytes marked."""
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    return data.decode("utf-8", errors="replace") if best is None else str(best)


def _add_paragraph(composer: PageComposer, paragraph: str) -> None:
    """Add one paragraph. Each item of a list in it is a block, and indented lines stay with their item."""
    text = paragraph.strip("\n").rstrip()
    level = _heading_level(text)
    if level:
        underlined = _UNDERLINE.fullmatch(text)
        composer.add(BlockKind.HEADING, underlined["title"] if underlined else text, level=level)
        return
    lines: list[str] = []
    kind = BlockKind.PARAGRAPH
    for line in text.split("\n"):
        if _BULLET.match(line):
            composer.add(kind, "\n".join(lines))
            lines, kind = [], BlockKind.LIST_ITEM
        lines.append(line)
    composer.add(kind, "\n".join(lines))


def _heading_level(text: str) -> int:
    text = text.strip()
    underlined = _UNDERLINE.fullmatch(text)
    if underlined:
        return 1 if underlined["line"].startswith("=") else 2
    if text.endswith((".", ",", ";", ":", "!", "?")):
        return 0
    numbered = _NUMBERED_HEADING.fullmatch(text)
    if numbered:
        return numbered["number"].count(".") + 1
    return 1 if _CAPITALS.fullmatch(text) else 0
