"""The state that every route works with: the open services, the engine, and the questions in progress."""

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
