"""R1: the retrieval bundle and question coverage.

Similarity gates; fusion only orders (P-5). The bundle is the one shape in which candidates reach R2, whether this
package retrieved them or another system did (R1-1).
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import date
from enum import StrEnum
from math import fsum, log
from typing import Annotated, Final, NamedTuple

from pydantic import AliasChoices, ConfigDict, Field
from typing_extensions import TypedDict

from sourcebound.contracts.base import Contract
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Run

EXPANDED: Final = "expanded"
"""The origin of a row that stands beside a candidate in its document and answers to no search itself (R1-10)."""

CARRIED: Final = "carried"
"""The origin of a row that an earlier run of the conversation cited and this one did not retrieve (CP-6)."""


class RetrievalStatus(StrEnum):
    """How retrieval ended."""

    SUCCESS = "SUCCESS"
    NO_EVIDENCE = "NO_EVIDENCE"
    FAILED = "FAILED"


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
    page_number: int | None = None
    char_start: int | None = None
    char_end: int | None = None
    origin: str | None = None
    dense_rank: int | None = None
    lexical_rank: int | None = None
    """The row's places in the two lists that were fused, from 0 like `rank`; None where a list does not hold it."""
    lexical_score: Annotated[float | None, Field(allow_inf_nan=False)] = None
    """What ordered the lexical list, on a scale of the retriever's own; nothing is decided by it."""


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
    retrieval_shortfall: int = 0
    notices: Annotated[tuple[str, ...], Field(strict=False)] = ()


class RetrievalRequest(TypedDict):
    """The part of a bundle that says what was searched for; the rest is what was found."""

    request_id: str
    run_id: str
    user_question: str
    top_k: int
    policy_version: str
    policy_sha256: str
    filters_applied: dict[str, str | None]


def retrieval_request(run: Run, policy: Policy) -> RetrievalRequest:
    """What a retriever of our own searches for."""
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
    """`max(0, 1 - distance)`, never over 1 (P-5)."""
    return min(1.0, max(0.0, 1.0 - cosine_distance))


class Support(NamedTuple):
    """What one candidate offers a question."""

    held: Collection[str]
    """The lexemes of the question that it holds."""
    similarity: float = 0.0
    """Its cosine similarity to the question; 0 where there are no vectors."""


def question_coverage(document_frequency: Mapping[str, int], candidates: Iterable[Support], documents: int) -> float:
    """How far the best candidate covers the question's content words, weighted by how rare they are (P-5).

    A word that a candidate holds counts whole. A word that it does not hold counts to the degree that this candidate
    is similar to the question, for a paraphrase holds a word as far as it means the same. So a candidate that holds
    the share `h` of the weight covers `h + (1 - h) * similarity`; without vectors, `h`. One candidate must do it: the
    similarity of one and the words of another support no answer, and in a large collection any question's words are
    found somewhere.

    A word weighs `1 + ln((1 + documents) / (1 + frequency))`. The leading 1 keeps the measure steady in a collection of
    few chunks, where frequencies say little. A word that no chunk holds weighs as one that a single chunk holds, or a
    common verb that the documents happen not to use would outweigh all the rest.

    Args:
        document_frequency: For each content word (lexeme) of the question, the number of chunks that hold it.
        candidates: The candidates.
        documents: Chunks in the collection.

    Returns:
        A share in [0, 1] to six decimals, which is what a row's similarity has; 0 without candidates; 1 for a question
        without content words, which it cannot judge.
    """
    weights = {word: 1 + log((1 + documents) / (1 + max(count, 1))) for word, count in document_frequency.items()}
    if not weights:
        return 1.0
    whole = fsum(weights.values())
    covered = (_covered(weights, whole, candidate) for candidate in candidates)
    return round(max(covered, default=0.0), 6)


def _covered(weights: Mapping[str, float], whole: float, candidate: Support) -> float:
    """`h + (1 - h) * similarity`, in the form that rises with both however floats are rounded."""
    held = fsum(weights[word] for word in set(candidate.held)) / whole
    return 1 - (1 - held) * (1 - candidate.similarity)
