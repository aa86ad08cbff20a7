"""The statements of one retrieval: light lists of candidates first, and whole rows of the few that are chosen."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from psycopg import AsyncConnection

from sourcebound.contracts.index import Collection
from sourcebound.contracts.lexical import QuestionWord, damping, word_weight, words_to_read
from sourcebound.contracts.request import Filters
from sourcebound.contracts.vectors import EXACT_CHUNKS
from sourcebound.store.database import Row
from sourcebound.store.queries import query
from sourcebound.store.vector_index import near_candidates


class Words(NamedTuple):
    """The content words of each search of a question, and the size of the collection that they are looked up in."""

    searches: Sequence[Sequence[QuestionWord]]
    chunks: int
    mean_length: float

    def frequencies(self, search: int) -> dict[str, int]:
        """For each word of a search, the number of chunks that hold it."""
        return {word.lexeme: word.chunks for word in self.searches[search]}


class ChunkSearch:
    """Searches one collection, as it was when the transaction of the connection began.

    Args:
        connection: A connection in a transaction.
        collection: The collection.
        filters: The filters of the request.
    """

    def __init__(self, connection: AsyncConnection[Row], collection: Collection, filters: Filters) -> None:
        self._connection = connection
        index = collection.vector_index
        self._index = index if index and index.is_fit else None
        self._dimensions = collection.dimensions
        self._filters = filters.in_force()
        self._values: dict[str, object] = {"collection_id": collection.collection_id, "documents": None}

    async def begin(self) -> None:
        """Fixes the state that is searched, and finds the documents that pass the filters, if there are any.

        A set that is small enough is searched exactly: there an index would have to look far for a few.
        """
        await self._connection.execute(query("one_state"))
        if any(value is not None for value in self._filters.values()):
            found = await self._fetch("filtered_documents", **self._filters)
            self._values["documents"] = [row["document_id"] for row in found]
            if self._index and await self.count(EXACT_CHUNKS + 1) <= EXACT_CHUNKS:
                self._index = None
        if self._index:
            await self._connection.execute(query("search_width"), {"ef_search": str(self._index.ef_search)})

    async def words(self, searches: Sequence[str]) -> Words:
        """The content words of each search."""
        rows = await self._fetch("question_words", searches=list(searches))
        by_search: list[list[QuestionWord]] = [[] for _ in searches]
        for row in rows:
            by_search[row["number"] - 1].append(QuestionWord(row["lexeme"], row["lexeme_id"], row["chunks"]))
        chunks, length = (rows[0]["all_chunks"], rows[0]["total_length"]) if rows else (0, 0)
        return Words(by_search, chunks, length / chunks if chunks else 0.0)

    async def dense(self, vector: str, limit: int) -> dict[str, float]:
        """The nearest chunks by id, nearest first; the score is the cosine distance below 0.

        Where the index finds fewer than were asked for, the exact search says whether there are more (R1-8).
        """
        rows: list[Row] = []
        if self._index:
            values = {**self._values, "vector": vector, "limit": limit}
            rows = await (await self._connection.execute(near_candidates(self._dimensions), values)).fetchall()
        if len(rows) < limit:
            rows = await self._fetch("dense_candidates", vector=vector, limit=limit)
        return {row["chunk_id"]: -row["distance"] for row in rows}

    async def lexical(self, words: Words, search: int, limit: int) -> dict[str, float]:
        """The chunks that match the words of a search best by BM25, with their scores, best first."""
        read = words_to_read(words.searches[search])
        if not read:
            return {}
        rows = await self._fetch(
            "lexical_candidates",
            lexeme_ids=[word.lexeme_id for word in read],
            weights=[word_weight(word.chunks, words.chunks) for word in read],
            **damping(words.mean_length)._asdict(),
            limit=limit,
        )
        return {row["chunk_id"]: row["score"] for row in rows}

    async def rows(self, chunk_ids: Sequence[str], vectors: Sequence[str], words: Words) -> dict[str, Row]:
        """Chunks whole, by id: with the distance to the nearest vector and the words that each holds."""
        known = {word.lexeme: word.lexeme_id for search in words.searches for word in search if word.lexeme_id}
        rows = await self._fetch(
            "candidate_rows",
            chunk_ids=list(chunk_ids),
            vectors=list(vectors),
            lexemes=list(known),
            lexeme_ids=list(known.values()),
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

    async def _fetch(self, name: str, **values: object) -> list[Row]:
        return await (await self._connection.execute(query(name), {**self._values, **values})).fetchall()
