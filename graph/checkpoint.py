"""Checkpoints in PostgreSQL: a saver a run over one pool, plain values only (contract CP-1, CP-2).

A saver serialises all its calls behind one lock, so each run gets its own; savers cost nothing. The serializer knows
no class of ours and never unpickles: state is JSON-ready, and a class that strayed into it would be an error here,
not a surprise when an old run is read.
"""

from typing import Any

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer


def make_saver(pool: Any) -> AsyncPostgresSaver:
    """A checkpoint saver for one run.

    Args:
        pool: The pool of `store.database`.

    Returns:
        The saver; its tables were made by `store.migrations`.
    """
    return AsyncPostgresSaver(pool, serde=JsonPlusSerializer(pickle_fallback=False, allowed_msgpack_modules=None))
