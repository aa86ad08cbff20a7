"""The statements of one retrieval: light lists of candidates first, and whole rows of the few that are chosen."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from psycopg import AsyncConnection

from sourcebound.contracts.index import Collection
from sourcebound.contracts.lexical import QuestionWord, damping, word_weight, words_to_read
from sourcebound.contracts.request import Filters
from sourcebound.contracts.vectors import EXACT_CHUNKS
from sourcebound.store.database import Row
from sourcebound.store.postings import best_chunks
from sourcebound.store.queries import query
from sourcebound.store.vector_cache import VectorCache, Vectors
from sourcebound.store.vector_index import near_candidates

FLOAT_BYTES: Final = 4


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


class ChunkSearch:
    """Searches one collection, as it was when the transaction of the connection began.

    Args:
        connection: A connection in a transaction.
        collection: The collection.
        filters: The filters of the request.
        cache: The vectors that the process keeps.
    """

    def __init__(
        self, connection: AsyncConnection[Row], collection: Collection, filters: Filters, cache: VectorCache
    ) -> None:
        self._connection = connection
        self._cache = cache
        self._kept: Vectors | None = None
        index = collection.vector_index
        self._index = index if index and index.is_fit else None
        self._dimensions = collection.dimensions
        self._filters = filters.in_force()
        self._chunk_nos: bytes | None = None
        self._collection_id = collection.collection_id
        self._documents: list[int] | None = None

    async def begin(self) -> None:
        """Fixes the state that is searched, and finds the documents that pass the filters, if there are any.

        A set that is small enough is searched exactly: there an index would have to look far for a few.
        """
        await self._connection.execute(query("one_state"))
        if any(value is not None for value in self._filters.values()):
            found = await self._fetch("filtered_documents", **self._filters)
            self._documents = [row["document_id"] for row in found]
            if self._index and await self.count(EXACT_CHUNKS + 1) <= EXACT_CHUNKS:
                self._index = None
        if self._index:
            await self._connection.execute(query("search_width"), {"ef_search": str(self._index.ef_search)})

    async def words(self, searches: Sequence[str]) -> Words:
        """The content words of each search, and the state of the collection."""
        rows = await self._fetch("question_words", searches=list(searches))
        by_search: list[list[QuestionWord]] = [[] for _ in searches]
        for row in rows:
            if row["lexeme"] is not None:
                by_search[row["number"] - 1].append(QuestionWord(row["lexeme"], row["lexeme_id"], row["chunks"]))
        if not rows:
            return Words(by_search, 0, 0.0, 0, "")
        chunks, length, removed = rows[0]["all_chunks"], rows[0]["total_length"], rows[0]["removed"]
        digest = bytes(rows[0]["documents_digest"]).hex()
        if self._dimensions and not self._index:
            self._kept = await self._vectors(f"{digest} {rows[0]['writer']}", chunks)
        return Words(by_search, chunks, length / chunks if chunks else 0.0, removed, digest)

    async def dense(self, vector: str, limit: int) -> dict[str, float]:
        """The nearest chunks by id, nearest first; the score is the cosine distance below 0.

        Where the index finds fewer than were asked for, the exact search says whether there are more (R1-8).
        """
        if self._kept:
            near = self._kept.near(vector, limit, self._documents)
            rows = await self._fetch("ordered_candidates", vector=vector, limit=limit, chunk_nos=near)
            return {row["chunk_id"]: -row["distance"] for row in rows}
        rows = []
        if self._index:
            values = {**self._values(), "index": self._index.name, "vector": vector, "limit": limit}
            rows = await (await self._connection.execute(near_candidates(self._dimensions), values)).fetchall()
        if len(rows) < limit:
            rows = await self._fetch("dense_candidates", vector=vector, limit=limit)
        return {row["chunk_id"]: -row["distance"] for row in rows}

    async def _vectors(self, state: str, chunks: int) -> Vectors | None:
        """The vectors of this state, if the process keeps them or does so from now on."""
        place, size = (self._collection_id, state), FLOAT_BYTES * self._dimensions * chunks
        kept = self._cache.find(*place)
        if kept is None and self._cache.wants(*place, size):
            kept = Vectors(await self._packed("packed_vectors") or b"", self._dimensions)
            self._cache.keep(*place, kept, size)
        return kept

    async def lexical(self, words: Words, search: int, limit: int) -> dict[str, float]:
        """The chunks that match the words of a search best by BM25, with their scores, best first."""
        read = words_to_read(words.searches[search])
        if not read:
            return {}
        weights = {word.lexeme_id: word_weight(word.chunks, words.chunks) for word in read}
        pieces = await self._fetch("packed_postings", lexeme_ids=list(weights))
        best = best_chunks(
            [(weights[piece["lexeme_id"]], piece["packed"]) for piece in pieces],
            damping(words.mean_length),
            limit,
            removed=await self._packed("removed_chunks") or b"" if words.removed else b"",
            allowed=await self._allowed(),
        )
        named = await self._fetch("named_chunks", chunk_nos=list(best))
        scores = {row["chunk_id"]: float(best[row["chunk_no"]]) for row in named}
        return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:limit])

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

    async def rows(self, chunk_ids: Sequence[str], vectors: Sequence[str], words: Words) -> dict[str, Row]:
        """Chunks whole, by id: with the distance to the nearest vector and the words that each holds."""
        known = {word.lexeme for search in words.searches for word in search if word.chunks}
        rows = await self._fetch(
            "candidate_rows",
            chunk_ids=list(chunk_ids),
            vectors=list(vectors),
            lexemes=list(known),
        )
        return {row["chunk_id"]: row for row in rows}

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

    async def _fetch(self, name: str, **values: object) -> list[Row]:
        cursor = self._connection.cursor(binary=True)
        return await (await cursor.execute(query(name), {**self._values(), **values})).fetchall()
