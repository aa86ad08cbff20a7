"""The loader of CSV and TSV files: each row is a block, `Header: value; Header: value`."""

import csv
import io
from pathlib import Path

from sourcebound.contracts.corpus.document import BlockKind, ParsedDocument
from sourcebound.ingest.chunking.page_text import PageComposer
from sourcebound.ingest.loaders.metadata import build_metadata
from sourcebound.ingest.loaders.table_rows import linearise
from sourcebound.ingest.loaders.text import decode
from sourcebound.ingest.sandbox import failures

MEDIA_TYPES = {",": "text/csv", "\t": "text/tab-separated-values"}

_DELIMITERS = ",\t;|"
_MAX_SAMPLE_LENGTH = 64_000


def load_csv(path: Path, data: bytes) -> ParsedDocument:
    """Read a file of delimiter-separated values.

    Args:
        path: The path of the file. The suffix .tsv means tabs; for other suffixes, the delimiter is detected.
        data: The bytes of the file.

    Returns:
        A document of one page without a number, with a TABLE_ROW block for each row.

    Raises:
        DocumentError: With the code EMPTY or UNREADABLE.
    """
    text = decode(path, data)
    delimiter = "\t" if path.suffix.lower() == ".tsv" else _detect_delimiter(text)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise failures.unreadable(path, f"is not a readable table ({error})") from error
    composer = PageComposer()
    for line in linearise(rows):
        composer.add(BlockKind.TABLE_ROW, line)
    page = composer.page()
    if not page.text:
        raise failures.empty(path)
    media_type = MEDIA_TYPES.get(delimiter, "text/csv")
    return ParsedDocument(media_type=media_type, metadata=build_metadata(path, (page,)), pages=(page,))


def _detect_delimiter(text: str) -> str:
    try:
        return csv.Sniffer().sniff(text[:_MAX_SAMPLE_LENGTH], delimiters=_DELIMITERS).delimiter
    except csv.Error:
        first = text.split("\n", 1)[0]
        return max(_DELIMITERS, key=first.count)
