"""R5P-5: the three forms of an export. Each says where it ends, adds records, and refuses a schema that is not ours.

Delta casts whatever can be cast without a word, so the schemas are compared first. `deltalake` and `pyarrow` are an
extra and are imported by what uses them alone.
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
"""More than the longest line of an export."""
COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
STACK: Final = re.compile(r"\n\s*\d+: ")


class ExportTarget(Protocol):
    """Where records are exported to."""

    def find_end(self) -> Link | None:
        """The last record that is there, None where there is none.

        Raises:
            RequestError: What is there has another schema, or cannot be read.
        """
        ...

    def append(self, rows: Sequence[ChainedRow]) -> None:
        """Adds records after those that are there."""
        ...

    def finish(self) -> None:
        """Makes what was added visible, where it is not yet."""
        ...

    def close(self) -> None:
        """Leaves nothing half made behind."""
        ...


def open_target(form: str, output: str) -> ExportTarget:
    """The target of a format.

    Args:
        form: One of `FORMATS`.
        output: A path; for Delta also the URI of a store that `deltalake` knows.

    Raises:
        ConfigurationError: The format needs a package that is not installed.
        RequestError: There is no such format.
    """
    if form == "jsonl":
        return JsonLines(Path(output))
    if form not in FORMATS:
        raise RequestError(f"there is no export format {form!r}.", f"Formats: {', '.join(FORMATS)}.")
    _check_installed(form)
    return Delta(output) if form == "delta" else Parquet(Path(output))


class JsonLines:
    """A file of one JSON object a record.

    Args:
        path: The file; it is made when it is not there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def find_end(self) -> Link | None:
        """The last line; a half one is an error, for the next record would be glued to it."""
        with _readable(self._path):
            if not self._path.exists() or self._path.stat().st_size == 0:
                return None
            last = json.loads(_last_line(self._path))
            end = Link(last["position"], last["row_hash"])
        if list(last) != list(_columns()):
            raise _mismatch("jsonl", str(self._path), set(last), set(_columns()))
        return end

    def append(self, rows: Sequence[ChainedRow]) -> None:
        """Adds a line a record."""
        lines = [json.dumps(_values(row), ensure_ascii=False) + "\n" for row in rows]
        with _writable(self._path), self._path.open("a", encoding="utf-8") as file:
            file.write("".join(lines))
            file.flush()
            os.fsync(file.fileno())

    def finish(self) -> None:
        """Every line is there already."""

    def close(self) -> None:
        """There is nothing half made."""


class Parquet:
    """One Parquet file, which is written again beside the old one and put in its place.

    Args:
        path: The file; it is made when it is not there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._new = path.with_name(f".{path.name}.{os.getpid()}.new")
        self._writer: Any = None

    def find_end(self) -> Link | None:
        """The last row of the last row group."""
        import pyarrow.parquet

        if not self._path.exists():
            return None
        with _readable(self._path), pyarrow.parquet.ParquetFile(self._path) as file:
            found = file.schema_arrow.remove_metadata()
            if not found.equals(_schema()):
                raise _mismatch("parquet", str(self._path), _fields(found), _fields(_schema()))
            if file.metadata.num_rows == 0:
                return None
            last = file.read_row_group(file.num_row_groups - 1, columns=["position", "row_hash"]).to_pylist()[-1]
            return Link(**last)

    def append(self, rows: Sequence[ChainedRow]) -> None:
        """Adds a row group to the new file, which begins with the old one's."""
        with _writable(self._path):
            if self._writer is None:
                self._begin()
            self._writer.write_table(_table(rows))

    def finish(self) -> None:
        """Puts the new file in the old one's place; without anything new the old one stays."""
        if self._writer is not None:
            with _writable(self._path):
                self._writer.close()
                self._new.replace(self._path)

    def close(self) -> None:
        """Removes a new file that was not finished."""
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
    """A Delta table that accepts appends alone (`delta.appendOnly`), one commit a batch.

    Args:
        uri: Its folder, or its URI; it is made when it is not there.
    """

    def __init__(self, uri: str) -> None:
        self._uri = uri

    def find_end(self) -> Link | None:
        """The row of the greatest position."""
        import pyarrow.compute

        table = self._open()
        if table is None:
            return None
        with _delta_faults(self._uri):
            rows = table.to_pyarrow_dataset()
            greatest = pyarrow.compute.max(rows.to_table(columns=["position"])["position"]).as_py()
            if greatest is None:
                return None
            found = rows.to_table(columns=["row_hash"], filter=pyarrow.compute.field("position") == greatest)
            return Link(greatest, found.to_pylist()[0]["row_hash"])

    def append(self, rows: Sequence[ChainedRow]) -> None:
        """Compares the schemas, then adds the records in one commit."""
        import deltalake

        self._open()
        with _delta_faults(self._uri):
            options = {"delta.appendOnly": "true"}
            deltalake.write_deltalake(self._uri, _table(rows), mode="append", configuration=options)

    def finish(self) -> None:
        """Every commit is there already."""

    def close(self) -> None:
        """There is nothing half made."""

    def _open(self) -> Any:
        """The table if it is there, and only if its schema is exactly ours."""
        import deltalake

        if Path(self._uri).is_file():
            self._check_vacant()
        with _delta_faults(self._uri):
            if not deltalake.DeltaTable.is_deltatable(self._uri):
                self._check_vacant()
                return None
            found = (table := deltalake.DeltaTable(self._uri)).schema()
            ours = deltalake.Schema.from_arrow(_schema())
        theirs, expected = ([field.to_json() for field in schema.fields] for schema in (found, ours))
        if theirs != expected:  # as lists: deltalake's own comparison of schemas forgives another order
            raise _mismatch("delta", self._uri, set(theirs), set(expected))
        return table

    def _check_vacant(self) -> None:
        path = Path(self._uri)
        if path.is_file() or (path.is_dir() and any(path.iterdir())):
            raise RequestError(
                f"{self._uri} is no Delta table, and there is something there.",
                "Give the folder of a table, or one that is empty or does not exist.",
                code="EXPORT_UNREADABLE",
            )


def _columns() -> dict[str, Any]:
    """Every column of an export with its annotation: the place in the chain, the record, its metrics."""
    record = {name: field.annotation for name, field in AuditRecord.model_fields.items()}
    metrics = cast("type[Contract]", record.pop("grounding_metrics")).model_fields
    place = {"position": int, "previous_hash": str, "row_hash": str}
    return {**place, **record, **{name: field.annotation for name, field in metrics.items()}}


def _values(row: ChainedRow) -> dict[str, Any]:
    known = {
        "position": row.position,
        "previous_hash": row.previous_hash,
        "row_hash": row.row_hash,
        **row.columns,
    }
    return {name: known[name] for name in _columns()}


def _schema() -> "pyarrow.Schema":
    """Positions as 64-bit, counts as 32-bit integers, milliseconds and shares as doubles, the time as a timestamp."""
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
                f"the record at position {value['position']} has a timestamp that is none.",
                "Run `sourcebound audit verify`: somebody changed it.",
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
        raise ValueError("its last line is only half written; remove that line")
    return tail.rstrip(b"\n").rpartition(b"\n")[2].decode()


def _check_installed(form: str) -> None:
    try:
        import deltalake  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            f"the export format {form} needs deltalake and pyarrow, and one of them is not installed.",
            f"Run `{sys.executable} -m pip install 'deltalake>=1.6,<2' 'pyarrow>=21'`, or choose --format jsonl.",
            code="EXTRA_MISSING",
        ) from error


def _mismatch(form: str, output: str, found: set[str], ours: set[str]) -> RequestError:
    different = sorted(found ^ ours) or ["the order of the columns"]
    return RequestError(
        f"{output} has another schema than the audit record; nothing was written. Different: {', '.join(different)}.",
        "Export to another path, or with the version of sourcebound that made it.",
        code=f"{form.upper()}_SCHEMA_MISMATCH",
    )


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RequestError(
            f"{path} cannot be continued: {str(error).splitlines()[0] if str(error) else type(error).__name__}.",
            "Give a file that an earlier export made, or a path where there is none.",
            code="EXPORT_UNREADABLE",
        ) from error


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror or error}.",
            "Check the folder, its rights and its space, and export again: it goes on where it stopped.",
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
            "Check the path and its rights, and export again: it goes on where it stopped.",
            code="EXPORT_FAILED",
        ) from error


def _in_one_line(error: Exception) -> str:
    """The message of a chain of causes, without its colours and its stack."""
    causes = STACK.split(COLOUR.sub("", str(error)))[0]
    return " ".join(causes.split()).rstrip(".")
