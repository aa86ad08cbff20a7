"""R1 over PostgreSQL: a dense and a lexical list, fused by reciprocal rank.

Every row keeps its true similarity (R1-5).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import perf_counter
from typing import NamedTuple

from sourcebound.contracts.index import Collection
from sourcebound.contracts.policy import Policy
from sourcebound.contracts.ports import Embedder
from sourcebound.contracts.request import Run
from sourcebound.contracts.retrieval import (
    RetrievalBundle,
    RetrievalRow,
    RetrievalStatus,
    fuse_reciprocal_rank,
    question_coverage,
    similarity_from_distance,
)
from sourcebound.errors import ConfigurationError
from sourcebound.store.database import Pool, Row, store_faults
from sourcebound.store.index import PostgresIndex, vector_text
from sourcebound.store.queries import query

LEXICAL = "lexical"
LEXICAL_NOTICE = "no embedder: retrieval is lexical, by full text alone"
OpenEmbedder = Callable[[str], Awaitable[Embedder | None]]


class Lists(NamedTuple):
    """The two rankings of one question, and what the question's words weigh."""

    dense: Sequence[Row]
    lexical: Sequence[Row]
    frequency: Mapping[str, int]


class PostgresRetriever:
    """Retrieves from the collections of one database.

    Args:
        pool: Connections to it.
        open_embedder: Opens the embedder that a collection was made with.
    """

    def __init__(self, pool: Pool, open_embedder: OpenEmbedder) -> None:
        self._pool = pool
        self._index = PostgresIndex(pool)
        self._open_embedder = open_embedder

    async def retrieve(self, run: Run, policy: Policy) -> RetrievalBundle:
        """The ranked candidates of the run's question in the run's collection (R1-9)."""
        started = perf_counter()
        collection = await self._index.find_collection(run.collection or "")
        if collection is None:
            raise ConfigurationError(
                f"the collection {run.collection!r} is gone.", "Ingest it again.", code="COLLECTION_GONE"
            )
        vector = await self._embed(run.question, collection)
        lists = await self._search(run, policy, collection, vector)
        results = _rank(lists, policy, collection)
        return RetrievalBundle(
            request_id=run.request_id,
            run_id=run.run_id,
            user_question=run.question,
            retrieval_status=RetrievalStatus.SUCCESS if results else RetrievalStatus.NO_EVIDENCE,
            index_version=collection.index_version,
            embedding_model=collection.embedding_model,
            top_k=policy.retrieval.top_k,
            results=tuple(row for row, _ in results),
            policy_version=policy.policy_version,
            policy_sha256=policy.sha256,
            filters_applied=dict(run.filters.given()),
            retrieval_latency_ms=round((perf_counter() - started) * 1000, 3),
            query_variants=(run.question,),
            question_coverage=question_coverage(lists.frequency, [held for _, held in results], collection.chunks),
            notices=() if vector else (LEXICAL_NOTICE,),
        )

    async def _embed(self, question: str, collection: Collection) -> str | None:
        embedder = await self._open_embedder(collection.embedder)
        found = embedder.name if embedder else LEXICAL
        if found != collection.embedding_model:
            raise ConfigurationError(
                f"the collection {collection.name!r} was made with {collection.embedding_model}, and the embedder here "
                f"is {found}.",
                "Install the embedder that made it, or ingest the documents into a new collection.",
                code="INDEX_EMBEDDER_MISMATCH",
            )
        return vector_text(await embedder.embed_query(question)) if embedder else None

    async def _search(self, run: Run, policy: Policy, collection: Collection, vector: str | None) -> Lists:
        filters = {name: None for name in type(run.filters).model_fields} | run.filters.model_dump()
        values = {**filters, "collection_id": collection.collection_id, "vector": vector}
        values["limit"] = policy.retrieval.candidate_pool
        dense: list[Row] = []
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("question_lexemes"), {**values, "question": run.question})
                frequency = {row["lexeme"]: row["chunks"] for row in await cursor.fetchall()}
                values["lexemes"] = list(frequency)
                if vector:
                    dense = await (await connection.execute(query("dense_rows"), values)).fetchall()
                lexical: list[Row] = []
                if frequency and (policy.retrieval.hybrid or not vector):
                    lexical = await (await connection.execute(query("lexical_rows"), values)).fetchall()
        return Lists(dense, lexical, frequency)


def _rank(lists: Lists, policy: Policy, collection: Collection) -> list[tuple[RetrievalRow, list[str]]]:
    rows = {row["chunk_id"]: row for row in [*lists.lexical, *lists.dense]}
    rankings = [[row["chunk_id"] for row in ranking] for ranking in (lists.dense, lists.lexical) if ranking]
    places = [{chunk["chunk_id"]: place for place, chunk in enumerate(each)} for each in (lists.dense, lists.lexical)]
    order = fuse_reciprocal_rank(rankings, policy.retrieval.rrf_k or 1)[: policy.retrieval.top_k]
    return [
        (_row(rows[chunk], rank, [each.get(chunk) for each in places], lists, collection), rows[chunk]["held"])
        for rank, chunk in enumerate(order)
    ]


def _row(row: Row, rank: int, places: Sequence[int | None], lists: Lists, collection: Collection) -> RetrievalRow:
    """A database row as a candidate; without vectors its similarity is the share of the question that it holds."""
    if row["distance"] is None:
        similarity = question_coverage(lists.frequency, [row["held"]], collection.chunks)
    else:
        similarity = similarity_from_distance(row["distance"])
    page = row["page_number"]
    return RetrievalRow(
        chunk_id=row["chunk_id"],
        knowledge_id=row["knowledge_id"],
        rank=rank,
        similarity_score=round(similarity, 6),
        chunk_text=row["chunk_text"],
        knowledge_type_effective=row["knowledge_type"],
        equipment_id=row["equipment_id"],
        event_date=row["event_date"],
        authority=row["authority"],
        source_reference=row["source_reference"] + (f", p. {page}" if page else ""),
        title=row["title"],
        section=" > ".join(row["heading_path"]) or None,
        page_number=page,
        char_start=row["char_start"],
        char_end=row["char_end"],
        dense_rank=places[0],
        lexical_rank=places[1],
    )
