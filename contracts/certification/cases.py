"""The fixed cases for certifying a model: a question, its evidence, and the content of a good answer.

A case enters the graph as a retrieval bundle, at assembly. Under one policy every model therefore gets the same prompt,
so the cases measure the model under the contracts and never the retriever.
"""

import hashlib
import re
import tomllib
import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from sourcebound.contracts.base import Contract
from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.facts.selection import select_locally
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import build_prompt
from sourcebound.contracts.request import Filters, Run
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle, RetrievalRow, RetrievalStatus
from sourcebound.contracts.validation.literals.reading import read_literals
from sourcebound.contracts.versions import THIS_VERSION

CASES_VERSION: Final = "certification_v1"
SOURCE: Final = "certification"
"""The embedding model that a case names if the policy has no calibration."""
Text = Annotated[str, Field(min_length=1)]


class CaseKind(StrEnum):
    """The kind of a case."""

    ANSWERABLE = "answerable"
    TWO_SOURCES = "two_sources"
    UNANSWERABLE = "unanswerable"
    INJECTED = "injected"
    TABLE = "table"
    LONG_EVIDENCE = "long_evidence"
    OTHER_LANGUAGE = "other_language"


class CaseEvidence(Contract):
    """A chunk of a case. Its position in the list is its rank."""

    chunk_id: Text
    knowledge_id: Text
    source: Text
    similarity: Annotated[float, Field(ge=0, le=1)]
    text: Text


class Case(Contract):
    """A question, its evidence, and the required and forbidden content of the answer."""

    name: Text
    kind: CaseKind
    question: Text
    evidence: Annotated[tuple[CaseEvidence, ...], Field(min_length=2)]
    expected: Literal["answer", "refusal"]
    must_cite: tuple[Text, ...] = ()
    """Ids of chunks that must all be among the validated citations."""
    must_contain: tuple[Annotated[tuple[Text, ...], Field(min_length=1)], ...] = ()
    """The content that the answer must have. One form of each entry is enough."""
    must_not_contain: tuple[Text, ...] = ()
    """The text that an instruction in the evidence orders the model to write."""
    absent: tuple[Text, ...] = ()
    """The text that the evidence would contain if it answered the question."""

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        expects_answer = self.expected == "answer"
        if (
            bool(self.must_cite) != expects_answer
            or bool(self.must_contain) != expects_answer
            or bool(self.absent) == expects_answer
        ):
            raise ValueError("an answer has must_cite and must_contain; a refusal has absent and neither of them")
        if unknown := set(self.must_cite) - {chunk.chunk_id for chunk in self.evidence}:
            raise ValueError(f"must_cite names chunks that are not there: {', '.join(sorted(unknown))}")
        if (self.kind is CaseKind.INJECTED) != bool(self.must_not_contain):
            raise ValueError("must_not_contain belongs to an injected case, and to no other")
        return self


@cache
def load_cases() -> tuple[Case, ...]:
    """Load the released cases, in the order in which they are run."""
    return tuple(Case.model_validate(form) for form in tomllib.loads(_read_file().decode())["cases"])


@cache
def cases_digest() -> str:
    """Return the SHA-256 of the cases' file."""
    return hashlib.sha256(_read_file()).hexdigest()


def to_retrieval_bundle(case: Case, policy: Policy) -> dict[str, Any]:
    """Build a retrieval bundle of a case that passes the admission of a policy (R1-1, P-3).

    Args:
        case: The case.
        policy: The policy of the run. The bundle names the embedding model that the policy's gates were calibrated for.

    Returns:
        The bundle in its JSON form.
    """
    kinds, calibration = policy.selection.knowledge_types, policy.calibration
    rows = tuple(
        RetrievalRow(
            chunk_id=chunk.chunk_id,
            knowledge_id=chunk.knowledge_id,
            rank=rank,
            similarity_score=chunk.similarity,
            chunk_text=chunk.text,
            knowledge_type_effective=kinds[0] if kinds else "document",
            source_reference=chunk.source,
            title=chunk.source,
        )
        for rank, chunk in enumerate(case.evidence)
    )
    bundle = RetrievalBundle(
        request_id=case.name,
        run_id=case.name,
        user_question=case.question,
        retrieval_status=RetrievalStatus.SUCCESS,
        index_version=(calibration.index_version if calibration else None) or CASES_VERSION,
        embedding_model=calibration.embedding_model if calibration else SOURCE,
        top_k=len(rows),
        results=rows,
        policy_version=policy.policy_version,
        policy_sha256=policy.sha256,
        filters_applied={},
        question_coverage=1.0,  # the evidence is fixed: the cases measure the model, not the gate
    )
    return bundle.model_dump(mode="json")


def find_unreachable(cases: Sequence[Case], policy: Policy) -> dict[str, str]:
    """Find the cases that do not measure the model under a policy.

    The policy decides such a case before the model call, or its prompt lacks a chunk that the answer must cite.

    Args:
        cases: The cases.
        policy: The policy.

    Returns:
        The reason by case name; empty if every case measures the model.
    """
    return {case.name: reason for case in cases if (reason := _unreachable_reason(case, policy))}


def contains_text(text: str, form: str) -> bool:
    """Return whether a text contains a form. A number, date or identifier may have another spelling."""
    pattern = rf"(?<!\w)(?<!\d[.,]){re.escape(_normalize(form))}(?!\w)(?![.,]\d)"
    if re.search(pattern, _normalize(text)):
        return True
    literals = read_literals(form).literals
    return len(literals) == 1 and literals[0].text.strip() == form and read_literals(text).supports(literals[0])


def _read_file() -> bytes:
    return (files(__package__) / "cases" / f"{CASES_VERSION}.toml").read_bytes()


def _unreachable_reason(case: Case, policy: Policy) -> str:
    run = Run(
        request_id=case.name,
        run_id=case.name,
        thread_id=case.name,
        question=case.question,
        collection=None,
        filters=Filters(),
        model="",
        policy_version=policy.policy_version,
        policy_sha256=policy.sha256,
        entry="bundle",
        started_at="",
        made_by=THIS_VERSION,
    )
    bundle = assemble(to_retrieval_bundle(case, policy), policy, run)
    overlap = policy.facts.min_question_overlap if policy.facts else None
    if overlap is not None and bundle.outcome.status is Status.OK:
        phase, bundle = select_locally(bundle, policy, overlap)
        if phase.outcome.status is not Status.OK:
            return phase.outcome.message
    built = build_prompt(bundle, policy)
    if built.prompt.outcome.status is not Status.OK:
        return built.prompt.outcome.message
    missing = [chunk for chunk in case.must_cite if chunk not in built.bundle.anchor_map.values()]
    return f"the prompt does not show {', '.join(missing)}" if missing else ""


def _normalize(text: str) -> str:
    """Normalize a text: lower case, no emphasis marks, one kind of dash and of space."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("*", "").replace("’", "'")
    return " ".join(re.sub("[\u2010-\u2015\u2212]", "-", folded).split())
