"""The example questions, put as a reader would put them, and the demo itself."""

import json
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from sourcebound.contracts.prompt.build import REFUSAL
from support.places import ROOT
from support.processes.commands import Finished, Program

EXAMPLES = ROOT / "examples"
ANSWERED, NO_EVIDENCE = 0, 3
GATE_CODES = ("below_similarity_gate", "insufficient_sources", "no_relevant_content")
ALLOWED_MISSES = 1
NO_USAGE = {"prompt": None, "completion": None, "total": None}


def _questions(file: str) -> list[dict[str, Any]]:
    questions: list[dict[str, Any]] = tomllib.loads((EXAMPLES / file).read_text("utf-8"))["questions"]
    return questions


DEMO, MORE = _questions("questions.toml"), _questions("more_questions.toml")


def _ask(demo: Program, question: dict[str, Any]) -> Finished:
    filters = ["--filter", question["filter"]] if "filter" in question else []
    return demo("ask", question["question"], "--json", *filters)


@pytest.fixture(scope="module")
def answers(demo: Program) -> dict[str, Finished]:
    """Ask every question, two at a time, and return the results."""
    with ThreadPoolExecutor(2) as pool:
        finished = list(pool.map(partial(_ask, demo), [*DEMO, *MORE]))
    return {question["question"]: done for question, done in zip([*DEMO, *MORE], finished, strict=True)}


def _misses(question: dict[str, Any], done: Finished) -> list[str]:
    """In which ways an answer is not the expected one."""
    response = json.loads(done.stdout)
    if question.get("refused"):
        right = done.code == NO_EVIDENCE and response["answer"] == REFUSAL and response["citations"] == []
        return [] if right else [f"exit {done.code} instead of a refusal: {response['answer']}"]
    if done.code != ANSWERED:
        return [f"exit {done.code}: {response['refusal_code'] or response['failure_code']}: {response['message']}"]
    cited = {(citation["knowledge_id"], citation["page_number"]) for citation in response["citations"]}
    documents, pages = {document for document, _ in cited}, {page for _, page in cited}
    return [
        *(f"does not cite {name}" for name in question["expected_documents"] if name not in documents),
        *(f"does not cite page {page}" for page in question["expected_pages"] if page not in pages),
        *(f"does not say {phrase!r}" for phrase in question["expected_phrases"] if phrase not in response["answer"]),
    ]


def _audit(demo: Program, run_id: str) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(demo("runs", "show", run_id, "--json").stdout)
    audit: dict[str, Any] = state["audit"]
    assert ("prompt" in state, "generation" in state) == (False, False)
    return audit


@pytest.mark.contract("R6-1")
@pytest.mark.contract("R6-3")
@pytest.mark.parametrize("question", DEMO, ids=lambda question: question["question"][:40])
def test_every_question_of_the_demo_comes_out_as_it_says(
    answers: dict[str, Finished], question: dict[str, Any]
) -> None:
    assert _misses(question, answers[question["question"]]) == []


def test_the_further_questions_come_out_as_they_say_but_for_one(answers: dict[str, Finished]) -> None:
    misses = {question["question"]: _misses(question, answers[question["question"]]) for question in MORE}
    missed = {question: found for question, found in misses.items() if found}
    assert len(missed) <= ALLOWED_MISSES, json.dumps(missed, indent=2, ensure_ascii=False)


@pytest.mark.contract("R1-11")
@pytest.mark.contract("R3-8")
@pytest.mark.contract("R6-4")
@pytest.mark.parametrize(
    "question",
    [question for question in DEMO + MORE if question["kind"] == "off_topic"],
    ids=lambda question: question["question"][:40],
)
def test_a_question_about_something_else_is_refused_before_any_model(
    demo: Program, answers: dict[str, Finished], question: dict[str, Any]
) -> None:
    done = answers[question["question"]]
    response = json.loads(done.stdout)
    assert (done.code, response["answer"]) == (NO_EVIDENCE, REFUSAL)
    assert response["refusal_code"] in GATE_CODES
    assert response["token_usage"] == NO_USAGE
    audit = _audit(demo, response["run_id"])
    assert (audit["refusal_source"], audit["prompt_sha256"], audit["llm_latency_ms"]) == ("GATE", None, None)


@pytest.mark.contract("R6-2")
def test_a_citation_shows_neither_text_nor_score(answers: dict[str, Finished]) -> None:
    response = json.loads(answers[DEMO[0]["question"]].stdout)
    assert [set(citation) for citation in response["citations"]] == [
        {"anchor", "knowledge_id", "title", "source_reference", "section", "page_number", "event_date", "equipment_id"}
    ] * len(response["citations"])
    first = response["citations"][0]
    assert (first["source_reference"], first["event_date"]) == ("hp-200-manual-rev-c.pdf, p. 16", "2024-03-04")


def test_the_demo_runs_from_nothing_to_its_end(fresh: Program) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / "demo.py"],
        env=fresh.variables(),
        cwd=EXAMPLES.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "demo: 9 added, 0 replaced, 0 unchanged, 0 skipped" in done.stdout
    assert done.stdout.count("$ sourcebound ask") == len(DEMO)
    for question in DEMO:
        for phrase in question["expected_phrases"]:
            assert phrase in done.stdout
    again = fresh("ingest", EXAMPLES / "manuals", "--collection", "demo")
    assert "0 added, 0 replaced, 9 unchanged" in again.stdout
