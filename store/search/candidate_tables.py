"""Tables of external candidates, read in batches: Parquet and Arrow files, data frames (R1-1).

`pyarrow` is an optional dependency, imported when a table is read. A data frame is any object with the Arrow interface
(`__arrow_c_stream__`): a data frame of pandas or polars, a pyarrow table, a result of DuckDB.
"""

import contextlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from sourcebound.contracts.evidence.bundle_readers import (
    BUNDLE_COLUMNS,
    GROUPING,
    NOTHING,
    ROW_COLUMNS,
    bundles_of_rows,
)
from sourcebound.errors import ConfigurationError, RequestError

if TYPE_CHECKING:
    import pyarrow

PARQUET: Final = b"PAR1"
ARROW: Final = b"ARROW1"
BATCH_ROWS: Final = 512


@runtime_checkable
class ArrowTable(Protocol):
    """A table in memory, of any library that supports Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return its batches through the Arrow C stream interface."""
        ...


def is_table(beginning: bytes) -> bool:
    """Tell by its first bytes whether a file is a Parquet or an Arrow file."""
    return beginning.startswith((PARQUET, ARROW))


def bundles_from_table(
    table: ArrowTable | str | Path, shared: Mapping[str, object] = NOTHING
) -> Iterator[dict[str, Any] | str]:
    """Read retrieval bundles from a table with one candidate per row.

    Args:
        table: A data frame, a table, or the path of a Parquet or Arrow file, which is read in batches. The columns have
            the names of the fields of a bundle and of a row, or their accepted aliases (`faiss_id`, `similarity`).
        shared: Bundle values that the table has no column for: `{"index_version": "faiss-7", "top_k": 8}`.

    Yields:
        The bundles in the order of the table, as JSON objects that are not checked yet. Each is passed to a request as
        its `retrieval_bundle`. If the rows of a bundle contradict each other, a text takes its place.

    Raises:
        RequestError: The table cannot be read, or the rows of a request are not adjacent. If they were answered
            separately, each part would lack the candidates of the other.
        ConfigurationError: pyarrow is not installed.
    """
    _check_installed()
    import pyarrow

    with _convert_read_errors(table):
        source = pyarrow.table(table) if isinstance(table, ArrowTable) else Path(table)
        _check_grouping(source)
        yield from bundles_of_rows(_rows(source), shared)


def _rows(source: "pyarrow.Table | Path") -> Iterator[Mapping[str, object]]:
    for batch in _batches(source):
        known = [name for name in batch.schema.names if name in ROW_COLUMNS or name in BUNDLE_COLUMNS]
        yield from batch.select(known).to_pylist(maps_as_pydicts="strict")


def _check_grouping(source: "pyarrow.Table | Path") -> None:
    """Check in one pass over the ids that the rows of each request are adjacent. Each id is held in memory once."""
    known_ids: set[object] = set()
    previous_id: object = None
    for batch in _batches(source, GROUPING):
        if GROUPING not in batch.schema.names:
            raise ValueError(f"it has no column {GROUPING}")
        for request_id in batch.column(GROUPING).to_pylist():
            if request_id != previous_id and request_id in known_ids:
                raise RequestError(
                    f"the rows of request {request_id!r} are not next to each other.",
                    f"Sort the table by {GROUPING} and rank.",
                    code="TABLE_NOT_GROUPED",
                )
            known_ids.add(request_id)
            previous_id = request_id


def _batches(source: "pyarrow.Table | Path", column: str | None = None) -> "Iterator[pyarrow.RecordBatch]":
    """Yield the rows in small batches, reading only one column if requested and if the format allows it."""
    import pyarrow
    import pyarrow.parquet

    if isinstance(source, pyarrow.Table):
        yield from source.to_batches(max_chunksize=BATCH_ROWS)
    elif _begins_with(source, PARQUET):
        with pyarrow.parquet.ParquetFile(source) as file:
            yield from file.iter_batches(batch_size=BATCH_ROWS, columns=[column] if column else None)
    else:
        with pyarrow.memory_map(str(source)) as mapped, pyarrow.ipc.open_file(mapped) as file:
            for number in range(file.num_record_batches):
                yield from pyarrow.Table.from_batches([file.get_batch(number)]).to_batches(max_chunksize=BATCH_ROWS)


def _begins_with(path: Path, mark: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(mark)) == mark


@contextlib.contextmanager
def _convert_read_errors(table: object) -> Iterator[None]:
    source_name = table if isinstance(table, str | Path) else "the table"
    try:
        yield
    except (
        OSError,
        ValueError,
        TypeError,
        NotImplementedError,
    ) as error:  # pyarrow's exceptions are subclasses of these
        raise RequestError(
            f"{source_name} cannot be read: {str(error).splitlines()[0] if str(error) else type(error).__name__}.",
            f"Give a Parquet or Arrow file, or a data frame, with one candidate a row and a column {GROUPING}.",
            code="TABLE_UNREADABLE",
        ) from error


def _check_installed() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            "reading a table needs pyarrow, which is not installed.",
            f"Run `{sys.executable} -m pip install 'pyarrow>=21'`, or give the bundles as JSON lines.",
            code="EXTRA_MISSING",
        ) from error
