"""Every point of a run × every way to cut it off there: it is brought to its end, once (contract CP-2)."""

import asyncio
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import count
from typing import Any

import psycopg
import pytest

from sourcebound.contracts.replay.report import RunReport
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.graph.batch.resume_all import ResumeOutcome, resume_all
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.history import verify_history
from sourcebound.graph.replay.recompute import LAYERS
from sourcebound.store.checkpoints.archive import PostgresHistory
from sourcebound.store.checkpoints.buffer import BEHIND_SECONDS
from sourcebound.store.connection.database import open_pool
from sourcebound.store.connection.migrations import migrate
from sourcebound.store.server.embedded import EmbeddedServer
from sourcebound.store.server.postmaster import SETTINGS
from sourcebound.wiring import open_services
from support.places import ROOT
from support.processes import crashing
from support.processes.crashing import ASKING, LOCKING, NODES, POINTS, WAVES, Case, World
from support.processes.databases import MANUALS, ingest, rows, settings_for, single
from support.processes.homes import DEADLINE_SECONDS, reachable_folder, stopped_server, wait_until
from support.processes.model_answers import Received
from support.processes.model_servers import ModelServer, WatchedReader

EARLIER = "What is to be done with a stored HP-200?"
REWRITTEN = "How often is the shaft of a stored HP-200 turned by hand?"
ANSWER = "Turn the shaft by hand every 14 days [C0]."
POLICY = ROOT / "contracts" / "policy" / "released" / "SOURCEBOUND_LEXICAL_V1.toml"
IMPATIENCE, PATIENCE = 0.3, 30.0
IN_FLIGHT = ("asking", "answered")
"""Here an answer is on its way and is not stored yet, so that it may be asked for once more."""
NUMBERS = count(1)


class Way(StrEnum):
    """The ways in which runs are interrupted."""

    KILLED = "killed"
    RESTARTED = "database restarted"
    AWAY = "database away"
    DROPPED = "connections dropped"


class Models(ModelServer):
    """A model that rewrites questions, chooses a fact and answers from it. Held requests are answered on release.

    Attributes:
        held: Nodes and cases whose requests wait.
        waiting: Those of them that have asked.
    """

    def __init__(self) -> None:
        super().__init__()
        self.held: set[tuple[str, str]] = set()
        self.waiting: set[tuple[str, str]] = set()
        self.answer = self._say

    def _say(self, request: Received) -> str:
        said = {"resolve": REWRITTEN, "select_facts": choice(request), "generate": ANSWER}
        return said[asked_by(request)[0]]

    async def _respond(self, request: Received, reader: WatchedReader, writer: asyncio.StreamWriter) -> bool:
        asked = asked_by(request)
        while asked in self.held:
            self.waiting.add(asked)
            await reader.pause(0.01)
        return await super()._respond(request, reader, writer)

    def count(self, node: str, run_id: str) -> int:
        return sum(asked_by(request) == (node, run_id) for request in self.calls)


def asked_by(request: Received) -> tuple[str, str]:
    """The node and the run that a request is of: each run's question has its id."""
    text = request.body.decode()
    found = re.search(r"run-\d{3}", text)
    asks = {"search query that stands alone": "resolve", "You choose, from the facts": "select_facts"}
    node = next((node for words, node in asks.items() if words in text), "generate")
    return node, found[0] if found else ""


def choice(request: Received) -> str:
    """The one fact of a request that the answer is in; none where it asks for something else."""
    rows = [line for line in request.prompt.split("\n") if line.startswith('{"quote"') and "every 14 days" in line]
    return f'{{"relevant_facts": [{rows[0]}]}}' if rows else ""


class Mortal:
    """A server of its own, whose database holds the manuals and writes what need not wait as late as it can."""

    def __init__(self, server: EmbeddedServer) -> None:
        self._server = server
        self.url = server.start()

    def die(self) -> None:
        """Ends it as a crash does: nothing is written any more."""
        pid = self._server.status().pid
        assert pid is not None
        os.kill(pid, signal.SIGQUIT)
        wait_until(lambda: not self._server.status().running)

    def live(self) -> None:
        assert self._server.start() == self.url


@dataclass
class Program:
    """The program that runs the cases."""

    world: World
    models: Models
    said: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, crashing.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lines: queue.Queue[dict[str, str]] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self._order(asdict(self.world))

    def start(self, cases: Sequence[Case], gate: str) -> None:
        """Starts cases and waits until each stands at its point."""
        asking = {(case.point.partition("/")[0], case.run_id) for case in cases if case.point in ASKING}
        self.models.held |= asking
        self._order({"cases": cases, "gate": gate})
        due = {case.run_id for case in cases if case.point not in ASKING}
        while due:
            line = self._lines.get(timeout=DEADLINE_SECONDS)
            assert "reached" in line, line
            due.remove(line["reached"])
        wait_until(lambda: asking <= self.models.waiting)

    def let_on(self, cases: Sequence[Case], patience: float) -> None:
        """Lets the cases run to their end, with so many seconds to wait for a connection."""
        self.models.held.clear()
        self._order({"go": patience})
        for _ in cases:
            line = self._lines.get(timeout=DEADLINE_SECONDS)
            assert "said" in line, line
            self.said[line["run_id"]] = line["said"]

    def _order(self, order: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(json.loads(line))
        self._lines.put({"ended": str(self.process.wait())})


@pytest.fixture(scope="module")
def mortal() -> Iterator[Mortal]:
    """The machine itself does not fail here, so that nothing has to wait for a disk."""
    with pytest.MonkeyPatch.context() as patch, reachable_folder() as folder:
        patch.setitem(SETTINGS, "fsync", "off")
        patch.setitem(SETTINGS, "wal_writer_delay", "10s")
        with stopped_server(folder / "home") as home, EmbeddedServer(home) as server:
            mortal = Mortal(server)
            asyncio.run(_fill(mortal.url))
            yield mortal


async def _fill(url: str) -> None:
    async with open_pool(url) as pool:
        await migrate(pool)
    async with open_services(settings_for(url)) as services:
        await ingest(services, MANUALS)


@pytest.fixture(scope="module")
def models() -> Iterator[Models]:
    with Models() as served:
        yield served


@pytest.fixture(scope="module")
def world(mortal: Mortal, models: Models, tmp_path_factory: pytest.TempPathFactory) -> World:
    """The policy asks the model for the query and the facts too, so that each run asks it three times."""
    policy = tmp_path_factory.mktemp("crashes") / "talking.toml"
    text = POLICY.read_text("utf-8").replace("SOURCEBOUND_LEXICAL_V1", "TALKING_V1")
    policy.write_text(f'{text}\n[conversation]\nresolver = "model"\n[facts]\nfilter = "model"\n')
    return World(mortal.url, models.openai_url, str(policy))


@contextmanager
def running(world: World, models: Models) -> Iterator[Program]:
    program = Program(world, models)
    try:
        yield program
    finally:
        program.process.kill()
        program.process.communicate()


def made_cases(world: World, points: Sequence[str]) -> list[Case]:
    """A case for each point, each in a conversation in which a question has been asked already."""
    cases = []
    with psycopg.connect(world.database) as connection:
        for point in points:
            number = f"{next(NUMBERS):03}"
            case = Case(point, f"run-{number}", f"How often by hand, then (run-{number})?", f"talk-{number}")
            values: dict[str, Any] = {"talk": case.conversation_id, "run": f"earlier-{number}", "question": EARLIER}
            connection.execute("INSERT INTO conversations VALUES (%(talk)s)", values)
            connection.execute(
                "INSERT INTO runs (run_id, request_id, thread_id, model, status, started_at, finished_at, pruned_at, "
                "conversation_id, ordinal) "
                "VALUES (%(run)s, %(run)s, %(run)s, '', 'OK', now(), now(), now(), %(talk)s, 1)",
                values,
            )
            connection.execute("INSERT INTO turn_texts VALUES (%(run)s, %(question)s)", values)
            cases.append(case)
    return cases


def cut_off(way: Way, cases: list[Case], program: Program, mortal: Mortal) -> None:
    """Brings runs to their points, cuts them off there, and lets them come to their ends as far as they can."""
    if way is Way.RESTARTED:
        lost = 0
        for gate, points in WAVES.items():
            wave = [case for case in cases if case.point in points]
            program.start(wave, gate)
            time.sleep(2 * BEHIND_SECONDS)  # what has waited for company goes alone, and waits for no disk
            lost += single(mortal.url, "SELECT count(*) FROM checkpoints")
            mortal.die()
            mortal.live()
            lost -= single(mortal.url, "SELECT count(*) FROM checkpoints")
            program.let_on(wave, PATIENCE)
        assert lost > 0
        return
    locking = [case for case in cases if case.point == LOCKING]
    program.start([case for case in cases if case not in locking], "")
    program.start(locking, "")
    match way:
        case Way.KILLED:
            program.process.kill()
            program.process.wait()
        case Way.AWAY:
            mortal.die()
            program.let_on(cases, IMPATIENCE)
            mortal.live()
        case Way.DROPPED:
            rows(
                mortal.url, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            )
            program.let_on(cases, PATIENCE)


async def go_on(world: World, cases: list[Case]) -> dict[str, PublicResponse]:
    """Complete all runs as another process would. A run without other stored data is started again."""
    async with open_services(world.settings()) as services:
        engine = Engine(services)
        async for resumed in resume_all(engine):
            assert resumed.ending is ResumeOutcome.ENDED, resumed.fault
        assert await engine.list_cut_off() == []
        return {case.run_id: await engine.resume(case.run_id) for case in cases}


def findings(
    case: Case, way: Way, said: str | None, response: PublicResponse, world: World, models: Models
) -> list[str]:
    """Return the defects of a completed run."""
    run_id, node, what = case.run_id, *case.point.split("/")
    released = response.model_dump_json()
    expected = {Way.KILLED: (None,), Way.DROPPED: (released,)}.get(way, (released, "STORE_UNAVAILABLE"))
    records = "SELECT attempt, generation_status FROM validations WHERE run_id = %s"
    listed = (
        "SELECT r.status, r.ordinal, r.context, r.request_id = v.request_id, t.search_query "
        "FROM runs r JOIN validations v USING (run_id) JOIN turn_texts t USING (run_id) WHERE run_id = %s"
    )
    calls = {name: models.count(name, run_id) for name in ("resolve", "select_facts", "generate")}
    repeatable = {node} if what in IN_FLIGHT else set()
    if way is Way.AWAY:  # a run cannot know that the database died until it asks it
        following = NODES[NODES.index(node) + (what != "before") :] if node in NODES else NODES
        repeatable.add(next((name for name in following if name in calls), ""))
    allowed = {name: (1, 2) if name in repeatable else (1,) for name in calls}
    held = {
        "said": said in expected,
        "response": (response.status, response.answer, response.run_id) == ("OK", ANSWER, run_id),
        "query": response.search_query == REWRITTEN,
        "records": rows(world.database, records, run_id) == [(1, "OK")],
        "list": rows(world.database, listed, run_id) == [("OK", 2, None, True, REWRITTEN)],
        **{f"calls of {name}": number in allowed[name] for name, number in calls.items()},
    }
    return [name for name, holds in held.items() if not holds]


async def matching(url: str) -> set[str]:
    """The runs that can be computed again, and come out as they were recorded."""
    async with open_pool(url) as pool:
        verified = [result async for result in verify_history(PostgresHistory(pool))]
    return {each.run_id for each in verified if isinstance(each, RunReport) and each.verdict == "MATCH"}


def test_every_node_has_a_point_before_it_within_it_and_after_it() -> None:
    assert set(NODES) == set(LAYERS)
    assert [node for node in NODES if {f"{node}/before", f"{node}/done", f"{node}/saved"} - {*POINTS}] == []


@pytest.mark.contract("CP-2")
@pytest.mark.contract("CP-3")
@pytest.mark.parametrize("way", Way)
def test_runs_that_are_cut_off_anywhere_come_to_their_ends_once(
    way: Way, mortal: Mortal, world: World, models: Models
) -> None:
    cases = made_cases(world, POINTS)
    with running(world, models) as program:
        cut_off(way, cases, program, mortal)
        at_work = "SELECT count(*) FROM runs WHERE context IS NOT NULL AND is_lease_active(worker)"
        if way is not Way.KILLED:  # the leases of a dead process are ended by the process that resumes its runs
            wait_until(lambda: single(mortal.url, at_work) == 0)
        models.held.clear()
        responses = asyncio.run(go_on(world, cases))
        found = {
            case.point: findings(case, way, program.said.get(case.run_id), responses[case.run_id], world, models)
            for case in cases
        }
    assert {point: wrong for point, wrong in found.items() if wrong} == {}
    matched = asyncio.run(matching(mortal.url))
    assert [case.point for case in cases if case.run_id not in matched] == []
