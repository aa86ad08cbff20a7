"""Archives of office formats: the check before anything is unpacked, and their XML parts."""

import io
import zipfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

from sourcebound.ingest.sandbox import failures

ARCHIVE_ERRORS: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, UnicodeDecodeError)
"""The exceptions that zipfile raises for a damaged archive, including undecodable member names."""

_MAX_UNPACK_RATIO: Final = 10
_ENCRYPTED_FLAG: Final = 1

Element = Any
"""An lxml element. The type is `Any`, because lxml ships no type annotations."""


def check_archive(path: Path, data: bytes, max_bytes: int) -> None:
    """Reject an encrypted archive or a decompression bomb before anything is unpacked.

    Args:
        path: The path of the file, for messages.
        data: The bytes of the file.
        max_bytes: The size limit of the file. The unpacked archive may be ten times as large.

    Raises:
        DocumentError: With the code ENCRYPTED or TOO_LARGE.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
    if any(member.flag_bits & _ENCRYPTED_FLAG for member in members):
        raise failures.encrypted(path)
    unpacked_size, limit = sum(member.file_size for member in members), max_bytes * _MAX_UNPACK_RATIO
    if unpacked_size > limit:
        raise failures.too_large(path, unpacked_size, limit, "unpacks to")


def read_xml(archive: zipfile.ZipFile, name: str) -> Element:
    """Parse an XML part of an archive, without network and without entities.

    Raises:
        KeyError: There is no such part.
        XMLSyntaxError: The part is not well-formed.
    """
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    return etree.fromstring(archive.read(name), parser)


def iter_unwrapped(parent: Element, tag: str, wrappers: Collection[str]) -> Iterator[Element]:
    """Yield the children of an element with a tag, also those within elements that only wrap others.

    Args:
        parent: The element.
        tag: The tag of the wanted children.
        wrappers: The tags of elements that are looked into.
    """
    for child in parent:
        if child.tag == tag:
            yield child
        elif child.tag in wrappers:
            yield from iter_unwrapped(child, tag, wrappers)
