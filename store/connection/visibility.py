"""The collections that the statements of a caller may see, for row-level security (R6-7).

The API names them once for each request. Each transaction that reads for the caller then names them to the database,
which hides the rows of all others. They are those of a context, so tasks that a request starts have them too.
"""

import json
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

from psycopg import AsyncConnection

_VISIBLE: ContextVar[str | None] = ContextVar("visible", default=None)
"""The collections as a JSON list; None for all."""


def restrict_to(collections: Iterable[str] | None) -> None:
    """Restrict the reads of this context to collections; None lifts the restriction."""
    _VISIBLE.set(None if collections is None else json.dumps(sorted(collections)))


def is_restricted() -> bool:
    """Whether the reads of this context are restricted."""
    return _VISIBLE.get() is not None


async def announce(connection: AsyncConnection[Any]) -> None:
    """Name the collections to the database until the end of the current transaction."""
    visible = _VISIBLE.get()
    if visible is not None:
        await connection.execute("SELECT set_config('sourcebound.collections', %s, true)", (visible,))
