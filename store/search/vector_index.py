"""The approximate index of a collection's vectors: made beside the one in use, measured, then put in its place.

It holds one collection alone, so that a search never walks through the vectors of another, and half-precision numbers,
which lose no neighbour and take half the room. No reader or writer waits while it is made. How wide it is searched is
chosen against the exact answer, not believed (contract R1-5).
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Final, LiteralString, NamedTuple

import numpy as np
from pgvector import Vector
from psycopg import AsyncConnection, errors, sql

from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.corpus.vector_index import (
    MOST_DIMENSIONS,
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
from sourcebound.store.connection.database import Pool, Row, store_faults
from sourcebound.store.connection.queries import query
from sourcebound.store.search.vector_codec import vector_text

SAMPLE: Final = 300
"""Places whose neighbours are looked for, exactly and through the index, when it is measured."""
BLOCK: Final = 5000
"""Vectors that are read at a time."""
LINKS: Final = 16
BUILD_WIDTH: Final = 200
"""`m` and `ef_construction`."""
LEAST_MEMORY: Final = 128 << 20
MOST_MEMORY: Final = 2 << 30
"""Bytes of memory to build in. A graph that outgrows it is built many times slower, and a build with workers takes all
of it at once, so it is what the graph needs."""
LINK_BYTES: Final = 1024
"""What a chunk takes in the graph besides its vector, and some more."""
LEAST_VERSION: Final = (0, 8)
"""Of pgvector: the first with iterative scans."""
INDEX_BUSY: Final = "INDEX_BUSY"
INDEX_UNSUPPORTED: Final = "INDEX_UNSUPPORTED"
LOCK: Final = 0x564543
"""First key of the advisory locks that a build holds; the second is the collection, or 0 for all of them."""
POLL_SECONDS: Final = 0.2


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
            await _must_be_possible(connection, collection)
            await _drop_unfinished(connection, collection.collection_id)
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
        assert collection.vector_index is not None
        with store_faults():
            async with self._pool.connection() as connection:
                questions = await _make_questions(connection, collection, sample)
                return await _measure(connection, collection, collection.vector_index.name, questions, width)

    async def drop(self, collection: Collection) -> None:
        """Removes every index of a collection; its vectors are compared all from then on."""
        async with self._alone(collection) as connection:
            await connection.execute("DELETE FROM vector_indexes WHERE collection_id = %s", (collection.collection_id,))
            for name in await _names(connection, collection.collection_id):
                await _drop(connection, name)

    @asynccontextmanager
    async def _alone(self, collection: Collection) -> AsyncIterator[AsyncConnection[Row]]:
        """A connection whose process alone is at the index of the collection, and makes or removes one at all.

        Two that did so for two collections would wait for each other: the server ends one of them, often the first.
        """
        with store_faults():
            async with self._pool.connection() as connection:
                if not await _try_lock(connection, collection.collection_id):
                    raise StoreError(
                        f"another process is at the vector index of {collection.name!r}.",
                        "Wait for it to end; searches go on meanwhile.",
                        code=INDEX_BUSY,
                    )
                try:
                    await _take_turn(connection)
                    try:
                        yield connection
                    finally:
                        await _unlock(connection, 0)
                finally:
                    await _unlock(connection, collection.collection_id)


async def _try_lock(connection: AsyncConnection[Row], key: int) -> bool:
    cursor = await connection.execute("SELECT pg_try_advisory_lock(%s, %s::int) AS got", (LOCK, key))
    row = await cursor.fetchone()
    return bool(row and row["got"])


async def _take_turn(connection: AsyncConnection[Row]) -> None:
    """Waits by asking again: a session that waited in a statement would itself be waited for."""
    while True:
        if await _try_lock(connection, 0):
            return
        await asyncio.sleep(POLL_SECONDS)


async def _unlock(connection: AsyncConnection[Row], key: int) -> None:
    await connection.execute("SELECT pg_advisory_unlock(%s, %s::int)", (LOCK, key))


async def _must_be_possible(connection: AsyncConnection[Row], collection: Collection) -> None:
    row = await (await connection.execute(query("pgvector_version"))).fetchone()
    version = row["version"] if row else "0.0"
    if tuple(map(int, version.split(".")[:2])) < LEAST_VERSION:
        raise StoreError(
            f"the database has pgvector {version}, and a vector index needs 0.8 or newer.",
            "Install a newer one and run `ALTER EXTENSION vector UPDATE`; until then all vectors are compared.",
            code=INDEX_UNSUPPORTED,
        )
    if collection.dimensions > MOST_DIMENSIONS:
        raise StoreError(
            f"the vectors of {collection.name!r} have {collection.dimensions} dimensions, and {MOST_DIMENSIONS} is the "
            "most that can be indexed.",
            "There is nothing to do: all of them are compared.",
            code=INDEX_UNSUPPORTED,
        )


async def _drop_unfinished(connection: AsyncConnection[Row], collection_id: int) -> None:
    """Removes what an interrupted build left: nothing asks it, and every new chunk would be put into it."""
    for name in await _names(connection, collection_id, whole=False):
        await _drop(connection, name)


async def _names(connection: AsyncConnection[Row], collection_id: int, *, whole: bool | None = None) -> list[str]:
    """The indexes of a collection: all of them, or those alone that are whole or are not."""
    cursor = await connection.execute(query("vector_index_names"), {"prefix": _prefix(collection_id)})
    return [row["name"] for row in await cursor.fetchall() if whole in (None, row["whole"])]


def _prefix(collection_id: int) -> str:
    return f"chunks_vectors_{collection_id}_"


def _next_name(collection_id: int, taken: Sequence[str]) -> str:
    names = (f"{_prefix(collection_id)}{number}" for number in count(1))
    return next(name for name in names if name not in taken)


async def _create(connection: AsyncConnection[Row], collection: Collection, name: str) -> None:
    statement = sql.SQL(query("create_vector_index")).format(
        name=sql.Identifier(name),
        dimensions=sql.Literal(collection.dimensions),
        links=sql.Literal(LINKS),
        width=sql.Literal(BUILD_WIDTH),
        collection_id=sql.Literal(collection.collection_id),
        own_name=sql.Literal(name),
    )
    memory = f"{build_memory(collection.chunks, collection.dimensions) >> 10}kB"
    await connection.execute("SELECT set_config('maintenance_work_mem', %s, false)", (memory,))
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


def build_memory(chunks: int, dimensions: int) -> int:
    """Bytes that the graph of so many vectors takes while it is built, within bounds."""
    return min(MOST_MEMORY, max(LEAST_MEMORY, chunks * (2 * dimensions + LINK_BYTES)))


async def _drop(connection: AsyncConnection[Row], name: str) -> None:
    await connection.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(name)))


async def _choose(connection: AsyncConnection[Row], collection: Collection, name: str) -> VectorIndex:
    """Measures and has searches use the narrowest width that finds enough, or the widest."""
    questions = await _make_questions(connection, collection, SAMPLE)
    for width in WIDTHS:
        recall = await _measure(connection, collection, name, questions, width)
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
    connection: AsyncConnection[Row], collection: Collection, name: str, questions: Sequence[Question], width: int
) -> Recall:
    values = {"collection_id": collection.collection_id, "index": name, "documents": None, "limit": NEIGHBOURS}
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
    """The statement that asks an index; the number of dimensions is a part of its type, and so no value."""
    return sql.SQL(query("near_candidates")).format(dimensions=sql.Literal(dimensions))
