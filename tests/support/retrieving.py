"""Retrieval alone: one question about the example manuals, under a policy with other values."""

from collections import Counter, defaultdict
from typing import Any, Final

import numpy as np

from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Filters, Run
from sourcebound.contracts.retrieval.bm25 import bm25_term, damping, word_weight
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.graph.workflow import new_id
from sourcebound.store.search.bm25 import POSTING
from sourcebound.wiring import Services, find_policy
from support.processes.databases import COLLECTION, rows

QUESTION: Final = "To what torque are the gland bolts of the mechanical seal tightened?"

LEXEMES_OF_CHUNKS: Final = "SELECT k.chunk_id, w.lexeme, cardinality(w.positions) FROM chunks k, unnest(k.search) AS w"


POSTINGS: Final = (
    "SELECT s.collection_id, l.lexeme, l.chunks, p.packed FROM posting_segments s JOIN postings p USING (segment) "
    "JOIN lexemes l USING (lexeme_id)"
)


def run_for(question: str, policy: Policy, **filters: Any) -> Run:
    return Run(
        request_id=new_id(),
        run_id=new_id(),
        thread_id="thread",
        question=question,
        collection=COLLECTION,
        filters=Filters.model_validate(filters),
        model="extractive",
        policy_version=policy.policy_version,
        policy_sha256=policy.sha256,
        entry="question",
        started_at="2025-01-01T00:00:00+00:00",
    )


def policy_with(name: str = "SOURCEBOUND_V1", **retrieval: Any) -> Policy:
    policy = find_policy(name, embedding_model=None)
    return policy.model_copy(update={"retrieval": policy.retrieval.model_copy(update=retrieval)})


async def retrieve(
    services: Services, question: str = QUESTION, policy: Policy | None = None, **filters: Any
) -> RetrievalBundle:
    chosen = policy or policy_with()
    return await services.retriever.retrieve(run_for(question, chosen, **filters), chosen)


def ids(bundle: RetrievalBundle) -> list[str]:
    return [row.chunk_id for row in bundle.results]


def bm25_reference(url: str, question: str, most: int = 1000) -> list[str]:
    """Return the best chunks for a question by a reference BM25 that reads the tsvectors directly."""
    held: dict[str, Counter[str]] = defaultdict(Counter)
    for chunk, lexeme, count in rows(url, LEXEMES_OF_CHUNKS):
        held[chunk][lexeme] = count
    mean = sum(counter.total() for counter in held.values()) / len(held)
    damped = damping(mean)
    words = {lexeme for (lexeme,) in rows(url, "SELECT lexeme FROM unnest(to_tsvector('english', %s))", question)}
    scores: Counter[str] = Counter()
    for word in words:
        weight = word_weight(sum(1 for counter in held.values() if word in counter), len(held))
        for chunk, counter in held.items():
            if word in counter:
                scores[chunk] += bm25_term(weight, counter[word], counter.total(), damped)
    return sorted(scores, key=lambda chunk: (-scores[chunk], chunk))[:most]


def kept_postings(url: str, collection: str | None = None) -> list[tuple[str, str, int, int, int]]:
    """Return the postings of existing chunks: chunk, word, occurrences, words of the chunk, chunks with the word."""
    chunks = dict(rows(url, "SELECT chunk_no, chunk_id FROM chunks"))
    removed = {number for (number,) in rows(url, "SELECT chunk_no FROM removed_chunks")}
    named = {collection_id: name for collection_id, name in rows(url, "SELECT collection_id, name FROM collections")}
    found = []
    for collection_id, lexeme, holding, packed in rows(url, POSTINGS):
        for number, length, frequency in np.frombuffer(packed, POSTING).tolist():
            assert (number in chunks) is (number not in removed)
            if number in chunks and collection in (None, named[collection_id]):
                found.append((chunks[number], lexeme, frequency, length, holding))
    return sorted(found)
