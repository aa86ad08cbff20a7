"""R5P-5: the three formats of an export. Each finds its end, appends records, and refuses a different schema.

Delta casts values silently, so the schemas are compared first. `deltalake` and `pyarrow` are an optional extra; only
the code that needs them imports them.
"""

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, cast, get_args

from sourcebound.contracts.audit.hash_chain import ChainedRow, Link
from sourcebound.contracts.audit.record import AuditRecord
from sourcebound.contracts.base import Contract
from sourcebound.errors import ConfigurationError, RequestError, StoreError

if TYPE_CHECKING:
    import pyarrow

FORMATS: Final = ("jsonl", "parquet", "delta")
TAIL_BYTES: Final = 65536
"""Longer than any line of an export."""
COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
STACK: Final = re.compile(r"\n\s*\d+: ")


class ExportTarget(Protocol):
    """The target of an export."""

    def find_end(self) -> Link | None:
        """Return the last record of the target, or None.

        Raises:
            RequestError: The target has another schema, or cannot be read.
        """
        ...

    def append(self, rows: Sequence[ChainedRow]) -> None:
        """Append records."""
        ...

    def finish(self) -> None:
        """Make the appended records visible."""
        ...

    def close(self) -> None:
        """Remove unfinished files."""
        ...


def open_target(name: str, output: str) -> ExportTarget:
    """Open the target of a format.

    Args:
        name: One of `FORMATS`.
        output: A path; for Delta also the URI of a store that `deltalake` supports.

    Raises:
        ConfigurationError: The format needs a package that is not installed.
        RequestError: The format is unknown.
    """
    if name == "jsonl":
        return JsonLines(Path(output))
    if name not in FORMATS:
        raise RequestError(f"there is no export format {name!r}.", f"Formats: {', '.join(FORMATS)}.")
    _check_installed(name)
    return Delta(output) if name == "delta" else Parquet(Path(output))


class JsonLines:
    """A file with one JSON object for each record.

    Args:
        path: The file; it is created if it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def find_end(self) -> Link | None:
        """Return the end from the last line. An incomplete line is an error: the next record would continue it."""
        with _readable(self._path):
            if not self._path.exists() or self._path.stat().st_size == 0:
                return None
            last = json.loads(_last_line(self._path))
            end = Link(last["position"], last["row_hash"])
        if list(last) != list(_columns()):
            raise _schema_mismatch_error("jsonl", str(self._path), set(last), set(_columns()))
        return end

    def append(self, rows: Sequence[ChainedRow]) -> None:
        """Append one line for each record."""
        lines = [json.dumps(_values(row), ensure_ascii=False) + "\n" for row in rows]
        with _writable(self._path), self._path.open("a", encoding="utf-8") as file:
            file.write("".join(lines))
            file.flush()
            os.fsync(file.fileno())

    def finish(self) -> None:
        """Do nothing; every line is visible already."""

    def close(self) -> None:
        """Do nothing; there is no unfinished file."""


class Parquet:
    """A Parquet file, which is rewritten under another name and then renamed.

    Args:
        path: The file; it is created if it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._new = path.with_name(f".{path.name}.{os.getpid()}.new")
        self._writer: Any = None

    def find_end(self) -> Link | None:
        """Return the end from the last row of the last row group."""
        import pyarrow.parquet

        if not self._path.exists():
            return None
        with _readable(self._path), pyarrow.parquet.ParquetFile(self._path) as file:
            schema = file.schema_arrow.remove_metadata()
            if not schema.equals(_schema()):
                raise _schema_mismatch_error("parquet", str(self._path), _fields(schema), _fields(_schema()))
            if file.metadata.num_rows == 0:
                return None
            last = file.read_row_group(file.num_row_groups - 1, columns=["position", "row_hash"]).to_pylist()[-1]
            return Link(**last)

    def append(self, rows: Sequence[ChainedRow]) -> None:
        """Add a row group to the new file, which starts with the row groups of the old one."""
        with _writable(self._path):
            if self._writer is None:
                self._begin()
            self._writer.write_table(_table(rows))

    def finish(self) -> None:
        """Replace the old file with the new one; without new records the old one stays."""
        if self._writer is not None:
            with _writable(self._path):
                self._writer.close()
                self._new.replace(self._path)

    def close(self) -> None:
        """Remove a new file that was not finished."""
        with contextlib.suppress(OSError):
            if self._writer is not None:
                self._writer.close()
            self._new.unlink(missing_ok=True)

    def _begin(self) -> None:
        import pyarrow.parquet

        self._writer = pyarrow.parquet.ParquetWriter(self._new, _schema())
        if self._path.exists():
            with pyarrow.parquet.ParquetFile(self._path) as file:
                for number in range(file.num_row_groups):
                    self._writer.write_table(file.read_row_group(number))


class Delta:
    """A Delta table that accepts only appends (`delta.appendOnly`), with one commit for each batch.

    Args:
        uri: The folder or the URI; the table is created if it does not exist.
    """

    def __init__(self, uri: str) -> None:
        self._uri = uri

    def find_end(self) -> Link | None:
        """Return the row with the greatest position."""
        import pyarrow.compute

        table = self._open()
        if table is None:
            return None
        with _delta_faults(self._uri):
            rows = table.to_pyarrow_dataset()
            greatest = pyarrow.compute.max(rows.to_table(columns=["position"])["position"]).as_py()
            if greatest is None:
                return None
            hashes = rows.to_table(columns=["row_hash"], filter=pyarrow.compute.field("position") == greatest)
            return Link(greatest, hashes.to_pylist()[0]["row_hash"])

    def append(self, rows: Sequence[ChainedRow]) -> None:
        """Compare the schemas, then append the records in one commit."""
        import deltalake

        self._open()
        with _delta_faults(self._uri):
            options = {"delta.appendOnly": "true"}
            deltalake.write_deltalake(self._uri, _table(rows), mode="append", configuration=options)

    def finish(self) -> None:
        """Do nothing; every commit is visible already."""

    def close(self) -> None:
        """Do nothing; there is no unfinished file."""

    def _open(self) -> Any:
        """Open the table if it exists and its schema is exactly ours."""
        import deltalake

        if Path(self._uri).is_file():
            self._require_vacant()
        with _delta_faults(self._uri):
            if not deltalake.DeltaTable.is_deltatable(self._uri):
                self._require_vacant()
                return None
            stored = (table := deltalake.DeltaTable(self._uri)).schema()
            ours = deltalake.Schema.from_arrow(_schema())
        theirs, expected = ([field.to_json() for field in schema.fields] for schema in (stored, ours))
        if theirs != expected:  # as lists, because deltalake's own comparison ignores the order
            raise _schema_mismatch_error("delta", self._uri, set(theirs), set(expected))
        return table

    def _require_vacant(self) -> None:
        path = Path(self._uri)
        if path.is_file() or (path.is_dir() and any(path.iterdir())):
            raise RequestError(
                f"{self._uri} exists and is not a Delta table.",
                "Give the folder of a Delta table, an empty folder, or a path that does not exist.",
                code="EXPORT_UNREADABLE",
            )


def _columns() -> dict[str, Any]:
    """Return every column of an export with its annotation: chain position, record, metrics."""
    record = {name: field.annotation for name, field in AuditRecord.model_fields.items()}
    metrics = cast("type[Contract]", record.pop("grounding_metrics")).model_fields
    place = {"position": int, "previous_hash": str, "row_hash": str}
    return {**place, **record, **{name: field.annotation for name, field in metrics.items()}}


def _values(row: ChainedRow) -> dict[str, Any]:
    values = {
        "position": row.position,
        "previous_hash": row.previous_hash,
        "row_hash": row.row_hash,
        **row.columns,
    }
    return {name: values.get(name) for name in _columns()}


def _schema() -> "pyarrow.Schema":
    """Return the Arrow schema: 64-bit positions, 32-bit counts, doubles for milliseconds and shares, a timestamp."""
    import pyarrow

    scalars = {bool: pyarrow.bool_(), int: pyarrow.int32(), float: pyarrow.float64()}
    special = {"position": pyarrow.int64(), "timestamp_utc": pyarrow.timestamp("us", tz="UTC")}
    texts = pyarrow.list_(pyarrow.field("element", pyarrow.string()))
    fields = []
    for name, annotation in _columns().items():
        kinds = set(get_args(annotation)) or {annotation}
        scalar = next((scalars[kind] for kind in scalars if kind in kinds), pyarrow.string())
        kind = texts if annotation == tuple[str, ...] else special.get(name, scalar)
        fields.append(pyarrow.field(name, kind, nullable=type(None) in kinds))
    return pyarrow.schema(fields)


def _table(rows: Sequence[ChainedRow]) -> "pyarrow.Table":
    import pyarrow

    values = [_values(row) for row in rows]
    for value in values:
        try:
            value["timestamp_utc"] = datetime.fromisoformat(value["timestamp_utc"])
        except (TypeError, ValueError) as error:
            raise StoreError(
                f"the record at position {value['position']} has an invalid timestamp.",
                "Run `sourcebound audit verify`: the record was changed.",
                code="AUDIT_BROKEN",
            ) from error
    return pyarrow.Table.from_pylist(values, schema=_schema())


def _fields(schema: "pyarrow.Schema") -> set[str]:
    return {str(field) for field in schema}


def _last_line(path: Path) -> str:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL_BYTES))
        tail = file.read()
    if not tail.endswith(b"\n"):
        raise ValueError("its last line is incomplete; remove that line")
    return tail.rstrip(b"\n").rpartition(b"\n")[2].decode()


def _check_installed(name: str) -> None:
    try:
        import deltalake  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            f"the export format {name} needs deltalake and pyarrow, which are not both installed.",
            f"Run `{sys.executable} -m pip install 'deltalake>=1.6,<2' 'pyarrow>=21'`, or choose --format jsonl.",
            code="EXTRA_MISSING",
        ) from error


def _schema_mismatch_error(name: str, output: str, stored: set[str], ours: set[str]) -> RequestError:
    different = sorted(stored ^ ours) or ["the order of the columns"]
    return RequestError(
        f"{output} has a different schema than the audit record; nothing was written. "
        f"Different: {', '.join(different)}.",
        "Export to another path, or use the version of sourcebound that created it.",
        code=f"{name.upper()}_SCHEMA_MISMATCH",
    )


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RequestError(
            f"{path} cannot be continued: {str(error).splitlines()[0] if str(error) else type(error).__name__}.",
            "Give a file from an earlier export, or a path that does not exist.",
            code="EXPORT_UNREADABLE",
        ) from error


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror or error}.",
            "Check the folder, its permissions and its free space, and export again: it continues where it stopped.",
            code="EXPORT_FAILED",
        ) from error


@contextlib.contextmanager
def _delta_faults(uri: str) -> Iterator[None]:
    from deltalake.exceptions import DeltaError

    try:
        yield
    except (DeltaError, OSError) as error:
        raise StoreError(
            f"the Delta table {uri} cannot be used: {_in_one_line(error)}.",
            "Check the path and its permissions, and export again: it continues where it stopped.",
            code="EXPORT_FAILED",
        ) from error


def _in_one_line(error: Exception) -> str:
    """Return the message of a chain of causes, without colours and stack."""
    causes = STACK.split(COLOUR.sub("", str(error)))[0]
    return " ".join(causes.split()).rstrip(".")
