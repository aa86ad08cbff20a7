"""`sourcebound serve`, started as a process: it answers, ends on a signal, and resumes what was interrupted."""

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from support.processes.commands import DEADLINE_SECONDS, PROGRAM, Program
from support.processes.databases import rows, single
from support.processes.homes import wait_until
from support.processes.http_server import ANSWER, QUESTION
from support.processes.model_servers import ModelServer

STAGES = ["accept", "retrieve", "assemble", "build_prompt", "generate", "validate", "record", "package"]


@contextmanager
def started(program: Program, *options: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    command = [str(PROGRAM), "serve", "--port", "0", *options]
    environment = program.variables()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


def test_it_answers_until_a_signal_ends_it(library: str) -> None:
    variables = {"DATABASE_URL": library, "SOURCEBOUND_LOG_FORMAT": "json"}
    with started(Program(variables)) as (url, process):
        assert httpx.get(f"{url}/healthz").json() == {"status": "ok"}
        assert httpx.get(f"{url}/readyz").json() == {"status": "ready"}
        answer = httpx.post(f"{url}/v1/ask", json={"question": QUESTION}, timeout=DEADLINE_SECONDS)
        assert answer.json()["answer"] == f"{ANSWER} [C0]"
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == 128 + signal.SIGTERM
    lines = [json.loads(line) for line in stderr.splitlines()]
    assert [line["node"] for line in lines] == STAGES
    assert {line["run_id"] for line in lines} == {answer.json()["run_id"]}
    assert not [word for word in ("bearing", "0.65") if word in stderr]


@pytest.mark.contract("CP-2")
def test_a_run_that_a_killed_server_did_not_end_is_resumed_at_the_next_start(library: str) -> None:
    with ModelServer() as models:
        models.think_seconds, models.answer = DEADLINE_SECONDS, f"{ANSWER} [C0]"
        variables = {"DATABASE_URL": library, "OPENAI_BASE_URL": models.openai_url, "OPENAI_API_KEY": "sk-a-key"}
        program = Program(variables)
        with started(program) as (url, _):
            form = {"question": QUESTION, "model": "openai:gpt-4.1"}
            with httpx.stream("POST", f"{url}/v1/ask/stream", json=form, timeout=DEADLINE_SECONDS) as stream:
                assert next(stream.iter_lines()) == "event: stage"
                wait_until(lambda: models.calls != [])
        models.think_seconds = 0
        assert rows(library, "SELECT status FROM runs") == [("RUNNING",)]
        with started(program):
            wait_until(lambda: single(library, "SELECT status FROM runs") != "RUNNING")
    assert rows(library, "SELECT status FROM runs") == [("OK",)]
    assert single(library, "SELECT count(*) FROM validations") == 1


def test_an_address_that_other_machines_reach_needs_keys(library: str) -> None:
    done = Program({"DATABASE_URL": library})("serve", "--host", "0.0.0.0", "--port", "0")
    assert done.code == 2
    assert "[KEYS_REQUIRED]" in done.stderr


def test_with_a_key_it_listens_on_any_address_and_answers_only_its_holder(library: str) -> None:
    program = Program({"DATABASE_URL": library})
    key = program("keys", "create", "anna").stdout.strip()
    with started(program, "--host", "0.0.0.0") as (url, _):
        collections = url.replace("0.0.0.0", "127.0.0.1") + "/v1/collections"
        assert httpx.get(collections).status_code == 401
        assert httpx.get(collections, headers={"authorization": f"Bearer {key}"}).status_code == 200


def test_a_taken_port_is_named(library: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = Program({"DATABASE_URL": library})("serve", "--port", port)
    assert (done.code, "[PORT_UNAVAILABLE]" in done.stderr, port in done.stderr) == (2, True, True)


@pytest.mark.contract("R5P-8")
def test_the_embedded_server_stores_an_upload_as_its_owner(demo: Program) -> None:
    with started(demo) as (url, _):
        answer = httpx.post(
            f"{url}/v1/collections/uploaded/documents",
            files={"file": ("valve.txt", b"The relief valve is set to 7.5 bar.")},
            timeout=DEADLINE_SECONDS,
        )
        assert answer.json()["files"][0]["outcome"] == "added", answer.text
