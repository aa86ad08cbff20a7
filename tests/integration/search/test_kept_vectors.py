"""A changed file: only chunks that the embedder has not read yet are embedded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sourcebound.contracts.corpus.collection import KnownVector
from sourcebound.contracts.corpus.document import Chunk
from sourcebound.ingest import changes, prepare
from sourcebound.ingest.chunking.chunker import chunk_document
from sourcebound.ingest.chunking.searchable_text import further_words
from sourcebound.ingest.prepare import Preparer
from sourcebound.ingest.summary import IngestSummary
from sourcebound.store.search.contents import ContentsCheck
from sourcebound.store.search.corpus import PostgresIndex
from sourcebound.wiring import Services
from support.fakes import FakeEmbedder
from support.processes.databases import COLLECTION, PARSER, ingest, rows, single

SECTIONS = 200
VECTORS = """
    SELECT k.chunk_id, k.embedding::text FROM chunks k JOIN collections c USING (collection_id)
    WHERE c.name = %s ORDER BY k.ordinal
"""


class CountingIndex(PostgresIndex):
    """Counts how often it is asked for vectors."""

    asked = 0

    async def known_vectors(self, collection_id: int, chunk_ids: Sequence[str]) -> dict[str, KnownVector]:
        self.asked += 1
        return await super().known_vectors(collection_id, chunk_ids)


class Library:
    """A collection, and what its embedder is asked.

    Args:
        services: Where it is.
        path: Its one file.
    """

    def __init__(self, services: Services, path: Path) -> None:
        self.embedder = FakeEmbedder()
        self.index = CountingIndex(services.pool)
        self.path = path
        self._services = services
        services._embedders["fake"] = self.embedder
        services.index = self.index

    async def ingest(self, collection: str = COLLECTION) -> IngestSummary:
        """Ingests the file; `embedder.texts` and `index.asked` are of this ingest alone."""
        self.embedder.texts.clear()
        self.index.asked = 0
        return await ingest(self._services, self.path, embedder="fake", collection=collection)


@pytest.fixture
def library(services: Services, tmp_path: Path) -> Library:
    path = tmp_path / "manual.md"
    path.write_text(_manual())
    return Library(services, path)


def _manual(changed: int = -1) -> str:
    sections = (f"## Section {n}\n\n{_paragraph(n, 'new' if n == changed else 'old')}" for n in range(SECTIONS))
    return "# Manual\n\n" + "\n\n".join(sections) + "\n"


def _paragraph(number: int, state: str) -> str:
    return f"Valve {number} is {state} and is opened by hand before the pump is started. " * 4


async def test_a_change_in_one_of_many_sections_embeds_that_one(library: Library, database: str) -> None:
    first = await library.ingest()
    assert (first.chunks, first.reused_vectors) == (SECTIONS, 0)
    assert (len(library.embedder.texts), library.index.asked) == (SECTIONS, 0)
    library.path.write_text(_manual(changed=77))
    second = await library.ingest()
    assert (second.replaced, second.chunks, second.reused_vectors) == (1, SECTIONS, SECTIONS - 1)
    (text,) = library.embedder.texts
    assert text == f"Manual - Section 77\nSection 77\n\n{_paragraph(77, 'new').strip()}"
    assert library.index.asked == 1
    assert (await library.ingest("anew")).reused_vectors == 0
    assert rows(database, VECTORS, COLLECTION) == rows(database, VECTORS, "anew")


async def test_vectors_of_the_real_embedder_are_kept_bit_by_bit(
    services: Services, database: str, tmp_path: Path
) -> None:
    path = tmp_path / "manual.md"
    path.write_text("# Pump\n\nThe pump runs at 5 bar.\n")
    await ingest(services, path, embedder="minilm")
    before = rows(database, VECTORS, COLLECTION)
    (path.with_name("manual.md.meta.toml")).write_text('equipment_id = "HP-1"\n')
    summary = await ingest(services, path, embedder="minilm")
    assert (summary.replaced, summary.chunks, summary.reused_vectors) == (1, 1, 1)
    assert rows(database, VECTORS, COLLECTION) == before


@pytest.mark.contract("R1-10")
@pytest.mark.contract("IX-1")
async def test_a_document_of_earlier_readers_gets_its_sections_and_keeps_its_vectors(
    library: Library, services: Services, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.path.write_text("# Pump\n\n## Seal\n\nThe seal is cooled.\n\n## Oil\n\nThe oil is changed.\n")
    with monkeypatch.context() as earlier:
        earlier.setattr(changes, "READERS", b"readers_v2")
        earlier.setattr(prepare, "chunk_document", _chunk_without_sections)
        await library.ingest()
    sections = "SELECT section_starts, section_names FROM chunks"
    assert rows(database, sections) == [([], [])]
    vectors = rows(database, VECTORS, COLLECTION)
    summary = await library.ingest()
    assert (summary.replaced, summary.reused_vectors, library.embedder.texts) == (1, 1, [])
    assert rows(database, VECTORS, COLLECTION) == vectors
    assert [names for _, names in rows(database, sections)] == [["Pump > Oil"]]
    assert (await library.ingest()).unchanged == 1
    collection = await services.index.find_collection(COLLECTION)
    assert collection is not None
    assert [found async for found in ContentsCheck(services.pool, collection, further_words).run()] == []


def _chunk_without_sections(*arguments: Any, **named: Any) -> list[Chunk]:
    chunks = chunk_document(*arguments, **named)
    return [chunk.model_copy(update={"later_sections": ()}) for chunk in chunks]


async def test_another_title_is_another_context_for_every_chunk(library: Library) -> None:
    await library.ingest()
    library.path.with_name("manual.md.meta.toml").write_text('title = "Another manual"\n')
    assert ((await library.ingest()).reused_vectors, len(library.embedder.texts)) == (0, SECTIONS)
    assert library.embedder.texts[0].startswith("Another manual - Manual - Section 0\n")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE chunks SET text = 'another text' WHERE ordinal = 5",
        "UPDATE chunks SET heading_path = '{Manual,Elsewhere}' WHERE ordinal = 5",
        "UPDATE chunks SET embedding = NULL WHERE ordinal = 5",
    ],
)
async def test_an_id_alone_is_no_proof_that_a_vector_may_be_kept(library: Library, database: str, change: str) -> None:
    await library.ingest()
    rows(database, change)
    library.path.write_text(_manual(changed=77))
    assert (await library.ingest()).reused_vectors == SECTIONS - 2
    assert [text.split("\n")[0] for text in library.embedder.texts] == ["Manual - Section 5", "Manual - Section 77"]


async def test_a_lexical_collection_is_not_asked_for_vectors(library: Library, services: Services) -> None:
    await ingest(services, library.path, collection="words")
    library.path.write_text(_manual(changed=77))
    summary = await ingest(services, library.path, collection="words")
    assert (summary.replaced, summary.reused_vectors, library.index.asked) == (1, 0, 0)


async def test_what_is_kept_is_stored_like_the_rest(library: Library, database: str) -> None:
    await library.ingest()
    library.path.write_text(_manual(changed=77))
    await library.ingest()
    assert single(database, "SELECT count(*) FROM chunks WHERE embedding IS NULL") == 0
    assert single(database, "SELECT count(DISTINCT chunk_id) FROM chunks") == SECTIONS


async def test_what_is_embedded_changes_with_the_chunkers_name_alone(library: Library) -> None:
    """Stored vectors are kept, so a new way to make the embedded text needs a new name: else old ones would stay."""
    library.path.write_text("# Pump\n\n## Care\n\nThe seal is pres-\nsurised be\u00adfore use.\n")
    await library.ingest()
    assert library.embedder.texts == ["Pump - Care\nPump\n\n## Care\n\nThe seal is pressurised before use."]
    assert Preparer(PARSER, library.embedder, 1, lambda: 0.0).chunker("english") == "structure_v2:100"
