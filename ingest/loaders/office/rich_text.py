"""The loader of Rich Text files (.rtf): their text, read as plain text, in which headings are underlined.

The rows of tables and the items of lists are found by the marks of `rtf_structure`.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sourcebound.contracts.corpus.document import BlockKind, ParsedDocument
from sourcebound.ingest.chunking.page_text import PageComposer
from sourcebound.ingest.loaders.metadata import build_metadata
from sourcebound.ingest.loaders.office.rtf_headings import SECTION, TITLE, mark_headings, remove_binary
from sourcebound.ingest.loaders.office.rtf_structure import ITEM, mark_structure, read_parts
from sourcebound.ingest.loaders.office.word_numbering import is_list_marker
from sourcebound.ingest.loaders.table_rows import linearise
from sourcebound.ingest.loaders.text import add_paragraphs
from sourcebound.ingest.loaders.text_headings import HeadingReader
from sourcebound.ingest.sandbox import failures

MEDIA_TYPE: Final = "application/rtf"
_RTF_ERRORS: Final = (ValueError, LookupError, TypeError, AttributeError)
"""The exceptions that striprtf raises for malformed input."""
_SKIPPED: Final = frozenset({"fonttbl", "colortbl"})
_SENTENCE_END: Final = (".", ",", ";", ":", "!", "?")
_UNDERLINES: Final = {TITLE: "=", SECTION: "-"}
_MARKS: Final = f"{TITLE}{SECTION} \t\xa0"
_LONGEST_HEADING: Final = 100
_LINES: Final = tuple(f"\n{mark}" for mark in _UNDERLINES.values())
_ITEM: Final = re.compile(rf"\s*{ITEM}[ \t]{{0,99}}([•·]|\S{{0,9}}(?=[ \t]))[ \t]{{0,99}}(\S.*)", re.DOTALL)
_BULLETS: Final = ("•", "·", "▪", "‣", "◦", "- ", "– ", "* ")


def load_rich_text(path: Path, data: bytes) -> ParsedDocument:
    r"""Read a Rich Text file. Text is ASCII with escapes, in the code page that the file names (`\ansicpg`).

    Args:
        path: The path of the file. Messages name the file, and its stem is the fallback title.
        data: The bytes of the file.

    Returns:
        A document of one page without a number.

    Raises:
        DocumentError: With the code NO_TEXT or UNREADABLE.
    """
    from striprtf.striprtf import destinations, rtf_to_text

    rtf = mark_structure(mark_headings(remove_binary(data.decode("latin-1")), _SKIPPED | destinations))
    try:
        text = str(rtf_to_text(rtf, errors="replace"))  # type: ignore[no-untyped-call]
    except _RTF_ERRORS as error:
        raise failures.unreadable(path, f"is not a readable Rich Text file ({type(error).__name__})") from error
    composer, headings = PageComposer(), HeadingReader()
    for part in read_parts(text):
        if max(map(len, part.rows), default=0) > 1:
            for line in linearise(part.rows):
                composer.add(BlockKind.TABLE_ROW, line)
        else:
            _write_paragraphs(composer, [*part.paragraphs, *(cell for row in part.rows for cell in row)], headings)
    page = composer.page()
    if not page.text:
        raise failures.no_text(path)
    return ParsedDocument(media_type=MEDIA_TYPE, metadata=build_metadata(path, (page,)), pages=(page,))


def _write_paragraphs(composer: PageComposer, paragraphs: Sequence[str], headings: HeadingReader) -> None:
    """Write paragraphs as plain text, and items of a list with their number or bullet."""
    waiting: list[str] = []
    for paragraph in paragraphs:
        if not paragraph.strip(_MARKS):
            continue
        text = _underline(paragraph)
        item = _ITEM.match(text)
        if not item or text.endswith(_LINES):
            waiting.append(text.replace(ITEM, ""))
            continue
        add_paragraphs(composer, waiting, headings)
        waiting = []
        marker, body = item.groups()
        if not (is_list_marker(f"{marker} ") or marker.isdecimal() or marker[1:]):  # a bullet of another font, or none
            marker = "•"
        kind = BlockKind.LIST_ITEM if is_list_marker(f"{marker} ") else BlockKind.PARAGRAPH
        composer.add(kind, f"{marker} {body.replace(ITEM, '')}")
    add_paragraphs(composer, waiting, headings)


def _underline(line: str) -> str:
    """Return a line as plain text: a heading has a line below it, as `load_text` reads it."""
    mark, text = line.rstrip()[-1:], " ".join(line.strip(_MARKS).split())
    is_title = mark in _UNDERLINES and 1 < len(text) <= _LONGEST_HEADING
    text = text.removeprefix(ITEM) if is_title else text
    is_title = is_title and not text.endswith(_SENTENCE_END) and not text.startswith(_BULLETS)
    return f"{text}\n{_UNDERLINES[mark]}" if is_title else line.replace(TITLE, "").replace(SECTION, "")
