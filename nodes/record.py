"""R5P: writes the audit record before anything is released. Without a record there is no answer (R5P-6).

Each attempt has one record: the rejected attempts in order, then the one that ends the run (R5-12).
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from sourcebound.contracts.audit.record import AuditRecord, audit_record
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import FailureCode, Outcome
from sourcebound.contracts.ports import AuditLog
from sourcebound.contracts.state import State
from sourcebound.contracts.typed_state import TypedState
from sourcebound.contracts.validation.result import ValidationResult
from sourcebound.errors import StoreError
from sourcebound.nodes._faults import describe, fail_in_public

STAGE = "record"
UTC_NOW: Final = partial(datetime.now, UTC)


async def record(state: State, *, audit_log: AuditLog, now: Callable[[], datetime] = UTC_NOW) -> dict[str, Any]:
    """Write `audit`. The run fails if the record is refused."""
    typed = TypedState(state)
    try:
        for number, attempt in enumerate(typed.attempts, start=1):
            rejected = attempt.validation
            await _append(audit_log, typed, now(), number, rejected.outcome, attempt.generation, rejected)
        last = len(typed.attempts) + 1
        entry = await _append(audit_log, typed, now(), last, typed.outcome, typed.generation, typed.validation)
    except StoreError as error:
        if error.is_unavailable:
            raise  # the database is unavailable: the run is interrupted, and its record is written on resume
        return {"outcome": fail_in_public(typed.run, STAGE, FailureCode.AUDIT_UNAVAILABLE, describe(error)).to_json()}
    return {"audit": entry.to_json()}


async def _append(
    audit_log: AuditLog,
    typed: TypedState,
    made_at: datetime,
    attempt: int,
    outcome: Outcome,
    generation: Generation | None,
    validation: ValidationResult | None,
) -> AuditRecord:
    timestamp = made_at.isoformat()
    resolution, facts = (each.model_dump(mode="json") if each else None for each in (typed.resolution, typed.facts))
    entry = audit_record(
        typed.run,
        outcome,
        timestamp,
        typed.retrieval_latency_ms,
        typed.bundle,
        generation,
        validation,
        attempt,
        resolution,
        facts,
    )
    raw = generation.raw_model_text if generation else ""
    return await audit_log.append(entry, typed.run, raw, validation.validated_answer_text if validation else "")
