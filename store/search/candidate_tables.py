"""Tables of candidates from elsewhere, read in batches: Parquet and Arrow files, data frames (R1-1).

`pyarrow` is an extra and is imported when a table is read. A data frame is whatever shows itself through the Arrow
interface (`__arrow_c_stream__`): those of pandas and polars, a pyarrow table, a result of DuckDB.
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
    """A table in memory, of any library that speaks Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Its batches, by the Arrow C stream interface."""
        ...


def is_table(beginning: bytes) -> bool:
    """Whether a file is a Parquet or an Arrow file, by its first bytes."""
    return beginning.startswith((PARQUET, ARROW))


def bundles_from_table(
    table: ArrowTable | str | Path, shared: Mapping[str, object] = NOTHING
) -> Iterator[dict[str, Any] | str]:
    """Retrieval bundles from a table with one candidate a row.

    Args:
        table: A data frame or a table; or the path of a Parquet or Arrow file, which is read in batches. Its columns
            are named as the fields of a bundle and of a row, accepted names included (`faiss_id`, `similarity`).
        shared: Values of a bundle that the table has no column for: `{"index_version": "faiss-7", "top_k": 8}`.

    Yields:
        The bundles in the order of the table, as JSON objects and not checked yet: each goes into a request as its
        `retrieval_bundle`; so does the text that stands in the place of one whose rows contradict each other.

    Raises:
        RequestError: The table cannot be read, or the rows of a request do not stand together: answered apart, each
            part would lack the candidates of the other.
        ConfigurationError: pyarrow is not installed.
    """
    _check_installed()
    import pyarrow

    with _readable(table):
        source = pyarrow.table(table) if isinstance(table, ArrowTable) else Path(table)
        _check_grouped(source)
        yield from bundles_of_rows(_rows(source), shared)


def _rows(source: "pyarrow.Table | Path") -> Iterator[Mapping[str, object]]:
    for batch in _batches(source):
        known = [name for name in batch.schema.names if name in ROW_COLUMNS or name in BUNDLE_COLUMNS]
        yield from batch.select(known).to_pylist(maps_as_pydicts="strict")


def _check_grouped(source: "pyarrow.Table | Path") -> None:
    """One pass over the ids alone, of which each is held once."""
    seen: set[object] = set()
    last: object = None
    for batch in _batches(source, GROUPING):
        if GROUPING not in batch.schema.names:
            raise ValueError(f"it has no column {GROUPING}")
        for request_id in batch.column(GROUPING).to_pylist():
            if request_id != last and request_id in seen:
                raise RequestError(
                    f"the rows of request {request_id!r} do not stand together.",
                    f"Sort the table by {GROUPING} and rank.",
                    code="TABLE_NOT_GROUPED",
                )
            seen.add(request_id)
            last = request_id


def _batches(source: "pyarrow.Table | Path", column: str | None = None) -> "Iterator[pyarrow.RecordBatch]":
    """The rows in batches of few; of one column alone, as far as the format can leave out the others."""
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
def _readable(table: object) -> Iterator[None]:
    what = table if isinstance(table, str | Path) else "the table"
    try:
        yield
    except (OSError, ValueError, TypeError, NotImplementedError) as error:  # pyarrow's own are kinds of these
        raise RequestError(
            f"{what} cannot be read: {str(error).splitlines()[0] if str(error) else type(error).__name__}.",
            f"Give a Parquet or Arrow file, or a data frame, with one candidate a row and a column {GROUPING}.",
            code="TABLE_UNREADABLE",
        ) from error


def _check_installed() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            "a table needs pyarrow, which is not installed.",
            f"Run `{sys.executable} -m pip install 'pyarrow>=21'`, or give the bundles as JSON lines.",
            code="EXTRA_MISSING",
        ) from error
