"""The verdict on an answer, as data: the output of R5 for every answer (contract R5-13 … R5-15)."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from sourcebound.contracts.base import Contract, is_absent
from sourcebound.contracts.outcome import Outcome, Status, fill_status
from sourcebound.contracts.validation.answer_reading import Statement
from sourcebound.contracts.validation.literals.check import LiteralFinding
from sourcebound.contracts.validation.support_check import SupportReport


class ValidationStatus(StrEnum):
    """Whether an answer passed. NOT_RUN: there was no answer to check."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    NOT_RUN = "NOT_RUN"


class SupportLevel(StrEnum):
    """The breadth of the support of an accepted answer (R5-15)."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class GroundingMetrics(Contract):
    """Counts over the raw answer, whether it passed or not (R5-14)."""

    citation_count: int = 0
    uncited_sentence_count: int = 0
    invalid_anchor_count: int = 0
    malformed_anchor_count: int = 0
    refusal_detected: bool = False
    length_ratio_flag: bool = False
    suspicious_new_ids: tuple[str, ...] = ()
    sentence_count: int = 0
    attribution_coverage: float = 0.0
    unsupported_literal_count: int = 0


class ValidationResult(Contract):
    """The verdict on one answer (R5-13)."""

    outcome: Outcome
    generation_status: Status = Status.OK
    """The outcome's status."""
    validation_status: ValidationStatus
    validated_answer_text: str = ""
    validated_citations: tuple[str, ...] = ()
    grounding_metrics: GroundingMetrics = GroundingMetrics()
    statements: tuple[Statement, ...] = ()
    literals: tuple[LiteralFinding, ...] = ()
    missing: Annotated[str | None, Field(exclude_if=is_absent)] = None
    """What a partial answer says is not in the evidence (R3-10); absent if the answer is not partial."""
    support_level: SupportLevel | None = None
    support: Annotated[SupportReport | None, Field(exclude_if=is_absent)] = None
    """The scores of the verifier, if the policy has one (R5-17, R5-18)."""

    _status = model_validator(mode="before")(fill_status("generation_status"))

    @property
    def failure_reason(self) -> str | None:
        """The first broken rule, if any."""
        return self.outcome.failure_code.value if self.outcome.failure_code else None


def skip_validation(outcome: Outcome) -> ValidationResult:
    """Return the validation of a run that ended before there was an answer."""
    if outcome.status is Status.OK:
        raise ValueError("a run that is OK has an answer to validate")
    return ValidationResult(outcome=outcome, validation_status=ValidationStatus.NOT_RUN)
