"""The state that every route works with: the open services, the engine, and the questions in progress."""

import gc
from typing import Annotated, NamedTuple, cast

from fastapi import Depends, Request

from sourcebound.api.asking import Asking
from sourcebound.api.metrics import Metrics
from sourcebound.graph.engine import Engine
from sourcebound.wiring import Services


class Server(NamedTuple):
    """The shared state of the routes."""

    services: Services
    engine: Engine
    asking: Asking
    metrics: Metrics


def server_of(request: Request) -> Server:
    """Return the shared state of the application that received a request."""
    return cast("Server", request.app.state.server)


ServerOf = Annotated[Server, Depends(server_of)]


def keep_start() -> None:
    """Keep every object of the start of a server process out of later garbage collections.

    A full collection looks at each object and holds up every request meanwhile. The modules and the routes, which are
    nearly all of the objects, live as long as the process.
    """
    gc.collect()
    gc.freeze()
