"""R2-V1 … R2-V5: what a retrieval bundle must hold besides, once each of its fields has its type."""

from collections.abc import Iterator
from typing import Final

from sourcebound.contracts.outcome import FailureCode, Violation, quote_value, schema_violation
from sourcebound.contracts.policy import Policy
from sourcebound.contracts.request import Filters
from sourcebound.contracts.retrieval import RetrievalBundle, RetrievalRow, RetrievalStatus

FILTERS: Final = ("collection", *Filters.model_fields)
"""What a retriever may say that it narrowed its search by (R1-8)."""


def check_rules(bundle: RetrievalBundle, policy: Policy) -> Iterator[Violation]:
    """Every violation; a row that was sent twice is first of all a rank that is used twice."""
    yield from _status(bundle)
    yield from _policy(bundle, policy)
    yield from _filters(bundle)
    yield from _ranks(bundle)
    yield from _chunk_ids(bundle)
    yield from _domains(bundle, policy)


def _status(bundle: RetrievalBundle) -> Iterator[Violation]:
    if bundle.retrieval_status is RetrievalStatus.SUCCESS and not bundle.results:
        yield Violation(
            code=FailureCode.EMPTY_WITHOUT_STATUS,
            clause="R2-V1",
            message="field results: the list is empty although retrieval_status is SUCCESS",
            field="results",
            value="[]",
        )


def _policy(bundle: RetrievalBundle, policy: Policy) -> Iterator[Violation]:
    if bundle.policy_version not in (None, policy.policy_version):
        yield schema_violation(
            f"field policy_version: the bundle was made under {quote_value(bundle.policy_version)}, and this run is under "
            f"{policy.policy_version}; name the bundle's own with --policy",
            "policy_version",
            bundle.policy_version,
        )


def _filters(bundle: RetrievalBundle) -> Iterator[Violation]:
    """A filter that nobody knows would narrow nothing, and look as if it did."""
    for name in bundle.filters_applied or ():
        if name not in FILTERS:
            known = ", ".join(FILTERS)
            message = f"field filters_applied: {quote_value(name)} is not a filter (known filters: {known})"
            yield schema_violation(message, "filters_applied", name)


def _chunk_ids(bundle: RetrievalBundle) -> Iterator[Violation]:
    """A chunk id names one chunk: where two rows had the same, a citation would be of either (R2-A1)."""
    seen: set[str] = set()
    for index, row in enumerate(bundle.results):
        if row.chunk_id in seen:
            message = f"row {index}, field chunk_id: {quote_value(row.chunk_id)} is the id of an earlier row"
            yield schema_violation(message, "chunk_id", row.chunk_id, index)
        seen.add(row.chunk_id)


def _ranks(bundle: RetrievalBundle) -> Iterator[Violation]:
    seen: set[int] = set()
    for index, row in enumerate(bundle.results):
        if row.rank in seen:
            yield _rank(index, row, f"row {index}, field rank: {row.rank} is used twice")
        seen.add(row.rank)
    if seen and 0 not in seen:
        yield _rank(0, bundle.results[0], "field rank: ranks start at 0, and no row has rank 0")


def _rank(index: int, row: RetrievalRow, message: str) -> Violation:
    return Violation(
        code=FailureCode.INVALID_RANK,
        clause="R2-V2",
        message=message,
        field="rank",
        row=index,
        value=str(row.rank),
    )


def _domains(bundle: RetrievalBundle, policy: Policy) -> Iterator[Violation]:
    allowed = policy.selection.knowledge_types
    for index, row in enumerate(bundle.results):
        if allowed is not None and row.knowledge_type_effective not in allowed:
            yield Violation(
                code=FailureCode.INVALID_DOMAIN,
                clause="R2-V5",
                message=f"row {index}, field knowledge_type_effective: not one of {', '.join(allowed)}",
                field="knowledge_type_effective",
                row=index,
                value=quote_value(row.knowledge_type_effective),
            )
