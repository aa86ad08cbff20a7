"""R6: packages what may be released; the same record gives the same response, to the byte."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from sourcebound.contracts.conversation.turns import Resolution
from sourcebound.contracts.policy.lock import draft_notices
from sourcebound.contracts.response.chat_messages import answer_message, is_chat
from sourcebound.contracts.response.public import package_response
from sourcebound.contracts.state import State
from sourcebound.contracts.typed_state import TypedState

UTC_NOW: Final = partial(datetime.now, UTC)


async def package(state: State, *, now: Callable[[], datetime] = UTC_NOW) -> dict[str, Any]:
    """Writes `response`, and the answer to a message as a message."""
    known = TypedState(state)
    audit = state.get("audit")
    ended = datetime.fromisoformat(audit["timestamp_utc"]) if audit else now()
    elapsed = ended - datetime.fromisoformat(known.run.started_at)
    resolution = known.resolution or Resolution()
    chosen = known.facts.generation if known.facts else None
    calls = [resolution.generation, chosen, *(attempt.generation for attempt in known.attempts)]
    response = package_response(
        known.run,
        known.outcome,
        known.bundle,
        known.generation,
        known.validation,
        latency_ms=elapsed.total_seconds() * 1000,
        earlier=[call for call in calls if call],
        notices=(*resolution.notices, *draft_notices(known.run)),
    )
    reply = {"messages": [answer_message(response)]} if is_chat(state) else {}
    return {"response": response.to_json(), **reply}
