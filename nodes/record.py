"""R5P: writes the audit record before anything is released. No record, no answer (contract R5P-6)."""

from datetime import UTC, datetime
from typing import Any

from sourcebound.contracts.audit import audit_record
from sourcebound.contracts.channels import Channels
from sourcebound.contracts.outcome import FailureCode, fail
from sourcebound.contracts.ports import AuditLog
from sourcebound.contracts.state import State
from sourcebound.errors import StoreError

STAGE = "record"


async def record(state: State, *, audit_log: AuditLog) -> dict[str, Any]:
    """Writes `audit`; a record that cannot be written fails the run."""
    known = Channels(state)
    entry = audit_record(
        known.run,
        known.outcome,
        datetime.now(UTC).isoformat(),
        known.retrieval,
        known.bundle,
        known.generation,
        known.validation,
    )
    raw = known.generation.raw_model_text if known.generation else ""
    validated = known.validation.validated_answer_text if known.validation else ""
    try:
        await audit_log.append(entry, known.run, raw, validated)
    except StoreError as error:
        return {"outcome": fail(STAGE, FailureCode.AUDIT_UNAVAILABLE, str(error)).model_dump(mode="json")}
    return {"audit": entry.model_dump(mode="json")}
