"""The entry points that `langgraph.json` names: the graph for LangGraph Studio, and the checkpointer for its server.

One engine serves the whole process. The server opens the checkpointer before it requests the graph, and closes it
last; the engine exists in between. Importing this module opens nothing.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from sourcebound.graph.checkpoint import RunSaver, make_saver
from sourcebound.graph.engine import Engine
from sourcebound.graph.studio.server import StudioGraph, studio_graph
from sourcebound.settings import get_settings
from sourcebound.wiring import open_services

GRAPHS: Final[list[StudioGraph]] = []
"""The graph of this process while its services are open."""


@asynccontextmanager
async def checkpointer() -> AsyncIterator[RunSaver]:
    """Open the configured services while the server runs."""
    async with open_services(get_settings()) as services:
        GRAPHS.append(studio_graph(Engine(services).ports))
        try:
            yield make_saver(services.pool)
        finally:
            GRAPHS.clear()


def graph() -> StudioGraph:
    """Return the pipeline over these services; the server adds the checkpointer."""
    return GRAPHS[0]
