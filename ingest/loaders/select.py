"""Chooses the loader of a file by its content, and then by its name.

Names lie: a download page saved as manual.pdf is HTML, and a password-protected .docx is no zip archive at all.
"""

import io
import os
import re
import zipfile
from pathlib import Path

from sourcebound.contracts.corpus.document import ParsedDocument
from sourcebound.ingest.loaders.csv import load_table
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
    ".csv": load_table,
    ".tsv": load_table,
    ".txt": load_text,
    ".text": load_text,
}
_BINARY_SUFFIXES = {".pdf": "PDF", ".docx": "Word document"}

SUPPORTED_SUFFIXES = frozenset({*_TEXT_LOADERS, *_BINARY_SUFFIXES})
"""The suffixes, in lower case, that are ingested from a folder."""

_PDF_MAGIC = b"%PDF-"
_PDF_MAGIC_WITHIN = 1024
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_RTF_MAGIC = b"{\\rtf"
_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,2000}?-->\s*)*<(?:!doctype\s+html|html)\b", re.I | re.S
)
_CONVERT = "Save it as PDF or DOCX, and ingest that."


def load_document(path: Path, max_bytes: int) -> ParsedDocument:
    """Read one file in this process; use it for trusted files only.

    Args:
        path: An existing file.
        max_bytes: The largest size, in bytes, that is read.

    Returns:
        Its pages and metadata.

    Raises:
        DocumentError: With a code of `DocumentFailure`; the message names the file, `next_step` says what to do.
        OSError: The file cannot be opened at all.
    """
    return parse_document(path, read_bytes(path, max_bytes), max_bytes)


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """Read the bytes of a file, unless it is too large.

    Raises:
        DocumentError: TOO_LARGE.
        OSError: The file cannot be opened at all.
    """
    with path.open("rb") as file:
        data = file.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise failures.too_large(path, os.fstat(file.fileno()).st_size, max_bytes)
    return data


def parse_document(path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
    """Parse a file whose bytes have been read.

    Args:
        path: The file, for its name alone; it is not opened.
        data: Its bytes.
        max_bytes: The size limit; what an archive unpacks to may be some times that.

    Raises:
        DocumentError: As `load_document`.
    """
    if not data.strip():
        raise failures.empty(path)
    if _PDF_MAGIC in data[:_PDF_MAGIC_WITHIN]:
        return load_pdf(path, data)
    if data.startswith(_ZIP_MAGIC):
        return _load_archive(path, data, max_bytes)
    _refuse_foreign(path, data)
    if _HTML_START.match(data[:4096]):
        return load_html(path, data)
    suffix = path.suffix.lower()
    if suffix in _BINARY_SUFFIXES:
        raise failures.unreadable(
            path, f"is not a {_BINARY_SUFFIXES[suffix]}", "Check how the file was made or copied."
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
    raise failures.unsupported(path, "an archive, but not a Word document", _CONVERT)


def _refuse_foreign(path: Path, data: bytes) -> None:
    if data.startswith(_OLE_MAGIC):
        if _OLE_ENCRYPTED in data:
            raise failures.encrypted(path)
        raise failures.unsupported(path, "a legacy Office file", _CONVERT)
    if data.startswith(_RTF_MAGIC):
        raise failures.unsupported(path, "a Rich Text file", _CONVERT)
