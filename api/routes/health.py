"""The health of the server: whether it runs, whether it can answer, and its measurements."""

from fastapi import APIRouter, Depends, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel

from sourcebound.api.callers import CallerOf, requiring
from sourcebound.api.server import ServerOf
from sourcebound.store.connection.database import fetch_one

router = APIRouter(tags=["health"])
measured = APIRouter(tags=["health"], dependencies=[Depends(requiring("read"))])


class Health(BaseModel):
    """The state of the server."""

    status: str


@router.get("/healthz")
async def healthz() -> Health:
    """Tell that the process runs. Asks nothing of the database."""
    return Health(status="ok")


@router.get("/readyz")
async def readyz(server: ServerOf) -> Health:
    """Tell that the database answers; otherwise the answer is a problem with status 503."""
    await fetch_one(server.services.pool, "SELECT 1 AS alive", {})
    return Health(status="ready")


@measured.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(server: ServerOf, caller: CallerOf) -> Response:
    """Return counts and times for Prometheus. They are of all collections, so a key needs all of them."""
    caller.require_collection(None)
    return Response(server.metrics.render(), media_type=CONTENT_TYPE_LATEST)
