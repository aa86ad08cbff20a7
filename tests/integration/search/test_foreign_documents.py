"""R1-5: documents in other languages are found by questions in their language, in English and in a third language."""

from pathlib import Path

import pytest

from sourcebound.cli.corpus.contents import check_contents
from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.state import AskInput
from sourcebound.errors import ConfigurationError
from sourcebound.graph.engine import Engine
from sourcebound.ingest.chunking.searchable_text import further_words
from sourcebound.store.search.contents import ContentsCheck
from sourcebound.wiring import Services
from support.processes.databases import COLLECTION, ingest, rows, single

MANUALS = {
    "de-waschmaschine.md": (
        "# Waschmaschine\n\nDas Flusensieb wird alle zwei Monate gereinigt, weil es sonst verstopft. Der Hersteller "
        "gibt eine Garantie von drei Jahren auf die Maschine und auf alle Teile, die nicht verschleißen.\n"
    ),
    "fr-phare.md": (
        "# Le phare\n\nLe phare de Kerlann a été construit en 1874 par les pêcheurs du village. La lumière est visible "
        "à vingt milles, et le dernier gardien a quitté la tour en 1991 avec sa famille.\n"
    ),
    "pump.md": (
        "# Pump\n\nThe seal of the pump is changed once a year. The pump must never run dry, or the seal breaks.\n"
    ),
}
WORDS = "SELECT strip(search)::text FROM chunks k JOIN documents d USING (document_id) WHERE d.knowledge_id = %s"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in MANUALS.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


async def _say_first(services: Services, question: str) -> str:
    """Return the best candidate's document and whether it is evidence."""
    report = await Engine(services).search(AskInput(question=question, collection=COLLECTION))
    first = report.candidates[0]
    return first.knowledge_id if first.anchor else f"{first.knowledge_id} is no evidence"


@pytest.mark.contract("R1-5")
@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("How often is the lint screen of the washing machine cleaned?", "de-waschmaschine.md"),
        ("Wie oft muss ich das Sieb reinigen?", "de-waschmaschine.md"),
        ("Combien de temps dure la garantie de la machine à laver ?", "de-waschmaschine.md"),
        ("When was the lighthouse built?", "fr-phare.md"),
        ("Wann wurde der Leuchtturm gebaut?", "fr-phare.md"),
        ("When is the seal of the pump changed?", "pump.md"),
    ],
)
async def test_a_document_is_found_in_any_language(services: Services, folder: Path, question: str, found: str) -> None:
    await ingest(services, folder, embedder="minilm")
    assert await _say_first(services, question) == found


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How often is the lint screen of the washing machine cleaned?", "alle zwei Monate"),
        ("Wie oft wird das Flusensieb gereinigt?", "alle zwei Monate"),
        ("When was the lighthouse of Kerlann built?", "en 1874"),
        ("En quelle année le phare de Kerlann a-t-il été construit ?", "en 1874"),
    ],
)
async def test_the_answer_quotes_the_document_as_it_is(
    services: Services, folder: Path, question: str, said: str
) -> None:
    await ingest(services, folder, embedder="minilm")
    response = await Engine(services).ask(AskInput(question=question, collection=COLLECTION))
    assert response.status == "OK"
    assert said in response.answer
    assert response.answer.split(" [C")[0] in " ".join(MANUALS[response.citations[0].knowledge_id].split())


@pytest.mark.contract("IX-3")
async def test_its_english_words_belong_to_the_index(services: Services, folder: Path, database: str) -> None:
    await ingest(services, folder, embedder="minilm")
    words = single(database, WORDS, "de-waschmaschine.md")
    assert [word for word in ("'clean'", "'machin'", "'flusensieb'") if word not in words] == []
    collection = await services.index.find_collection(COLLECTION)
    assert collection
    assert collection.chunker.startswith("structure_v2:")
    assert [found async for found in ContentsCheck(services.pool, collection, further_words).run()] == []
    report = await check_contents(services, collection, vectors=10, shown=False)
    assert (report.chunks, report.findings) == (len(MANUALS), [])


@pytest.mark.contract("R1-5")
async def test_a_collection_with_stems_of_another_language_is_indexed_as_it_stands(
    services: Services, folder: Path, database: str
) -> None:
    await ingest(services, folder, embedder="minilm", language="german")
    assert single(database, "SELECT chunker FROM collections").startswith("structure_v1:")
    assert "'clean'" not in single(database, WORDS, "de-waschmaschine.md")


@pytest.mark.contract("IX-3")
async def test_an_earlier_collection_goes_on_as_it_was(services: Services, folder: Path, database: str) -> None:
    await ingest(services, folder / "pump.md", embedder="minilm")
    size = single(database, "SELECT split_part(chunker, ':', 2) FROM collections")
    rows(database, "UPDATE collections SET chunker = %s RETURNING chunker", f"structure_v1:{size}")
    await ingest(services, folder / "de-waschmaschine.md", embedder="minilm")
    assert "'clean'" not in single(database, WORDS, "de-waschmaschine.md")
    collection = await services.index.find_collection(COLLECTION)
    assert collection
    assert [found async for found in ContentsCheck(services.pool, collection, further_words).run()] == []
    report = await check_contents(services, collection, vectors=10, shown=False)
    assert (report.chunks, report.findings) == (2, [])


@pytest.mark.contract("IX-3")
async def test_documents_that_were_cut_otherwise_do_not_enter_a_collection_that_another_process_made(
    services: Services, folder: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ingest(services, folder / "pump.md", embedder="lexical")
    size = single(database, "SELECT split_part(chunker, ':', 2) FROM collections")
    rows(database, "UPDATE collections SET chunker = %s RETURNING chunker", f"structure_v1:{size}")

    found = [None, await services.index.find_collection(COLLECTION)]

    async def find_later(name: str) -> Collection | None:
        return found.pop(0)

    monkeypatch.setattr(services.index, "find_collection", find_later)
    with pytest.raises(ConfigurationError) as raised:
        await ingest(services, folder / "fr-phare.md", embedder="lexical")
    assert raised.value.failure_code == "INDEX_EMBEDDER_MISMATCH"
    assert rows(database, "SELECT knowledge_id FROM documents") == [("pump.md",)]


@pytest.mark.contract("IX-3")
async def test_no_document_is_added_to_a_collection_of_another_chunk_size(
    services: Services, folder: Path, database: str
) -> None:
    await ingest(services, folder, embedder="lexical")
    rows(database, "UPDATE collections SET chunker = 'structure_v2:17' RETURNING chunker")
    with pytest.raises(ConfigurationError) as raised:
        await ingest(services, folder, embedder="lexical")
    assert raised.value.failure_code == "INDEX_EMBEDDER_MISMATCH"
