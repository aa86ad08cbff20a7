"""R1 over PostgreSQL: a dense and a lexical list, fused by reciprocal rank.

Every row keeps its true similarity (R1-5).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Final, NamedTuple, TypeVar

from psycopg import AsyncConnection

from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.policy.schema import Policy, RetrievalPolicy
from sourcebound.contracts.ports import Embedder
from sourcebound.contracts.request import Filters, Run
from sourcebound.contracts.retrieval.bm25 import UNITS
from sourcebound.contracts.retrieval.fusion import Ranking, diversify, fuse_reciprocal_rank, merge_best, relevance_of
from sourcebound.contracts.retrieval.query_variants import needs_fallback, query_variants
from sourcebound.contracts.retrieval.retrieval_bundle import (
    CARRIED,
    EXPANDED,
    RetrievalBundle,
    RetrievalRow,
    RetrievalStatus,
    Support,
    question_coverage,
    retrieval_request,
    similarity_from_distance,
)
from sourcebound.errors import ConfigurationError, ModelError
from sourcebound.store.connection.database import Pool, Row, on_a_connection, one_state
from sourcebound.store.search.chunk_queries import ChunkSearch, StaleCollection, Words
from sourcebound.store.search.corpus import PostgresIndex
from sourcebound.store.search.vector_cache import VectorCache
from sourcebound.store.search.vector_codec import PackedVector, pack_vector

LEXICAL: Final = "lexical"
LEXICAL_NOTICE: Final = "no embedder: retrieval is lexical, by full text alone"
PROBE_NOTICE: Final = "the probe found nothing similar enough to the question, so nothing else was searched for"
SIMILARITY_DIGITS: Final = 6
Result = TypeVar("Result")
OpenEmbedder = Callable[[str], Awaitable[Embedder | None]]


class Searches(NamedTuple):
    """What is searched for: the question and its variants, and a vector of each where there is an embedder."""

    texts: tuple[str, ...]
    vectors: Sequence[PackedVector] = ()


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


class Retrieved(NamedTuple):
    """What was searched, for what, and what it brought."""

    collection: Collection
    searches: Searches
    found: Found


Conclusion = Callable[[], Awaitable[Result]]
"""What is made of the last rows that were asked for, once the end of the transaction has brought them."""
Look = Callable[[ChunkSearch], Awaitable[Conclusion[Result]]]


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
        self._remembered: dict[str, Collection] = {}

    async def retrieve(self, run: Run, policy: Policy) -> RetrievalBundle:
        """The ranked candidates of the run's question in the run's collection (R1-9)."""
        started = perf_counter()
        collection, searches, found = await self._retrieve(run, policy)
        return RetrievalBundle(
            **retrieval_request(run, policy),
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

    async def _retrieve(self, run: Run, policy: Policy) -> Retrieved:
        """Takes a collection that was searched before for what it was then, until the search itself says otherwise."""
        name = run.collection or ""
        remembered = self._remembered.pop(name, None)
        collection = remembered or await self._open(name)
        try:
            retrieved = await self._retrieve_from(collection, run, policy, remembered=remembered is not None)
        except (StaleCollection, ConfigurationError, ModelError) as error:  # the latter two of an embedder
            if remembered is None:
                raise
            collection = await self._open(name)
            if collection == remembered and not isinstance(error, StaleCollection):
                raise
            retrieved = await self._retrieve_from(collection, run, policy)
        self._remembered[name] = collection
        return retrieved

    async def _open(self, name: str) -> Collection:
        collection = await self._index.find_collection(name)
        if collection is None:
            raise ConfigurationError(f"the collection {name!r} is gone.", "Ingest it again.", code="COLLECTION_GONE")
        return collection

    async def _retrieve_from(
        self, collection: Collection, run: Run, policy: Policy, *, remembered: bool = False
    ) -> Retrieved:
        embedder = await self._embedder(collection)
        look = partial(self._look, collection, run.filters, remembered)
        asked = run.search_query or run.question
        searches = Searches((asked,), await _embed(embedder, (asked,)))
        minimum = policy.retrieval.probe_min_similarity
        if minimum is not None:
            weak = await look(lambda search: _probe(search, minimum, collection, searches))
            if weak is not None:
                return Retrieved(collection, searches, weak)
        texts = query_variants(asked, policy.retrieval.expansions or ())
        every = Searches(texts, [*searches.vectors, *await _embed(embedder, texts[1:])])
        found = await look(lambda search: _find(search, collection, every, policy, run.carried))
        return Retrieved(collection, every, found)

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

    async def _look(self, collection: Collection, filters: Filters, remembered: bool, look: Look[Result]) -> Result:
        """What a look into one state of the collection finds; a lost connection has it looked again."""

        async def work(connection: AsyncConnection[Row]) -> Result:
            async with one_state(connection):
                search = ChunkSearch(connection, collection, filters, self._cache, remembered=remembered)
                await search.begin()
                conclude = await look(search)
            return await conclude()

        return await on_a_connection(self._pool, work)


async def _embed(embedder: Embedder | None, texts: Sequence[str]) -> list[PackedVector]:
    return [pack_vector(await embedder.embed_query(text)) for text in texts] if embedder else []


async def _probe(
    search: ChunkSearch, minimum: float, collection: Collection, searches: Searches
) -> Conclusion[Found | None]:
    """R1-3: the end of a retrieval whose nearest chunk is not near enough; None where it goes on."""
    words = await search.words(() if searches.vectors else searches.texts, searches.vectors, 1)
    nearest = list(await _one_list(search, searches, words, 0, 1))
    asked = await search.ask_rows(nearest, searches.vectors, words)

    async def conclude() -> Found | None:
        if any(_similarity(row, words) >= minimum for row in await search.rows(asked)):
            return None
        return Found(_version(collection, words), notices=(PROBE_NOTICE,))

    return conclude


async def _one_list(
    search: ChunkSearch, searches: Searches, words: Words, number: int, limit: int
) -> Mapping[str, float]:
    """The list that similarity comes from: by vector, or by words where there are no vectors."""
    if searches.vectors:
        return await search.dense(searches.vectors[number], limit)
    return await search.lexical(words, number, limit)


async def _find(
    search: ChunkSearch, collection: Collection, searches: Searches, policy: Policy, carried: Sequence[str]
) -> Conclusion[Found]:
    limits = policy.retrieval
    scored = bool(limits.hybrid) or not searches.vectors
    exact = limits.mmr_lambda is not None or len(searches.vectors) > 1  # distances are compared beyond their order
    words = await search.words(searches.texts, searches.vectors, limits.candidate_pool, scored=scored, exact=exact)
    order = await _order(search, searches, words, limits, exact)
    neighbours = await search.neighbours(list(order), limits.neighbours) if limits.neighbours and order else []
    added = dict.fromkeys(neighbours, EXPANDED) | {chunk: CARRIED for chunk in carried if chunk not in order}
    short = bool(searches.vectors) and len(order) < limits.top_k
    missing = await search.count(limits.top_k) - len(order) if short else 0
    asked = await search.ask_rows([*order, *added], searches.vectors, words)

    async def conclude() -> Found:
        found = {row["chunk_id"]: row for row in await search.rows(asked)}
        rows = [_row(found[chunk], rank, words, place) for rank, (chunk, place) in enumerate(order.items())]
        offered = [_support(found[chunk], words) for chunk in order]
        coverage = question_coverage(words.frequencies(0), offered, words.chunks)
        beside = [chunk for chunk in added if chunk in found]  # a carried one may be gone, or behind a filter
        others = [
            _row(found[chunk], rank, words, Place(), added[chunk]) for rank, chunk in enumerate(beside, start=len(rows))
        ]
        fallback = needs_fallback(searches.texts[0], rows, policy)
        return Found(_version(collection, words), (*rows, *others), coverage, missing, fallback)

    return conclude


async def _order(
    search: ChunkSearch, searches: Searches, words: Words, limits: RetrievalPolicy, exact: bool
) -> dict[str, Place]:
    """The candidates in the order of their ranks (R1-4 … R1-6), by id."""
    pool, numbers = limits.candidate_pool, range(len(searches.texts))
    dense: Mapping[str, float] = {}
    lexical: Mapping[str, float] = {}
    if searches.vectors:
        dense = merge_best([await search.dense(vector, pool, exact=exact) for vector in searches.vectors], pool)
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
