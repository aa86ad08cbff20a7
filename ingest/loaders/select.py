"""The choice of the loader for a file: by its content first, and then by its suffix.

A suffix can be wrong: a download page saved as manual.pdf is HTML, and a password-protected .docx is not a zip archive.
"""

import io
import os
import re
import zipfile
from pathlib import Path

from sourcebound.contracts.corpus.document import ParsedDocument
from sourcebound.ingest.loaders.archive import ARCHIVE_ERRORS
from sourcebound.ingest.loaders.csv import load_csv
from sourcebound.ingest.loaders.markup.html import load_html
from sourcebound.ingest.loaders.markup.markdown import load_markdown
from sourcebound.ingest.loaders.markup.restructured import load_restructured
from sourcebound.ingest.loaders.office.epub import load_epub
from sourcebound.ingest.loaders.office.mail import load_mail
from sourcebound.ingest.loaders.office.opendocument import load_opendocument
from sourcebound.ingest.loaders.office.outlook import is_outlook_message, load_outlook
from sourcebound.ingest.loaders.office.presentation import load_presentation
from sourcebound.ingest.loaders.office.rich_text import load_rich_text
from sourcebound.ingest.loaders.pdf.load import load_pdf
from sourcebound.ingest.loaders.pdf.ocr import Recognize
from sourcebound.ingest.loaders.sheets.load import load_spreadsheet
from sourcebound.ingest.loaders.text import load_text
from sourcebound.ingest.loaders.word import load_word
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
    ".rst": load_restructured,
    ".eml": load_mail,
}
_BINARY_SUFFIXES = {
    ".pdf": "a PDF",
    ".docx": "a Word document",
    ".pptx": "a presentation",
    ".xlsx": "a spreadsheet",
    ".xls": "a spreadsheet",
    ".ods": "a spreadsheet",
    ".odt": "an OpenDocument text",
    ".epub": "an EPUB",
    ".rtf": "a Rich Text file",
    ".msg": "an Outlook message",
}
_ARCHIVE_LOADERS = (
    ("word/", load_word),
    ("ppt/", load_presentation),
    ("xl/", load_spreadsheet),
)
"""The loaders of Office's archives, by the folder of their parts."""
_MIME_LOADERS = {
    b"application/epub+zip": load_epub,
    b"application/vnd.oasis.opendocument.text": load_opendocument,
    b"application/vnd.oasis.opendocument.spreadsheet": load_spreadsheet,
}
"""The loaders of the archives that name their media type in a member."""

SUPPORTED_SUFFIXES = frozenset({*_TEXT_LOADERS, *_BINARY_SUFFIXES})
"""The suffixes, in lower case, of the files that are ingested from a folder."""

_PDF_MAGIC = b"%PDF-"
_PDF_MAGIC_WINDOW = 1024
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_WORKBOOK = "Workbook\0".encode("utf-16-le")
_MIME_MEMBER = "mimetype"
"""The first member by its rules, but an archive that was packed again may have it anywhere."""
_MAX_MIME_LENGTH = 100
_OLE_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_RTF_MAGIC = b"{\\rtf"
_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,2000}?-->\s*)*<(?:!doctype\s+html|html)\b", re.I | re.S
)
_CONVERT_ADVICE = "Save it as PDF, DOCX, XLSX or PPTX, and ingest that."


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


def parse_document(path: Path, data: bytes, max_bytes: int, recognize: Recognize | None = None) -> ParsedDocument:
    """Parse the bytes of a file with the loader for their format.

    Args:
        path: The path of the file, for its name and suffix. The file is not opened.
        data: The bytes of the file.
        max_bytes: The size limit of the file. An unpacked archive may be several times as large.
        recognize: Reads the pages of a PDF that have no text; None to leave them empty.

    Raises:
        DocumentError: As in `load_document`.
    """
    if not data.strip():
        raise failures.empty(path)
    if _PDF_MAGIC in data[:_PDF_MAGIC_WINDOW]:
        return load_pdf(path, data, recognize)
    if data.startswith(_ZIP_MAGIC):
        return _load_archive(path, data, max_bytes)
    if data.startswith(_OLE_MAGIC):
        return _load_legacy(path, data, max_bytes)
    if data.startswith(_RTF_MAGIC):
        return load_rich_text(path, data)
    if _HTML_START.match(data[:4096]):
        return load_html(path, data)
    suffix = path.suffix.lower()
    if suffix in _BINARY_SUFFIXES:
        raise failures.unreadable(
            path, f"is not {_BINARY_SUFFIXES[suffix]}", "Export or copy the file again, or correct its suffix."
        )
    return _TEXT_LOADERS.get(suffix, load_text)(path, data)


def _load_archive(path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.namelist()
            declared = b""
            if _MIME_MEMBER in members:
                with archive.open(_MIME_MEMBER) as file:
                    declared = file.read(_MAX_MIME_LENGTH)
    except ARCHIVE_ERRORS as error:
        raise failures.unreadable(path, f"is a damaged archive ({error})") from error
    if load_declared := _MIME_LOADERS.get(declared.strip()):
        return load_declared(path, data, max_bytes)
    for folder, load in _ARCHIVE_LOADERS:
        if any(member.startswith(folder) for member in members):
            return load(path, data, max_bytes)
    raise failures.unsupported(path, "an archive, but not an office document", _CONVERT_ADVICE)


def _load_legacy(path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
    if path.suffix.lower() == ".msg" or is_outlook_message(data):  # first: an attachment may be any Office file
        return load_outlook(path, data)
    if _OLE_ENCRYPTED in data:
        raise failures.encrypted(path)
    if _OLE_WORKBOOK in data:
        return load_spreadsheet(path, data, max_bytes)
    raise failures.unsupported(path, "a legacy Office file", _CONVERT_ADVICE)
