"""R5P: writes the audit record before anything is released. No record, no answer (contract R5P-6).

One record an attempt: the rejected ones in their order, then the one that the run ends with (R5-12).
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from sourcebound.contracts.audit.record import AuditRecord, audit_record
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import FailureCode, Outcome, fail
from sourcebound.contracts.ports import AuditLog
from sourcebound.contracts.state import State
from sourcebound.contracts.typed_state import TypedState
from sourcebound.contracts.validation.result import ValidationResult
from sourcebound.errors import StoreError

STAGE = "record"
UTC_NOW: Final = partial(datetime.now, UTC)


async def record(state: State, *, audit_log: AuditLog, now: Callable[[], datetime] = UTC_NOW) -> dict[str, Any]:
    """Writes `audit`; a record that is refused fails the run."""
    known = TypedState(state)
    try:
        for number, attempt in enumerate(known.attempts, start=1):
            rejected = attempt.validation
            await _append(audit_log, known, now(), number, rejected.outcome, attempt.generation, rejected)
        last = len(known.attempts) + 1
        entry = await _append(audit_log, known, now(), last, known.outcome, known.generation, known.validation)
    except StoreError as error:
        if error.failure_code == StoreError.code:
            raise  # the store is away: the run is cut off here, and its record is written when it is gone on with
        return {"outcome": fail(STAGE, FailureCode.AUDIT_UNAVAILABLE, str(error)).to_json()}
    return {"audit": entry.to_json()}


async def _append(
    audit_log: AuditLog,
    known: TypedState,
    made_at: datetime,
    attempt: int,
    outcome: Outcome,
    generation: Generation | None,
    validation: ValidationResult | None,
) -> AuditRecord:
    when = made_at.isoformat()
    entry = audit_record(
        known.run, outcome, when, known.retrieval_latency_ms, known.bundle, generation, validation, attempt
    )
    raw = generation.raw_model_text if generation else ""
    return await audit_log.append(entry, known.run, raw, validation.validated_answer_text if validation else "")
