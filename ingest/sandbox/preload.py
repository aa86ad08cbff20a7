"""The import of everything that a loader needs later, because a confined process can open no file.

Loaders import their libraries late, so that commands that read no document start fast. Python imports each codec when
it is first used.
"""

import encodings
import pkgutil
import time
from contextlib import suppress
from importlib import import_module
from typing import Final

LIBRARIES: Final = (
    *("docx", "lxml.etree", "markdown_it", "pypdfium2", "pypdfium2.raw", "python_calamine", "striprtf.striprtf"),
    *("email.parser", "email.policy", "email.headerregistry", "email._header_value_parser", "email.iterators"),
    *("email.utils", "oxmsg", "olefile"),
    *("docutils.core", "docutils.readers.standalone", "docutils.writers.null", "docutils.writers.html5_polyglot"),
    *("docutils.languages.en", "docutils.parsers.rst.languages.en", "docutils.utils.math.math2html"),
    *(f"docutils.parsers.rst.directives.{name}" for name in "admonitions body html images misc parts".split()),
    *(f"docutils.parsers.rst.directives.{name}" for name in ("references", "tables")),
)
SAMPLE: Final = "Größe: żółć".encode("cp1250")
"""Bytes that no Unicode encoding has, so that the detector reads all its models."""
ARCHIVE_FORMATS: Final = ("bz2", "lzma", "zlib")


def preload() -> None:
    """Import the libraries of all loaders, the codecs, and what the C library reads once."""
    for name in LIBRARIES:
        with suppress(ImportError):  # a library that is missing costs its own formats, not the others
            import_module(name)
    for module in pkgutil.iter_modules(encodings.__path__, "encodings."):
        with suppress(ImportError):  # a codec of another system
            import_module(module.name)
    for name in ARCHIVE_FORMATS:
        with suppress(ImportError):  # Python was built without it
            import_module(name)
    with suppress(ImportError):
        import_module("chardet").detect(SAMPLE)
    if hasattr(time, "tzset"):
        time.tzset()
