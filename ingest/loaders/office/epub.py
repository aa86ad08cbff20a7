"""The loader of electronic books (.epub): their chapters in reading order, each read as a web page."""

import io
import posixpath
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from sourcebound.contracts.corpus.document import Page, ParsedDocument
from sourcebound.errors import DocumentError
from sourcebound.ingest.loaders.archive import ARCHIVE_ERRORS, check_archive, read_xml
from sourcebound.ingest.loaders.markup.html import load_html
from sourcebound.ingest.loaders.metadata import build_metadata
from sourcebound.ingest.sandbox import failures

MEDIA_TYPE: Final = "application/epub+zip"
_CONTAINER: Final = "META-INF/container.xml"
_RIGHTS: Final = "META-INF/encryption.xml"
_FONT_ALGORITHMS: Final = (b"http://www.idpf.org/2008/embedding", b"http://ns.adobe.com/pdf/enc#RC")
"""Obfuscated fonts, which do not hide the text."""
_ANY: Final = "{*}"
_NO_TEXT: Final = ("NO_TEXT", "EMPTY")


def load_epub(path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
    """Read an electronic book.

    Args:
        path: The path of the file. Messages name the file, and its stem is the fallback title.
        data: The bytes of the file.
        max_bytes: The size limit of the file. The unpacked archive may be ten times as large.

    Returns:
        A document with one page, without a number, for each chapter that has text.

    Raises:
        DocumentError: With the code TOO_LARGE, ENCRYPTED, NO_TEXT or UNREADABLE.
    """
    from lxml.etree import XMLSyntaxError

    try:
        check_archive(path, data, max_bytes)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if _RIGHTS in archive.namelist() and not any(a in archive.read(_RIGHTS) for a in _FONT_ALGORITHMS):
                raise failures.encrypted(path)
            package = next(read_xml(archive, _CONTAINER).iter(f"{_ANY}rootfile")).get("full-path")
            book = read_xml(archive, package)
            chapters = [archive.read(name) for name in _chapter_names(book, posixpath.dirname(package))]
            title = next((each.text or "" for each in book.iter(f"{_ANY}title")), "")
    except (*ARCHIVE_ERRORS, XMLSyntaxError, KeyError, ValueError, StopIteration) as error:
        raise failures.unreadable(path, f"is not a readable EPUB ({error})") from error
    pages = tuple(_read_pages(path, chapters))
    if not pages:
        raise failures.no_text(path)
    return ParsedDocument(media_type=MEDIA_TYPE, metadata=build_metadata(path, pages, title=title), pages=pages)


def _chapter_names(book: object, folder: str) -> Iterator[str]:
    items = {item.get("id"): item.get("href") for item in book.iter(f"{_ANY}item")}  # type: ignore[attr-defined]
    for reference in book.iter(f"{_ANY}itemref"):  # type: ignore[attr-defined]
        yield posixpath.normpath(posixpath.join(folder, unquote(items[reference.get("idref")])))


def _read_pages(path: Path, chapters: list[bytes]) -> Iterator[Page]:
    """Yield the pages of the chapters. A chapter with pictures alone has none."""
    index = 0
    for chapter in chapters:
        try:
            pages = load_html(path, chapter).pages
        except DocumentError as error:
            if error.failure_code not in _NO_TEXT:
                raise
            continue
        for page in pages:
            yield page.model_copy(update={"index": index})
            index += 1
