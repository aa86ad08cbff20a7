"""The statements of one retrieval: light lists of candidates first, and whole rows of the few that are chosen."""

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
from sourcebound.store.search.bm25 import Terms, best_chunks, holders, word_terms
from sourcebound.store.search.vector_cache import Near, VectorCache, Vectors, vector_bytes
from sourcebound.store.search.vector_codec import PackedVector
from sourcebound.store.search.vector_index import near_candidates

FEW_POSTINGS: Final = EXACT_CHUNKS
"""A word's postings are sent along with it where they are no more; otherwise it may not be worth reading them."""
KEPT_POSTINGS: Final = 200
"""Words that have more are worth keeping; they are not sent along any more."""
SETTINGS: Final = ("name", "embedder", "embedding_model", "dimensions", "metric", "chunker", "language")
"""What a collection is, besides its documents."""
Asked = AsyncCursor[Any]
"""A statement that is sent, and whose rows are fetched when they are needed."""


class StaleCollection(Exception):
    """A collection is no longer what it was when it was looked up."""


class Words(NamedTuple):
    """The content words of each search of a question, and the size of the collection that they are looked up in."""

    searches: Sequence[Sequence[QuestionWord]]
    chunks: int
    mean_length: float
    removed: int
    """How many chunks postings name that are gone."""
    documents_digest: str
    """The state of the collection that is searched; empty where it is gone."""

    def frequencies(self, search: int) -> dict[str, int]:
        """For each word of a search, the number of chunks that hold it."""
        return {word.lexeme: word.chunks for word in self.searches[search]}


class Ordering(NamedTuple):
    """The nearest chunks in memory, and what the database was asked of their order."""

    near: Near
    asked: Asked | None = None

    async def pairs(self, exact: bool) -> Sequence[tuple[int, float]]:
        """Chunk numbers and distances, the nearest first; the distances are the database's wherever it was asked."""
        found: list[tuple[int, float]] = await self.asked.fetchall() if self.asked else []
        if exact:
            return found
        distances = dict(zip(self.near.chunk_nos, self.near.distances, strict=True)) | dict(found)
        return [(chunk_no, distances[chunk_no]) for chunk_no in self.near.ordered([chunk_no for chunk_no, _ in found])]


class ChunkSearch:
    """Searches one collection, as it was when the transaction of the connection began.

    Args:
        connection: A connection in a transaction.
        collection: The collection.
        filters: The filters of the request.
        cache: The vectors that the process keeps.
        remembered: Whether the collection was looked up for an earlier search, so that it may have become another.
    """

    def __init__(
        self,
        connection: AsyncConnection[Row],
        collection: Collection,
        filters: Filters,
        cache: VectorCache,
        *,
        remembered: bool = False,
    ) -> None:
        self._connection = connection
        self._cache = cache
        self._kept: Vectors | None = None
        self._ordering: dict[tuple[bytes, int], Ordering] = {}
        self._packed_postings: dict[int | None, bytes] = {}
        self._read: dict[str, Terms] = {}
        self._collection = collection
        self._remembered = remembered
        index = collection.vector_index
        self._index = index if index and index.is_fit else None
        self._dimensions = collection.dimensions
        self._filters = filters.in_force()
        self._chunk_nos: bytes | None = None
        self._collection_id = collection.collection_id
        self._documents: list[int] | None = None

    async def begin(self) -> None:
        """Finds the documents that pass the filters, if there are any.

        A set that is small enough is searched exactly: there an index would have to look far for a few.
        """
        if any(value is not None for value in self._filters.values()):
            found = await self._fetch("filtered_documents", **self._filters)
            self._documents = [row["document_id"] for row in found]
            if self._index and await self.count(EXACT_CHUNKS + 1) <= EXACT_CHUNKS:
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
    ) -> Words:
        """The content words of each search, and the state of the collection.

        Args:
            searches: The texts.
            vectors: What `dense` will be asked for. While the database looks for words, the nearest of them are picked
                in memory, from the state that is kept; it is only believed where it proves to be the one searched.
            limit: As `dense` will be asked.
            scored: Whether `lexical` will be asked.
            exact: Whether the distances that `dense` gives are to be the database's own, and not its order alone.

        Raises:
            Outdated: The collection was remembered, and is gone or another.
        """
        foreseen = self._cache.latest(self._collection_id) if self._dimensions and not self._index else None
        if foreseen:  # no statement is then planned better for its values
            await self._connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        few = KEPT_POSTINGS if foreseen else FEW_POSTINGS
        asked = await self._ask("question_words", searches=list(searches), few=few if scored else 0)
        if foreseen:
            self._have_sent()
            self._ordering = {(vector, limit): await self._order(foreseen, vector, limit, exact) for vector in vectors}
        rows = await asked.fetchall()
        if self._remembered and not (rows and _is_still(self._collection, rows[0])):
            raise StaleCollection
        by_search: list[list[QuestionWord]] = [[] for _ in searches]
        for row in rows:
            if row["lexeme"] is not None:
                by_search[row["number"] - 1].append(QuestionWord(row["lexeme"], row["lexeme_id"], row["chunks"]))
            if row["packed"] is not None:
                self._packed_postings[row["lexeme_id"]] = row["packed"]
        if not rows:
            return Words(by_search, 0, 0.0, 0, "")
        chunks, length, removed = rows[0]["all_chunks"], rows[0]["total_length"], rows[0]["removed"]
        digest = bytes(rows[0]["documents_digest"]).hex()
        if self._dimensions and not self._index:
            self._kept = await self._vectors(f"{digest} {rows[0]['writer']} {chunks} {length} {removed}", chunks)
        if self._kept is not foreseen:
            self._ordering.clear()
        return Words(by_search, chunks, length / chunks if chunks else 0.0, removed, digest)

    async def dense(self, vector: PackedVector, limit: int, *, exact: bool = False) -> dict[str, float]:
        """The nearest chunks by id, nearest first, with the cosine distance below 0, `exact` or but for rounding.

        Where the index finds fewer than were asked for, the exact search says whether there are more (R1-8).
        """
        if self._kept:
            ordering = self._ordering.get((vector, limit)) or await self._order(self._kept, vector, limit, exact)
            pairs = (await ordering.pairs(exact))[:limit]
            return {self._kept.chunk_ids[chunk_no]: -distance for chunk_no, distance in pairs}
        rows = []
        if self._index:
            values = {**self._values(), "index": self._index.name, "vector": vector, "limit": limit}
            rows = await (await self._connection.execute(near_candidates(self._dimensions), values)).fetchall()
        if len(rows) < limit:
            rows = await self._fetch("dense_candidates", vector=vector, limit=limit)
        return {row["chunk_id"]: -row["distance"] for row in rows}

    async def _order(self, kept: Vectors, vector: PackedVector, limit: int, exact: bool) -> Ordering:
        """The nearest by the vectors that are kept; the database orders those that rounding could order otherwise."""
        near = kept.near(vector, limit, self._documents)
        chunk_nos = near.chunk_nos if exact else near.tied
        if not chunk_nos:
            return Ordering(near)
        cursor = self._connection.cursor(binary=True, row_factory=tuple_row)
        values = {**self._values(), "vector": vector, "chunk_nos": _array(chunk_nos)}
        return Ordering(near, await cursor.execute(query("ordered_candidates"), values))

    async def _vectors(self, state: str, chunks: int) -> Vectors | None:
        """The vectors of this state, if the process keeps them or does so from now on."""
        place, size = (self._collection_id, state), vector_bytes(self._dimensions, chunks)
        kept = self._cache.find(*place)
        if kept is None and self._cache.wants(*place, size):
            (row,) = await self._fetch("packed_vectors")
            chunk_ids = dict(zip(row["chunk_nos"] or (), row["chunk_ids"] or (), strict=True))
            kept = Vectors(row["packed"] or b"", self._dimensions, chunk_ids)
            self._cache.keep(*place, kept, size)
        return kept

    async def lexical(self, words: Words, search: int, limit: int) -> dict[str, float]:
        """The chunks that match the words of a search best by BM25, with their scores, best first."""
        read = words_to_read(words.searches[search])
        if not read:
            return {}
        best = best_chunks(
            await self._terms(words, read),
            limit,
            removed=await self._packed("removed_chunks") or b"" if words.removed else b"",
            allowed=await self._allowed(),
        )
        names = await self._names(best)
        scores = {names[chunk_no]: float(score) for chunk_no, score in best.items() if chunk_no in names}
        return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:limit])

    async def _terms(self, words: Words, read: Sequence[QuestionWord]) -> list[Terms]:
        """What each word adds to scores: kept from an earlier search, or made of its postings."""
        kept = self._kept
        terms = {word.lexeme_id: kept.find_terms(word.lexeme_id) if kept else None for word in read}
        unread = [each for each, found in terms.items() if not found and each not in self._packed_postings]
        for row in await self._fetch("packed_postings", lexeme_ids=unread) if unread else ():
            self._packed_postings[row["lexeme_id"]] = row["packed"]
        damped = damping(words.mean_length)
        for word in read:
            if terms[word.lexeme_id] or word.lexeme_id not in self._packed_postings:
                continue
            weight = word_weight(word.chunks, words.chunks)
            made = terms[word.lexeme_id] = word_terms(weight, self._packed_postings[word.lexeme_id], damped)
            if kept and word.chunks > KEPT_POSTINGS:
                kept.keep_terms(word.lexeme_id, made)
        few = [word for word in read if word.chunks <= FEW_POSTINGS]  # in more, a dozen chunks are not looked for
        self._read |= {word.lexeme: found for word in few if (found := terms[word.lexeme_id])}
        return [found for found in terms.values() if found]

    async def _names(self, chunk_nos: Iterable[int]) -> Mapping[int, str]:
        """The ids of chunks by their numbers."""
        if self._kept:
            return self._kept.chunk_ids
        rows = await self._fetch("named_chunks", chunk_nos=list(chunk_nos))
        return {row["chunk_no"]: row["chunk_id"] for row in rows}

    async def _allowed(self) -> bytes | None:
        """The numbers of the chunks that pass the filters; None where there are none."""
        if self._documents is None:
            return None
        if self._chunk_nos is None:
            self._chunk_nos = await self._packed("filtered_chunks") or b""
        return self._chunk_nos

    async def _packed(self, name: str) -> bytes | None:
        (row,) = await self._fetch(name)
        packed: bytes | None = row["packed"]
        return packed

    async def ask_rows(self, chunk_ids: Sequence[str], vectors: Sequence[PackedVector], words: Words) -> Asked:
        """Asks for chunks whole: with the distance to the nearest vector and the words that each holds.

        Which of the words hold that `lexical` has read, nobody need look for.
        """
        held = {word.lexeme for search in words.searches for word in search if word.chunks}
        return await self._ask(
            "candidate_rows",
            chunk_ids=list(chunk_ids),
            vector=next(iter(vectors), None),
            others=[vector.text for vector in vectors[1:]],
            lexemes=list(held - self._read.keys()),
        )

    async def rows(self, asked: Asked) -> list[Row]:
        """The chunks that were asked for, once each, in any order."""
        rows = await asked.fetchall()
        held = holders([row["chunk_no"] for row in rows], self._read)
        for row in rows:
            row["held"] = held[row["chunk_no"]].union(row["held"] or ())
        return rows

    async def neighbours(self, chunk_ids: Sequence[str], reach: int) -> list[str]:
        """The chunks within `reach` before and after these in their documents, each once."""
        rows = await self._fetch("neighbours", chunk_ids=list(chunk_ids), reach=reach)
        return list(dict.fromkeys(row["chunk_id"] for row in rows))

    async def distances(self, chunk_ids: Sequence[str]) -> Mapping[frozenset[str], float]:
        """The cosine distance of each two of these chunks."""
        rows = await self._fetch("pair_distances", chunk_ids=list(chunk_ids))
        return {frozenset((row["first"], row["second"])): row["distance"] for row in rows}

    async def count(self, limit: int) -> int:
        """How many chunks pass the filters, `limit` at most."""
        (row,) = await self._fetch("count_candidates", limit=limit)
        return int(row["chunks"])

    def _values(self) -> dict[str, object]:
        return {"collection_id": self._collection_id, "documents": self._documents}

    async def _ask(self, name: str, **values: object) -> Asked:
        cursor = self._connection.cursor(binary=True)
        return await cursor.execute(query(name), {**self._values(), **values})

    def _have_sent(self) -> None:
        """Has the database send what it was asked for while this process is at something else, and not only then."""
        self._connection.pgconn.send_flush_request()
        self._connection.pgconn.flush()

    async def _fetch(self, name: str, **values: object) -> list[Row]:
        rows: list[Row] = await (await self._ask(name, **values)).fetchall()
        return rows


def _is_still(collection: Collection, row: Row) -> bool:
    """Whether a collection is what it was, whatever documents came and went."""
    index = collection.vector_index
    indexed = (index.name, index.ef_search, index.recall, index.chunks) if index else (None, None, None, None)
    return all(row[name] == getattr(collection, name) for name in SETTINGS) and indexed == (
        row["index_name"],
        row["ef_search"],
        row["recall"],
        row["indexed"],
    )


def _array(numbers: Sequence[int]) -> str:
    """Numbers as PostgreSQL reads an array, which is written faster than psycopg looks at each."""
    return f"{{{','.join(map(str, numbers))}}}"
