"""The approximate index of a collection's vectors: built next to the one in use, measured, then put in its place.

It holds a single collection, so that a search never traverses the vectors of another one. It holds half-precision
numbers, which lose no neighbour and take half the space. No reader or writer waits while it is built. The search width
is chosen by comparison with the exact result (contract R1-5).
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
    MAX_DIMENSIONS,
    NEIGHBOURS,
    SEARCH_WIDTHS,
    TARGET_RECALL,
    Recall,
    VectorIndex,
    count_true_neighbours,
    needs_index,
    perturb,
)
from sourcebound.errors import StoreError
from sourcebound.store.connection.database import Pool, Row, store_faults
from sourcebound.store.connection.queries import query
from sourcebound.store.search.vector_codec import vector_text

SAMPLE: Final = 300
"""The number of query vectors with which an index is measured: each is searched exactly and through the index."""
BLOCK: Final = 5000
"""The number of vectors that are read at a time."""
LINKS: Final = 16
BUILD_WIDTH: Final = 200
"""`LINKS` is the index parameter `m`, and `BUILD_WIDTH` is `ef_construction`."""
LEAST_MEMORY: Final = 128 << 20
MOST_MEMORY: Final = 2 << 30
"""Bounds of the build memory in bytes.

A graph that outgrows its memory is built many times slower, and a build with workers allocates all of it at once.
Therefore the memory is as large as the graph needs.
"""
LINK_BYTES: Final = 1024
"""The bytes of a chunk in the graph in addition to its vector, with a reserve."""
LEAST_VERSION: Final = (0, 8)
"""The first version of pgvector with iterative scans."""
INDEX_BUSY: Final = "INDEX_BUSY"
INDEX_UNSUPPORTED: Final = "INDEX_UNSUPPORTED"
LOCK: Final = 0x564543
"""The first key of the advisory locks that a build holds. The second is the collection, or 0 for all of them."""
POLL_SECONDS: Final = 0.2


class Question(NamedTuple):
    """A query vector of a measurement, with the distances of its true nearest chunks."""

    vector: str
    nearest: list[float]


class VectorIndexes:
    """Builds, measures and removes the vector indexes of one database.

    Args:
        pool: Connections to the database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def build(self, collection: Collection) -> VectorIndex:
        """Build a new index, measure it, make searches use it, and remove the old one.

        Args:
            collection: A collection with vectors.

        Returns:
            The index. Searches use it if it is fit.

        Raises:
            StoreError: Another process is building it, or the server could not build it.
        """
        async with self._lock_index(collection) as connection:
            await _check_support(connection, collection)
            await _drop_unfinished(connection, collection.collection_id)
            old = await _list_names(connection, collection.collection_id)
            name = _next_name(collection.collection_id, old)
            await _create(connection, collection, name)
            index = await _choose_width(connection, collection, name)
            for each in old:
                await _drop(connection, each)
        return index

    async def ensure_index(self, collection: Collection) -> VectorIndex | None:
        """Ensure that a collection which has grown has an index with sufficient recall.

        Args:
            collection: The current state of the collection.

        Returns:
            The index if it was built or measured; None if there was nothing to do.

        Raises:
            StoreError: As for `build`.
        """
        if not collection.dimensions or not needs_index(collection.chunks, collection.vector_index):
            return None
        if collection.vector_index is not None:
            async with self._lock_index(collection) as connection:
                index = await _choose_width(connection, collection, collection.vector_index.name)
            if index.is_fit:
                return index
        return await self.build(collection)

    async def measure(self, collection: Collection, width: int, sample: int = SAMPLE) -> Recall:
        """Measure how many of the true nearest chunks a search through the index finds.

        Args:
            collection: A collection with an index.
            width: The search width.
            sample: The number of query vectors. They are placed near chunks, and are the same each time.
        """
        assert collection.vector_index is not None
        with store_faults():
            async with self._pool.connection() as connection:
                questions = await _make_questions(connection, collection, sample)
                return await _measure(connection, collection, collection.vector_index.name, questions, width)

    async def drop(self, collection: Collection) -> None:
        """Remove every index of a collection. From then on all its vectors are compared."""
        async with self._lock_index(collection) as connection:
            await connection.execute("DELETE FROM vector_indexes WHERE collection_id = %s", (collection.collection_id,))
            for name in await _list_names(connection, collection.collection_id):
                await _drop(connection, name)

    @asynccontextmanager
    async def _lock_index(self, collection: Collection) -> AsyncIterator[AsyncConnection[Row]]:
        """Lock the index of the collection, and the building and removing of any index, and yield the connection.

        Two concurrent builds for two collections would wait for each other, so the server would end one of them, often
        the first.
        """
        with store_faults():
            async with self._pool.connection() as connection:
                if not await _try_lock(connection, collection.collection_id):
                    raise StoreError(
                        f"another process is building or removing the vector index of {collection.name!r}.",
                        "Wait for it to end. Searches continue meanwhile.",
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
    """Poll for the lock.

    Blocking inside a statement would hold a snapshot that CREATE INDEX CONCURRENTLY waits for.
    """
    while True:
        if await _try_lock(connection, 0):
            return
        await asyncio.sleep(POLL_SECONDS)


async def _unlock(connection: AsyncConnection[Row], key: int) -> None:
    await connection.execute("SELECT pg_advisory_unlock(%s, %s::int)", (LOCK, key))


async def _check_support(connection: AsyncConnection[Row], collection: Collection) -> None:
    row = await (await connection.execute(query("pgvector_version"))).fetchone()
    version = row["version"] if row else "0.0"
    if tuple(map(int, version.split(".")[:2])) < LEAST_VERSION:
        raise StoreError(
            f"the database has pgvector {version}, and a vector index needs 0.8 or newer.",
            "Install a newer version and run `ALTER EXTENSION vector UPDATE`. Until then all vectors are compared.",
            code=INDEX_UNSUPPORTED,
        )
    if collection.dimensions > MAX_DIMENSIONS:
        raise StoreError(
            f"the vectors of {collection.name!r} have {collection.dimensions} dimensions, and at most "
            f"{MAX_DIMENSIONS} can be indexed.",
            "No action is needed: all vectors are compared.",
            code=INDEX_UNSUPPORTED,
        )


async def _drop_unfinished(connection: AsyncConnection[Row], collection_id: int) -> None:
    """Remove the invalid indexes of interrupted builds. No search uses them, but every new chunk would be added."""
    for name in await _list_names(connection, collection_id, is_complete=False):
        await _drop(connection, name)


async def _list_names(
    connection: AsyncConnection[Row], collection_id: int, *, is_complete: bool | None = None
) -> list[str]:
    """Return the names of a collection's indexes: all of them, or only the complete or only the incomplete ones."""
    cursor = await connection.execute(query("vector_index_names"), {"prefix": _prefix(collection_id)})
    return [row["name"] for row in await cursor.fetchall() if is_complete in (None, row["whole"])]


def _prefix(collection_id: int) -> str:
    return f"chunks_vectors_{collection_id}_"


def _next_name(collection_id: int, used: Sequence[str]) -> str:
    names = (f"{_prefix(collection_id)}{number}" for number in count(1))
    return next(name for name in names if name not in used)


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
        # Workers use shared memory, of which a container may have little. A single process needs none.
        await _drop(connection, name)
        await connection.execute("SET max_parallel_maintenance_workers = 0")
        await connection.execute(statement)
    finally:
        await connection.execute("RESET maintenance_work_mem")
        await connection.execute("RESET max_parallel_maintenance_workers")


def build_memory(chunks: int, dimensions: int) -> int:
    """Return the bytes of memory that the graph of so many vectors needs while it is built, within bounds."""
    return min(MOST_MEMORY, max(LEAST_MEMORY, chunks * (2 * dimensions + LINK_BYTES)))


async def _drop(connection: AsyncConnection[Row], name: str) -> None:
    await connection.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(name)))


async def _choose_width(connection: AsyncConnection[Row], collection: Collection, name: str) -> VectorIndex:
    """Measure the widths, and make searches use the narrowest one with sufficient recall, or the widest."""
    questions = await _make_questions(connection, collection, SAMPLE)
    for width in SEARCH_WIDTHS:
        recall = await _measure(connection, collection, name, questions, width)
        if recall.value >= TARGET_RECALL:
            break
    index = VectorIndex(name=name, ef_search=recall.ef_search, recall=recall.value, chunks=collection.chunks)
    values = {"collection_id": collection.collection_id, **index.model_dump()}
    await connection.execute(query("put_vector_index"), values)
    return index


async def _make_questions(connection: AsyncConnection[Row], collection: Collection, sample: int) -> list[Question]:
    """Make query vectors from the same chunks each time.

    Each is moved as far from its chunk as a question is from the chunk that answers it.
    """
    values = {"collection_id": collection.collection_id, "sample": sample}
    found = await (await connection.execute(query("sample_vectors"), values)).fetchall()
    places = [perturb(Vector.from_text(row["vector"]).to_list(), row["chunk_id"]) for row in found]
    nearest = await _find_exact_distances(connection, collection, places) if places else []
    return [Question(vector_text(place), own) for place, own in zip(places, nearest, strict=True)]


async def _find_exact_distances(
    connection: AsyncConnection[Row], collection: Collection, places: Sequence[Sequence[float]]
) -> list[list[float]]:
    """Return the distances of the nearest chunks to each query vector, reading every stored vector only once."""
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
            parameters = {**values, "vector": question.vector}
            near = await _fetch_distances(connection, near_candidates(collection.dimensions), parameters)
            found += count_true_neighbours(near, question.nearest)
    return Recall(width, found, sum(len(question.nearest) for question in questions))


async def _fetch_distances(
    connection: AsyncConnection[Row], statement: LiteralString | sql.Composed, parameters: Mapping[str, object]
) -> list[float]:
    return [row["distance"] for row in await (await connection.execute(statement, parameters)).fetchall()]


def near_candidates(dimensions: int) -> sql.Composed:
    """Build the query of an approximate search.

    The number of dimensions is part of the column type, so it cannot be a bind parameter.
    """
    return sql.SQL(query("near_candidates")).format(dimensions=sql.Literal(dimensions))
