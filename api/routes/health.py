"""Whether the server runs, and whether it can answer."""

from fastapi import APIRouter
from pydantic import BaseModel

from sourcebound.api.server import ServerOf
from sourcebound.store.connection.database import fetch_one

router = APIRouter(tags=["health"])


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
