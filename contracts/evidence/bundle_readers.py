"""Retrieval bundles that come as a stream of JSON: one a line, or one after another over any number of lines (R1-1).

The reader is fed bytes and gives bundles; it holds one of them at most. What cannot be read stands in the stream at its
place, so that whatever was sent has a response, and what follows is read.

Retrieval bundles as a table: one candidate a row, the rows of a request one after another (contract R1-1, R1-10).

A column that bears the name of a bundle's field says the same on every row of a request. The types are the table's and
not ours: null is the absence of a value, and a whole number in a column of floats is that integer, because data frames
have no integers beside nulls. Nothing else is mended; the bundle is then checked like any other.
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
"""How a line ends after which JSON cannot end."""
TOKEN: Final = re.compile(rb'"(?:\\.|[^"\\])*+(?P<closed>"?)|[{}\[\]]')
"""A string, to the end of the line where it is not closed, or a bracket."""
BLANKS: Final = re.compile(r"\s*")
DECODER: Final = json.JSONDecoder()


class StreamedBundle(NamedTuple):
    """One value of the stream."""

    line: int
    """The line on which it begins, from 1."""
    bundle: dict[str, Any] | str
    """The bundle, or what stands in its place (`intake.unreadable`)."""
    fault: str = ""
    """Why it is none; empty where it is one."""


class _Line(NamedTuple):
    number: int
    text: bytes


class BundleReader:
    """Takes a stream apart into bundles.

    A bundle ends with the line on which its brackets are closed. A line that begins with `{` begins a bundle, so that a
    broken one costs no other; but after a line that ends with `[`, `,` or `:`, as none does that a bundle ends with, it
    goes on with the one before, if that comes out whole. Empty lines are passed over.

    Args:
        max_bytes: The longest bundle; a longer one is not held, and is a fault.
    """

    def __init__(self, max_bytes: int = MAX_BUNDLE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._line: bytearray | None = bytearray()  # the line that has not ended yet; None where it is too long
        self._number = 0
        self._held: list[_Line] = []  # those of the bundle that has not ended yet
        self._size = 0  # of their texts
        self._depth = 0  # brackets that are open at the end of the last line
        self._cut = False  # whether a string is, which no JSON has: it counts as one, to find the end all the same
        self._goes_on = False  # whether JSON cannot end as that line does
        self._skipping = False  # whether what is open was refused

    def feed(self, data: bytes) -> Iterator[StreamedBundle]:
        """The bundles that end within the next bytes."""
        *ended, rest = data.split(b"\n")
        for part in ended:
            self._extend(part)
            yield from self._end_line()
        self._extend(rest)

    def close(self) -> Iterator[StreamedBundle]:
        """What is left at the end of the stream."""
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
            self._held.append(_Line(self._number, text))
            self._size += len(text)
        if self._depth <= 0:
            yield from self._finish()

    def _follow(self, text: bytes) -> None:
        """Counts the brackets of a line; those within its strings are none."""
        for token in TOKEN.finditer(b'"' + text if self._cut else text):
            self._cut = token["closed"] == b""
            self._depth += (token[0] in (b"{", b"[")) - (token[0] in (b"}", b"]"))
        self._goes_on = text.rstrip().endswith(OPEN)

    def _refuse(self) -> Iterator[StreamedBundle]:
        """What is too long is not held, and neither is what belongs to it."""
        if not self._skipping or self._depth <= 0:
            line = self._held[0].number if self._held else self._number
            yield _broken(line, f"it is longer than {self._max_bytes} bytes")
        self._held, self._size, self._skipping = [], 0, True

    def _finish(self) -> Iterator[StreamedBundle]:
        """The values of the lines held, and of the next one on nothing is open."""
        held, self._held, self._size = self._held, [], 0
        self._depth, self._cut, self._goes_on, self._skipping = 0, False, False, False
        values, fault = _decode(held)
        if not fault:
            yield from (_bundle(held[0].number, value) for value in values)
            return
        starts = [place for place in range(1, len(held)) if _is_separate_value(held, place)]
        for start, end in pairwise([0, *starts, len(held)]):
            yield from _read(held[start:end])


def _begins(text: bytes) -> bool:
    return text.lstrip().startswith(b"{")


def _is_separate_value(held: list[_Line], place: int) -> bool:
    """Whether a line of what is broken is a bundle of its own, or the beginning of one, and no row of a list."""
    text, rest = held[place].text, held[place + 1 : place + 2]
    is_row = bool(rest) and rest[0].text.lstrip().startswith((b"]", b"}"))
    return text.startswith(b"{") or (_begins(text) and not is_row and not _decode([held[place]])[1])


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
    """The JSON values that stand one after another, and why what follows them is none; empty where nothing does."""
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
"""Rows of one request; more are a table without its request ids, and are not held."""
NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


def _names(model: type[RetrievalBundle | RetrievalRow]) -> dict[str, bool]:
    """Every name that a field is known by, and whether it holds an integer."""
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
    """Groups the rows of a table into bundles; a bundle's rows are held, and no others.

    Args:
        rows: The rows, those of a request one after another. A row without any value of a candidate is none: it states
            a request that found nothing.
        shared: Values of a bundle that the table has no column for, the same for every request.

    Yields:
        The bundles in order, not checked; what stands in the place of one whose rows contradict each other.
    """
    for request_id, group in groupby(rows, key=lambda row: row.get(GROUPING)):
        held = list(islice(group, MAX_ROWS + 1))
        if len(held) > MAX_ROWS:
            yield unreadable(f"request {request_id!r} has more than {MAX_ROWS} rows")
        else:
            yield _bundle_of(held, shared)


def _bundle_of(rows: list[Mapping[str, object]], shared: Mapping[str, object]) -> dict[str, Any] | str:
    stated: dict[str, Any] = {name: value for name, value in shared.items() if value is not None}
    for name in BUNDLE_COLUMNS.keys() & rows[0].keys():
        values = [value for row in rows if (value := _value(row.get(name), BUNDLE_COLUMNS[name])) is not None]
        if any(value != values[0] for value in values):
            return unreadable(f"the rows of request {rows[0].get(GROUPING)!r} have more than one {name}")
        if values:
            stated[name] = values[0]
    return {**stated, "results": [row for row in map(_row, rows) if row]}


def _row(row: Mapping[str, object]) -> dict[str, Any]:
    found = {name: _value(row[name], whole) for name, whole in ROW_COLUMNS.items() if name in row}
    return {name: value for name, value in found.items() if value is not None}


def _value(value: object, whole: bool) -> Any:
    """A value of a table as JSON has it."""
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
