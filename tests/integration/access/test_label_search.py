"""A caller with labels finds what it would find if the documents that are hidden from it did not exist (R6-7)."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from sourcebound.contracts.labels import may_see
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Filters
from sourcebound.graph.engine import Engine
from sourcebound.ingest.loaders.sidecar import SIDECAR_SUFFIX
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.store.connection.database import read_snapshot
from sourcebound.store.connection.visibility import restrict_to
from sourcebound.store.search.chunk_queries import ChunkSearch
from sourcebound.store.search.vector_cache import VectorCache
from sourcebound.wiring import Services, find_policy, open_services
from support.processes.databases import MANUALS, Cluster, ingest, settings_for
from support.retrieving import run_for

pytestmark = pytest.mark.contract("R6-7")
LABELS: Final[dict[str, tuple[str, ...]]] = {
    "hp-200-manual-rev-c.pdf": ("confidential", "qa"),
    "hp-200-manual-rev-b.docx": ("qa",),
    "shift-handover-policy.txt": ("hr",),
}
"""The labels of documents; the others have none."""
HELD: Final[list[tuple[str, ...]]] = [(), ("qa",), ("confidential", "hr")]
QUESTIONS: Final = (
    "What oil charge does the bearing frame of the HP-200 take in revision C?",
    "What oil charge does the beering frame take?",  # respelled, as long as a visible chunk has the word
    "Who signs the shift handovar?",  # which only a hidden document has
    "To what torque are the gland bolts of the mechanical seal tightened?",
    "How often is the filter changed?",
)
OF_THE_RUN: Final = {"request_id", "run_id", "index_version", "retrieval_latency_ms"}


async def ingest_part(services: Services, collection: str, held: Sequence[str] | None, embedder: str) -> None:
    """Ingest the manuals that a caller sees, each with its labels."""
    for labels in {(), *LABELS.values()}:
        manuals = [path for path in sorted(MANUALS.iterdir()) if not path.name.endswith(SIDECAR_SUFFIX)]
        files = [path for path in manuals if LABELS.get(path.name, ()) == labels]
        if may_see(held, labels):
            await ingest(services, *files, collection=collection, embedder=embedder, labels=labels)


@pytest.fixture(scope="module", params=["lexical", "minilm"])
def parts(request: pytest.FixtureRequest, cluster: Cluster, migrated: str) -> Iterator[tuple[str, str]]:
    """All manuals in the collection `whole`, and what each caller sees in a collection of its own."""
    url = cluster.create(migrated)

    async def fill() -> None:
        async with open_services(settings_for(url)) as services:
            await ingest_part(services, "whole", None, request.param)
            for held in HELD:
                await ingest_part(services, f"part {held}", held, request.param)

    asyncio.run(fill())
    yield url, request.param
    cluster.drop(url)


@pytest.fixture
async def labelled(parts: tuple[str, str], minilm: MiniLmEmbedder) -> AsyncIterator[tuple[Services, Policy]]:
    """Services over them, and the policy of their embedder."""
    async with open_services(settings_for(parts[0])) as services:
        services._embedders["minilm"] = minilm
        yield services, find_policy(None, embedding_model=parts[1])


async def found(services: Services, question: str, policy: Policy, collection: str, **own: Any) -> dict[str, Any]:
    """Return all that a retrieval says, except for the names of its run and the digest of its collection."""
    run = run_for(question, policy).model_copy(update={"collection": collection, **own})
    return (await services.retriever.retrieve(run, policy)).model_dump(exclude=OF_THE_RUN)


async def test_hidden_documents_change_nothing_that_a_caller_finds(labelled: tuple[Services, Policy]) -> None:
    """Each search is repeated, because the second one uses what the process remembers."""
    services, policy = labelled
    for question in QUESTIONS:
        everything = await found(services, question, policy, "whole")
        for _ in range(2):
            for held in HELD:
                expected = await found(services, question, policy, f"part {held}")
                assert await found(services, question, policy, "whole", caller_labels=held) == expected
            assert await found(services, question, policy, "whole") == everything
    seen = await found(services, QUESTIONS[0], policy, "whole", caller_labels=("qa",))
    assert everything["collection_chunks"] > seen["collection_chunks"]
    assert "hp-200-manual-rev-b.docx" in {row["knowledge_id"] for row in seen["results"]}


async def test_filters_choose_among_what_a_caller_sees(labelled: tuple[Services, Policy]) -> None:
    services, policy = labelled
    filters = run_for("", policy, equipment_id="HP-200").filters
    for held in HELD:
        expected = await found(services, QUESTIONS[0], policy, f"part {held}", filters=filters)
        assert await found(services, QUESTIONS[0], policy, "whole", caller_labels=held, filters=filters) == expected


async def test_labels_that_change_are_in_force_at_the_next_search(labelled: tuple[Services, Policy]) -> None:
    services, policy = labelled
    whole = await services.index.open_collection("whole")
    everything = await found(services, QUESTIONS[0], policy, "whole")
    before = [await found(services, QUESTIONS[0], policy, "whole", caller_labels=()) for _ in range(3)][-1]
    assert await services.index.label_documents(whole.collection_id, list(LABELS), []) == len(LABELS)
    for _ in range(3):
        assert await found(services, QUESTIONS[0], policy, "whole", caller_labels=()) == everything
    for name, labels in LABELS.items():
        await services.index.label_documents(whole.collection_id, [name], labels)
    for _ in range(3):
        assert await found(services, QUESTIONS[0], policy, "whole", caller_labels=()) == before
    nearest = before["results"][0]["knowledge_id"]
    for labels, is_seen in ((("hr",), False), ((), True)):
        await services.index.label_documents(whole.collection_id, [nearest], labels)
        for _ in range(3):
            seen = await found(services, QUESTIONS[0], policy, "whole", caller_labels=())
            assert (nearest in {row["knowledge_id"] for row in seen["results"]}) == is_seen
            assert (seen["collection_chunks"] == before["collection_chunks"]) == is_seen
    assert (await services.index.open_collection("whole")).index_version == whole.index_version


async def test_a_collection_of_hidden_documents_answers_as_an_empty_one(services: Services, tmp_path: Path) -> None:
    (tmp_path / "valve.md").write_text("# Valve\n\nThe zanzibar valve is opened at 4.7 bar.\n")
    await ingest(services, tmp_path, collection="hidden", labels=["secret"])
    await services.index.create_collection("empty", "lexical", "lexical", 0, "test")
    engine = Engine(services)
    seen: list[tuple[object, ...]] = []
    for collection in ("hidden", "empty"):
        response = await engine.ask(
            {
                "question": "At what pressure is the zanzibar valve opened?",
                "collection": collection,
                "caller_labels": [],
            }
        )
        seen.append((response.status, response.refusal_code, response.failure_code, response.message))
        report = await engine.search({"question": "Zanzibar?", "collection": collection, "caller_labels": []})
        seen.append((report.outcome.status, report.outcome.message, len(report.candidates)))
    assert seen[:2] == seen[2:]
    assert (
        await engine.ask({"question": "At what pressure is the zanzibar valve opened?", "collection": "hidden"})
    ).status == "OK"


async def test_a_word_is_known_by_any_of_its_lexemes(services: Services, tmp_path: Path) -> None:
    """Most chunks hold the second lexeme of the word, and all of those are hidden."""
    for name, text, labels in (("seen", "The o ring.", []), ("a", "A brien.", ["hr"]), ("b", "The brien.", ["hr"])):
        (tmp_path / f"{name}.md").write_text(text)
        await ingest(services, tmp_path / f"{name}.md", collection="rings", language="simple", labels=labels)
    collection = await services.index.open_collection("rings")
    found: list[list[tuple[str, int]]] = []
    for held in (None, [], ["hr"]):
        async with services.pool.connection() as connection, read_snapshot(connection):
            search = ChunkSearch(connection, collection, Filters(), VectorCache(), labels=held)
            await search.begin()
            found.append([(row["word"], row["chunks"]) for row in await search.known_words(["o'brien", "valve"])])
    assert found == [[("o'brien", 2)], [("o'brien", 1)], [("o'brien", 2)]]


@pytest.fixture
async def walled(library: str, application: str) -> AsyncIterator[Services]:
    """Services of the role of the application, which row-level security restricts."""
    async with open_services(settings_for(library)) as services:
        default = await services.index.open_collection("default")
        for name, labels in LABELS.items():
            await services.index.label_documents(default.collection_id, [name], labels)
    async with open_services(settings_for(application)) as services:
        yield services
    restrict_to(None)


async def test_a_search_without_the_first_wall_finds_nothing_hidden(
    walled: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vectors of every caller are remembered before, and those of this one must not replace them."""
    policy = find_policy(None, embedding_model="minilm")
    everything = [await found(walled, question, policy, "default") for question in QUESTIONS for _ in range(3)][::3]
    monkeypatch.setattr("sourcebound.store.search.retriever.visible_labels", lambda: None)
    restrict_to(None, ["qa"])
    for _ in range(3):
        for question in QUESTIONS:
            seen = {row["knowledge_id"] for row in (await found(walled, question, policy, "default"))["results"]}
            assert seen
            assert not seen & {"hp-200-manual-rev-c.pdf", "shift-handover-policy.txt"}
    restrict_to(None)
    assert [await found(walled, question, policy, "default") for question in QUESTIONS] == everything
