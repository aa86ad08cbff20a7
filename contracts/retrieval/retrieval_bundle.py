"""R1: the retrieval bundle and question coverage.

Similarity gates, and fusion only orders (P-5). Candidates always reach R2 in a bundle, whether this package or another
system retrieved them (R1-1).
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import date
from enum import StrEnum
from math import fsum, log
from typing import Annotated, Final, NamedTuple

from pydantic import AliasChoices, ConfigDict, Field
from typing_extensions import TypedDict

from sourcebound.contracts.base import Contract, is_absent, is_empty
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Run

EXPANDED: Final = "expanded"
"""The origin of a row that is a neighbour of a candidate in its document, and no search result itself (R1-10)."""

CARRIED: Final = "carried"
"""The origin of a row that an earlier run of the conversation cited, and that this run did not retrieve (CP-6)."""


class RetrievalStatus(StrEnum):
    """The status of retrieval."""

    SUCCESS = "SUCCESS"
    NO_EVIDENCE = "NO_EVIDENCE"
    FAILED = "FAILED"


class LaterSection(Contract):
    """A section that begins within a chunk, after the beginning of its text (R1-10)."""

    start: Annotated[int, Field(ge=1)]
    """The offset of its heading in the text, in characters."""
    section: Annotated[str, Field(min_length=1)]
    """Its heading path."""


class RetrievalRow(Contract):
    """A candidate chunk (R1-10)."""

    model_config = ConfigDict(extra="ignore", strict=True)

    chunk_id: Annotated[str, Field(min_length=1)]
    knowledge_id: Annotated[str, Field(min_length=1)]
    rank: Annotated[int, Field(ge=0, le=2**31 - 1)]
    similarity_score: Annotated[
        float,
        Field(ge=0, le=1, validation_alias=AliasChoices("similarity_score", "similarity", "score")),
    ]
    chunk_text: str
    knowledge_type_effective: Annotated[str, Field(min_length=1)]
    vector_ref: Annotated[str | int | None, Field(validation_alias=AliasChoices("vector_ref", "faiss_id"))] = None
    equipment_id: str | None = None
    event_date: Annotated[date | None, Field(strict=False)] = None
    authority: str | None = None
    source_reference: str | None = None
    title: str | None = None
    section: str | None = None
    """The heading path of the section in which the text begins."""
    later_sections: Annotated[tuple[LaterSection, ...], Field(strict=False, exclude_if=is_empty)] = ()
    """The sections that begin further down in `chunk_text`, in order."""
    page_number: int | None = None
    char_start: int | None = None
    char_end: int | None = None
    origin: str | None = None
    dense_rank: int | None = None
    lexical_rank: int | None = None
    """The positions of the row in the two fused lists, from 0 like `rank`; None if a list does not hold it."""
    lexical_score: Annotated[float | None, Field(allow_inf_nan=False)] = None
    """The score of the lexical list, on the retriever's own scale. It decides nothing."""
    rerank_score: Annotated[float | None, Field(allow_inf_nan=False, exclude_if=is_absent)] = None
    """The score of the policy's reranker, on its own scale. It orders, and gates nothing (R1-6)."""


class RetrievalBundle(Contract):
    """The ranked candidates of one question and how they were found (R1-9)."""

    model_config = ConfigDict(extra="ignore", strict=True)

    request_id: Annotated[str, Field(min_length=1)]
    run_id: Annotated[str, Field(min_length=1)]
    user_question: Annotated[str, Field(min_length=1)]
    retrieval_status: Annotated[RetrievalStatus, Field(strict=False)]
    index_version: Annotated[str, Field(min_length=1)]
    embedding_model: Annotated[str, Field(min_length=1)]
    top_k: Annotated[int, Field(ge=1)]
    results: Annotated[tuple[RetrievalRow, ...], Field(strict=False)]
    policy_version: str | None = None
    policy_sha256: str | None = None
    filters_applied: dict[str, str | None] | None = None
    retrieval_latency_ms: float | None = None
    fallback_used: bool = False
    query_variants: Annotated[tuple[str, ...], Field(strict=False)] = ()
    question_coverage: Annotated[float | None, Field(ge=0, le=1)] = None
    question_words: Annotated[int | None, Field(ge=0, exclude_if=is_absent)] = None
    """The number of different content words of the question, by which a policy may lower its minimum of coverage."""
    collection_chunks: Annotated[int | None, Field(ge=0, exclude_if=is_absent)] = None
    """The number of chunks of the collection, by which a policy may raise its minimum of coverage."""
    reranker: Annotated[str | None, Field(exclude_if=is_absent)] = None
    """The name of the model that ordered the rows (R1-6); none if absent."""
    retrieval_shortfall: int = 0
    notices: Annotated[tuple[str, ...], Field(strict=False)] = ()


class RetrievalRequest(TypedDict):
    """The part of a bundle that describes the request. The rest describes the result."""

    request_id: str
    run_id: str
    user_question: str
    top_k: int
    policy_version: str
    policy_sha256: str
    filters_applied: dict[str, str | None]


def retrieval_request(run: Run, policy: Policy) -> RetrievalRequest:
    """Return the request of the built-in retriever."""
    return {
        "request_id": run.request_id,
        "run_id": run.run_id,
        "user_question": run.question,
        "top_k": policy.retrieval.top_k,
        "policy_version": policy.policy_version,
        "policy_sha256": policy.sha256,
        "filters_applied": {**run.filters.given()},
    }


def similarity_from_distance(cosine_distance: float) -> float:
    """Return `max(0, 1 - distance)`, at most 1 (P-5)."""
    return min(1.0, max(0.0, 1.0 - cosine_distance))


class Support(NamedTuple):
    """The support of one candidate for a question."""

    matched_words: Collection[str]
    """The lexemes of the question that the candidate holds."""
    similarity: float = 0.0
    """The cosine similarity to the question; 0 without vectors."""


def question_coverage(document_frequency: Mapping[str, int], candidates: Iterable[Support], documents: int) -> float:
    """Measure how far the best candidate covers the question's content words, weighted by rarity (P-5).

    A word that a candidate holds counts in full. A word that it does not hold counts by the similarity of the candidate
    to the question, because a paraphrase may hold its meaning. So a candidate that holds the share `h` of the weight
    covers `h + (1 - h) * similarity`; without vectors, `h`. A single candidate must reach it, because the similarity of
    one and the words of another do not support an answer, and a large collection holds the words of any question
    somewhere.

    A word weighs `1 + ln((1 + documents) / (1 + frequency))`. The leading 1 stabilizes the measure in a small
    collection, where frequencies mean little. A word that no chunk holds weighs as if one chunk held it; otherwise a
    common verb that the documents do not use would outweigh all other words.

    Args:
        document_frequency: For each content word (lexeme) of the question, the number of chunks that hold it.
        candidates: The candidates.
        documents: The number of chunks in the collection.

    Returns:
        A share in [0, 1] with six decimals, as a row's similarity; 0 without candidates; 1 for a question without
        content words, which cannot be measured.
    """
    weights = {word: 1 + log((1 + documents) / (1 + max(count, 1))) for word, count in document_frequency.items()}
    if not weights:
        return 1.0
    total_weight = fsum(weights.values())
    coverages = (_candidate_coverage(weights, total_weight, candidate) for candidate in candidates)
    return round(max(coverages, default=0.0), 6)


def _candidate_coverage(weights: Mapping[str, float], total_weight: float, candidate: Support) -> float:
    """Return `h + (1 - h) * similarity`, in a form that is monotone in both despite rounding."""
    matched_share = fsum(weights[word] for word in set(candidate.matched_words)) / total_weight
    return 1 - (1 - matched_share) * (1 - candidate.similarity)
