"""The loader of Rich Text files (.rtf): their text, read as plain text, in which headings are underlined."""

from pathlib import Path
from typing import Final

from sourcebound.contracts.corpus.document import ParsedDocument
from sourcebound.ingest.loaders.office.rtf_headings import SECTION, TITLE, mark_headings, remove_binary
from sourcebound.ingest.loaders.text import load_text
from sourcebound.ingest.sandbox import failures

MEDIA_TYPE: Final = "application/rtf"
_RTF_ERRORS: Final = (ValueError, LookupError, TypeError, AttributeError)
"""The exceptions that striprtf raises for malformed input."""
_SKIPPED: Final = frozenset({"fonttbl", "colortbl"})
_SENTENCE_END: Final = (".", ",", ";", ":", "!", "?")
_UNDERLINES: Final = {TITLE: "=", SECTION: "-"}
_MARKS: Final = f"{TITLE}{SECTION} \t\xa0"
_LONGEST_HEADING: Final = 100
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

    rtf = mark_headings(remove_binary(data.decode("latin-1")), _SKIPPED | destinations)
    try:
        text = str(rtf_to_text(rtf, errors="replace"))  # type: ignore[no-untyped-call]
    except _RTF_ERRORS as error:
        raise failures.unreadable(path, f"is not a readable Rich Text file ({type(error).__name__})") from error
    if not text.strip():
        raise failures.no_text(path)
    paragraphs = "\n\n".join(_underline(line) for line in text.splitlines() if line.strip(_MARKS))
    return load_text(path, paragraphs.encode()).model_copy(update={"media_type": MEDIA_TYPE})


def _underline(line: str) -> str:
    """Return a line as plain text: a heading has a line below it, as `load_text` reads it."""
    mark, text = line.rstrip()[-1:], " ".join(line.strip(_MARKS).split())
    is_title = mark in _UNDERLINES and 1 < len(text) <= _LONGEST_HEADING
    is_title = is_title and not text.endswith(_SENTENCE_END) and not text.startswith(_BULLETS)
    return f"{text}\n{_UNDERLINES[mark]}" if is_title else line.replace(TITLE, "").replace(SECTION, "")
