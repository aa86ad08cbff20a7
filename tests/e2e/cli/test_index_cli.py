"""`sourcebound index` as a real process: the index of a collection, and a collection that takes another's place."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sourcebound.evals.golden.comparison import compare
from support.golden import circumstances, item_result
from support.processes.commands import Finished, Program

QUESTION = "To what torque are the gland bolts of the HP-200 tightened?"
NOTES = {
    "manual.txt": "The gland bolts of the HP-200 are tightened to {} N·m.",
    "canteen.txt": "The canteen opens at noon.",
    "parking.txt": "Visitors park behind hall 4.",
}


class Shelf:
    """Collections of one test over the database of the session, removed at the end.

    Args:
        demo: The program.
        folder: Where their documents are written.
        prefix: Of their names.
    """

    def __init__(self, demo: Program, folder: Path, prefix: str) -> None:
        self._demo = demo
        self._folder = folder
        self._prefix = prefix

    def fill(self, name: str, torque: int, without: str = "", embedder: str = "minilm") -> str:
        """Makes a collection and returns its name."""
        folder = self._folder / name
        folder.mkdir()
        for file, text in NOTES.items():
            if file != without:
                (folder / file).write_text(text.format(torque) + "\n", "utf-8")
        program = Program({**self._demo.environment, "SOURCEBOUND_EMBEDDER": embedder})
        done = program("ingest", folder, "--collection", f"{self._prefix}-{name}")
        assert done.code == 0, done.stderr
        return f"{self._prefix}-{name}"

    def clear(self) -> None:
        for collection in self.collections():
            assert self._demo("index", "drop", collection, "--yes").code == 0

    def collections(self) -> dict[str, str]:
        """Those of this test, each with its index version."""
        lines = [line.split() for line in self._demo("collections").stdout.splitlines()]
        return {line[0]: line[-1] for line in lines if line[0].startswith(self._prefix)}


@pytest.fixture
def shelf(demo: Program, tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(demo, tmp_path, tmp_path.name.replace("_", "-"))
    yield made
    made.clear()


def _fault(done: Finished, code: str, *said: str) -> None:
    assert (done.code, done.stdout) == (2, "")
    assert f"[{code}]" in done.stderr
    for words in said:
        assert words in done.stderr


def test_a_collection_is_exact_until_an_index_is_built_and_then_measured(demo: Program, shelf: Shelf) -> None:
    name = shelf.fill("mine", 27)
    option = ("--collection", name)
    before = demo("index", "check", *option)
    assert before == Finished(0, f"{name}: all 3 vectors are compared, so nothing is missed.\n", "")
    assert json.loads(demo("index", "check", *option, "--json").stdout) == {
        "collection": name, "chunks": 3, "exact": True, "recall": 1.0,
    }  # fmt: skip
    asked = demo("search", QUESTION, *option, "--json")
    built = demo("index", "build", *option)
    assert built == Finished(0, f"{name}: vector index, search width 100, measured recall 100.00%\n", "")
    after = demo("index", "check", *option, "--sample", "2")
    assert after.code == 0, after.stderr
    assert after.stdout == (
        f"{name}: 6 of the 6 nearest chunks found (100.00%), 8 for each of 2 vectors, search width 100.\n"
    )
    assert json.loads(demo("index", "check", *option, "--json").stdout) == {
        "collection": name, "chunks": 3, "exact": False, "recall": 1.0, "ef_search": 100, "found": 9, "sought": 9,
    }  # fmt: skip
    again = demo("search", QUESTION, *option, "--json")
    assert [row["chunk_id"] for row in json.loads(again.stdout)["candidates"]] == [
        row["chunk_id"] for row in json.loads(asked.stdout)["candidates"]
    ]


def test_a_collection_of_words_has_nothing_to_build(demo: Program, shelf: Shelf) -> None:
    name = shelf.fill("words", 27, embedder="lexical")
    for command in ("build", "check"):
        _fault(demo("index", command, "--collection", name), "NO_VECTORS", "searched by its words only")


def test_two_collections_are_compared_by_what_the_gate_does_with_questions(
    demo: Program, shelf: Shelf, tmp_path: Path
) -> None:
    live, candidate = shelf.fill("live", 27), shelf.fill("next", 31, without="manual.txt")
    path = tmp_path / "questions.jsonl"
    texts = [(f"{QUESTION} ({number})", True) for number in range(10)]
    texts += [(f"Which orchestra played in Sydney in {1970 + number}?", False) for number in range(10)]
    path.write_text("".join(json.dumps({"question": text, "answerable": kind}) + "\n" for text, kind in texts), "utf-8")
    done = demo("index", "compare", candidate, "--collection", live, "--questions", path)
    assert (done.code, done.stderr) == (0, "")
    versions = shelf.collections()
    assert done.stdout.splitlines() == [
        f"{live} ({versions[live]}, SOURCEBOUND_V2): answerable refused 0 of 10, others passed 0 of 10",
        f"{candidate} ({versions[candidate]}, SOURCEBOUND_V2): answerable refused 10 of 10, others passed 0 of 10",
    ]
    verdicts = json.loads(
        demo("index", "compare", candidate, "--collection", live, "--questions", path, "--json").stdout
    )
    assert [(each["collection"], each["index_version"], each["policy"]) for each in verdicts] == [
        (name, version, "SOURCEBOUND_V2") for name, version in versions.items()
    ]
    assert [(each["false_refusals"]["count"], each["false_passes"]["count"]) for each in verdicts] == [(0, 0), (10, 0)]
    path.write_text("", "utf-8")
    _fault(demo("index", "compare", candidate, "--collection", live, "--questions", path), "INVALID_QUESTIONS")


def _compare(shelf: Shelf, live: str, candidate: str, folder: Path) -> Path:
    """Write a comparison of evaluations on two collections."""
    before, after = (circumstances(index_versions={name: shelf.collections()[name]}) for name in (live, candidate))
    path = folder / "comparison.json"
    path.write_text(compare(before, [item_result()], after, [item_result()]).model_dump_json(), "utf-8")
    return path


@pytest.mark.contract("EV-2")
def test_a_collection_is_promoted_and_goes_back(demo: Program, shelf: Shelf, tmp_path: Path) -> None:
    live, candidate = shelf.fill("live", 27), shelf.fill("next", 31)
    versions = shelf.collections()
    earlier = json.loads(demo("ask", QUESTION, "--collection", live, "--json").stdout)
    assert "27 N·m" in earlier["answer"]
    _fault(demo("index", "promote", candidate, "--collection", live), "COMPARISON_MISSING", "sourcebound eval compare")
    comparison = _compare(shelf, live, candidate, tmp_path)
    done = demo("index", "promote", candidate, "--collection", live, "--comparison", comparison)
    kept = f"{live}@{versions[live]}"
    assert done.code == 0, done.stderr
    assert done.stdout == (
        f"{live} is now {versions[candidate]} (3 documents, minilm:all-MiniLM-L6-v2@53aa5117)\n"
        f"The previous collection is now {kept}.\n"
    )
    assert done.stderr == f"  To go back: sourcebound index promote {kept} --collection {live}\n"
    assert "31 N·m" in json.loads(demo("ask", QUESTION, "--collection", live, "--json").stdout)["answer"]
    assert "27 N·m" in demo("runs", "evidence", earlier["run_id"], "C0").stdout
    assert versions[live] in demo("audit", "show", earlier["run_id"]).stdout
    back = demo("index", "promote", kept, "--collection", live)
    assert back.code == 0, back.stderr
    assert "27 N·m" in json.loads(demo("ask", QUESTION, "--collection", live, "--json").stdout)["answer"]
    assert set(shelf.collections()) == {live, f"{live}@{versions[candidate]}"}


def test_a_candidate_that_lacks_documents_is_promoted_only_when_that_is_allowed(
    demo: Program, shelf: Shelf, tmp_path: Path
) -> None:
    live, candidate = shelf.fill("live", 27), shelf.fill("next", 31, without="parking.txt")
    _fault(
        demo("index", "promote", candidate, "--collection", live),
        "INDEX_INCOMPLETE",
        f"1 documents of '{live}' are not in '{candidate}': parking.txt.",
        f"Ingest them into '{candidate}', or repeat with --allow-missing.",
    )
    assert set(shelf.collections()) == {live, candidate}
    allowed = ("--allow-missing", "--comparison", _compare(shelf, live, candidate, tmp_path))
    done = demo("index", "promote", candidate, "--collection", live, *allowed)
    assert done.code == 0, done.stderr
    assert "(2 documents, " in done.stdout


def test_what_cannot_be_promoted_is_said(demo: Program, shelf: Shelf) -> None:
    live = shelf.fill("live", 27)
    _fault(demo("index", "promote", live, "--collection", live), "BAD_REQUEST", "is already the current collection")
    _fault(
        demo("index", "promote", "nowhere", "--collection", live),
        "COLLECTION_NOT_FOUND",
        "sourcebound ingest PATH --collection nowhere",
    )
    _fault(demo("index", "promote", live, "--collection", "nowhere"), "COLLECTION_NOT_FOUND", "'nowhere'")


def test_a_collection_is_dropped_only_when_that_is_meant(demo: Program, shelf: Shelf) -> None:
    name = shelf.fill("mine", 27)
    assert demo("index", "build", "--collection", name).code == 0
    what = f"{name} (3 documents, 3 chunks)"
    refusal = f"this would remove {what}. Nothing was removed."
    _fault(demo("index", "drop", name), "BAD_REQUEST", refusal, "To confirm, add --yes.")
    assert name in shelf.collections()
    assert demo("index", "drop", name, "--yes") == Finished(0, f"removed {what}\n", "")
    assert name not in shelf.collections()
    _fault(demo("index", "drop", name, "--yes"), "COLLECTION_NOT_FOUND")
    assert demo("ask", QUESTION, "--collection", name).code == 3
