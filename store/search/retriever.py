"""Retrieval (R1) over PostgreSQL: a dense and a lexical list, fused by reciprocal rank.

Every row keeps its true similarity (R1-5). No altered chunk leaves it (IX-3).
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Final, NamedTuple, TypeVar

from psycopg import AsyncConnection

from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.corpus.document import section_name
from sourcebound.contracts.languages.detection import foreign_language
from sourcebound.contracts.languages.stems import CONFIGURATIONS
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.ports import Embedder, Reranker
from sourcebound.contracts.request import Filters, Run
from sourcebound.contracts.retrieval.query_variants import needs_fallback, query_variants, with_plain_years
from sourcebound.contracts.retrieval.reranking import rerank, with_candidates
from sourcebound.contracts.retrieval.retrieval_bundle import (
    CARRIED,
    EXPANDED,
    LaterSection,
    RetrievalBundle,
    RetrievalRow,
    RetrievalStatus,
    Support,
    question_coverage,
    retrieval_request,
    similarity_from_distance,
)
from sourcebound.contracts.text.spelling import respell
from sourcebound.errors import ConfigurationError, ModelError
from sourcebound.store.connection.database import Pool, Row, read_snapshot, retry_on_lost_connection
from sourcebound.store.connection.visibility import narrowed_to, visible_labels
from sourcebound.store.search.altered import damaged_index
from sourcebound.store.search.bm25 import SearchWords
from sourcebound.store.search.chunk_queries import ChunkSearch, StaleCollection
from sourcebound.store.search.corpus import PostgresIndex
from sourcebound.store.search.fused_order import SIMILARITY_DIGITS, ListPosition, Searches, order_candidates
from sourcebound.store.search.rewording import find_spellings, find_translations
from sourcebound.store.search.vector_cache import VectorCache
from sourcebound.store.search.vector_codec import PackedVector, pack_vector

LEXICAL: Final = "lexical"
LEXICAL_NOTICE: Final = "no embedder: retrieval is lexical, by full text alone"
PROBE_NOTICE: Final = "the probe found nothing similar enough to the question, so nothing else was searched for"
Result = TypeVar("Result")
OpenEmbedder = Callable[[str], Awaitable[Embedder | None]]
OpenReranker = Callable[[str], Awaitable[Reranker]]


class RetrievalResult(NamedTuple):
    """The result of a retrieval."""

    index_version: str
    """The state of the collection that was searched, regardless of what is ingested meanwhile."""
    rows: tuple[RetrievalRow, ...] = ()
    coverage: float | None = None
    question_words: int | None = None
    collection_chunks: int | None = None
    unknown_words: bool = False
    """Whether no chunk holds one of the question's words."""
    shortfall: int = 0
    fallback_used: bool = False
    notices: tuple[str, ...] = ()


class Retrieval(NamedTuple):
    """The searched collection, the search texts and the result."""

    collection: Collection
    searches: Searches
    found: RetrievalResult


Finish = Callable[[], Awaitable[Result]]
"""Computes a result from the last requested rows, after the end of the transaction has fetched them."""
SearchWork = Callable[[ChunkSearch], Awaitable[Finish[Result]]]


class PostgresRetriever:
    """Retrieves from the collections of one database.

    Args:
        pool: Connections to the database.
        open_embedder: Opens the embedder that a collection was created with.
        open_reranker: Opens the reranker that a policy names.
    """

    def __init__(self, pool: Pool, open_embedder: OpenEmbedder, open_reranker: OpenReranker) -> None:
        self._pool = pool
        self._index = PostgresIndex(pool)
        self._open_embedder = open_embedder
        self._open_reranker = open_reranker
        self._cache = VectorCache()
        self._remembered: dict[str, Collection] = {}

    async def retrieve(self, run: Run, policy: Policy) -> RetrievalBundle:
        """Return the ranked candidates of the run's question in the run's collection (R1-9)."""
        name = policy.retrieval.reranker
        if name is None:
            return await self._retrieve_bundle(run, policy)
        started = perf_counter()
        reranker = await self._open_reranker(name)
        bundle = await self._retrieve_bundle(run, with_candidates(policy))
        texts = [row.chunk_text for row in bundle.results]
        scores = await reranker.score(run.search_query or run.question, texts)
        latency = round((perf_counter() - started) * 1000, 3)
        return rerank(bundle, scores, run, policy, name).model_copy(update={"retrieval_latency_ms": latency})

    async def _retrieve_bundle(self, run: Run, policy: Policy) -> RetrievalBundle:
        started = perf_counter()
        with narrowed_to(run.caller_labels):
            collection, searches, found = await self._retrieve(run, policy)
        with damaged_index(collection.name):
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
                question_words=found.question_words,
                collection_chunks=found.collection_chunks,
                retrieval_shortfall=found.shortfall,
                notices=(*(() if searches.vectors else (LEXICAL_NOTICE,)), *found.notices),
            )

    async def _retrieve(self, run: Run, policy: Policy) -> Retrieval:
        """Search with the remembered state of the collection, and look the collection up again if that is stale."""
        name = run.collection or ""
        remembered = self._remembered.pop(name, None)
        collection = remembered or await self._open_collection(name)
        try:
            retrieved = await self._retrieve_from(collection, run, policy, remembered=remembered is not None)
        except (StaleCollection, ConfigurationError, ModelError) as error:  # an embedder raises the latter two
            if remembered is None:
                raise
            collection = await self._open_collection(name)
            if collection == remembered and not isinstance(error, StaleCollection):
                raise
            retrieved = await self._retrieve_from(collection, run, policy)
        self._remembered[name] = collection
        return retrieved

    async def _open_collection(self, name: str) -> Collection:
        collection = await self._index.find_collection(name)
        if collection is None:
            raise ConfigurationError(
                f"the collection {name!r} no longer exists.", "Ingest its documents again.", code="COLLECTION_GONE"
            )
        return collection

    async def _retrieve_from(
        self, collection: Collection, run: Run, policy: Policy, *, remembered: bool = False
    ) -> Retrieval:
        embedder = await self._open_matching_embedder(collection)
        perform = partial(self._search_snapshot, collection, run.filters, remembered)
        query = run.search_query or run.question
        searches = Searches((query,), await _embed_texts(embedder, (query,)))
        minimum = policy.retrieval.probe_min_similarity
        if minimum is not None:
            empty_result = await perform(lambda search: _run_probe(search, minimum, collection, searches))
            if empty_result is not None:
                return Retrieval(collection, searches, empty_result)
        texts = query_variants(query, policy.retrieval.expansions or ())
        searches = Searches(texts, [*searches.vectors, *await _embed_texts(embedder, texts[1:])])
        language = foreign_language(query) if policy.retrieval.translate else None
        translated: tuple[str, ...] = ()
        if language and CONFIGURATIONS[language] != collection.language:
            translated = await perform(lambda search: find_translations(search, language, query))
            searches = searches.with_own(translated, await _embed_texts(embedder, translated))
        found = await perform(lambda search: _retrieve_rows(search, collection, searches, policy, run.carried))
        if translated:
            found = found._replace(notices=(*found.notices, f"searched in English too: {translated[0]}"))
        if policy.retrieval.respell and found.unknown_words and not translated:
            spellings = await perform(lambda search: find_spellings(search, query))
            if spellings:
                text = respell(query, spellings)
                searches = searches.with_own((text,), await _embed_texts(embedder, (text,)))
                found = await perform(lambda search: _retrieve_rows(search, collection, searches, policy, run.carried))
                found = found._replace(notices=(*found.notices, *_describe_spellings(spellings)))
        return Retrieval(collection, searches, found)

    async def _open_matching_embedder(self, collection: Collection) -> Embedder | None:
        embedder = await self._open_embedder(collection.embedder)
        found = embedder.name if embedder else LEXICAL
        if found != collection.embedding_model:
            raise ConfigurationError(
                f"the collection {collection.name!r} was created with {collection.embedding_model}, and the embedder "
                f"here is {found}.",
                "Install the embedder of the collection, or ingest the documents into a new collection.",
                code="INDEX_EMBEDDER_MISMATCH",
            )
        return embedder

    async def _search_snapshot(
        self, collection: Collection, filters: Filters, remembered: bool, perform: SearchWork[Result]
    ) -> Result:
        """Run searches on one snapshot of the collection. Repeat them once if the connection is lost."""

        async def work(connection: AsyncConnection[Row]) -> Result:
            async with read_snapshot(connection):
                search = ChunkSearch(
                    connection, collection, filters, self._cache, remembered=remembered, labels=visible_labels()
                )
                await search.begin()
                finish = await perform(search)
            return await finish()

        with damaged_index(collection.name):
            return await retry_on_lost_connection(self._pool, work)


async def _embed_texts(embedder: Embedder | None, texts: Sequence[str]) -> list[PackedVector]:
    return [pack_vector(await embedder.embed_query(text)) for text in texts] if embedder else []


async def _run_probe(
    search: ChunkSearch, minimum: float, collection: Collection, searches: Searches
) -> Finish[RetrievalResult | None]:
    """Return an empty result if the nearest chunk is not similar enough (R1-3), or None to continue the retrieval."""
    words = await search.words(() if searches.vectors else searches.texts, searches.vectors, 1)
    nearest = list(await _ranked_list(search, searches, words, 0, 1))
    query = await search.request_rows(nearest, searches.vectors, words)

    async def finish() -> RetrievalResult | None:
        if any(_compute_similarity(row, words) >= minimum for row in await search.rows(query, nearest)):
            return None
        return RetrievalResult(_make_index_version(collection, words), notices=(PROBE_NOTICE,))

    return finish


async def _ranked_list(
    search: ChunkSearch, searches: Searches, words: SearchWords, number: int, limit: int
) -> Mapping[str, float]:
    """Return the list that similarity is based on: by vector, or by words where there are no vectors."""
    if searches.vectors:
        return await search.dense(searches.vectors[number], limit)
    return await search.lexical(words, number, limit)


async def _retrieve_rows(
    search: ChunkSearch, collection: Collection, searches: Searches, policy: Policy, carried: Sequence[str]
) -> Finish[RetrievalResult]:
    limits = policy.retrieval
    scored = bool(limits.hybrid) or not searches.vectors
    exact = (
        limits.mmr_lambda is not None or len(searches.vectors) > 1
    )  # the distances themselves are compared, not only their order
    texts = [with_plain_years(text) for text in searches.texts] if limits.plain_years else searches.texts
    words = await search.words(texts, searches.vectors, limits.candidate_pool, scored=scored, exact=exact)
    order = await order_candidates(search, searches, words, limits, exact)
    neighbours = await search.neighbours(list(order), limits.neighbours) if limits.neighbours and order else []
    added = dict.fromkeys(neighbours, EXPANDED) | {chunk: CARRIED for chunk in carried if chunk not in order}
    is_short = bool(searches.vectors) and len(order) < limits.top_k
    missing = await search.count(limits.top_k) - len(order) if is_short else 0
    query = await search.request_rows([*order, *added], searches.vectors, words)

    async def finish() -> RetrievalResult:
        found = {row["chunk_id"]: row for row in await search.rows(query, order)}
        rows = [_make_row(found[chunk], rank, words, position) for rank, (chunk, position) in enumerate(order.items())]
        distance = "distance" if len(searches.own) == len(searches.texts) else "own_distance"
        coverage = max(
            _coverage(found, order, words, number, distance if number else "own_distance") for number in searches.own
        )
        extra_chunks = [chunk for chunk in added if chunk in found]  # a carried chunk may be removed or filtered out
        extra_rows = [
            _make_row(found[chunk], rank, words, ListPosition(), added[chunk])
            for rank, chunk in enumerate(extra_chunks, start=len(rows))
        ]
        fallback = needs_fallback(searches.texts[0], rows, policy)
        return RetrievalResult(
            _make_index_version(collection, words),
            (*rows, *extra_rows),
            coverage,
            len(words.searches[0]),
            words.chunks,
            any(not word.chunks for word in words.searches[0]),
            missing,
            fallback,
        )

    return finish


def _make_index_version(collection: Collection, words: SearchWords) -> str:
    return collection.model_copy(update={"documents_digest": words.documents_digest}).index_version


def _coverage(found: Mapping[str, Row], order: Iterable[str], words: SearchWords, number: int, distance: str) -> float:
    """Return the coverage of the question in one spelling or language, regardless of the other searches (P-5)."""
    supports = [_make_support(found[chunk], words, number, distance) for chunk in order]
    return question_coverage(words.frequencies(number), supports, words.chunks)


def _make_support(row: Row, words: SearchWords, number: int, distance: str) -> Support:
    own = row[distance]
    similarity = 0.0 if own is None else round(similarity_from_distance(own), SIMILARITY_DIGITS)
    return Support(_find_matched_words(row, words, number), similarity)


def _describe_spellings(spellings: Mapping[str, str]) -> list[str]:
    """Return what was searched for too, so that a reader sees it."""
    return [f"no source has {word!r}, so {other!r} was searched for too" for word, other in spellings.items()]


def _find_matched_words(row: Row, words: SearchWords, search: int) -> set[str]:
    return words.frequencies(search).keys() & set(row["held"])


def _compute_similarity(row: Row, words: SearchWords) -> float:
    """Return the best similarity over the searches (R1-4).

    Without vectors it is the share of a search's words that the row holds (P-5).
    """
    if row["distance"] is not None:
        return similarity_from_distance(row["distance"])
    searched = [number for number, search in enumerate(words.searches) if search]
    shares = (
        question_coverage(words.frequencies(number), [Support(_find_matched_words(row, words, number))], words.chunks)
        for number in searched
    )
    return max(shares, default=0.0)


def _make_row(
    row: Row, rank: int, words: SearchWords, position: ListPosition, origin: str | None = None
) -> RetrievalRow:
    page = row["page_number"]
    return RetrievalRow(
        chunk_id=row["chunk_id"],
        knowledge_id=row["knowledge_id"],
        rank=rank,
        similarity_score=round(_compute_similarity(row, words), SIMILARITY_DIGITS),
        chunk_text=row["text"],
        knowledge_type_effective=row["knowledge_type"],
        equipment_id=row["equipment_id"],
        event_date=row["event_date"],
        authority=row["authority"],
        source_reference=row["source_reference"] + (f", p. {page}" if page else ""),
        title=row["title"],
        section=section_name(row["heading_path"]) or None,
        later_sections=tuple(
            LaterSection(start=start, section=name)
            for start, name in zip(row["section_starts"], row["section_names"], strict=True)
        ),
        page_number=page,
        char_start=row["char_start"],
        char_end=row["char_end"],
        origin=origin,
        dense_rank=position.dense,
        lexical_rank=position.lexical,
        lexical_score=position.score,
    )
