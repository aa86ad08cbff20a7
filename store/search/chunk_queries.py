"""The statements of one retrieval: first light lists of candidates, then full rows of the few selected chunks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import tuple_row

from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.corpus.vector_index import EXACT_CHUNKS
from sourcebound.contracts.request import Filters
from sourcebound.contracts.retrieval.bm25 import QuestionWord, damping, word_weight, words_to_read
from sourcebound.store.connection.database import Row
from sourcebound.store.connection.queries import query
from sourcebound.store.connection.visibility import visible_labels
from sourcebound.store.search.altered import check_seals
from sourcebound.store.search.bm25 import (
    SearchWords,
    Terms,
    best_chunks,
    find_matched_words,
    split_by_search,
    word_terms,
)
from sourcebound.store.search.vector_cache import CollectionVectors, NearestChunks, VectorCache, vector_bytes
from sourcebound.store.search.vector_codec import PackedVector
from sourcebound.store.search.vector_index import near_candidates
from sourcebound.store.search.visible import Place, VisibleChunks, digest_documents, digest_labels

FEW_POSTINGS: Final = EXACT_CHUNKS
"""The number of postings up to which a word is returned with its postings. It may not be worth reading more."""
ALL_POSTINGS: Final = 1 << 60  # every word is returned with its postings
CACHED_POSTINGS: Final = 200
"""The number of postings above which a word is cached, and then no longer returned with its postings."""
SETTINGS: Final = ("name", "embedder", "embedding_model", "dimensions", "metric", "chunker", "language")
"""The properties of a collection other than its documents."""
SentQuery = AsyncCursor[Any]
"""A statement that has been sent. Its rows are fetched when they are needed."""


class StaleCollection(Exception):
    """The collection has changed since it was looked up."""


class Ordering(NamedTuple):
    """The nearest chunks from memory, and the query for their exact order."""

    near: NearestChunks
    sent: SentQuery | None = None

    async def pairs(self, exact: bool) -> Sequence[tuple[int, float]]:
        """Return chunk numbers and distances, nearest first. Distances of the database replace those from memory."""
        found: list[tuple[int, float]] = await self.sent.fetchall() if self.sent else []
        if exact:
            return found
        distances = dict(zip(self.near.chunk_nos, self.near.distances, strict=True)) | dict(found)
        return [(chunk_no, distances[chunk_no]) for chunk_no in self.near.ordered([chunk_no for chunk_no, _ in found])]


class ChunkSearch:
    """The search of one collection in the snapshot of the connection's transaction.

    Args:
        connection: A connection in a transaction.
        collection: The collection.
        filters: The filters of the request.
        cache: The process's cache of vectors.
        remembered: Whether the collection was looked up for an earlier search, so that it may be stale.
        labels: The labels of the caller: documents with others are hidden before anything is counted or ranked (R6-7).
            None hides nothing.
    """

    def __init__(
        self,
        connection: AsyncConnection[Row],
        collection: Collection,
        filters: Filters,
        cache: VectorCache,
        *,
        remembered: bool = False,
        labels: Sequence[str] | None = None,
    ) -> None:
        self._connection = connection
        self._cache = cache
        self._vectors: CollectionVectors | None = None
        self._orderings: dict[tuple[bytes, int], Ordering] = {}
        self._packed_postings: dict[int | None, bytes] = {}
        self._terms_read: dict[str, Terms] = {}
        self._collection = collection
        self._remembered = remembered
        index = collection.vector_index
        self._index = index if index and index.is_fit else None
        self._dimensions = collection.dimensions
        self._filters = filters.in_force()
        self._chunk_nos: bytes | None = None
        self._collection_id = collection.collection_id
        self._documents: list[int] | None = None
        self._labels = labels
        self._visible: list[int] | None = None  # the documents that the caller sees, if others are hidden from it
        seen_by = visible_labels()
        self._place: Place = (self._collection_id, None if seen_by is None else digest_labels(seen_by))
        self._owner = self._place if labels is None else (self._collection_id, None)

    async def begin(self) -> None:
        """Find the documents that the caller sees and that pass the filters.

        A small enough set is searched exactly, because an index would have to search far for its few chunks.
        """
        if self._labels is not None:
            found = await self._fetch("visible_documents", labels=list(self._labels))
            if found and found[0]["visible"] is None:
                self._place = (self._collection_id, None)
            else:  # without a row, the collection was removed
                self._documents = self._visible = found[0]["visible"] if found else []
                self._place = (self._collection_id, digest_documents(self._visible))
        if any(value is not None for value in self._filters.values()):
            found = await self._fetch("filtered_documents", **self._filters)
            self._documents = [row["document_id"] for row in found]
        if self._documents is not None and self._index and await self.count(EXACT_CHUNKS + 1) <= EXACT_CHUNKS:
            self._index = None
        if self._index:
            await self._connection.execute(query("search_width"), {"ef_search": str(self._index.ef_search)})

    async def words(
        self,
        searches: Sequence[str],
        vectors: Sequence[PackedVector] = (),
        limit: int = 0,
        *,
        scored: bool = True,
        exact: bool = False,
    ) -> SearchWords:
        """Look up the content words of each search, and the state of the collection.

        Args:
            searches: The texts.
            vectors: The vectors that `dense` will receive. While the database looks up words, their nearest chunks are
                selected in memory from the cached state. The result is used only if that state is the one searched.
            limit: The limit that `dense` will receive.
            scored: Whether `lexical` will be called.
            exact: Whether `dense` must return the database's own distances, and not only its order.

        Raises:
            StaleCollection: The collection was remembered, and has been removed or replaced.
        """
        predicted = self._cache.latest(self._place) if self._dimensions and not self._index else None
        if predicted:  # the values of a statement then make no better plan
            await self._connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        few = self._few_postings(scored, is_predicted=predicted is not None)
        sent = await self._send("question_words", searches=list(searches), few=few)
        if predicted:
            self._flush()
            self._orderings = {
                (vector, limit): await self._order_nearest(predicted, vector, limit, exact) for vector in vectors
            }
        rows = await sent.fetchall()
        if self._remembered and not (rows and _is_unchanged(self._collection, rows[0])):
            raise StaleCollection
        if not rows:
            return SearchWords([[] for _ in searches], 0, 0.0, 0, "")
        chunks, length, removed = rows[0]["all_chunks"], rows[0]["total_length"], rows[0]["removed"]
        digest = bytes(rows[0]["documents_digest"]).hex()
        state = f"{digest} {rows[0]['writer']} {chunks} {length} {removed}"
        if self._visible is not None:
            seen = await self._load_visible(state)
            chunks, length, removed = seen.chunks, seen.length, 0
            rows = [seen.restrict_word(row, row["packed"]) for row in rows]
        self._packed_postings |= {row["lexeme_id"]: row["packed"] for row in rows if row["packed"] is not None}
        if self._dimensions and not self._index:
            self._vectors = await self._load_vectors(state, chunks)
        if self._vectors is not predicted:
            self._orderings.clear()
        return SearchWords(
            split_by_search(rows, len(searches)), chunks, length / chunks if chunks else 0.0, removed, digest
        )

    def _few_postings(self, scored: bool, *, is_predicted: bool) -> int:
        """Return the number of postings up to which a word is returned with its postings."""
        if self._visible is not None:
            return ALL_POSTINGS  # to count the chunks that the caller sees
        if not scored:
            return 0
        return CACHED_POSTINGS if is_predicted else FEW_POSTINGS

    async def known_words(self, words: Sequence[str]) -> list[Row]:
        """Return the words that chunks hold, with their number, and the stop words of the collection's language."""
        rows = await self._fetch("known_words", words=list(words))
        if self._visible is None:
            return rows
        seen = VisibleChunks(await self._fetch_packed("filtered_chunks", documents=self._visible) or b"")
        held = [lexeme_id for row in rows for lexeme_id in row["lexeme_ids"]]
        postings = await self._fetch("packed_postings", lexeme_ids=held) if held else []
        packed = {row["lexeme_id"]: row["packed"] for row in postings}
        for row in rows:  # a word may have several lexemes, of which the caller's chunks may hold another one
            counted = [seen.restrict_word({}, packed.get(lexeme_id))["chunks"] for lexeme_id in row["lexeme_ids"]]
            row["chunks"] = max(counted, default=0)
        return [row for row in rows if row["is_stop_word"] or row["chunks"]]

    async def _load_visible(self, state: str) -> VisibleChunks:
        """Return the chunks that the caller sees in this state of the collection."""
        seen = self._cache.visible.find(self._place, state)
        if seen is None:
            (row,) = await self._fetch("visible_chunks")
            seen = VisibleChunks(row["packed"] or b"", row["length"])
            self._cache.visible.keep(self._place, state, seen)
        return seen

    async def dense(self, vector: PackedVector, limit: int, *, exact: bool = False) -> dict[str, float]:
        """Return the nearest chunks by id, nearest first, with their negated cosine distance.

        Unless `exact`, a distance may differ from the database's by rounding. If the index finds fewer chunks than
        requested, an exact search looks for more (R1-8).
        """
        if self._vectors:
            ordering = self._orderings.get((vector, limit)) or await self._order_nearest(
                self._vectors, vector, limit, exact
            )
            pairs = (await ordering.pairs(exact))[:limit]
            return {self._vectors.chunk_ids[chunk_no]: -distance for chunk_no, distance in pairs}
        rows = []
        if self._index:
            values = {**self._values(), "index": self._index.name, "vector": vector, "limit": limit}
            rows = await (await self._connection.execute(near_candidates(self._dimensions), values)).fetchall()
        if len(rows) < limit:
            rows = await self._fetch("dense_candidates", vector=vector, limit=limit)
        return {row["chunk_id"]: -row["distance"] for row in rows}

    async def _order_nearest(
        self, cached: CollectionVectors, vector: PackedVector, limit: int, exact: bool
    ) -> Ordering:
        """Select the nearest chunks in memory. The database orders those whose order could depend on rounding."""
        near = cached.near(vector, limit, None if self._documents is self._visible else self._documents)
        chunk_nos = near.chunk_nos if exact else near.tied
        if not chunk_nos:
            return Ordering(near)
        cursor = self._connection.cursor(binary=True, row_factory=tuple_row)
        values = {**self._values(), "vector": vector, "chunk_nos": _array_literal(chunk_nos)}
        return Ordering(near, await cursor.execute(query("ordered_candidates"), values))

    async def _load_vectors(self, state: str, chunks: int) -> CollectionVectors | None:
        """Return the vectors of this state if they are cached, or load them if they should be cached from now on."""
        size = vector_bytes(self._dimensions, chunks)
        cached = self._cache.find(self._place, state)
        if cached is None and self._cache.wants(self._place, state, size):
            shared = self._cache.open_shared(self._owner, state, self._visible, chunks, self._dimensions)
            missing = None if self._visible is None else shared.find_missing(self._visible)
            if missing is None or missing:
                (row,) = await self._fetch("packed_vectors", visible=missing)
                shared.add(row["packed"] or b"", dict(zip(row["chunk_nos"] or (), row["chunk_ids"] or (), strict=True)))
            cached = CollectionVectors(shared, self._visible)
            self._cache.keep(self._place, state, cached)
        return cached

    async def distances_to(self, vectors: Sequence[PackedVector], chunk_ids: Sequence[str]) -> Mapping[str, float]:
        """Return the cosine distance of each of these chunks to the nearest of the vectors, up to rounding."""
        if not chunk_ids:
            return {}
        if self._vectors:
            found = [self._vectors.distances(vector, chunk_ids) for vector in vectors]
            return {chunk: min(distances[chunk] for distances in found) for chunk in found[0]}
        searched = [vector.text for vector in vectors]
        rows = await self._fetch("candidate_distances", chunk_ids=list(chunk_ids), vectors=searched)
        return {row["chunk_id"]: row["distance"] for row in rows}

    async def lexical(self, words: SearchWords, search: int, limit: int) -> dict[str, float]:
        """Return the chunks that match the words of a search best by BM25, with their scores, best first."""
        selected = words_to_read(words.searches[search])
        if not selected:
            return {}
        best = best_chunks(
            await self._load_terms(words, selected),
            limit,
            removed=await self._fetch_packed("removed_chunks") or b"" if words.removed else b"",
            allowed=await self._allowed_chunks(),
        )
        names = await self._load_chunk_ids(best)
        scores = {names[chunk_no]: float(score) for chunk_no, score in best.items() if chunk_no in names}
        return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:limit])

    async def _load_terms(self, words: SearchWords, selected: Sequence[QuestionWord]) -> list[Terms]:
        """Return the terms of each word, cached by an earlier search or computed from its postings."""
        cached = self._vectors
        terms = {word.lexeme_id: cached.find_terms(word.lexeme_id) if cached else None for word in selected}
        unread = [each for each, found in terms.items() if not found and each not in self._packed_postings]
        for row in await self._fetch("packed_postings", lexeme_ids=unread) if unread else ():
            self._packed_postings[row["lexeme_id"]] = row["packed"]
        damped = damping(words.mean_length)
        for word in selected:
            if terms[word.lexeme_id] or word.lexeme_id not in self._packed_postings:
                continue
            weight = word_weight(word.chunks, words.chunks)
            computed = terms[word.lexeme_id] = word_terms(weight, self._packed_postings[word.lexeme_id], damped)
            if cached and word.chunks > CACHED_POSTINGS:
                cached.keep_terms(word.lexeme_id, computed)
        few = [
            word for word in selected if word.chunks <= FEW_POSTINGS
        ]  # a dozen chunks are not looked up in longer lists
        self._terms_read |= {word.lexeme: found for word in few if (found := terms[word.lexeme_id])}
        return [found for found in terms.values() if found]

    async def _load_chunk_ids(self, chunk_nos: Iterable[int]) -> Mapping[int, str]:
        """Return the ids of chunks by their numbers."""
        if self._vectors:
            return self._vectors.chunk_ids
        rows = await self._fetch("named_chunks", chunk_nos=list(chunk_nos))
        return {row["chunk_no"]: row["chunk_id"] for row in rows}

    async def _allowed_chunks(self) -> bytes | None:
        """Return the packed numbers of the chunks that pass the filters, or None if there are no filters."""
        if self._documents is None:
            return None
        if self._chunk_nos is None:
            self._chunk_nos = await self._fetch_packed("filtered_chunks") or b""
        return self._chunk_nos

    async def _fetch_packed(self, name: str, **values: object) -> bytes | None:
        (row,) = await self._fetch(name, **values)
        packed: bytes | None = row["packed"]
        return packed

    async def request_rows(
        self, chunk_ids: Sequence[str], vectors: Sequence[PackedVector], words: SearchWords
    ) -> SentQuery:
        """Request full chunk rows, with the distance to the nearest vector and the words that each chunk holds.

        Words whose postings `lexical` has read are left out, because `rows` adds them.
        """
        searched_words = {word.lexeme for search in words.searches for word in search if word.chunks}
        return await self._send(
            "candidate_rows",
            chunk_ids=list(chunk_ids),
            vector=next(iter(vectors), None),
            others=[vector.text for vector in vectors[1:]],
            lexemes=list(searched_words - self._terms_read.keys()),
        )

    async def rows(self, sent: SentQuery, found: Iterable[str]) -> list[Row]:
        """Fetch the requested chunks, once each, in any order.

        Args:
            sent: The request.
            found: The requested chunks that a search has found, so that they must exist.

        Raises:
            StoreError: A chunk was altered or is gone (`CHUNK_ALTERED`, IX-3).
        """
        rows = await sent.fetchall()
        check_seals(rows, found)
        matched_words = find_matched_words([row["chunk_no"] for row in rows], self._terms_read)
        for row in rows:
            row["held"] = matched_words[row["chunk_no"]].union(row["held"] or ())
        return rows

    async def neighbours(self, chunk_ids: Sequence[str], reach: int) -> list[str]:
        """Return the chunks within `reach` before and after these in their documents, each once."""
        rows = await self._fetch("neighbours", chunk_ids=list(chunk_ids), reach=reach)
        return list(dict.fromkeys(row["chunk_id"] for row in rows))

    async def distances(self, chunk_ids: Sequence[str]) -> Mapping[frozenset[str], float]:
        """Return the cosine distance of each pair of these chunks."""
        rows = await self._fetch("pair_distances", chunk_ids=list(chunk_ids))
        return {frozenset((row["first"], row["second"])): row["distance"] for row in rows}

    async def count(self, limit: int) -> int:
        """Count the chunks that pass the filters, up to `limit`."""
        (row,) = await self._fetch("count_candidates", limit=limit)
        return int(row["chunks"])

    def _values(self) -> dict[str, object]:
        return {"collection_id": self._collection_id, "documents": self._documents, "visible": self._visible}

    async def _send(self, name: str, **values: object) -> SentQuery:
        cursor = self._connection.cursor(binary=True)
        return await cursor.execute(query(name), {**self._values(), **values})

    def _flush(self) -> None:
        """Flush the pipeline, so that the database answers while this process does other work."""
        self._connection.pgconn.send_flush_request()
        self._connection.pgconn.flush()

    async def _fetch(self, name: str, **values: object) -> list[Row]:
        rows: list[Row] = await (await self._send(name, **values)).fetchall()
        return rows


def _is_unchanged(collection: Collection, row: Row) -> bool:
    """Tell whether a collection is unchanged except for its documents."""
    index = collection.vector_index
    indexed = (index.name, index.ef_search, index.recall, index.chunks) if index else (None, None, None, None)
    return all(row[name] == getattr(collection, name) for name in SETTINGS) and indexed == (
        row["index_name"],
        row["ef_search"],
        row["recall"],
        row["indexed"],
    )


def _array_literal(numbers: Sequence[int]) -> str:
    """Write numbers as a PostgreSQL array literal. This is faster than psycopg's adaptation of each number."""
    return f"{{{','.join(map(str, numbers))}}}"
