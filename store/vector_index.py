"""The approximate index of a collection's vectors: made beside the one in use, measured, then put in its place.

It holds one collection alone, so that a search never walks through the vectors of another, and half-precision numbers,
which lose no neighbour and take half the room. No reader or writer waits while it is made. How wide it is searched is
chosen against the exact answer, not believed (contract R1-5).
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, LiteralString, NamedTuple

import numpy as np
from pgvector import Vector
from psycopg import AsyncConnection, errors, sql

from sourcebound.contracts.index import Collection
from sourcebound.contracts.vectors import (
    NEIGHBOURS,
    WANTED_RECALL,
    WIDTHS,
    Recall,
    VectorIndex,
    count_found,
    perturb,
    wants_index,
)
from sourcebound.errors import StoreError
from sourcebound.store.database import Pool, Row, store_faults
from sourcebound.store.queries import query
from sourcebound.store.vectors import vector_text

SAMPLE: Final = 300
"""Places whose neighbours are looked for, exactly and through the index, when it is measured."""
BLOCK: Final = 5000
"""Vectors that are read at a time."""
LINKS: Final = 16
BUILD_WIDTH: Final = 200
"""`m` and `ef_construction`."""
BUILD_MEMORY: Final = "2GB"
"""A graph that outgrows the memory it may take is built many times slower; the server takes no more than it needs."""
INDEX_BUSY: Final = "INDEX_BUSY"
LOCK: Final = 0x564543
"""First key of the advisory lock that a build holds; the second is the collection."""


class Question(NamedTuple):
    """A place whose neighbours are looked for, and how far the true nearest are."""

    vector: str
    nearest: list[float]


class VectorIndexes:
    """Makes, measures and removes the indexes of one database.

    Args:
        pool: Connections to it.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def build(self, collection: Collection) -> VectorIndex:
        """Makes a new index, measures it, and has searches use it in place of the old one, which is removed.

        Args:
            collection: A collection with vectors.

        Returns:
            The index; searches ask it if it is fit.

        Raises:
            StoreError: Another process is at it, or the server could not make it.
        """
        async with self._alone(collection) as connection:
            old = await _names(connection, collection.collection_id)
            name = _next_name(collection.collection_id, old)
            await _create(connection, collection, name)
            index = await _choose(connection, collection, name)
            for each in old:
                await _drop(connection, each)
        return index

    async def tend(self, collection: Collection) -> VectorIndex | None:
        """Sees to it that a collection that has grown has an index, and one that finds enough.

        Args:
            collection: A collection as it is now.

        Returns:
            The index where it was made or measured; None where there was nothing to do.

        Raises:
            StoreError: As for `build`.
        """
        if not collection.dimensions or not wants_index(collection.chunks, collection.vector_index):
            return None
        if collection.vector_index is not None:
            async with self._alone(collection) as connection:
                index = await _choose(connection, collection, collection.vector_index.name)
            if index.is_fit:
                return index
        return await self.build(collection)

    async def measure(self, collection: Collection, width: int, sample: int = SAMPLE) -> Recall:
        """How many of the true nearest chunks searches through the index find.

        Args:
            collection: A collection with an index.
            width: The search width.
            sample: Places around chunks whose neighbours are looked for; the same ones each time.
        """
        with store_faults():
            async with self._pool.connection() as connection:
                questions = await _make_questions(connection, collection, sample)
                return await _measure(connection, collection, questions, width)

    async def drop(self, collection: Collection) -> None:
        """Removes every index of a collection; its vectors are compared all from then on."""
        async with self._alone(collection) as connection:
            await connection.execute("DELETE FROM vector_indexes WHERE collection_id = %s", (collection.collection_id,))
            for name in await _names(connection, collection.collection_id):
                await _drop(connection, name)

    @asynccontextmanager
    async def _alone(self, collection: Collection) -> AsyncIterator[AsyncConnection[Row]]:
        keys = (LOCK, collection.collection_id)
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute("SELECT pg_try_advisory_lock(%s, %s::int) AS got", keys)
                row = await cursor.fetchone()
                if not row or not row["got"]:
                    raise StoreError(
                        f"another process is at the vector index of {collection.name!r}.",
                        "Wait for it to end; searches go on meanwhile.",
                        code=INDEX_BUSY,
                    )
                try:
                    yield connection
                finally:
                    await connection.execute("SELECT pg_advisory_unlock(%s, %s::int)", keys)


async def _names(connection: AsyncConnection[Row], collection_id: int) -> list[str]:
    """The indexes of a collection that there are, one that was left unfinished included."""
    cursor = await connection.execute(query("vector_index_names"), {"prefix": _prefix(collection_id)})
    return [row["name"] for row in await cursor.fetchall()]


def _prefix(collection_id: int) -> str:
    return f"chunks_vectors_{collection_id}_"


def _next_name(collection_id: int, taken: Sequence[str]) -> str:
    prefix = _prefix(collection_id)
    numbers = [int(name.removeprefix(prefix)) for name in taken]
    return f"{prefix}{max(numbers, default=0) + 1}"


async def _create(connection: AsyncConnection[Row], collection: Collection, name: str) -> None:
    statement = sql.SQL(query("create_vector_index")).format(
        name=sql.Identifier(name),
        dimensions=sql.Literal(collection.dimensions),
        links=sql.Literal(LINKS),
        width=sql.Literal(BUILD_WIDTH),
        collection_id=sql.Literal(collection.collection_id),
    )
    await connection.execute("SELECT set_config('maintenance_work_mem', %s, false)", (BUILD_MEMORY,))
    try:
        await connection.execute(statement)
    except errors.DiskFull:
        # Workers share memory that a container may have little of; one process alone needs none.
        await _drop(connection, name)
        await connection.execute("SET max_parallel_maintenance_workers = 0")
        await connection.execute(statement)
    finally:
        await connection.execute("RESET maintenance_work_mem")
        await connection.execute("RESET max_parallel_maintenance_workers")


async def _drop(connection: AsyncConnection[Row], name: str) -> None:
    await connection.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(name)))


async def _choose(connection: AsyncConnection[Row], collection: Collection, name: str) -> VectorIndex:
    """Measures and has searches use the narrowest width that finds enough, or the widest."""
    questions = await _make_questions(connection, collection, SAMPLE)
    for width in WIDTHS:
        recall = await _measure(connection, collection, questions, width)
        if recall.value >= WANTED_RECALL:
            break
    index = VectorIndex(name=name, ef_search=recall.ef_search, recall=recall.value, chunks=collection.chunks)
    values = {"collection_id": collection.collection_id, **index.model_dump()}
    await connection.execute(query("put_vector_index"), values)
    return index


async def _make_questions(connection: AsyncConnection[Row], collection: Collection, sample: int) -> list[Question]:
    """The same chunks each time, each moved as far from its place as a question lies from the chunk that answers it."""
    values = {"collection_id": collection.collection_id, "sample": sample}
    found = await (await connection.execute(query("sample_vectors"), values)).fetchall()
    places = [perturb(Vector.from_text(row["vector"]).to_list(), row["chunk_id"]) for row in found]
    nearest = await _nearest(connection, collection, places) if places else []
    return [Question(vector_text(place), own) for place, own in zip(places, nearest, strict=True)]


async def _nearest(
    connection: AsyncConnection[Row], collection: Collection, places: Sequence[Sequence[float]]
) -> list[list[float]]:
    """The distances of the nearest chunks to each place: every vector is read once, and not once a place."""
    packed = np.dtype([("dimensions", ">u2"), ("unused", ">u2"), ("values", ">f4", collection.dimensions)])
    wanted = np.asarray(places, dtype=np.float32)
    best = np.full((len(places), NEIGHBOURS), np.inf, dtype=np.float32)
    async with connection.transaction(), connection.cursor("vectors", binary=True) as cursor:
        await cursor.execute(query("all_vectors"), {"collection_id": collection.collection_id})
        while rows := await cursor.fetchmany(BLOCK):
            vectors = np.frombuffer(b"".join(row["packed"] for row in rows), packed)["values"].astype(np.float32)
            lengths = np.linalg.norm(vectors, axis=1)
            distances = 1 - wanted @ vectors.T / np.where(lengths, lengths, 1)
            best = np.partition(np.hstack([best, distances]), NEIGHBOURS - 1, axis=1)[:, :NEIGHBOURS]
    return [[float(distance) for distance in own if distance < np.inf] for own in best]


async def _measure(
    connection: AsyncConnection[Row], collection: Collection, questions: Sequence[Question], width: int
) -> Recall:
    values = {"collection_id": collection.collection_id, "documents": None, "limit": NEIGHBOURS}
    found = 0
    async with connection.transaction():
        await connection.execute(query("search_width"), {"ef_search": str(width)})
        for question in questions:
            asked = {**values, "vector": question.vector}
            near = await _distances(connection, near_candidates(collection.dimensions), asked)
            found += count_found(near, question.nearest)
    return Recall(width, found, sum(len(question.nearest) for question in questions))


async def _distances(
    connection: AsyncConnection[Row], statement: LiteralString | sql.Composed, asked: Mapping[str, object]
) -> list[float]:
    return [row["distance"] for row in await (await connection.execute(statement, asked)).fetchall()]


def near_candidates(dimensions: int) -> sql.Composed:
    """The statement that asks the index; the number of dimensions is a part of its type, and so no value."""
    return sql.SQL(query("near_candidates")).format(dimensions=sql.Literal(dimensions))
