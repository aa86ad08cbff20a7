"""R1 over PostgreSQL: a dense and a lexical list, fused by reciprocal rank.

Every row keeps its true similarity (R1-5).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import perf_counter
from typing import Final, NamedTuple, TypeVar

from psycopg import AsyncConnection

from sourcebound.contracts.fusion import Ranking, diversify, fuse_reciprocal_rank, merge_best, relevance_of
from sourcebound.contracts.index import Collection
from sourcebound.contracts.lexical import UNITS
from sourcebound.contracts.policy import Policy, RetrievalPolicy
from sourcebound.contracts.ports import Embedder
from sourcebound.contracts.request import Run
from sourcebound.contracts.retrieval import (
    CARRIED,
    EXPANDED,
    RetrievalBundle,
    RetrievalRow,
    RetrievalStatus,
    Support,
    question_coverage,
    searched_for,
    similarity_from_distance,
)
from sourcebound.contracts.variants import needs_fallback, query_variants
from sourcebound.errors import ConfigurationError
from sourcebound.store.database import Pool, Row, on_a_connection
from sourcebound.store.index import PostgresIndex
from sourcebound.store.search import ChunkSearch, Words
from sourcebound.store.vector_cache import VectorCache
from sourcebound.store.vectors import vector_text

LEXICAL: Final = "lexical"
LEXICAL_NOTICE: Final = "no embedder: retrieval is lexical, by full text alone"
PROBE_NOTICE: Final = "the probe found nothing similar enough to the question, so nothing else was searched for"
SIMILARITY_DIGITS: Final = 6
Result = TypeVar("Result")
OpenEmbedder = Callable[[str], Awaitable[Embedder | None]]


class Searches(NamedTuple):
    """What is searched for: the question and its variants, and a vector of each where there is an embedder."""

    texts: tuple[str, ...]
    vectors: Sequence[str] = ()


class Place(NamedTuple):
    """Where a candidate stands in the two lists that are fused; None where a list does not hold it."""

    dense: int | None = None
    lexical: int | None = None
    score: float | None = None
    """Its BM25 score."""


class Found(NamedTuple):
    """What a retrieval brings."""

    index_version: str
    """The state of the collection in which it was found, whatever is ingested meanwhile."""
    rows: tuple[RetrievalRow, ...] = ()
    coverage: float | None = None
    shortfall: int = 0
    fallback_used: bool = False
    notices: tuple[str, ...] = ()


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
        self._cache = VectorCache()

    async def retrieve(self, run: Run, policy: Policy) -> RetrievalBundle:
        """The ranked candidates of the run's question in the run's collection (R1-9)."""
        started = perf_counter()
        collection = await self._index.find_collection(run.collection or "")
        if collection is None:
            raise ConfigurationError(
                f"the collection {run.collection!r} is gone.", "Ingest it again.", code="COLLECTION_GONE"
            )
        embedder = await self._embedder(collection)
        asked = run.search_query or run.question
        searches = Searches((asked,), await _embed(embedder, (asked,)))
        found = None
        if policy.retrieval.probe_min_similarity is not None:
            found = await self._probe(run, policy.retrieval.probe_min_similarity, collection, searches)
        if found is None:
            texts = query_variants(asked, policy.retrieval.expansions or ())
            searches = Searches(texts, [*searches.vectors, *await _embed(embedder, texts[1:])])
            found = await self._search(
                run, collection, lambda search: _find(search, collection, searches, policy, run.carried)
            )
        return RetrievalBundle(
            **searched_for(run, policy),
            retrieval_status=RetrievalStatus.SUCCESS if found.rows else RetrievalStatus.NO_EVIDENCE,
            index_version=found.index_version,
            embedding_model=collection.embedding_model,
            results=found.rows,
            retrieval_latency_ms=round((perf_counter() - started) * 1000, 3),
            fallback_used=found.fallback_used,
            query_variants=searches.texts,
            question_coverage=found.coverage,
            retrieval_shortfall=found.shortfall,
            notices=(*(() if searches.vectors else (LEXICAL_NOTICE,)), *found.notices),
        )

    async def _embedder(self, collection: Collection) -> Embedder | None:
        embedder = await self._open_embedder(collection.embedder)
        found = embedder.name if embedder else LEXICAL
        if found != collection.embedding_model:
            raise ConfigurationError(
                f"the collection {collection.name!r} was made with {collection.embedding_model}, and the embedder here "
                f"is {found}.",
                "Install the embedder that made it, or ingest the documents into a new collection.",
                code="INDEX_EMBEDDER_MISMATCH",
            )
        return embedder

    async def _probe(self, run: Run, minimum: float, collection: Collection, searches: Searches) -> Found | None:
        """R1-3: the end of a retrieval whose nearest chunk is not near enough; None where it goes on."""

        async def probe(search: ChunkSearch) -> Found | None:
            words = await search.words(() if searches.vectors else searches.texts)
            nearest = list(await _one_list(search, searches, words, 0, 1))
            rows = await search.rows(nearest, searches.vectors, words)
            if any(_similarity(row, words) >= minimum for row in rows.values()):
                return None
            return Found(_version(collection, words), notices=(PROBE_NOTICE,))

        return await self._search(run, collection, probe)

    async def _search(
        self, run: Run, collection: Collection, look: Callable[[ChunkSearch], Awaitable[Result]]
    ) -> Result:
        """What a look into one state of the collection finds; a lost connection has it looked again."""

        async def work(connection: AsyncConnection[Row]) -> Result:
            # In a pipeline what returns nothing costs no way there and back.
            async with connection.pipeline(), connection.transaction():
                search = ChunkSearch(connection, collection, run.filters, self._cache)
                await search.begin()
                return await look(search)

        return await on_a_connection(self._pool, work)


async def _embed(embedder: Embedder | None, texts: Sequence[str]) -> list[str]:
    return [vector_text(await embedder.embed_query(text)) for text in texts] if embedder else []


async def _one_list(
    search: ChunkSearch, searches: Searches, words: Words, number: int, limit: int
) -> Mapping[str, float]:
    """The list that similarity comes from: by vector, or by words where there are no vectors."""
    if searches.vectors:
        return await search.dense(searches.vectors[number], limit)
    return await search.lexical(words, number, limit)


async def _find(
    search: ChunkSearch, collection: Collection, searches: Searches, policy: Policy, carried: Sequence[str]
) -> Found:
    limits = policy.retrieval
    words = await search.words(searches.texts)
    order = await _order(search, searches, words, limits)
    neighbours = await search.neighbours(list(order), limits.neighbours) if limits.neighbours and order else []
    added = dict.fromkeys(neighbours, EXPANDED) | {chunk: CARRIED for chunk in carried if chunk not in order}
    found = await search.rows([*order, *added], searches.vectors, words)
    rows = [_row(found[chunk], rank, words, place) for rank, (chunk, place) in enumerate(order.items())]
    offered = [_support(found[chunk], words) for chunk in order]
    coverage = question_coverage(words.frequencies(0), offered, words.chunks)
    beside = [chunk for chunk in added if chunk in found]  # a carried one may be gone, or behind a filter
    others = [
        _row(found[chunk], rank, words, Place(), added[chunk]) for rank, chunk in enumerate(beside, start=len(rows))
    ]
    missing = await search.count(limits.top_k) - len(rows) if searches.vectors and len(rows) < limits.top_k else 0
    fallback = needs_fallback(searches.texts[0], rows, policy)
    return Found(_version(collection, words), (*rows, *others), coverage, missing, fallback)


async def _order(search: ChunkSearch, searches: Searches, words: Words, limits: RetrievalPolicy) -> dict[str, Place]:
    """The candidates in the order of their ranks (R1-4 … R1-6), by id."""
    pool, numbers = limits.candidate_pool, range(len(searches.texts))
    dense: Mapping[str, float] = {}
    lexical: Mapping[str, float] = {}
    if searches.vectors:
        dense = merge_best([await search.dense(vector, pool) for vector in searches.vectors], pool)
    if limits.hybrid or not searches.vectors:
        lexical = merge_best([await search.lexical(words, number, pool) for number in numbers], pool)
    rankings = [Ranking(list(dense), limits.dense_weight or 1.0), Ranking(list(lexical), limits.lexical_weight or 1.0)]
    fused = fuse_reciprocal_rank(rankings, limits.rrf_k or 1)
    order = list(fused)[: limits.top_k]
    if limits.mmr_lambda is not None and dense:
        # Where nothing was fused, similarity itself is the relevance.
        near = {item: similarity_from_distance(-score) for item, score in dense.items()}
        relevance = relevance_of({item: fused[item] for item in list(fused)[:pool]}) if limits.hybrid else near
        order = await _diverse(search, relevance, limits.mmr_lambda, limits.top_k)
    first, second = ({item: place for place, item in enumerate(each)} for each in (dense, lexical))
    return {
        item: Place(first.get(item), second.get(item), lexical[item] / UNITS if item in lexical else None)
        for item in order
    }


async def _diverse(search: ChunkSearch, relevance: Mapping[str, float], mmr_lambda: float, count: int) -> list[str]:
    distances = await search.distances(list(relevance))
    return diversify(
        relevance,
        lambda first, second: similarity_from_distance(distances[frozenset((first, second))]),
        mmr_lambda,
        count,
    )


def _version(collection: Collection, words: Words) -> str:
    return collection.model_copy(update={"documents_digest": words.documents_digest}).index_version


def _support(row: Row, words: Words) -> Support:
    """What a chunk offers the question itself, whatever else was searched for (P-5)."""
    own = row["own_distance"]
    return Support(
        _held(row, words, 0), 0.0 if own is None else round(similarity_from_distance(own), SIMILARITY_DIGITS)
    )


def _held(row: Row, words: Words, search: int) -> set[str]:
    return words.frequencies(search).keys() & set(row["held"])


def _similarity(row: Row, words: Words) -> float:
    """The best over the searches (R1-4); without vectors, the share of a search's words that the row holds (P-5)."""
    if row["distance"] is not None:
        return similarity_from_distance(row["distance"])
    searched = [number for number, search in enumerate(words.searches) if search]
    shares = (
        question_coverage(words.frequencies(number), [Support(_held(row, words, number))], words.chunks)
        for number in searched
    )
    return max(shares, default=0.0)


def _row(row: Row, rank: int, words: Words, place: Place, origin: str | None = None) -> RetrievalRow:
    page = row["page_number"]
    return RetrievalRow(
        chunk_id=row["chunk_id"],
        knowledge_id=row["knowledge_id"],
        rank=rank,
        similarity_score=round(_similarity(row, words), SIMILARITY_DIGITS),
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
        origin=origin,
        dense_rank=place.dense,
        lexical_rank=place.lexical,
        lexical_score=place.score,
    )
