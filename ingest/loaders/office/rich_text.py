"""The loader of Rich Text files (.rtf): their text, read as plain text."""

from pathlib import Path
from typing import Final

from sourcebound.contracts.corpus.document import ParsedDocument
from sourcebound.ingest.loaders.text import load_text
from sourcebound.ingest.sandbox import failures

MEDIA_TYPE: Final = "application/rtf"
_RTF_ERRORS: Final = (ValueError, LookupError, TypeError, AttributeError)
"""The exceptions that striprtf raises for malformed input."""


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
    from striprtf.striprtf import rtf_to_text

    try:
        text = str(rtf_to_text(data.decode("latin-1"), errors="replace"))  # type: ignore[no-untyped-call]
    except _RTF_ERRORS as error:
        raise failures.unreadable(path, f"is not a readable Rich Text file ({type(error).__name__})") from error
    if not text.strip():
        raise failures.no_text(path)
    paragraphs = "\n\n".join(line for line in text.splitlines() if line.strip())
    return load_text(path, paragraphs.encode()).model_copy(update={"media_type": MEDIA_TYPE})
