"""R2 validation: a retrieval bundle is checked completely before any other work (R2-V1 to R2-V7).

A violation names its clause, field, row and value, and no prompt is built. A list that is only out of order is sorted,
and that is recorded; nothing else is repaired. The schema is checked first, then the rules across fields and rows.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from pydantic import ValidationError

from sourcebound.contracts.outcome import TOO_LARGE, FailureCode, Violation, quote_value, schema_violation
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Filters
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle, RetrievalRow, RetrievalStatus

FILTERS: Final = ("collection", *Filters.model_fields)
"""The filters that a retriever may state (R1-8)."""


def check_rules(bundle: RetrievalBundle, policy: Policy) -> Iterator[Violation]:
    """Yield every violation; a repeated row is first of all a repeated rank."""
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
            f"field policy_version: the bundle was made under {quote_value(bundle.policy_version)}, and this "
            f"run is under {policy.policy_version}; name the bundle's own with --policy",
            "policy_version",
            bundle.policy_version,
        )


def _filters(bundle: RetrievalBundle) -> Iterator[Violation]:
    """Check the filters: an unknown filter would seem to narrow the search, and does not."""
    for name in bundle.filters_applied or ():
        if name not in FILTERS:
            known = ", ".join(FILTERS)
            message = f"field filters_applied: {quote_value(name)} is not a filter (known filters: {known})"
            yield schema_violation(message, "filters_applied", name)


def _chunk_ids(bundle: RetrievalBundle) -> Iterator[Violation]:
    """Check that chunk ids are distinct; otherwise a citation would be ambiguous (R2-A1)."""
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


SIMILARITY_FIELDS: Final = ("similarity_score", "similarity", "score")
TRACE_FIELDS: Final = ("index_version", "embedding_model", "policy_version", "top_k", "run_id")
"""The fields that R2-V7 requires; a wrong type breaks the schema instead."""
MAX_REASON_CHARACTERS: Final = 300


def unreadable(reason: str) -> str:
    """Return the reason for an unreadable bundle in its place: a text, which no bundle can be."""
    return reason[:MAX_REASON_CHARACTERS]


class CheckedBundle(NamedTuple):
    """A valid bundle, or the violations of an invalid one."""

    bundle: RetrievalBundle | None
    violations: tuple[Violation, ...]
    reordered: bool = False
    rank_gaps: int = 0
    sha256: str | None = None
    """The digest of the whole bundle, with the rows that selection will drop."""


def check_bundle(raw: object, policy: Policy) -> CheckedBundle:
    """Check a retrieval bundle against R2-V1 to R2-V5 and R2-V7.

    Args:
        raw: The raw bundle, normally a mapping from JSON; a text if it was unreadable.
        policy: The policy of the run.

    Returns:
        The bundle with its rows in rank order, or all violations, of which the first names the failure.
    """
    if isinstance(raw, str):
        return CheckedBundle(None, (schema_violation(f"unreadable: {unreadable(raw)}", None, raw),))
    if not isinstance(raw, Mapping):
        return CheckedBundle(None, (schema_violation("the bundle is not an object", None, raw),))
    try:
        bundle = RetrievalBundle.model_validate(dict(raw))
    except ValidationError as error:
        return CheckedBundle(None, tuple(from_pydantic(error, "R2-V1")))
    except RecursionError:
        return CheckedBundle(None, (too_deep(raw, "R2-V1"),))
    violations = tuple(check_rules(bundle, policy))
    if violations:
        return CheckedBundle(None, violations)
    ordered = tuple(sorted(bundle.results, key=lambda row: (row.rank, row.chunk_id)))
    gaps = sum(after.rank - before.rank - 1 for before, after in pairwise(ordered))
    sorted_bundle = bundle.model_copy(update={"results": ordered})
    return CheckedBundle(sorted_bundle, (), ordered != bundle.results, gaps, _digest(bundle))


def _digest(bundle: RetrievalBundle) -> str | None:
    """Return the SHA-256 of a bundle's JSON; None for an integer of thousands of digits, which cannot be stored."""
    try:
        return hashlib.sha256(json.dumps(bundle.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()
    except ValueError:
        return None


def too_deep(raw: Mapping[str, object], clause: str) -> Violation:
    """Return the violation of a value that is nested too deeply, in the most deeply nested field."""
    field = next((name for name, value in raw.items() if quote_value(value).endswith(TOO_LARGE)), None)
    return Violation(
        code=FailureCode.INVALID_SCHEMA,
        clause=clause,
        message=f"field {field}: nested too deeply",
        field=field,
        value=quote_value(raw.get(field or "")),
    )


def from_pydantic(error: ValidationError, clause: str) -> Iterator[Violation]:
    """Convert a validation error to violations, one for each field.

    Args:
        error: The error of pydantic.
        clause: The clause of fields without a clause of their own.
    """
    for detail in error.errors(include_url=False):
        location = [part for part in detail["loc"] if part not in ("int", "str")]
        row = next((part for part in location if isinstance(part, int)), None)
        within_row = location[location.index(row) + 1 :] if row is not None else []
        names = [part for part in location if isinstance(part, str)]
        field = next((part for part in within_row if isinstance(part, str)), names[-1] if names else None)
        code, broken = _clause(field or "", detail["type"] == "missing", detail["input"], clause)
        where = f"row {row}, field {field}" if row is not None else f"field {field}"
        yield Violation(
            code=code,
            clause=broken,
            message=f"{where}: {detail['msg']}",
            field=field,
            row=row,
            value=None if detail["type"] == "missing" else quote_value(detail["input"]),
        )


def _clause(field: str, missing: bool, value: object, default: str) -> tuple[FailureCode, str]:
    if field == "chunk_text":
        return FailureCode.INVALID_TEXT, "R2-V4"
    if field in TRACE_FIELDS and (missing or value in (None, "")):
        return FailureCode.MISSING_TRACE, "R2-V7"
    if field == "rank" and not missing:
        return FailureCode.INVALID_RANK, "R2-V2"
    if field in SIMILARITY_FIELDS:
        return FailureCode.INVALID_SIMILARITY, "R2-V3"
    return FailureCode.INVALID_SCHEMA, default
