"""The collections and labels of a caller, which decide what its statements may see, for row-level security (R6-7).

The API names them once for each request. Each transaction that reads for the caller then names them to the database,
which hides all other rows. They are those of a context, so tasks that a request starts have them too.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from psycopg import AsyncConnection


class _Visible(NamedTuple):
    collections: frozenset[str] | None = None
    labels: frozenset[str] | None = None


EVERYTHING: Final = _Visible()
_VISIBLE: ContextVar[_Visible] = ContextVar("visible", default=EVERYTHING)


def restrict_to(collections: Iterable[str] | None, labels: Iterable[str] | None = None) -> None:
    """Restrict the reads of this context.

    Args:
        collections: The collections of the caller; None for all.
        labels: The labels of the caller: it sees the documents all of whose labels are among them. None for every
            document.
    """
    _VISIBLE.set(_Visible(*(None if names is None else frozenset(names) for names in (collections, labels))))


@contextmanager
def narrowed_to(labels: Iterable[str] | None) -> Iterator[None]:
    """Restrict the reads of a block to the documents that a run sees, also where its caller has gone.

    Args:
        labels: The labels of the run's caller; None to leave everything unchanged.
    """
    visible = _VISIBLE.get()
    if labels is None:
        yield
        return
    held = frozenset(labels) if visible.labels is None else visible.labels.intersection(labels)
    token = _VISIBLE.set(visible._replace(labels=held))
    try:
        yield
    finally:
        _VISIBLE.reset(token)


def visible_labels() -> list[str] | None:
    """Return the labels that restrict the reads of this context, ordered; None if labels do not."""
    labels = _VISIBLE.get().labels
    return None if labels is None else sorted(labels)


def is_restricted() -> bool:
    """Whether the reads of this context are restricted."""
    return _VISIBLE.get() != EVERYTHING


async def announce(connection: AsyncConnection[Any]) -> None:
    """Name the collections and labels to the database until the end of the current transaction."""
    if is_restricted():
        settings = ["" if names is None else json.dumps(sorted(names)) for names in _VISIBLE.get()]
        await connection.execute(
            "SELECT set_config('sourcebound.collections', %s, true), set_config('sourcebound.labels', %s, true)",
            settings,
        )
