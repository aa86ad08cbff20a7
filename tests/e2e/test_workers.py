"""`sourcebound serve --workers`: one address, one database, and no question lost if a worker is killed under load."""

import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.processes.commands import DEADLINE_SECONDS, PROGRAM, Program
from support.processes.databases import rows, single
from support.processes.homes import wait_until
from support.processes.http_server import ANSWER, QUESTION
from support.processes.model_servers import ModelServer

CLIENTS = 8
HOLDERS = "SELECT leases.pid FROM runs JOIN leases ON lease_id = worker WHERE status = 'RUNNING'"


@contextmanager
def started(program: Program, log: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    command = [str(PROGRAM), "serve", "--port", "0", "--workers", "2"]
    environment = program.variables()
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment) as process,
    ):
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.terminate()
            process.wait(DEADLINE_SECONDS)


def workers_of(process: "subprocess.Popen[str]") -> set[int]:
    """The worker processes of a server; other children may end while this reads them."""
    found = set()
    for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        with suppress(FileNotFoundError, ProcessLookupError):
            if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(int(pid))
    return found


def measured(url: str, name: str, **labels: str) -> float:
    families = text_string_to_metric_families(httpx.get(f"{url}/metrics", timeout=DEADLINE_SECONDS).text)
    samples = (sample for family in families for sample in family.samples)
    return sum(sample.value for sample in samples if (sample.name, sample.labels) == (name, labels))


@pytest.mark.contract("CP-2")
def test_each_accepted_question_ends_with_one_record_if_a_worker_is_killed(library: str, tmp_path: Path) -> None:
    with ModelServer() as models, ThreadPoolExecutor(CLIENTS) as clients:
        models.gate, models.answer = Event(), f"{ANSWER} [C0]"
        variables = {"DATABASE_URL": library, "OPENAI_BASE_URL": models.openai_url, "OPENAI_API_KEY": "sk-a-key"}
        with started(Program(variables), tmp_path / "log") as (url, process):

            def ask(number: int) -> int | None:
                form = {"question": QUESTION, "model": "openai:gpt-4.1"}
                name = {"X-Request-ID": f"load-{number}"}
                try:
                    answer = httpx.post(f"{url}/v1/ask", json=form, headers=name, timeout=DEADLINE_SECONDS)
                    return answer.status_code
                except httpx.TransportError:
                    return None

            asked = [clients.submit(ask, number) for number in range(CLIENTS)]
            wait_until(lambda: len(models.calls) == CLIENTS)
            holders = [pid for (pid,) in rows(library, HOLDERS)]
            killed, lost = holders[0], holders.count(holders[0])
            assert len(holders) == CLIENTS
            assert killed in workers_of(process)
            os.kill(killed, signal.SIGKILL)
            wait_until(lambda: len(models.calls) == CLIENTS + 1)  # interrupted runs are resumed one by one
            models.gate.set()
            statuses = [each.result(DEADLINE_SECONDS) for each in asked]
            wait_until(lambda: single(library, "SELECT count(*) FROM runs WHERE status = 'RUNNING'") == 0)
            wait_until(lambda: killed not in workers_of(process) and len(workers_of(process)) == 2)
            assert sorted(statuses, key=str) == [200] * (CLIENTS - lost) + [None] * lost
            counted = [measured(url, "sourcebound_questions_total", status="OK", reason="") for _ in range(4)]
            assert counted == [CLIENTS - lost] * 4
            assert measured(url, "sourcebound_questions_in_progress") == 0
        assert process.returncode == 0
    assert len(models.calls) == CLIENTS + lost  # no run of the worker that lived was begun again
    ended = rows(library, "SELECT request_id, status FROM runs ORDER BY request_id")
    assert ended == [(f"load-{number}", "OK") for number in range(CLIENTS)]
    recorded = rows(library, "SELECT request_id, count(*) FROM validations GROUP BY request_id ORDER BY request_id")
    assert recorded == [(f"load-{number}", 1) for number in range(CLIENTS)]


def test_the_workers_end_if_their_supervisor_is_killed(library: str, tmp_path: Path) -> None:
    with started(Program({"DATABASE_URL": library}), tmp_path / "log") as (url, process):
        assert httpx.get(f"{url}/readyz", timeout=DEADLINE_SECONDS).status_code == 200
        workers = workers_of(process)
        wait_until(lambda: len(rows(library, "SELECT 1 FROM pg_stat_activity WHERE pid <> pg_backend_pid()")) > 1)
        process.kill()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
