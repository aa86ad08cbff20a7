"""R6: packages what may be released."""

from datetime import UTC, datetime
from typing import Any

from sourcebound.contracts.channels import Channels
from sourcebound.contracts.response import package_response
from sourcebound.contracts.state import State


async def package(state: State) -> dict[str, Any]:
    """Writes `response`."""
    known = Channels(state)
    elapsed = datetime.now(UTC) - datetime.fromisoformat(known.run.started_at)
    response = package_response(
        known.run,
        known.outcome,
        known.bundle,
        known.generation,
        known.validation,
        latency_ms=elapsed.total_seconds() * 1000,
        earlier=[attempt.generation for attempt in known.attempts],
    )
    return {"response": response.model_dump(mode="json")}
