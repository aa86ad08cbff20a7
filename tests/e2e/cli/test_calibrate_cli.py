"""`sourcebound calibrate` as a real process over the example manuals."""

import json
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from support.places import ROOT
from support.processes.commands import Finished, Program

EXAMPLES = ROOT / "examples"
OFF_TOPIC = (
    "Which orchestra played at the opening of the Sydney Opera House?",
    "Who won the football world cup in 1998?",
    "What is the capital of Mongolia?",
    "How many moons does Saturn have?",
    "Who painted the ceiling of the Sistine Chapel?",
    "When was the first email sent?",
    "What language is spoken in Brazil?",
    "Which author wrote the novel Middlemarch?",
    "How old is the universe?",
    "Why do cats purr?",
    "Who was the first woman to fly across the Atlantic?",
    "What do giraffes eat?",
)


def _answered() -> list[str]:
    records = [
        record
        for name in ("questions.toml", "more_questions.toml")
        for record in tomllib.loads((EXAMPLES / name).read_text("utf-8"))["questions"]
    ]
    return [record["question"] for record in records if record["expected_phrases"]]


def _lines(answered: list[str], others: list[str]) -> str:
    pairs = [*((text, True) for text in answered), *((text, False) for text in others)]
    return "".join(json.dumps({"question": text, "answerable": answerable}) + "\n" for text, answerable in pairs)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_text(_lines(_answered(), list(OFF_TOPIC)), "utf-8")
    return path


def _check_fault(done: Finished, failure_code: str, *, said: str) -> None:
    message, next_step = done.stderr.strip().splitlines()
    assert (done.code, done.stdout) == (2, ""), done.stderr
    assert message.startswith("Error: ")
    assert message.endswith(f"[{failure_code}]")
    assert said in done.stderr
    assert next_step.startswith("  Next: ")


@pytest.mark.contract("P-3")
def test_a_policy_is_proposed_drawn_checked_and_obeyed(demo: Program, questions: Path, tmp_path: Path) -> None:
    output, plot = tmp_path / "MY_POLICY_V1.toml", tmp_path / "mine.svg"
    done = demo(
        "calibrate", "--questions", questions, "--name", "MY_POLICY_V1", "--output", output, "--plot", plot, "--json"
    )
    assert (done.code, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    assert (found["collection"], found["base_policy"], found["within_limit"]) == ("demo", "SOURCEBOUND_V2", True)
    assert found["false_refusals"]["of"] == len(_answered())
    assert found["false_passes"] | {"low_95": 0, "high_95": 0} == {
        "count": 0, "of": len(OFF_TOPIC), "share": 0.0, "low_95": 0, "high_95": 0, "share_not_chosen_on": 0.0,
    }  # fmt: skip
    assert 0.2 < found["false_passes"]["high_95"] < 0.3
    proposed = tomllib.loads(output.read_text("utf-8"))
    minima = {name: proposed["retrieval"][name] for name in ("min_top_similarity", "min_question_coverage")}
    assert minima == found["chosen"]
    assert proposed["calibration"] == {"embedding_model": found["embedding_model"], "metric": "cosine"}
    assert found["index_version"] in output.read_text("utf-8").splitlines()[0]
    assert ElementTree.fromstring(plot.read_text("utf-8")).tag.endswith("svg")
    checked = demo("policy", "check", output)
    assert checked.stdout.split() == ["MY_POLICY_V1", found["policy"]["sha256"], "valid,", "draft"]
    asked = [demo("ask", text, "--json", "--policy", output) for text in (_answered()[0], OFF_TOPIC[0])]
    assert [(each.code, json.loads(each.stdout)["policy_version"]) for each in asked] == [
        (0, "MY_POLICY_V1"),
        (3, "MY_POLICY_V1"),
    ]
    assert all("MY_POLICY_V1 is a draft" in json.loads(each.stdout)["notices"][0] for each in asked)
    assert demo("policy", "release", output).code == 0
    assert json.loads(demo("ask", OFF_TOPIC[0], "--json", "--policy", output).stdout)["notices"] == []
    again = demo("calibrate", "--questions", questions, "--name", "MY_POLICY_V1", "--output", tmp_path / "new.toml")
    _check_fault(again, "RELEASED_POLICY", said="never changes")


def test_the_trade_off_is_shown_with_what_goes_wrong(demo: Program, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    cats, held = "Why do cats purr?", _answered()[10]
    path.write_text(_lines([*_answered()[:10], cats], [*OFF_TOPIC[:9], held]), "utf-8")
    done = demo("calibrate", "--questions", path)
    assert done.code == 0, done.stderr
    heading, *table = done.stdout.partition("\n\n")[0].splitlines()
    assert heading == "similarity  coverage  false refusals        false passes"
    assert sum(line.endswith("<- chosen") for line in table) == 1
    assert "\nChosen: min_top_similarity = " in done.stdout
    assert "False refusals: 0.0 % (0 of 11), 95 % interval 0.0 % to 25.9 %; on held-out questions: " in done.stdout
    assert "\nNot answerable, but passed:\n" in done.stdout
    assert held in done.stdout
    assert "--name MY_POLICY_V1 --output" in done.stderr
    more = demo("calibrate", "--questions", path, "--most-refused", "0.1")
    assert "\nAnswerable, but refused:\n" in more.stdout
    assert cats in more.stdout


@pytest.mark.contract("P-3")
def test_a_pinned_policy_serves_no_later_state_of_the_documents(demo: Program, questions: Path, tmp_path: Path) -> None:
    def in_collection(*arguments: str | Path) -> Finished:
        return demo(*arguments, "--collection", "pinned")

    document, output = tmp_path / "pump.txt", tmp_path / "mine.toml"
    document.write_text("The shaft of a stored pump is turned by hand every 14 days.")
    assert in_collection("ingest", document).code == 0
    done = in_collection("calibrate", "--questions", questions, "--name", "PINNED_V1", "--output", output, "--pin")
    assert done.code == 0, done.stderr
    before = in_collection("ask", "Is the shaft turned?", "--json", "--policy", output)
    document.write_text("The shaft of a stored pump is turned by hand every 21 days.")
    assert in_collection("ingest", document).code == 0
    after = in_collection("ask", "Is the shaft turned?", "--json", "--policy", output)
    assert json.loads(before.stdout)["failure_code"] is None
    response = json.loads(after.stdout)
    assert (after.code, response["failure_code"]) == (4, "POLICY_INDEX_MISMATCH")
    assert "`sourcebound calibrate --collection pinned --questions FILE`" in response["message"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"question": "Why?"}\n', "line 1: answerable: Field required"),
        ("".join(f"{i}\n" for i in range(9)), "line 5: is not a JSON object; and 4 more"),
        ('{"question": "Why?", "answerable": true}\n', "it has 1 answerable and 0 other questions"),
        ("", "it has 0 answerable"),
    ],
)
def test_a_file_that_holds_no_questions_is_refused(demo: Program, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(text)
    _check_fault(demo("calibrate", "--questions", path), "INVALID_QUESTIONS", said=said)


def test_a_file_that_cannot_be_read_is_refused(demo: Program, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    _check_fault(demo("calibrate", "--questions", path), "PATH_MISSING", said="No such file")
    path.write_bytes(b"\xff\xfe{}")
    _check_fault(demo("calibrate", "--questions", path), "INVALID_QUESTIONS", said="not UTF-8")


def test_an_unknown_collection_says_how_to_ingest(demo: Program, questions: Path) -> None:
    done = demo("calibrate", "--questions", questions, "--collection", "nowhere")
    _check_fault(done, "COLLECTION_NOT_FOUND", said="sourcebound ingest PATH --collection nowhere")


def test_nothing_released_and_no_file_is_overwritten(demo: Program, questions: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.toml"
    there.write_text("mine")

    def propose(*options: str | Path) -> Finished:
        return demo("calibrate", "--questions", questions, *options)

    new = tmp_path / "new.toml"
    _check_fault(propose("--name", "SOURCEBOUND_V1", "--output", new), "RELEASED_POLICY", said="never changes")
    _check_fault(propose("--name", "MY_POLICY_V1", "--output", there), "FILE_EXISTS", said="not overwritten")
    _check_fault(propose("--plot", there), "FILE_EXISTS", said="not overwritten")
    _check_fault(propose("--plot", tmp_path / "no" / "x.svg"), "PATH_MISSING", said="no folder")
    _check_fault(propose("--output", new), "BAD_REQUEST", said="--output and --name must be given together")
    _check_fault(propose("--name", "mine", "--output", new), "BAD_REQUEST", said="MY_POLICY_V1")
    assert there.read_text() == "mine"
    assert not new.exists()
