"""Benchmark ingest against two floors: PostgreSQL alone, and reading the files alone.

    python benchmarks/ingest.py [--chunks 10000] [--documents 10000]

It prints three comparisons on an embedded database that is removed at the end, and is not part of the test run. Ratios
are comparable between machines, times are not.
"""

import argparse
import asyncio
import hashlib
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import psycopg
from pgvector import Vector

from sourcebound.contracts.corpus.collection import StoredDocument
from sourcebound.contracts.corpus.document import Chunk, DocumentMetadata, Page, ParsedDocument
from sourcebound.evals.retrieval import temporary_services
from sourcebound.ingest.loaders.sidecar import Sidecar
from sourcebound.ingest.pipeline import Ingest
from sourcebound.wiring import Services

WORDS = 200
DIMENSIONS = 384
CHUNKS_A_DOCUMENT = 20
DOCUMENTS_A_BATCH = 64
ROUNDS = 3
EXAMPLES = Path(__file__).parents[1] / "examples" / "sources"
MAX_BYTES = 1_000_000

FLOOR = (
    "CREATE TABLE floor (chunk_id text, document_id bigint, ordinal integer, page_index integer, page_number integer, "
    "heading_path text[], char_start integer, char_end integer, text text, embedding vector(384))",
    "CREATE TABLE floor_pages (document_id bigint, page_index integer, page_number integer, text text)",
)
FLOOR_TYPES = ("text", "int8", "int4", "int4", "int4", "text[]", "int4", "int4", "text", "bytea")
SEARCH_TABLE = (
    "CREATE TABLE floor_searched AS SELECT *, setweight(to_tsvector('english', text), 'A') "
    "|| setweight(to_tsvector('english', heading_path[1]), 'B') AS search FROM floor"
)
OUR_INDEXES = (
    "ALTER TABLE floor_pages ADD PRIMARY KEY (document_id, page_index)",
    "ALTER TABLE floor_searched ADD PRIMARY KEY (chunk_id)",
    "CREATE INDEX ON floor_searched (document_id)",
    "CREATE INDEX ON floor_searched USING gin (search)",
)
HNSW = "CREATE INDEX ON floor USING hnsw (embedding vector_cosine_ops)"


class Floor(NamedTuple):
    """The seconds that PostgreSQL takes alone."""

    same_rows: float
    """COPY of the same pages and chunks, their search words in one statement, then the same indexes in bulk."""
    with_graph: float
    """COPY of the chunks, then an HNSW index: the usual floor of vector stores."""


def _documents(chunks: int) -> list[StoredDocument]:
    """Make documents that are ready to be stored, with random vectors."""
    draw = random.Random(20251121)
    words = " ".join(path.read_text("utf-8") for path in sorted(EXAMPLES.glob("*.md"))).split()
    return [_document(number, words, draw) for number in range(chunks // CHUNKS_A_DOCUMENT)]


def _document(number: int, words: list[str], draw: random.Random) -> StoredDocument:
    knowledge_id, chunks, length = f"doc-{number}", [], 0
    for ordinal in range(CHUNKS_A_DOCUMENT):
        text = " ".join(draw.choices(words, k=WORDS))
        chunk_id = f"{knowledge_id}#{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        chunks.append(_chunk(chunk_id, ordinal, length, text))
        length += len(text) + 2
    page = Page(index=0, number=1, text="\n\n".join(chunk.text for chunk in chunks))
    metadata = DocumentMetadata(title=f"Document {number}")
    return StoredDocument(
        knowledge_id=knowledge_id,
        source_path=f"/nowhere/{knowledge_id}",
        source_reference=knowledge_id,
        source_digest=hashlib.sha256(knowledge_id.encode()).digest(),
        parsed=ParsedDocument(media_type="text/plain", metadata=metadata, pages=(page,)),
        metadata=metadata,
        chunks=chunks,
        vectors=[[draw.gauss(0, 0.05) for _ in range(DIMENSIONS)] for _ in chunks],
        further_words=["" for _ in chunks],
    )


def _chunk(chunk_id: str, ordinal: int, start: int, text: str) -> Chunk:
    return Chunk(
        chunk_id=chunk_id,
        ordinal=ordinal,
        page_index=0,
        page_number=1,
        heading_path=("Section",),
        char_start=start,
        char_end=start + len(text),
        text=text,
    )


async def _store(services: Services, documents: list[StoredDocument]) -> float:
    """Return the seconds for storing the documents through the store, in empty tables with their indexes."""
    collection = await services.index.create_collection("stored", "x", "x", DIMENSIONS, "x")
    started = perf_counter()
    for start in range(0, len(documents), DOCUMENTS_A_BATCH):
        await services.index.replace_documents(collection.collection_id, documents[start : start + DOCUMENTS_A_BATCH])
    seconds = perf_counter() - started
    await services.index.drop_collection(collection)
    return seconds


def _time_floor(url: str, documents: list[StoredDocument]) -> Floor:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS floor, floor_pages, floor_searched")
        for statement in FLOOR:
            connection.execute(statement)
        started = perf_counter()
        with connection.cursor() as cursor, cursor.copy("COPY floor FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(FLOOR_TYPES)
            for row in _floor_rows(documents):
                copy.write_row(row)
        copied = perf_counter()
        with connection.cursor() as cursor, cursor.copy("COPY floor_pages FROM STDIN") as copy:
            for number, document in enumerate(documents):
                copy.write_row((number, 0, 1, document.parsed.pages[0].text))
        for statement in (SEARCH_TABLE, *OUR_INDEXES):
            connection.execute(statement)
        indexed = perf_counter()
        connection.execute(HNSW)
        return Floor(indexed - started, perf_counter() - indexed + copied - started)


def _floor_rows(documents: list[StoredDocument]) -> Iterator[tuple[object, ...]]:
    for number, document in enumerate(documents):
        for chunk, vector in zip(document.chunks, document.vectors or [], strict=True):
            position = (chunk.ordinal, 0, 1, list(chunk.heading_path), chunk.char_start, chunk.char_end, chunk.text)
            yield (chunk.chunk_id, number, *position, Vector(list(vector)).to_binary())


async def _compare_storing(services: Services, url: str, chunks: int) -> None:
    documents = _documents(chunks)
    floors, ours = [], []
    for _ in range(ROUNDS):
        floors.append(await asyncio.to_thread(_time_floor, url, documents))
        ours.append(await _store(services, documents))
    same_rows, graph = min(floor.same_rows for floor in floors), min(floor.with_graph for floor in floors)
    stored = min(ours)
    print(f"storing {chunks} embedded chunks of {WORDS} words, {DIMENSIONS} numbers each, best of {ROUNDS}")
    print(f"  COPY of the same rows + indexes    {same_rows:7.2f} s   {chunks / same_rows:.0f} chunks/s")
    print(f"  COPY of the vectors + HNSW         {graph:7.2f} s   {chunks / graph:.0f} chunks/s")
    print(
        f"  replace_documents                  {stored:7.2f} s   {stored / same_rows:.2f} × and {stored / graph:.2f} ×"
    )


def _write_tree(folder: Path, documents: int) -> None:
    text = (EXAMPLES.parent / "manuals" / "shift-handover-policy.txt").read_text("utf-8")
    for number in range(documents):
        path = folder / f"{number % 100:02}" / f"policy-{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"Policy {number}\n\n{text[:1500]}", "utf-8")


def _read_all(folder: Path) -> float:
    """Return the floor of checking a tree: the seconds for reading and hashing every file once."""
    started = perf_counter()
    for path in folder.rglob("*.txt"):
        hashlib.sha256(path.read_bytes()).digest()
    return perf_counter() - started


async def _compare_scans(services: Services, folder: Path, documents: int) -> None:
    _write_tree(folder, documents)
    pipeline = Ingest(services.index, None, "lexical", MAX_BYTES, services.parser)

    async def timed(path: Path) -> float:
        started = perf_counter()
        await pipeline.run([path], "tree", Sidecar())
        return perf_counter() - started

    first, unchanged = await timed(folder), min([await timed(folder) for _ in range(ROUNDS)])
    floor = _read_all(folder)
    changed = folder / "07" / "policy-7.txt"
    changed.write_text(changed.read_text("utf-8") + "\nOne more sentence.\n", "utf-8")
    in_tree = await timed(folder)
    print(f"a tree of {documents} files")
    print(f"  first ingest, lexical              {first:7.2f} s   {documents / first:.0f} files/s")
    print(f"  every file read and hashed         {floor:7.2f} s")
    print(f"  unchanged tree checked             {unchanged:7.2f} s   {unchanged / floor:.2f} × the floor")
    print(f"  one changed file, whole tree named {in_tree:7.2f} s")


def _time_command(url: str, *arguments: str) -> float:
    program = Path(sys.executable).with_name("sourcebound")
    environment = {**os.environ, "DATABASE_URL": url, "SOURCEBOUND_EMBEDDER": "lexical"}
    started = perf_counter()
    subprocess.run([program, "ingest", *arguments], check=True, env=environment, stdout=subprocess.DEVNULL)
    return perf_counter() - started


async def _compare_commands(url: str, folder: Path) -> None:
    """Time the same from the command line, including the start of the program and its child process."""
    changed = folder / "08" / "policy-8.txt"
    changed.write_text(changed.read_text("utf-8") + "\nOne more sentence.\n", "utf-8")
    (folder / "08" / "policy-8.txt.meta.toml").write_text('knowledge_id = "08/policy-8.txt"\n', "utf-8")
    one = await asyncio.to_thread(_time_command, url, str(changed), "--collection", "tree")
    tree = await asyncio.to_thread(_time_command, url, str(folder), "--collection", "tree")
    print(f"  `sourcebound ingest` CHANGED_FILE  {one:7.2f} s")
    print(f"  `sourcebound ingest` UNCHANGED     {tree:7.2f} s")


async def _main(chunks: int, documents: int) -> None:
    async with temporary_services() as services:
        url = services.pool.conninfo
        assert isinstance(url, str)
        await _compare_storing(services, url, chunks)
        with tempfile.TemporaryDirectory() as folder:
            await _compare_scans(services, Path(folder), documents)
            await _compare_commands(url, Path(folder))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Benchmark ingest against its floors.")
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--documents", type=int, default=10_000)
    options = parser.parse_args()
    asyncio.run(_main(options.chunks, options.documents))
