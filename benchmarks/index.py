"""Benchmark a large index against PostgreSQL alone: recall, query time and load time.

    python benchmarks/index.py [--count 100000] [--cache passages.npz]

The first run embeds the passages, which takes long, and keeps their vectors in the cache.

Both sides are measured in one run, on an embedded database that is removed at the end. Ratios are comparable between
machines, times are not.
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

from sourcebound.contracts.calibration.gate_minima import Share, wilson_interval
from sourcebound.contracts.corpus.collection import Collection, StoredDocument
from sourcebound.contracts.corpus.document import Chunk, DocumentMetadata, Page, ParsedDocument
from sourcebound.contracts.corpus.vector_index import count_true_neighbours
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Filters
from sourcebound.evals.retrieval import read_records, retrieve, temporary_services
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.store.connection.database import read_snapshot
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


class Question(NamedTuple):
    """A real question and its vector."""

    text: str
    vector: list[float]


class PrecomputedEmbedder(MiniLmEmbedder):
    """An embedder with precomputed vectors of the questions, so that only the search is timed."""

    def __init__(self, questions: Sequence[Question]) -> None:
        super().__init__()
        self._vectors: Mapping[str, list[float]] = {each.text: each.vector for each in questions}

    async def embed_query(self, text: str) -> list[float]:
        """Return the vector of one of the questions."""
        return self._vectors[text]


def make_documents(passages: Passages) -> list[StoredDocument]:
    """Make documents of twenty passages each; filters select a half, a tenth and a hundredth of them."""
    return [
        _document(start // CHUNKS_A_DOCUMENT, passages, slice(start, start + CHUNKS_A_DOCUMENT))
        for start in range(0, len(passages.texts), CHUNKS_A_DOCUMENT)
    ]


def _document(number: int, passages: Passages, part: slice) -> StoredDocument:
    knowledge_id, chunks, length = f"document-{number}", [], 0
    for ordinal, text in enumerate(passages.texts[part]):
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        position = {"page_index": 0, "page_number": 1, "heading_path": (), "char_start": length}
        chunk = {"chunk_id": f"{knowledge_id}#{digest}", "ordinal": ordinal, "text": text, **position}
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
        further_words=["" for _ in chunks],
    )


def fill_floor(url: str, documents: Sequence[StoredDocument]) -> tuple[float, float]:
    """Return the seconds for COPY and the same graph, and for the usual keys and word index."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(FLOOR)
        connection.execute("SET maintenance_work_mem = '2GB'")
        started = perf_counter()
        with connection.cursor() as cursor, cursor.copy("COPY floor FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(FLOOR_TYPES)
            for number, document in enumerate(documents):
                for chunk, vector in zip(document.chunks, document.vectors or [], strict=True):
                    position = (chunk.ordinal, 0, 1, [], chunk.char_start, chunk.char_end, chunk.text)
                    copy.write_row((chunk.chunk_id, number, *position, Vector(list(vector)).to_binary()))
        connection.execute(FLOOR_GRAPH)
        graph = perf_counter()
        for statement in FLOOR_WORDS:
            connection.execute(statement)
        return graph - started, perf_counter() - graph


async def _fill(services: Services, documents: Sequence[StoredDocument]) -> tuple[float, float]:
    """Return the seconds for storing the documents, and for building and measuring the index."""
    collection = await services.index.create_collection(
        NAME, "minilm", MiniLmEmbedder().name, 384, "passages", "english"
    )
    started = perf_counter()
    for start in range(0, len(documents), DOCUMENTS_A_BATCH):
        await services.index.replace_documents(collection.collection_id, documents[start : start + DOCUMENTS_A_BATCH])
    stored = perf_counter()
    await services.index.vectors.build(await services.index.open_collection(NAME))
    return stored - started, perf_counter() - stored


async def _compare_loading(services: Services, url: str, documents: Sequence[StoredDocument]) -> None:
    stored, indexed = await _fill(services, documents)
    graph, words = await asyncio.to_thread(fill_floor, url, documents)
    ours, whole = stored + indexed, graph + words
    print("loading chunks that are already embedded")
    print(f"  COPY + the same graph                      {graph:7.1f} s")
    print(f"  COPY + the same graph + keys, word index   {whole:7.1f} s")
    print(f"  replace_documents                          {stored:7.1f} s")
    print(f"  index built and measured                   {indexed:7.1f} s")
    print(f"  ours, total                                {ours:7.1f} s   {ours / graph:.2f} × and {ours / whole:.2f} ×")


@asynccontextmanager
async def _search(services: Services, collection: Collection, filters: Filters) -> AsyncIterator[ChunkSearch]:
    async with services.pool.connection() as connection, read_snapshot(connection):
        search = ChunkSearch(connection, collection, filters, VectorCache())
        await search.begin()
        yield search


async def _nearest(
    services: Services, collection: Collection, filters: Filters, each: Question, limit: int
) -> list[float]:
    async with _search(services, collection, filters) as search:
        hits = await search.dense(pack_vector(each.vector), limit)
    return [-score for score in hits.values()]


async def _compare_recall(services: Services, questions: Sequence[Question], pool: int) -> None:
    collection = await services.index.open_collection(NAME)
    exact = collection.model_copy(update={"vector_index": None})
    print(f"recall of the {NEAREST} nearest chunks, {len(questions)} real questions: {collection.vector_index!r}")
    for name, filters in FILTERS:
        hits = expected = incomplete = 0
        for each in questions:
            true_scores = await _nearest(services, exact, filters, each, pool)
            near_scores = await _nearest(services, collection, filters, each, pool)
            hits += count_true_neighbours(near_scores[:NEAREST], true_scores[:NEAREST])
            expected += min(NEAREST, len(true_scores))
            incomplete += len(near_scores) < len(true_scores)
        low, high = wilson_interval(Share(hits, expected))
        print(f"  {name:24} {hits / expected:8.2%}  ({low:.2%} to {high:.2%}); {incomplete} with too few rows")


async def _compare_queries(services: Services, url: str, questions: Sequence[Question], policy: Policy) -> None:
    collection = await services.index.open_collection(NAME)
    services._embedders["minilm"] = PrecomputedEmbedder(questions)
    bare: list[float] = []
    hybrid: list[float] = []
    width = collection.vector_index.ef_search if collection.vector_index else 40
    async with await AsyncConnection.connect(url, autocommit=True, prepare_threshold=None) as connection:
        await connection.execute("SELECT set_config('hnsw.ef_search', %s, false)", (str(width),))
        for number in range(ROUNDS * len(questions)):
            each = questions[number % len(questions)]
            text = vector_text(each.vector)
            started = perf_counter()
            await (await connection.execute(FLOOR_QUERY, (text,))).fetchall()
            middle = perf_counter()
            await retrieve(services, each.text, NAME, policy)
            bare.append(middle - started)
            hybrid.append(perf_counter() - middle)
    print(f"queries without embedding, {ROUNDS} rounds, sides in turn")
    for name, times in (("bare query of the graph, 8 rows", bare), ("complete hybrid retrieval", hybrid)):
        p90 = sorted(times)[len(times) * 9 // 10]
        print(f"  {name:40} p50 {1000 * median(times):6.1f} ms   p90 {1000 * p90:6.1f} ms")
    print(f"  p50 {median(hybrid) / median(bare):.2f} ×")


async def _read_questions(data: Path) -> list[Question]:
    texts = [record[field] for name, field in QUESTIONS for record in read_records(data / name)[:QUESTIONS_A_SET]]
    vectors = await MiniLmEmbedder().embed_documents(texts)
    return [Question(text, vector) for text, vector in zip(texts, vectors, strict=True)]


async def _main(data: Path, cache: Path, count: int) -> None:
    passages = await asyncio.to_thread(load_passages, data, count, cache)
    questions, policy = await _read_questions(data), find_policy(DEFAULT_POLICY, embedding_model=None)
    print(f"{len(passages.texts)} real passages")
    async with temporary_services() as services:
        url = services.pool.conninfo
        assert isinstance(url, str)
        await _compare_loading(services, url, make_documents(passages))
        await _compare_recall(services, questions, policy.retrieval.candidate_pool)
        await _compare_queries(services, url, questions, policy)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Benchmark a large index against PostgreSQL alone.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path("passages.npz"))
    parser.add_argument("--count", type=int, default=100_000)
    options = parser.parse_args()
    asyncio.run(_main(options.data, options.cache, options.count))
