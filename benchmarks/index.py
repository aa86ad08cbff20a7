"""A large index: how much it finds, how fast it is asked and how fast it is filled, beside what PostgreSQL does alone.

    python benchmarks/index.py [--count 100000] [--cache passages.npz]

The first run embeds the passages, which takes long, and keeps their vectors in the cache.

Everything is measured side by side in one run, over an embedded database that is removed at the end. Ratios travel
between machines, milliseconds do not.
"""

import argparse
import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final, NamedTuple

import psycopg
from passages import Passages, load_passages
from pgvector import Vector
from psycopg import AsyncConnection

from sourcebound.contracts.calibration.gate_minima import Share, wilson
from sourcebound.contracts.corpus.collection import Collection, StoredDocument
from sourcebound.contracts.corpus.document import Chunk, DocumentMetadata, Page, ParsedDocument
from sourcebound.contracts.corpus.vector_index import count_found
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Filters
from sourcebound.evals.retrieval import read_records, retrieve, temporary_services
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.store.connection.database import one_state
from sourcebound.store.search.chunk_queries import ChunkSearch
from sourcebound.store.search.vector_cache import VectorCache
from sourcebound.store.search.vector_codec import pack_vector, vector_text
from sourcebound.store.search.vector_index import BUILD_WIDTH, LINKS
from sourcebound.wiring import DEFAULT_POLICY, Services, find_policy

NAME: Final = "passages"
CHUNKS_A_DOCUMENT: Final = 20
DOCUMENTS_A_BATCH: Final = 64
NEAREST: Final = 8
ROUNDS: Final = 3
QUESTIONS: Final = (
    ("retrieval/scifact_dev/queries.jsonl", "text"),
    ("retrieval/cranfield/queries.jsonl", "text"),
    ("answerability/squad2/questions.jsonl", "question"),
    ("answerability/covidqa_long/questions.jsonl", "question"),
    ("answerability/offtopic_nq_open/questions.jsonl", "question"),
)
QUESTIONS_A_SET: Final = 60
FILTERS: Final = (
    ("no filter", Filters()),
    ("50 % of the documents", Filters(knowledge_type="manual")),
    ("10 %", Filters(authority="TENTH")),
    ("1 %", Filters(equipment_id="HUNDREDTH")),
)
FLOOR: Final = """
CREATE TABLE floor (chunk_id text, document_id bigint, ordinal integer, page_index integer, page_number integer,
    heading_path text[], char_start integer, char_end integer, text text, embedding vector(384))
"""
FLOOR_TYPES: Final = ("text", "int8", "int4", "int4", "int4", "text[]", "int4", "int4", "text", "bytea")
FLOOR_GRAPH: Final = f"""
CREATE INDEX ON floor USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops)
WITH (m = {LINKS}, ef_construction = {BUILD_WIDTH})
"""
FLOOR_WORDS: Final = (
    "ALTER TABLE floor ADD PRIMARY KEY (chunk_id)",
    "CREATE INDEX ON floor (document_id)",
    "CREATE INDEX ON floor USING gin (to_tsvector('english', text))",
)
FLOOR_QUERY: Final = """
SELECT chunk_id, text FROM floor ORDER BY embedding::halfvec(384) <=> %s::vector::halfvec(384) LIMIT 8
"""


class Asked(NamedTuple):
    """A real question and its vector."""

    text: str
    vector: list[float]


class Ready(MiniLmEmbedder):
    """An embedder that has embedded the questions already: what is timed is the search alone."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        super().__init__()
        self._ready: Mapping[str, list[float]] = {each.text: each.vector for each in asked}

    async def embed_query(self, text: str) -> list[float]:
        """The vector of one of the questions."""
        return self._ready[text]


def make_documents(passages: Passages) -> list[StoredDocument]:
    """Documents of twenty passages each; a half, a tenth and a hundredth of them can be told by a filter."""
    return [
        _document(start // CHUNKS_A_DOCUMENT, passages, slice(start, start + CHUNKS_A_DOCUMENT))
        for start in range(0, len(passages.texts), CHUNKS_A_DOCUMENT)
    ]


def _document(number: int, passages: Passages, part: slice) -> StoredDocument:
    knowledge_id, chunks, length = f"document-{number}", [], 0
    for ordinal, text in enumerate(passages.texts[part]):
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        place = {"page_index": 0, "page_number": 1, "heading_path": (), "char_start": length}
        chunk = {"chunk_id": f"{knowledge_id}#{digest}", "ordinal": ordinal, "text": text, **place}
        chunks.append(Chunk.model_validate({**chunk, "char_end": length + len(text)}))
        length += len(text) + 2
    metadata = DocumentMetadata(
        title=f"Document {number}",
        knowledge_type="manual" if number % 2 else "bulletin",
        authority="TENTH" if number % 10 == 3 else None,
        equipment_id="HUNDREDTH" if number % 100 == 7 else None,
    )
    page = Page(index=0, number=1, text="\n\n".join(passages.texts[part]))
    return StoredDocument(
        knowledge_id=knowledge_id,
        source_path=f"/nowhere/{knowledge_id}",
        source_reference=knowledge_id,
        source_digest=hashlib.sha256(knowledge_id.encode()).digest(),
        parsed=ParsedDocument(media_type="text/plain", metadata=metadata, pages=(page,)),
        metadata=metadata,
        chunks=chunks,
        vectors=passages.vectors[part].tolist(),
        joined_words=["" for _ in chunks],
    )


def fill_floor(url: str, documents: Sequence[StoredDocument]) -> tuple[float, float]:
    """Seconds for COPY and the same graph, and for the usual keys and word index on top."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(FLOOR)
        connection.execute("SET maintenance_work_mem = '2GB'")
        began = perf_counter()
        with connection.cursor() as cursor, cursor.copy("COPY floor FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(FLOOR_TYPES)
            for number, document in enumerate(documents):
                for chunk, vector in zip(document.chunks, document.vectors or [], strict=True):
                    place = (chunk.ordinal, 0, 1, [], chunk.char_start, chunk.char_end, chunk.text)
                    copy.write_row((chunk.chunk_id, number, *place, Vector(list(vector)).to_binary()))
        connection.execute(FLOOR_GRAPH)
        graph = perf_counter()
        for statement in FLOOR_WORDS:
            connection.execute(statement)
        return graph - began, perf_counter() - graph


async def _fill(services: Services, documents: Sequence[StoredDocument]) -> tuple[float, float]:
    """Seconds for storing, and for making and measuring the index."""
    collection = await services.index.create_collection(
        NAME, "minilm", MiniLmEmbedder().name, 384, "passages", "english"
    )
    began = perf_counter()
    for start in range(0, len(documents), DOCUMENTS_A_BATCH):
        await services.index.replace_documents(collection.collection_id, documents[start : start + DOCUMENTS_A_BATCH])
    stored = perf_counter()
    await services.index.vectors.build(await services.index.open_collection(NAME))
    return stored - began, perf_counter() - stored


async def _compare_filling(services: Services, url: str, documents: Sequence[StoredDocument]) -> None:
    stored, indexed = await _fill(services, documents)
    graph, words = await asyncio.to_thread(fill_floor, url, documents)
    ours, whole = stored + indexed, graph + words
    print("filling it with chunks that are embedded already")
    print(f"  COPY + the same graph                      {graph:7.1f} s")
    print(f"  COPY + the same graph + keys, word index   {whole:7.1f} s")
    print(f"  replace_documents                          {stored:7.1f} s")
    print(f"  index made, and measured                   {indexed:7.1f} s")
    print(f"  ours together                              {ours:7.1f} s   {ours / graph:.2f} × and {ours / whole:.2f} ×")


@asynccontextmanager
async def _search(services: Services, collection: Collection, filters: Filters) -> AsyncIterator[ChunkSearch]:
    async with services.pool.connection() as connection, one_state(connection):
        search = ChunkSearch(connection, collection, filters, VectorCache())
        await search.begin()
        yield search


async def _nearest(
    services: Services, collection: Collection, filters: Filters, each: Asked, limit: int
) -> list[float]:
    async with _search(services, collection, filters) as search:
        found = await search.dense(pack_vector(each.vector), limit)
    return [-score for score in found.values()]


async def _compare_finding(services: Services, asked: Sequence[Asked], pool: int) -> None:
    collection = await services.index.open_collection(NAME)
    exact = collection.model_copy(update={"vector_index": None})
    print(f"of the {NEAREST} nearest chunks found, of {len(asked)} real questions: {collection.vector_index!r}")
    for name, filters in FILTERS:
        found = sought = short = 0
        for each in asked:
            true = await _nearest(services, exact, filters, each, pool)
            near = await _nearest(services, collection, filters, each, pool)
            found += count_found(near[:NEAREST], true[:NEAREST])
            sought += min(NEAREST, len(true))
            short += len(near) < len(true)
        low, high = wilson(Share(found, sought))
        print(f"  {name:24} {found / sought:8.2%}  ({low:.2%} to {high:.2%}); {short} with fewer rows than there are")


async def _compare_asking(services: Services, url: str, asked: Sequence[Asked], policy: Policy) -> None:
    collection = await services.index.open_collection(NAME)
    services._embedders["minilm"] = Ready(asked)
    bare: list[float] = []
    hybrid: list[float] = []
    width = collection.vector_index.ef_search if collection.vector_index else 40
    async with await AsyncConnection.connect(url, autocommit=True, prepare_threshold=None) as connection:
        await connection.execute("SELECT set_config('hnsw.ef_search', %s, false)", (str(width),))
        for number in range(ROUNDS * len(asked)):
            each = asked[number % len(asked)]
            text = vector_text(each.vector)
            began = perf_counter()
            await (await connection.execute(FLOOR_QUERY, (text,))).fetchall()
            between = perf_counter()
            await retrieve(services, each.text, NAME, policy)
            bare.append(between - began)
            hybrid.append(perf_counter() - between)
    print(f"asking it, {ROUNDS} rounds, embedding left out, in turns")
    for name, times in (("one bare query of the graph, 8 rows", bare), ("hybrid retrieval, whole", hybrid)):
        ninety = sorted(times)[len(times) * 9 // 10]
        print(f"  {name:40} p50 {1000 * median(times):6.1f} ms   p90 {1000 * ninety:6.1f} ms")
    print(f"  p50 {median(hybrid) / median(bare):.2f} ×")


async def _read_questions(data: Path) -> list[Asked]:
    texts = [record[field] for name, field in QUESTIONS for record in read_records(data / name)[:QUESTIONS_A_SET]]
    vectors = await MiniLmEmbedder().embed_documents(texts)
    return [Asked(text, vector) for text, vector in zip(texts, vectors, strict=True)]


async def _main(data: Path, cache: Path, count: int) -> None:
    passages = await asyncio.to_thread(load_passages, data, count, cache)
    asked, policy = await _read_questions(data), find_policy(DEFAULT_POLICY, embedding_model=None)
    print(f"{len(passages.texts)} real passages")
    async with temporary_services() as services:
        url = services.pool.conninfo
        assert isinstance(url, str)
        await _compare_filling(services, url, make_documents(passages))
        await _compare_finding(services, asked, policy.retrieval.candidate_pool)
        await _compare_asking(services, url, asked, policy)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A large index, beside PostgreSQL alone.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path("passages.npz"))
    parser.add_argument("--count", type=int, default=100_000)
    given = parser.parse_args()
    asyncio.run(_main(given.data, given.cache, given.count))
