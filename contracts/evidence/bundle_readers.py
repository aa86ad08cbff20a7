"""Readers of external retrieval bundles: a JSON stream, or the rows of a table (R1-1, R1-10).

A stream holds one bundle in each line, or bundles over any number of lines. The reader takes bytes, yields bundles, and
holds at most one of them. An unreadable bundle is yielded in its place, so that everything sent gets a response, and
reading continues.

A table holds one candidate in each row, and the rows of a request are consecutive. A column with the name of a bundle
field has the same value in every row of a request. The types are those of the table: null means no value, and a whole
number in a column of floats is an integer, because data frames have no integers with nulls. Nothing else is repaired;
the bundle is then checked like any other.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from itertools import groupby, islice, pairwise
from types import MappingProxyType
from typing import Any, Final, NamedTuple, get_args

from pydantic import AliasChoices

from sourcebound.contracts.evidence.intake import unreadable
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle, RetrievalRow

MAX_BUNDLE_BYTES: Final = 16 * 2**20
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
KINDS: Final = {list: "a list", str: "a text", bool: "a truth value", int: "a number", float: "a number"}
OPEN: Final = (b"[", b",", b":")
"""The end of a line after which JSON must continue."""
TOKEN: Final = re.compile(rb'"(?:\\.|[^"\\])*+(?P<closed>"?)|[{}\[\]]')
"""A string, up to the end of the line if it is not closed, or a bracket."""
BLANKS: Final = re.compile(r"\s*")
DECODER: Final = json.JSONDecoder()


class StreamedBundle(NamedTuple):
    """A value of the stream."""

    line: int
    """The number of its first line, from 1."""
    bundle: dict[str, Any] | str
    """The bundle, or its replacement (`intake.unreadable`)."""
    fault: str = ""
    """The reason why it is not a bundle; empty if it is one."""


class _Line(NamedTuple):
    number: int
    text: bytes


class BundleReader:
    """Splits a stream into bundles.

    A bundle ends with the line that closes its brackets. A line that begins with `{` begins a bundle, so that a broken
    bundle does not affect the next one. After a line that ends with `[`, `,` or `:`, with which no bundle ends, it
    continues the previous bundle if the result is complete. Empty lines are skipped.

    Args:
        max_bytes: The size limit of a bundle; a larger one is not stored and is reported as a fault.
    """

    def __init__(self, max_bytes: int = MAX_BUNDLE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._line: bytearray | None = bytearray()  # the line that has not ended yet; None if it is too long
        self._number = 0
        self._lines: list[_Line] = []  # the lines of the bundle that has not ended yet
        self._size = 0  # their bytes
        self._depth = 0  # open brackets at the end of the last line
        self._cut = False  # whether a string is open, which is invalid; it counts as a bracket, to find the end anyway
        self._goes_on = False  # whether JSON must continue after that line
        self._skipping = False  # whether the open bundle was refused

    def feed(self, data: bytes) -> Iterator[StreamedBundle]:
        """Yield the bundles that end within the next bytes."""
        *ended, rest = data.split(b"\n")
        for part in ended:
            self._extend(part)
            yield from self._end_line()
        self._extend(rest)

    def close(self) -> Iterator[StreamedBundle]:
        """Yield the rest at the end of the stream."""
        yield from self._end_line()
        yield from self._finish()

    def _extend(self, part: bytes) -> None:
        if self._line is not None and len(self._line) + len(part) <= self._max_bytes:
            self._line += part
        else:
            self._line = None

    def _end_line(self) -> Iterator[StreamedBundle]:
        line, self._line = self._line, bytearray()
        self._number += 1
        if line is None:
            self._goes_on = False
            yield from self._refuse()
            return
        text = bytes(line).removeprefix(BYTE_ORDER_MARK if self._number == 1 else b"")
        if _begins(text) and not self._goes_on:
            yield from self._finish()
        if not text.strip():
            return
        self._follow(text)
        if self._size + len(text) > self._max_bytes:
            yield from self._refuse()
        elif not self._skipping:
            self._lines.append(_Line(self._number, text))
            self._size += len(text)
        if self._depth <= 0:
            yield from self._finish()

    def _follow(self, text: bytes) -> None:
        """Count the brackets of a line outside its strings."""
        for token in TOKEN.finditer(b'"' + text if self._cut else text):
            self._cut = token["closed"] == b""
            self._depth += (token[0] in (b"{", b"[")) - (token[0] in (b"}", b"]"))
        self._goes_on = text.rstrip().endswith(OPEN)

    def _refuse(self) -> Iterator[StreamedBundle]:
        """Drop a bundle that is too long, with its remaining lines."""
        if not self._skipping or self._depth <= 0:
            line = self._lines[0].number if self._lines else self._number
            yield _broken(line, f"it is longer than {self._max_bytes} bytes")
        self._lines, self._size, self._skipping = [], 0, True

    def _finish(self) -> Iterator[StreamedBundle]:
        """Yield the values of the collected lines, and start the next bundle."""
        lines, self._lines, self._size = self._lines, [], 0
        self._depth, self._cut, self._goes_on, self._skipping = 0, False, False, False
        values, fault = _decode(lines)
        if not fault:
            yield from (_bundle(lines[0].number, value) for value in values)
            return
        starts = [place for place in range(1, len(lines)) if _is_separate_value(lines, place)]
        for start, end in pairwise([0, *starts, len(lines)]):
            yield from _read(lines[start:end])


def _begins(text: bytes) -> bool:
    return text.lstrip().startswith(b"{")


def _is_separate_value(lines: list[_Line], place: int) -> bool:
    """Whether a line of a broken bundle is a separate bundle, or starts one, and is not a row of a list."""
    text, rest = lines[place].text, lines[place + 1 : place + 2]
    is_row = bool(rest) and rest[0].text.lstrip().startswith((b"]", b"}"))
    return text.startswith(b"{") or (_begins(text) and not is_row and not _decode([lines[place]])[1])


def _read(lines: list[_Line]) -> Iterator[StreamedBundle]:
    values, fault = _decode(lines)
    yield from (_bundle(lines[0].number, value) for value in values)
    if fault:
        yield _broken(lines[0].number, fault)


def _bundle(line: int, value: object) -> StreamedBundle:
    if isinstance(value, dict):
        return StreamedBundle(line, value)
    return _broken(line, f"it holds no JSON object but {KINDS.get(type(value), 'null')}")


def _decode(lines: list[_Line]) -> tuple[list[object], str]:
    """Decode consecutive JSON values; return them with the reason why the rest is invalid, empty without a rest."""
    values: list[object] = []
    try:
        text = b"\n".join(line.text for line in lines).decode().strip()
        place = 0
        while place < len(text):
            value, end = DECODER.raw_decode(text, place)
            values.append(value)
            place = next(BLANKS.finditer(text, end)).end()
    except json.JSONDecodeError as error:
        return values, f"it is not JSON: {error.msg}, line {error.lineno} column {error.colno} of it"
    except UnicodeDecodeError:
        return values, "it is not UTF-8"
    except (ValueError, RecursionError):
        return values, "it is not JSON that can be read: a number is too long, or it is nested too deeply"
    return values, ""


def _broken(line: int, reason: str) -> StreamedBundle:
    fault = f"line {line} of the stream is no bundle: {reason}"
    return StreamedBundle(line, unreadable(fault), fault)


GROUPING: Final = "request_id"
MAX_ROWS: Final = 10_000
"""The most rows of one request; more rows mean a table without request ids, and are not held."""
NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


def _names(model: type[RetrievalBundle | RetrievalRow]) -> dict[str, bool]:
    """Return every name of a field, and whether the field holds an integer."""
    names: dict[str, bool] = {}
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        choices = [str(choice) for choice in alias.choices] if isinstance(alias, AliasChoices) else [name]
        whole = int in (get_args(field.annotation) or (field.annotation,))
        names |= dict.fromkeys(choices, whole)
    return names


ROW_COLUMNS: Final = _names(RetrievalRow)
BUNDLE_COLUMNS: Final = {name: whole for name, whole in _names(RetrievalBundle).items() if name != "results"}


def bundles_of_rows(
    rows: Iterable[Mapping[str, object]], shared: Mapping[str, object] = NOTHING
) -> Iterator[dict[str, Any] | str]:
    """Group the rows of a table into bundles; only the rows of one bundle are in memory.

    Args:
        rows: The rows; those of a request are consecutive. A row without any candidate value states a request that
            found nothing.
        shared: Bundle values without a column, the same for every request.

    Yields:
        The bundles in order, unchecked; a replacement for a bundle whose rows contradict each other.
    """
    for request_id, group in groupby(rows, key=lambda row: row.get(GROUPING)):
        group_rows = list(islice(group, MAX_ROWS + 1))
        if len(group_rows) > MAX_ROWS:
            yield unreadable(f"request {request_id!r} has more than {MAX_ROWS} rows")
        else:
            yield _bundle_of(group_rows, shared)


def _bundle_of(rows: list[Mapping[str, object]], shared: Mapping[str, object]) -> dict[str, Any] | str:
    values_by_name: dict[str, Any] = {name: value for name, value in shared.items() if value is not None}
    for name in BUNDLE_COLUMNS.keys() & rows[0].keys():
        values = [value for row in rows if (value := _value(row.get(name), BUNDLE_COLUMNS[name])) is not None]
        if any(value != values[0] for value in values):
            return unreadable(f"the rows of request {rows[0].get(GROUPING)!r} have more than one {name}")
        if values:
            values_by_name[name] = values[0]
    return {**values_by_name, "results": [row for row in map(_row, rows) if row]}


def _row(row: Mapping[str, object]) -> dict[str, Any]:
    found = {name: _value(row[name], whole) for name, whole in ROW_COLUMNS.items() if name in row}
    return {name: value for name, value in found.items() if value is not None}


def _value(value: object, whole: bool) -> Any:
    """Convert a value of a table to JSON."""
    if isinstance(value, float) and whole and value.is_integer():
        return int(value)
    if isinstance(value, Decimal):
        return _value(float(value), whole)
    if isinstance(value, datetime):
        return (value.date() if value.time() == datetime.min.time() else value).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): _value(item, False) for name, item in value.items()}
    if isinstance(value, list):
        return [_value(item, False) for item in value]
    return value if value is None or isinstance(value, str | int | float) else {"type": type(value).__name__}
