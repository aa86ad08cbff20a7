"""R6: packages the public response; the same record gives the same response, byte for byte."""

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
    """Write `response`, and a message if the question came as one."""
    typed = TypedState(state)
    audit = state.get("audit")
    end = datetime.fromisoformat(audit["timestamp_utc"]) if audit else now()
    elapsed = end - datetime.fromisoformat(typed.run.started_at)
    resolution = typed.resolution or Resolution()
    choice = typed.facts.generation if typed.facts else None
    calls = [resolution.generation, choice, *(attempt.generation for attempt in typed.attempts)]
    response = package_response(
        typed.run,
        typed.outcome,
        typed.bundle,
        typed.generation,
        typed.validation,
        latency_ms=elapsed.total_seconds() * 1000,
        earlier=[call for call in calls if call],
        notices=(*resolution.notices, *draft_notices(typed.run)),
    )
    reply = {"messages": [answer_message(response)]} if is_chat(state) else {}
    return {"response": response.to_json(), **reply}
