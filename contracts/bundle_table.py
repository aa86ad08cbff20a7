"""Retrieval bundles as a table: one candidate a row, the rows of a request one after another (contract R1-1, R1-10).

A column that bears the name of a bundle's field says the same on every row of a request. The types are the table's and
not ours: null is the absence of a value, and a whole number in a column of floats is that integer, because data frames
have no integers beside nulls. Nothing else is mended; the bundle is then checked like any other.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from itertools import groupby, islice
from types import MappingProxyType
from typing import Any, Final, get_args

from pydantic import AliasChoices

from sourcebound.contracts.intake import unreadable
from sourcebound.contracts.retrieval import RetrievalBundle, RetrievalRow

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
            yield _bundle(held, shared)


def _bundle(rows: list[Mapping[str, object]], shared: Mapping[str, object]) -> dict[str, Any] | str:
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
