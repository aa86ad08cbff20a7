"""Calls of an engine from synchronous and asynchronous code: each part supports both, as far as its engine does."""

from typing import TypeAlias, TypeVar

from sourcebound.errors import UsageError
from sourcebound.graph.engine import Engine
from sourcebound.graph.integrations.sync_engine import Call, SyncEngine

T = TypeVar("T")
AnyEngine: TypeAlias = Engine | SyncEngine


def call_engine(engine: AnyEngine, call: Call[T]) -> T:
    """Call an engine from synchronous code.

    Args:
        engine: A synchronous engine.
        call: Receives the engine, and returns what to await.

    Returns:
        The result.

    Raises:
        UsageError: The engine is asynchronous (`ASYNC_ENGINE`) or closed (`ENGINE_CLOSED`).
        SourceboundError: As the call.
    """
    if isinstance(engine, SyncEngine):
        return engine.run(call)
    raise UsageError(
        "this part has an asynchronous engine, and its caller does not await.",
        "Call it with ainvoke or astream, or make it from a SyncEngine.",
        code="ASYNC_ENGINE",
    )


async def acall_engine(engine: AnyEngine, call: Call[T]) -> T:
    """Call an engine from asynchronous code.

    Args:
        engine: Any engine.
        call: Receives the engine, and returns what to await.

    Returns:
        The result.

    Raises:
        UsageError: The engine is closed (`ENGINE_CLOSED`).
        SourceboundError: As the call.
    """
    return await engine.arun(call) if isinstance(engine, SyncEngine) else await call(engine)
