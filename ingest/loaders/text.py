"""The loader of plain text, and the decoder of all text formats.

The encoding is that of the byte-order mark, otherwise UTF-8, otherwise the result of detection. Detection can be wrong,
so text with many control characters is rejected, such as a binary file renamed to .txt.

Blank lines separate paragraphs. Indented paragraphs are code where reStructuredText says so (`::`), and otherwise if
they do not read as sentences and most of the file is not indented. All lines keep their indentation. An indented `o`
before text is a bullet.
"""

import codecs
import re
from collections.abc import Sequence
from pathlib import Path

from sourcebound.contracts.corpus.document import BlockKind, ParsedDocument
from sourcebound.contracts.validation.literals.amounts.number_words import repeats_count
from sourcebound.ingest.chunking.page_text import PageComposer, clean_text
from sourcebound.ingest.loaders.metadata import build_metadata
from sourcebound.ingest.loaders.text_headings import HeadingReader
from sourcebound.ingest.sandbox import failures

MEDIA_TYPE = "text/plain"

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MAX_CONTROL_SHARE = 0.02
_MAX_SAMPLE_LENGTH = 1_000_000
_NOT_ASCII = re.compile(rb"[\x80-\xff]+")
_TELLING_REACH = 20
_CONTROL_CHARACTER = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*?(?=\S|[ \t]+\S)")
_INDENTATIONS = ("  ", "\t")
_DEEP_INDENTATIONS = ("    ", "\t")
_CODE_FOLLOWS = re.compile(
    r"^(?![ \t]*\.\. )[^\n]*::[ \t]*\Z"
    r"|^\.\. (?:code|code-block|sourcecode|parsed-literal)::[^\n]*(?:\n[ \t]+:[^\n]*)*\Z",
    re.MULTILINE,
)
_ROUND_MARK = re.compile(r"^([ \t]+)o(?=[ \t]+\S)", re.MULTILINE)
_LIST_MARKER = re.compile(r"[ \t]*(?:[-*+•●▪◦‣–]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]+\S")
_CLAUSE = re.compile(r"[ \t]*\d{1,3}(?:\.\d{1,3})+(?:\.[ \t]+|\t[ \t]*)[^\W\d_]")
"""The beginning of a clause: `7.4. Taxes`. `2.5 V` may be in the middle of a sentence."""


def load_text(path: Path, data: bytes) -> ParsedDocument:
    """Read a plain text file.

    Args:
        path: The path of the file. Messages name the file, and its stem is the fallback title.
        data: The bytes of the file.

    Returns:
        A document of one page without a number: paragraphs, list items and unambiguous headings.

    Raises:
        DocumentError: With the code EMPTY, or UNREADABLE if the file is not text.
    """
    composer = PageComposer()
    add_paragraphs(composer, _BLANK_LINES.split(decode(path, data)), HeadingReader())
    page = composer.page()
    if not page.text:
        raise failures.empty(path)
    return ParsedDocument(media_type=MEDIA_TYPE, metadata=build_metadata(path, (page,)), pages=(page,))


def decode(path: Path, data: bytes) -> str:
    """Decode the bytes of a text-based file.

    Args:
        path: The path of the file, for messages.
        data: The bytes of the file.

    Returns:
        The text, with newlines as line ends and without NUL characters.

    Raises:
        DocumentError: With the code UNREADABLE, if the bytes are not text.
    """
    text = _decode_unicode(data)
    if text is None:
        text = _decode_by_detection(data)
    sample = text[:_MAX_SAMPLE_LENGTH]
    if len(_CONTROL_CHARACTER.findall(sample)) > len(sample) * _MAX_CONTROL_SHARE:
        raise failures.unreadable(path, "is not text", "If it is a document, export it as PDF, DOCX, HTML or text.")
    return clean_text(text)


def _decode_unicode(data: bytes) -> str | None:
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _decode_by_detection(data: bytes) -> str:
    """Decode with the most likely encoding. If no encoding fits, decode as UTF-8 with U+FFFD for invalid bytes."""
    from chardet import detect

    sample = data[:_MAX_SAMPLE_LENGTH] if b"\0" in data else _take_telling_parts(data)
    encoding = detect(sample)["encoding"] or "utf-8"
    try:
        return data.decode(encoding)
    except (LookupError, UnicodeDecodeError):
        return data.decode("utf-8", errors="replace")


def _take_telling_parts(data: bytes) -> bytes:
    """Return the surroundings of the bytes that tell encodings apart.

    The rest is ASCII, and too much of it hides a few words of another language.
    """
    parts, end, length = [], 0, 0
    for match in _NOT_ASCII.finditer(data):
        start = max(end, match.start() - _TELLING_REACH)
        end = match.end() + _TELLING_REACH
        parts.append(data[start:end])
        length += end - start
        if length > _MAX_SAMPLE_LENGTH:
            break
    return b"".join(parts)


def add_paragraphs(composer: PageComposer, paragraphs: Sequence[str], headings: HeadingReader) -> None:
    """Add paragraphs to a page. Consecutive paragraphs of code become one block.

    Args:
        composer: The page.
        paragraphs: The paragraphs of plain text.
        headings: The reader of the headings of the whole text.
    """
    may_indent_code = sum(map(_is_indented, paragraphs)) * 2 <= len(paragraphs)
    code: list[str] = []
    is_announced = False
    for paragraph in paragraphs:
        if _is_indented(paragraph) and (is_announced or (may_indent_code and _reads_as_code(paragraph))):
            code.append(paragraph.strip("\n"))
            continue
        composer.add(BlockKind.CODE, "\n\n".join(code))
        code = []
        is_announced = _CODE_FOLLOWS.search(paragraph) is not None
        _add_paragraph(composer, paragraph, headings)
    composer.add(BlockKind.CODE, "\n\n".join(code))


def _is_indented(paragraph: str) -> bool:
    return all(line.startswith(_INDENTATIONS) for line in paragraph.split("\n") if line.strip())


def _reads_as_code(paragraph: str) -> bool:
    """Check whether an indented paragraph is neither a sentence nor a list."""
    text = paragraph.strip()
    is_deep = all(line.startswith(_DEEP_INDENTATIONS) for line in paragraph.split("\n") if line.strip())
    is_sentence = text[:1].isupper() and text.endswith((".", "!", "?", ":"))
    return is_deep and not is_sentence and not _LIST_MARKER.match(text)


def _add_paragraph(composer: PageComposer, paragraph: str, headings: HeadingReader) -> None:
    """Add a paragraph to the page. Each list item or clause in it becomes a block, up to the next one."""
    text = paragraph.strip("\n").rstrip()
    if _ROUND_MARK.match(text):
        text = _ROUND_MARK.sub(r"\1•", text)
    heading = headings.read(text.strip())
    if heading:
        composer.add(BlockKind.HEADING, heading.title, level=heading.level)
        return
    lines: list[str] = []
    kind = BlockKind.PARAGRAPH
    for line in text.split("\n"):
        is_item = _LIST_MARKER.match(line) and not (lines and repeats_count(lines[-1], line))
        if is_item or _CLAUSE.match(line):
            _add_lines(composer, kind, lines)
            lines, kind = [], BlockKind.LIST_ITEM if is_item else BlockKind.PARAGRAPH
        lines.append(line)
    _add_lines(composer, kind, lines)


def _add_lines(composer: PageComposer, kind: BlockKind, lines: Sequence[str]) -> None:
    """Add lines as a block. The indentation of the first one precedes the block on the page."""
    text = "\n".join(lines)
    composer.add(kind, text, prefix=text[: len(text) - len(text.lstrip(" \t"))])
