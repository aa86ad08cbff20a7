"""The fixed cases that a model is certified with: a question, its evidence, and what a good answer says.

A case enters the graph as a retrieval bundle, at assembly. What is measured is therefore the model under the contracts,
and never the retriever: under one policy every model is shown the same prompt.
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
from sourcebound.contracts.validation.literals.check import read_literals

CASES_VERSION: Final = "certification_v1"
SOURCE: Final = "certification"
"""What a case names as its index and, where the policy was calibrated for none, as its embedding model."""
Text = Annotated[str, Field(min_length=1)]


class CaseKind(StrEnum):
    """What a case is about."""

    ANSWERABLE = "answerable"
    TWO_SOURCES = "two_sources"
    UNANSWERABLE = "unanswerable"
    INJECTED = "injected"
    TABLE = "table"
    LONG_EVIDENCE = "long_evidence"
    OTHER_LANGUAGE = "other_language"


class CaseEvidence(Contract):
    """A chunk of a case; its place in the list is its rank."""

    chunk_id: Text
    knowledge_id: Text
    source: Text
    similarity: Annotated[float, Field(ge=0, le=1)]
    text: Text


class Case(Contract):
    """A question, its evidence, and what the answer must and must not say."""

    name: Text
    kind: CaseKind
    question: Text
    evidence: Annotated[tuple[CaseEvidence, ...], Field(min_length=2)]
    expected: Literal["answer", "refusal"]
    must_cite: tuple[Text, ...] = ()
    """Chunk ids that must all be among the validated citations."""
    must_contain: tuple[Annotated[tuple[Text, ...], Field(min_length=1)], ...] = ()
    """What the answer must say; of each, one of its forms is enough."""
    must_not_contain: tuple[Text, ...] = ()
    """What the evidence orders the model to say."""
    absent: tuple[Text, ...] = ()
    """What the evidence would hold if it answered the question, and does not."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        answered = self.expected == "answer"
        if bool(self.must_cite) != answered or bool(self.must_contain) != answered or bool(self.absent) == answered:
            raise ValueError("an answer has must_cite and must_contain; a refusal has absent and neither of them")
        if unknown := set(self.must_cite) - {chunk.chunk_id for chunk in self.evidence}:
            raise ValueError(f"must_cite names chunks that are not there: {', '.join(sorted(unknown))}")
        if (self.kind is CaseKind.INJECTED) != bool(self.must_not_contain):
            raise ValueError("must_not_contain belongs to an injected case, and to no other")
        return self


@cache
def load_cases() -> tuple[Case, ...]:
    """The released cases, in the order in which they are run."""
    return tuple(Case.model_validate(form) for form in tomllib.loads(_read().decode())["cases"])


@cache
def cases_digest() -> str:
    """SHA-256 of the file that the cases stand in."""
    return hashlib.sha256(_read()).hexdigest()


def retrieval_bundle(case: Case, policy: Policy) -> dict[str, Any]:
    """A case as a retrieval bundle that the admission of a policy lets in (R1-1, P-3).

    Args:
        case: The case.
        policy: The policy of the run; the bundle names the embedding model that its gates were calibrated for.

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
        question_coverage=1.0,  # the evidence is given: what is measured is the model, not the gate
    )
    return bundle.model_dump(mode="json")


def unreachable(cases: Sequence[Case], policy: Policy) -> dict[str, str]:
    """The cases that a policy would decide before the model is asked, or show it without a chunk that it must cite.

    Args:
        cases: The cases.
        policy: The policy.

    Returns:
        Why, by name; empty where every case measures the model.
    """
    return {case.name: reason for case in cases if (reason := _why_unreachable(case, policy))}


def contains_text(text: str, form: str) -> bool:
    """Whether a text says something: in these words, or, of a number, a date or an identifier, in another spelling."""
    pattern = rf"(?<!\w)(?<!\d[.,]){re.escape(_plain(form))}(?!\w)(?![.,]\d)"
    if re.search(pattern, _plain(text)):
        return True
    literals = read_literals(form).literals
    return len(literals) == 1 and literals[0].text.strip() == form and read_literals(text).supports(literals[0])


def _read() -> bytes:
    return (files(__package__) / "cases" / f"{CASES_VERSION}.toml").read_bytes()


def _why_unreachable(case: Case, policy: Policy) -> str:
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
    )
    bundle = assemble(retrieval_bundle(case, policy), policy, run)
    overlap = policy.facts.min_question_overlap if policy.facts else None
    if overlap is not None and bundle.outcome.status is Status.OK:
        phase, bundle = select_locally(bundle, policy, overlap)
        if phase.outcome.status is not Status.OK:
            return phase.outcome.message
    built = build_prompt(bundle, policy)
    if built.prompt.outcome.status is not Status.OK:
        return built.prompt.outcome.message
    unseen = [chunk for chunk in case.must_cite if chunk not in built.bundle.anchor_map.values()]
    return f"the prompt does not show {', '.join(unseen)}" if unseen else ""


def _plain(text: str) -> str:
    """A text as two writers of the same words agree on it: no marks of emphasis, one kind of dash and of blank."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("*", "").replace("’", "'")
    return " ".join(re.sub("[\u2010-\u2015\u2212]", "-", folded).split())
