"""What was recorded, over HTTP: how an answer was made, its evidence at its place, feedback, and the receipt."""

import json
from collections.abc import Iterator

import pytest

from sourcebound.contracts.receipt.verify import read_receipt
from sourcebound.store.audit.signing_key import SigningKey, verify_signature
from support.processes.commands import Program
from support.processes.databases import rows
from support.processes.http_server import ANSWER, OFF_TOPIC, QUESTION, JsonObject, Served, served_over


@pytest.fixture(scope="module")
def answered(served: Served) -> JsonObject:
    return served.ask()


@pytest.mark.contract("R6-7")
def test_a_citation_opens_at_the_words_that_support_the_answer(served: Served, answered: JsonObject) -> None:
    source = served.client.get(f"/v1/evidence/{answered['run_id']}/C0").json()
    page = source["page"]
    (quote,), (placed,) = source["quotes"], page["quotes"]
    assert source["text"][quote["start"] : quote["end"]] == ANSWER
    assert page["text"][placed["start"] : placed["end"]].split() == ANSWER.split()
    assert page["passage"]["start"] <= placed["start"] < placed["end"] <= page["passage"]["end"]
    assert (page["number"], source["revision"], source["section"]) == (
        13,
        "C",
        "10 Bearings and lubrication > 10.3 Oil change",
    )


def test_a_run_says_how_its_answer_was_made(served: Served, answered: JsonObject) -> None:
    run = served.client.get(f"/v1/runs/{answered['run_id']}").json()
    assert run["response"] == answered
    (attempt,) = run["attempts"]
    (statement,) = attempt["statements"]
    assert (statement["text"], statement["verdict"], statement["anchors"]) == (f"{ANSWER} [C0]", "cited", ["C0"])
    assert statement["support"] >= run["warn_support"]
    assert [candidate["anchor"] for candidate in run["candidates"]][:2] == ["C0", "C1"]
    assert all(candidate["outcome"] for candidate in run["candidates"])
    assert [stage["stage"] for stage in run["stages"]][-1] == "package"
    (record,) = run["records"]
    assert record["finding"] is None


def test_the_request_id_of_another_run_hides_no_run(served: Served) -> None:
    run_id = served.ask()["run_id"]
    for _ in range(2):
        served.client.post("/v1/ask", json={"question": OFF_TOPIC}, headers={"x-request-id": run_id})
    assert served.client.get(f"/v1/runs/{run_id}").json()["status"] == "OK"


def test_a_refused_run_shows_the_nearest_passages(served: Served) -> None:
    refused = served.ask(OFF_TOPIC)
    run = served.client.get(f"/v1/runs/{refused['run_id']}").json()
    assert run["candidates"][0]["excerpt"]
    assert run["explanation"] == "No chunk is close enough to the question to answer it."


def test_feedback_is_stored_with_its_run_and_erased_with_its_texts(served: Served) -> None:
    run_id = served.ask()["run_id"]
    form = {"run_id": run_id, "rating": "down", "comment": "It is of revision B."}
    given = served.client.post("/v1/feedback", json=form)
    assert given.status_code == 201
    (stored,) = served.client.get(f"/v1/runs/{run_id}").json()["feedback"]
    assert (stored["rating"], stored["comment"]) == ("down", "It is of revision B.")
    program = Program({"DATABASE_URL": served.database})
    head, question, comment = program("runs", "feedback", "--rating", "down", "--limit", "1").stdout.splitlines()
    assert head.split()[-3:] == [run_id, "OK", "down"]
    assert (question.strip(), comment.strip()) == (QUESTION, "> It is of revision B.")
    erased = program("runs", "erase", run_id, "--yes")
    assert erased.code == 0, erased.stderr
    assert rows(served.database, "SELECT rating, comment FROM feedback WHERE run_id = %s", run_id) == [("down", None)]
    listed = [json.loads(line) for line in program("runs", "feedback", "--json").stdout.splitlines()]
    assert [(each["comment"], each["question"]) for each in listed if each["run_id"] == run_id] == [(None, None)]


def test_feedback_on_a_run_that_does_not_exist_is_not_stored(served: Served) -> None:
    answer = served.client.post("/v1/feedback", json={"run_id": "no-such-run", "rating": "up"})
    assert (answer.status_code, answer.json()["code"]) == (404, "RUN_NOT_FOUND")


@pytest.fixture
def own(library: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    key = tmp_path_factory.mktemp("keys") / "receipts.pem"
    with served_over(library, signing_key=key) as running:
        yield running


@pytest.mark.contract("R6-7", "CP-8")
def test_texts_follow_their_documents_and_receipts_their_key(
    own: Served, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run_id = own.ask()["run_id"]
    no_key = own.client.get(f"/v1/runs/{run_id}/receipt")
    assert (no_key.status_code, no_key.json()["code"]) == (409, "NO_SIGNING_KEY")
    key = SigningKey.create(next(iter(tmp_path_factory.getbasetemp().glob("keys*"))) / "receipts.pem")
    receipt = own.client.get(f"/v1/runs/{run_id}/receipt").content
    assert all(check.holds for check in read_receipt(receipt, verify_signature, key.public_key).checks)

    rows(own.database, "UPDATE pages SET text = 'Another text.'")
    source = own.client.get(f"/v1/evidence/{run_id}/C0").json()
    assert source["page"] is None
    assert ANSWER in source["text"]
    rows(own.database, "DELETE FROM documents WHERE knowledge_id = 'hp-200-manual-rev-c.pdf'")
    gone = own.client.get(f"/v1/evidence/{run_id}/C0")
    assert (gone.status_code, gone.json()["code"]) == (403, "ACCESS_REFUSED")
    assert ANSWER not in gone.text
    shown = own.client.get(f"/v1/runs/{run_id}").json()["candidates"][0]
    assert (shown["knowledge_id"], shown["excerpt"]) == ("hp-200-manual-rev-c.pdf", "")
