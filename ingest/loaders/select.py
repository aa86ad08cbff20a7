"""The choice of the loader for a file: by its content first, and then by its suffix.

A suffix can be wrong: a download page saved as manual.pdf is HTML, and a password-protected .docx is not a zip archive.
"""

import io
import os
import re
import zipfile
from pathlib import Path

from sourcebound.contracts.corpus.document import ParsedDocument
from sourcebound.ingest.loaders.csv import load_csv
from sourcebound.ingest.loaders.html import load_html
from sourcebound.ingest.loaders.markdown import load_markdown
from sourcebound.ingest.loaders.pdf.load import load_pdf
from sourcebound.ingest.loaders.text import load_text
from sourcebound.ingest.loaders.word import ARCHIVE_ERRORS, load_word
from sourcebound.ingest.sandbox import failures

_TEXT_LOADERS = {
    ".html": load_html,
    ".htm": load_html,
    ".xhtml": load_html,
    ".md": load_markdown,
    ".markdown": load_markdown,
    ".csv": load_csv,
    ".tsv": load_csv,
    ".txt": load_text,
    ".text": load_text,
    ".rst": load_text,
}
_BINARY_SUFFIXES = {".pdf": "PDF", ".docx": "Word document"}

SUPPORTED_SUFFIXES = frozenset({*_TEXT_LOADERS, *_BINARY_SUFFIXES})
"""The suffixes, in lower case, of the files that are ingested from a folder."""

_PDF_MAGIC = b"%PDF-"
_PDF_MAGIC_WINDOW = 1024
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_RTF_MAGIC = b"{\\rtf"
_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,2000}?-->\s*)*<(?:!doctype\s+html|html)\b", re.I | re.S
)
_CONVERT_ADVICE = "Save it as PDF or DOCX, and ingest that."


def load_document(path: Path, max_bytes: int) -> ParsedDocument:
    """Read one file in this process; use it for trusted files only.

    Args:
        path: The path of an existing file.
        max_bytes: The size limit of the file, in bytes.

    Returns:
        The pages and metadata of the file.

    Raises:
        DocumentError: With a code of `DocumentFailure`. The message names the file, and `next_step` says what to do.
        OSError: If the file cannot be opened.
    """
    return parse_document(path, read_bytes(path, max_bytes), max_bytes)


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """Read the bytes of a file up to the size limit.

    Raises:
        DocumentError: With the code TOO_LARGE.
        OSError: If the file cannot be opened.
    """
    with path.open("rb") as file:
        data = file.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise failures.too_large(path, os.fstat(file.fileno()).st_size, max_bytes)
    return data


def parse_document(path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
    """Parse the bytes of a file with the loader for their format.

    Args:
        path: The path of the file, for its name and suffix. The file is not opened.
        data: The bytes of the file.
        max_bytes: The size limit of the file. An unpacked archive may be several times as large.

    Raises:
        DocumentError: As in `load_document`.
    """
    if not data.strip():
        raise failures.empty(path)
    if _PDF_MAGIC in data[:_PDF_MAGIC_WINDOW]:
        return load_pdf(path, data)
    if data.startswith(_ZIP_MAGIC):
        return _load_archive(path, data, max_bytes)
    _reject_unsupported(path, data)
    if _HTML_START.match(data[:4096]):
        return load_html(path, data)
    suffix = path.suffix.lower()
    if suffix in _BINARY_SUFFIXES:
        raise failures.unreadable(
            path, f"is not a {_BINARY_SUFFIXES[suffix]}", "Export or copy the file again, or correct its suffix."
        )
    return _TEXT_LOADERS.get(suffix, load_text)(path, data)


def _load_archive(path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = set(archive.namelist())
    except ARCHIVE_ERRORS as error:
        raise failures.unreadable(path, f"is a damaged archive ({error})") from error
    if any(member.startswith("word/") for member in members):
        return load_word(path, data, max_bytes)
    raise failures.unsupported(path, "an archive, but not a Word document", _CONVERT_ADVICE)


def _reject_unsupported(path: Path, data: bytes) -> None:
    if data.startswith(_OLE_MAGIC):
        if _OLE_ENCRYPTED in data:
            raise failures.encrypted(path)
        raise failures.unsupported(path, "a legacy Office file", _CONVERT_ADVICE)
    if data.startswith(_RTF_MAGIC):
        raise failures.unsupported(path, "a Rich Text file", _CONVERT_ADVICE)
