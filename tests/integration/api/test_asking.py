"""Questions over HTTP: every outcome of a recorded run is a response, stages come before it, and nothing else does."""

import json
from collections.abc import Iterator

import httpx
import pytest

from sourcebound.contracts.presentation.rag_query import REFUSED
from sourcebound.contracts.response.public import PublicResponse
from support.processes.databases import single
from support.processes.http_server import ANSWER, OFF_TOPIC, QUESTION, JsonObject, Served

STAGES = ["accept", "retrieve", "assemble", "build_prompt", "generate", "validate", "record", "package"]


def events(answer: httpx.Response) -> Iterator[tuple[str, JsonObject]]:
    for block in filter(str.strip, answer.text.split("\n\n")):
        name, data = block.split("\n")
        yield name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


@pytest.mark.contract("R6-1", "R6-2", "R6-3")
def test_an_answer_names_its_sources(served: Served) -> None:
    response = PublicResponse.model_validate(served.ask())
    assert (response.status, response.answer) == ("OK", f"{ANSWER} [C0]")
    (citation,) = response.citations
    assert (citation.anchor, citation.page_number) == ("C0", 13)
    stored = single(served.database, "SELECT status FROM runs WHERE run_id = %s", response.run_id)
    assert stored == "OK"


@pytest.mark.contract("R6-4")
def test_a_refusal_is_an_outcome_with_status_200(served: Served) -> None:
    response = served.ask(OFF_TOPIC)
    assert (response["status"], response["refusal_code"]) == ("NO_EVIDENCE", "below_similarity_gate")
    assert response["citations"] == []


@pytest.mark.contract("R1-2")
def test_a_collection_that_does_not_exist_is_a_refusal(served: Served) -> None:
    assert served.ask(collection="nowhere")["refusal_code"] == "collection_not_found"


@pytest.mark.contract("CP-12")
@pytest.mark.parametrize(("path", "accept"), [("/v1/ask", "text/event-stream"), ("/v1/ask/stream", "*/*")])
def test_a_stream_has_the_stages_and_then_the_validated_response(served: Served, path: str, accept: str) -> None:
    answer = served.client.post(path, json={"question": QUESTION}, headers={"accept": accept})
    assert answer.headers["content-type"].startswith("text/event-stream")
    *stages, (last, response) = events(answer)
    assert stages == [("stage", {"stage": stage}) for stage in STAGES]
    assert (last, response["answer"]) == ("response", f"{ANSWER} [C0]")


@pytest.mark.contract("P-4")
@pytest.mark.parametrize("path", ["/v1/ask", "/v1/ask/stream"])
def test_a_question_that_would_loosen_the_policy_is_a_problem(served: Served, path: str) -> None:
    answer = served.client.post(path, json={"question": QUESTION, "limits": {"max_chunks": 99}})
    assert (answer.status_code, answer.json()["code"]) == (422, "POLICY_LOOSENED")
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.contract("CP-6")
def test_a_follow_up_is_the_next_turn_of_its_conversation(served: Served) -> None:
    talk = served.client.post("/v1/conversations").json()["conversation_id"]
    served.ask("How often is the filter of the HP-200 changed?", conversation_id=talk)
    followed = served.ask("And of the HP-300?", conversation_id=talk)
    assert followed["search_query"] == "How often is the filter of the HP-300 changed?"
    turns = served.client.get(f"/v1/conversations/{talk}").json()["turns"]
    assert [turn["question"] for turn in turns] == [
        "How often is the filter of the HP-200 changed?",
        "And of the HP-300?",
    ]


@pytest.mark.contract("S-2")
def test_the_id_of_a_request_is_on_its_run(served: Served) -> None:
    answer = served.client.post("/v1/ask", json={"question": QUESTION}, headers={"X-Request-ID": "mine-7"})
    assert answer.headers["x-request-id"] == answer.json()["request_id"] == "mine-7"


@pytest.mark.contract("R6-8")
def test_a_query_of_the_grounded_profile_has_its_shape(served: Served) -> None:
    query = {"query": QUESTION, "project_id": "default"}
    answer = served.client.post("/rag/query", json=query)
    body = answer.json()
    (cited,) = body["citations"]
    assert body["answer"] == f"{ANSWER} [SOURCE: {cited}]"
    assert body["sources"][0]["source_id"] == cited
    assert set(body) == {"answer", "sources", "citations", "refusal_reason", "failure_code", "query"}
    assert served.client.get(f"/v1/runs/{answer.headers['x-run-id']}").json()["policy_version"] == "GROUNDED_RAG_V1"


@pytest.mark.contract("R6-8")
def test_a_project_that_does_not_exist_is_a_refusal_with_status_200(served: Served) -> None:
    answer = served.client.post("/rag/query", json={"query": "What are PHI identifiers?", "project_id": "hipaa-docs"})
    assert answer.status_code == 200
    assert answer.json() == {
        "answer": REFUSED,
        "sources": [],
        "citations": [],
        "refusal_reason": "collection_not_found",
        "failure_code": None,
        "query": "What are PHI identifiers?",
    }
