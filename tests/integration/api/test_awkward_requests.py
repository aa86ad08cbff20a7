"""Requests that cannot be carried out: the right status, a stable code, one sentence, the next step, no internals."""

import json
import socket
from urllib.parse import urlsplit

import pytest

from sourcebound.api import limits
from support.processes.databases import single
from support.processes.http_server import QUESTION, Served

pytestmark = pytest.mark.contract("S-4", "S-5")
JSON = {"content-type": "application/json"}


def ask(**fields: object) -> tuple[str, str, bytes]:
    return "POST", "/v1/ask", json.dumps({"question": QUESTION, **fields}).encode()


@pytest.mark.parametrize(
    ("request_", "status", "code", "word"),
    [
        (("POST", "/v1/ask", b'{"question"'), 400, "MALFORMED_JSON", "JSON"),
        (("POST", "/v1/ask", b'"a question"'), 422, "INVALID_REQUEST", "JSON object"),
        (("POST", "/v1/ask", b"{}"), 422, "INVALID_REQUEST", "retrieval_bundle"),
        (ask(question=7), 422, "INVALID_REQUEST", "question"),
        (ask(question="   "), 422, "INVALID_REQUEST", "question"),
        (ask(question="why? " * 1000), 422, "INVALID_REQUEST", "4000"),
        (ask(unknown=1), 422, "INVALID_REQUEST", "unknown"),
        (ask(filters={"colour": "red"}), 422, "INVALID_REQUEST", "filters.colour"),
        (ask(limits={"top_k": "many"}), 422, "INVALID_REQUEST", "limits.top_k"),
        (ask(policy="../../etc/passwd"), 422, "INVALID_REQUEST", "policy"),
        (ask(policy="NO_SUCH_POLICY"), 422, "UNKNOWN_POLICY", "policy"),
        (ask(model="nothing"), 422, "UNKNOWN_MODEL", "model"),
        (ask(conversation_id="no-such-talk"), 404, "CONVERSATION_NOT_FOUND", "conversation"),
        (("POST", "/rag/query", b'{"query": "x", "project_id": "p", "min_sources": 11}'), 422, "INVALID_REQUEST", "10"),
        (("GET", "/v1/runs/no-such-run", b""), 404, "RUN_NOT_FOUND", "run"),
        (("GET", "/v1/evidence/no-such-run/C0", b""), 404, "RUN_NOT_FOUND", "run"),
        (("GET", "/v1/evidence/no-such-run/0", b""), 422, "INVALID_REQUEST", "anchor"),
        (("GET", "/v1/documents?collection=nowhere", b""), 404, "COLLECTION_NOT_FOUND", "nowhere"),
        (
            ("GET", "/v1/documents/..%2f..%2fetc%2fpasswd/pages/1?collection=default", b""),
            404,
            "DOCUMENT_NOT_FOUND",
            "",
        ),
        (("GET", "/v1/documents/%00/pages/1?collection=default", b""), 404, "NOT_FOUND", ""),
        (("GET", "/v1/documents?collection=%00", b""), 404, "NOT_FOUND", ""),
        (ask(conversation_id="a\0b"), 422, "INVALID_REQUEST", "conversation_id"),
        (ask(collection="a\0b"), 422, "INVALID_REQUEST", "collection"),
        (("GET", "/v1/runs/%00", b""), 404, "NOT_FOUND", ""),
        (("GET", "/v1/nothing", b""), 404, "NOT_FOUND", "/openapi.json"),
        (("DELETE", "/v1/ask", b""), 405, "METHOD_NOT_ALLOWED", "/openapi.json"),
    ],
)
def test_an_awkward_request_is_a_problem(
    served: Served, request_: tuple[str, str, bytes], status: int, code: str, word: str
) -> None:
    method, path, body = request_
    answer = served.client.request(method, path, content=body, headers=JSON)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code)
    assert word in problem["detail"] + problem["next_step"]
    assert problem["next_step"]
    assert answer.headers["content-type"] == "application/problem+json"
    assert "Traceback" not in answer.text
    assert answer.headers["x-request-id"] == problem["request_id"]


def test_a_rejected_request_leaves_no_run(served: Served) -> None:
    before = single(served.database, "SELECT count(*) FROM runs")
    served.client.post("/v1/ask", json={"question": QUESTION, "limits": {"max_chunks": 99}})
    served.client.post("/v1/ask", json={"question": QUESTION, "conversation_id": "no-such-talk"})
    assert single(served.database, "SELECT count(*) FROM runs") == before


def test_a_body_over_the_limit_is_refused(served: Served) -> None:
    announced = served.client.post("/v1/ask", content=b"x" * 4_000_001, headers=JSON)
    unannounced = served.client.post("/v1/ask", content=iter([b"x" * 2_000_000] * 3), headers=JSON)
    assert [answer.status_code for answer in (announced, unannounced)] == [413, 413]
    assert announced.json()["code"] == "BODY_TOO_LARGE"


def test_a_body_that_does_not_arrive_holds_no_place(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.2)
    address = urlsplit(served.url)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=30) as slow:
        slow.sendall(b"POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90\r\n\r\n{")
        assert slow.recv(1000).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    "host",
    ["attacker.example", "sourcebound.attacker.example:8080", "[::1", "127.0.0.1.attacker.example", "my_evil.example"],
)
def test_a_name_of_another_machine_reaches_nothing(served: Served, host: str) -> None:
    answer = served.client.get("/v1/collections", headers={"host": host})
    assert (answer.status_code, answer.json()["code"]) == (403, "FOREIGN_HOST")


def test_a_forwarded_client_of_another_machine_reaches_nothing(served: Served) -> None:
    answer = served.client.get("/v1/collections", headers={"x-forwarded-for": "203.0.113.9"})
    assert (answer.status_code, answer.json()["code"]) == (403, "KEYS_REQUIRED")


@pytest.mark.parametrize("origin", ["http://attacker.example", "null", "http://["])
def test_a_page_of_another_origin_reaches_nothing(served: Served, origin: str) -> None:
    answer = served.client.get("/v1/collections", headers={"origin": origin})
    assert (answer.status_code, answer.json()["code"]) == (403, "FOREIGN_ORIGIN")
