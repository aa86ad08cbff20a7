"""What `langgraph.json` names: the same graph for LangGraph Studio, and our checkpointer for its server.

One engine serves the whole process. The server opens the checkpointer before it first asks for the graph, and closes it
last; the engine lives in between. Nothing is opened when this module is imported.
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
"""The graph of this process, while it is open."""


@asynccontextmanager
async def checkpointer() -> AsyncIterator[RunSaver]:
    """Opens the services that the settings name, for as long as the server runs."""
    async with open_services(get_settings()) as services:
        GRAPHS.append(studio_graph(Engine(services).ports))
        try:
            yield make_saver(services.pool)
        finally:
            GRAPHS.clear()


def graph() -> StudioGraph:
    """The pipeline over those services; the server puts the checkpointer into it."""
    return GRAPHS[0]
