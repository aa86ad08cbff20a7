"""A policy: the frozen, versioned values that a run obeys (P-1 to P-6).

A policy is one TOML file. It is parsed to a model that rejects unknown keys and is identified by the SHA-256 of its
canonical form, so that a changed value is a changed policy. A value that is not in the file is absent: there are no
defaults.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from sourcebound.contracts.base import Contract, is_absent

Unit = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Weight = Annotated[float, Field(gt=0, le=100)]
Thousandths = Annotated[int, Field(ge=0, le=1000)]
Words = Annotated[str, Field(pattern=r"\w")]
Presentation = Literal["plain", "answer_sources", "numbered_confidence", "source_markers"]
"""R6-8: the presentation of a released answer; the record is the same under each."""


class Enforcement(StrEnum):
    """Whether a finding rejects the answer or is only counted."""

    ENFORCE = "enforce"
    MEASURE = "measure"


class ExpansionRule(Contract):
    """R1-4: additional search terms for a question with the words of `when`."""

    when: Words
    add: Annotated[tuple[Words, ...], Field(min_length=1)]


class DocumentHint(Contract):
    """R1-7: a question with the words of `when` points at documents whose name has the words of `document`."""

    when: Words
    document: Words


class RetrievalPolicy(Contract):
    """R1: how candidates are found, and the minima of the gate."""

    top_k: Count
    hybrid: bool
    candidate_pool: Count
    """The number of rows that each list contributes to the fusion."""
    fusion: Annotated[Literal["scores"] | None, Field(exclude_if=is_absent)] = None
    """`scores` adds the weighted similarity and lexical share of each candidate; reciprocal ranks if absent (R1-5)."""
    rrf_k: Count | None = None
    dense_weight: Weight | None = None
    lexical_weight: Weight | None = None
    """The weight of each list in the fusion; 1 if absent."""
    mmr_lambda: Unit | None = None
    reranker: Annotated[str | None, Field(exclude_if=is_absent)] = None
    """The name of the reranker that orders the best candidates, with its digest; none if absent (R1-6)."""
    rerank_candidates: Annotated[Count | None, Field(exclude_if=is_absent)] = None
    """How many candidates the reranker reads."""
    neighbours: Count | None = None
    """Chunks before and after each candidate that are added as `expanded` rows; none if absent."""
    plain_years: Annotated[bool | None, Field(exclude_if=is_absent)] = None
    """Whether the words of `FY2022` are searched as `2022`; no if absent (R1-4)."""
    respell: Annotated[bool | None, Field(exclude_if=is_absent)] = None
    """Whether a word that neither the collection nor English knows is searched in another spelling too; no if absent
    (R1-4)."""
    translate: Annotated[Literal["lexicon_v1"] | None, Field(exclude_if=is_absent)] = None
    """The lexicon by which a question in another language is searched in English too; none if absent (R1-4)."""
    expansions: tuple[ExpansionRule, ...] | None = None
    probe_min_similarity: Unit | None = None
    fallback_min_similarity: Unit | None = None
    document_hints: tuple[DocumentHint, ...] | None = None
    min_top_similarity: Unit
    min_question_coverage: Unit | None = None
    coverage_allowance: Annotated[Unit | None, Field(exclude_if=is_absent)] = None
    """By how much each content word of a long question lowers `min_question_coverage`; 0 if absent."""
    coverage_per_tenfold: Annotated[Unit | None, Field(exclude_if=is_absent)] = None
    """By how much a collection of ten times as many chunks raises `min_question_coverage`; 0 if absent."""
    min_chunks: Count
    min_sources: Count
    max_requested_sources: Count | None = None
    """The largest `min_sources` of a request, which may then also be 0 for the policy's own value (P-4); no bound if
    absent."""

    @model_validator(mode="after")
    def _check_reranking(self) -> Self:
        if (self.reranker is None) != (self.rerank_candidates is None):
            raise ValueError("reranker and rerank_candidates belong together")
        if self.rerank_candidates is not None and self.rerank_candidates < self.top_k:
            raise ValueError("rerank_candidates must be at least top_k")
        if self.reranker is not None and (self.mmr_lambda is not None or self.neighbours is not None):
            raise ValueError("a reranker changes what mmr_lambda and neighbours have chosen: use it without them")
        return self


class Calibration(Contract):
    """The index for which the gates were calibrated (P-3)."""

    embedding_model: str
    metric: Literal["cosine", "lexical"]
    index_version: str | None = None
    """The index version to which the policy is pinned; any if absent."""


class SelectionPolicy(Contract):
    """R2: which candidates become evidence."""

    min_similarity: Unit
    max_chunks: Count
    max_chunks_per_knowledge_id: Count
    max_evidence_tokens: Count
    max_chunk_token_ratio: Unit
    overlap_ratio_threshold: Unit
    trim_within_chunk: bool
    ordering_mode: Literal["rank_strict"]
    sanitization_mode: Literal["safe_normalize_v1", "safe_normalize_v2"]
    knowledge_types: tuple[str, ...] | None = None
    """The allowed values of `knowledge_type_effective`; any if absent."""


class PromptPolicy(Contract):
    """R3: the prompt's template and budget."""

    template: str
    template_sha256: str
    output_profile: Literal["prose", "answer_sentences"]
    max_total_prompt_tokens: Count
    reserved_output_tokens: Count
    repair_template: Annotated[str | None, Field(exclude_if=is_absent)] = None
    """The template of the repair section (R5-12); `repair_v1` if absent."""


class FactsPolicy(Contract):
    """R3-9: the filter of facts before the prompt. There is no facts phase without this table."""

    filter: Literal["local", "model"]
    """`model` asks the run's generator which facts are relevant."""
    min_question_overlap: Unit | None = None
    """The share of the question's content words that a fact must hold to pass the local filter."""

    @model_validator(mode="after")
    def _check_overlap(self) -> Self:
        if (self.filter == "local") == (self.min_question_overlap is None):
            raise ValueError("min_question_overlap belongs to the local filter, which needs it, and to no other")
        return self


class ExecutionPolicy(Contract):
    """R4: the generator's fixed parameters."""

    temperature: Annotated[float, Field(ge=0, le=0)]
    seed: int


class SupportPolicy(Contract):
    """R5-17, R5-18: the verifier, and its minima in thousandths."""

    verifier: Literal["support_v1"]
    verifier_sha256: str
    """The digest of the verifier's weights (`verifier_digest`)."""
    min_support: Thousandths
    """A statement with a lower score rejects the answer."""
    warn_support: Thousandths
    """An answer whose lowest score is lower is released with `support_level` LOW."""
    high_support: Thousandths
    """From this lowest score on, `support_level` is HIGH."""
    min_answers_question: Thousandths
    """An answer with a lower second score is not released: the run ends in NO_EVIDENCE."""
    warn_answers_question: Thousandths
    """An answer with a lower second score has `support_level` LOW, whatever its support."""
    high_answers_question: Thousandths
    """An answer with a lower second score has at most `support_level` MEDIUM."""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if not self.min_support <= self.warn_support <= self.high_support:
            raise ValueError("min_support, warn_support and high_support must not decrease")
        if not self.min_answers_question <= self.warn_answers_question <= self.high_answers_question:
            raise ValueError("min_answers_question, warn_answers_question and high_answers_question must not decrease")
        return self


class ValidationPolicy(Contract):
    """R5: the firewall."""

    segmenter: Literal["segment_v1"]
    literal_grounding: Enforcement
    attribution_coverage: Annotated[float, Field(ge=1, le=1)]
    """The share of statements that must be cited: all of them."""
    attribution_target: Unit | None = None
    """The share that a model is expected to reach (R5-14): reported with the measured one. It passes no answer."""
    partial_answers: Annotated[bool | None, Field(exclude_if=is_absent)] = None
    """Whether an answer may end with the line that names what is not in the evidence (R3-10); no if absent."""
    max_attempts: Annotated[int, Field(ge=1, le=3)]
    """The number of attempts. A rejected answer is generated again while attempts remain (R5-12)."""
    length_ratio_limit: Count
    high_support_margin: Unit | None = None
    high_support_sources: Count | None = None
    """Without a verifier, `support_level` comes from the margin over the gate and the number of sources (R5-15)."""
    support: Annotated[SupportPolicy | None, Field(exclude_if=is_absent)] = None
    """The verifier of support; none if absent."""

    @model_validator(mode="after")
    def _check_support(self) -> Self:
        has_rule = (self.high_support_margin is not None, self.high_support_sources is not None)
        if has_rule != (self.support is None,) * 2:
            raise ValueError("either the table support, or high_support_margin and high_support_sources")
        return self


class ConversationPolicy(Contract):
    """CP-6: how a follow-up is resolved; by the rules if the table is absent."""

    resolver: Literal["rules", "model"]
    """`model` asks the run's generator to rewrite every question but the first."""
    carried_chunks: Count | None = None
    """The number of cited chunks of the earlier run that become candidates again; none if absent."""


class Policy(Contract):
    """All values that a run obeys."""

    policy_version: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*_V[0-9]+$")]
    description: str
    retrieval: RetrievalPolicy
    calibration: Calibration | None = None
    selection: SelectionPolicy
    prompt: PromptPolicy
    execution: ExecutionPolicy
    validation: ValidationPolicy
    conversation: ConversationPolicy | None = None
    facts: FactsPolicy | None = None
    presentation: Presentation

    @cached_property
    def sha256(self) -> str:
        """The digest of the canonical form: sorted, compact JSON of the values in the file."""
        values = self.model_dump(mode="json", exclude_none=True)
        return hashlib.sha256(json.dumps(values, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy the policy with other values. The copy has its own digest."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("sha256", None)
        return copied


def parse_policy(text: str) -> Policy:
    """Parse a policy file.

    Args:
        text: The TOML text.

    Returns:
        The policy.

    Raises:
        tomllib.TOMLDecodeError: The text is not TOML.
        pydantic.ValidationError: A key is unknown, missing or of the wrong type.
    """
    return Policy.model_validate(tomllib.loads(text))
