"""What `langgraph.json` names: the same graph for LangGraph Studio.

Studio brings its own checkpointer, so the graph leaves here without one. It defines no class and opens nothing when
it is imported.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langgraph.graph.state import CompiledStateGraph

from sourcebound.contracts.state import AskInput, RunContext, State
from sourcebound.graph.engine import Engine


@asynccontextmanager
async def graph() -> "AsyncIterator[CompiledStateGraph[State, RunContext, AskInput, State]]":
    """The pipeline over the services that the settings name, open for as long as it is used."""
    async with Engine.open() as engine:
        yield engine.graph
