"""External answer bundles, to check an answer of another system against its sources.

There is no gate and no selection: the anchors are the sources in their order, `C0` first, because the author of the
answer saw them so.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import ValidationError

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, EvidenceChunk, render_block
from sourcebound.contracts.evidence.assemble import evidence_of
from sourcebound.contracts.evidence.intake import check_bundle, from_pydantic, too_deep
from sourcebound.contracts.evidence.selection import candidate_of
from sourcebound.contracts.outcome import FailureCode, Status, Violation, proceed, quote_value
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalRow, RetrievalStatus

STAGE = "assemble"


class ReadBundle(NamedTuple):
    """A bundle to check against, or the violations of an unreadable one."""

    bundle: AnswerBundle | None
    violations: tuple[Violation, ...] = ()


def read_bundle(raw: object, policy: Policy) -> ReadBundle:
    """Read the bundle for the check of an answer.

    Args:
        raw: An answer bundle (it has `selected_evidence`), a retrieval bundle (it has `results`), or an object whose
            `sources` are plain texts.
        policy: The policy of the check.

    Returns:
        The bundle, or the reason why it cannot be read.
    """
    if isinstance(raw, AnswerBundle):
        return _checked(raw)
    if not isinstance(raw, Mapping):
        return _unreadable("the bundle is not an object", None, raw)
    if "selected_evidence" in raw:
        try:
            return _checked(AnswerBundle.model_validate(dict(raw)))
        except ValidationError as error:
            return ReadBundle(None, tuple(from_pydantic(error, "R2-A3")))
        except RecursionError:
            return ReadBundle(None, (too_deep(raw, "R2-A3"),))
    if "sources" in raw:
        return _of_sources(raw["sources"])
    checked = check_bundle(raw, policy)
    if checked.bundle is None:
        return ReadBundle(None, checked.violations)
    if checked.bundle.retrieval_status is RetrievalStatus.FAILED:
        message = "field retrieval_status: retrieval failed, so there is nothing to check against"
        return ReadBundle(
            None, (_broken(FailureCode.RETRIEVAL_FAILED, "R2-V1", message, "retrieval_status", "FAILED"),)
        )
    found = checked.bundle.results if checked.bundle.retrieval_status is RetrievalStatus.SUCCESS else ()
    return ReadBundle(_bundle_of_rows(found, checked.bundle.user_question))


def _of_sources(texts: object) -> ReadBundle:
    if not isinstance(texts, Sequence) or isinstance(texts, str):
        return _unreadable("field sources: not a list of texts", "sources", texts)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            return _unreadable(f"row {row}, field sources: not a text", "sources", text, row)
    return ReadBundle(bundle_of_texts(texts))


def bundle_of_texts(texts: Sequence[str], question: str = "") -> AnswerBundle:
    """Make a bundle whose evidence is exactly these texts, in order.

    Args:
        texts: The sources.
        question: The question, if one is known.

    Returns:
        The bundle.
    """
    rows = tuple(
        RetrievalRow(
            chunk_id=f"text-{number}",
            knowledge_id=f"source-{number}",
            rank=number,
            similarity_score=1.0,
            chunk_text=text,
            knowledge_type_effective="document",
        )
        for number, text in enumerate(texts)
    )
    return _bundle_of_rows(rows, question)


def _bundle_of_rows(rows: Sequence[RetrievalRow], question: str) -> AnswerBundle:
    evidence = tuple(evidence_of(f"C{number}", candidate_of(row)) for number, row in enumerate(rows))
    return AnswerBundle(
        request_id="check",
        user_question=question,
        outcome=proceed(STAGE),
        selected_evidence=evidence,
        anchor_map={chunk.anchor: chunk.chunk_id for chunk in evidence},
        evidence_block_text=render_block(evidence),
    )


def _checked(bundle: AnswerBundle) -> ReadBundle:
    """Check the anchors of an external answer bundle (R2-A1)."""
    violations = (*_anchor_violations(bundle.selected_evidence, bundle.anchor_map), *_block_violations(bundle))
    return ReadBundle(None, violations) if violations else ReadBundle(bundle)


def _anchor_violations(evidence: Sequence[EvidenceChunk], anchor_map: Mapping[str, str]) -> list[Violation]:
    found = [
        _violation("anchors count up from C0 in the order of the evidence", "anchor", row, chunk.anchor)
        for row, chunk in enumerate(evidence)
        if chunk.anchor != f"C{row}"
    ]
    if dict(anchor_map) != {chunk.anchor: chunk.chunk_id for chunk in evidence}:
        message = "anchor_map does not match selected_evidence"
        found.append(_violation(message, "anchor_map", None, quote_value(dict(anchor_map))))
    return found


def _block_violations(bundle: AnswerBundle) -> list[Violation]:
    """Check that only an OK bundle has evidence, and that the evidence is what its block shows (R2-A3)."""
    found, code = [], FailureCode.INVALID_SCHEMA
    if bundle.selected_evidence and bundle.outcome.status is not Status.OK:
        message = "field outcome: a bundle that is not OK holds no evidence"
        found.append(_broken(code, "R2-A3", message, "outcome", bundle.outcome.status))
    if bundle.evidence_block_text not in ("", render_block(bundle.selected_evidence)):
        message = "evidence_block_text does not show selected_evidence"
        found.append(_broken(code, "R2-A3", message, "evidence_block_text", quote_value(bundle.evidence_block_text)))
    return found


def _violation(message: str, field: str, row: int | None, value: str | None) -> Violation:
    return _broken(FailureCode.INVALID_SCHEMA, "R2-A1", message, field, value, row)


def _broken(
    code: FailureCode, clause: str, message: str, field: str | None, value: str | None, row: int | None = None
) -> Violation:
    return Violation(code=code, clause=clause, message=message, field=field, row=row, value=value)


def _unreadable(message: str, field: str | None, value: object, row: int | None = None) -> ReadBundle:
    return ReadBundle(None, (_broken(FailureCode.INVALID_SCHEMA, "R2-V1", message, field, quote_value(value), row),))
