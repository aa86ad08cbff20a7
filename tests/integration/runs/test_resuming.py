"""Interrupted runs are found and completed as they were started, by one process at a time (CP-2)."""

import asyncio
import json
import os
import resource
from collections.abc import Callable
from functools import wraps
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import RunContext
from sourcebound.errors import RequestError, SourceboundError, StoreError
from sourcebound.graph import workflow
from sourcebound.graph.batch.resume_all import ResumeOutcome, resume_all
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.recorded_run import SERDE
from sourcebound.graph.replay.rerun import what_if
from sourcebound.settings import Settings
from sourcebound.store.connection.database import open_pool
from sourcebound.store.connection.migrations import list_migrations, migrate
from sourcebound.store.runs.log import PostgresRunLog
from sourcebound.store.runs.model_answers import PostgresAnswerLog
from sourcebound.store.search.retriever import PostgresRetriever
from sourcebound.wiring import open_services
from support.builders import SEAL, bundle, row, without
from support.places import ROOT
from support.processes.commands import Program
from support.processes.databases import rows, settings_for, single
from support.processes.homes import wait_until
from support.processes.model_servers import ModelServer
from support.replaying import drifts, recorded, verified

ANSWER = f"{SEAL} [C0]"
EVIDENCE = without(bundle([row(chunk_text=SEAL)]), "policy_version")
POLICY = ROOT / "contracts" / "policy" / "released" / "R2_POLICY_V1.toml"
MODEL = "openai:gpt-4.1"
KEY = "sk-right-0123456789"


@pytest.fixture
def settings(database: str, model_server: ModelServer) -> Settings:
    model_server.answer = ANSWER
    return settings_for(database, openai_base_url=model_server.openai_url, openai_api_key=SecretStr(KEY))


@pytest.fixture
def program(database: str, model_server: ModelServer) -> Program:
    return Program({"DATABASE_URL": database, "OPENAI_BASE_URL": model_server.openai_url, "OPENAI_API_KEY": KEY})


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make the store unavailable at a node, until the node is set to `""`."""
    away = ""

    def wrap(node: str) -> None:
        inner = getattr(workflow, node)

        @wraps(inner)
        async def wrapped(*arguments: Any, **options: Any) -> Any:
            if away == node:
                raise StoreError("the store is away.", "Wait.")
            return await inner(*arguments, **options)

        monkeypatch.setattr(workflow, node, wrapped)

    for node in ("accept", "assemble", "record"):
        wrap(node)

    def choose(node: str) -> None:
        nonlocal away
        away = node

    return choose


async def cut_off(settings: Settings, run_id: str, **chosen: Any) -> None:
    """Ask a question and interrupt the run."""
    async with open_services(settings) as services:
        with pytest.raises(StoreError) as raised:
            await Engine(services).ask(
                {"retrieval_bundle": EVIDENCE, "run_id": run_id}, RunContext(**{"model": MODEL, **chosen})
            )
    assert raised.value.failure_code == "STORE_UNAVAILABLE"
    assert f"sourcebound runs resume {run_id}" in raised.value.next_step


@pytest.mark.contract("CP-2")
@pytest.mark.contract("P-2")
async def test_a_run_that_is_cut_off_in_its_first_node_obeys_what_it_was_begun_with(
    settings: Settings, database: str, failing: Callable[[str], None], tmp_path: Path
) -> None:
    policy = tmp_path / "strict.toml"
    policy.write_text(POLICY.read_text("utf-8").replace("R2_POLICY_V1", "STRICT_V1"))
    failing("accept")
    await cut_off(settings, "run-1", policy=str(policy))
    assert rows(database, "SELECT status, policy_version, model FROM runs") == [("RUNNING", None, MODEL)]
    failing("")
    other = settings.model_copy(update={"model": "extractive", "policy": "SOURCEBOUND_V1"})
    async with open_services(other) as services:
        response = await Engine(services).resume("run-1")
        state = await Engine(services).state("run-1")
    assert (response.status, response.answer, response.policy_version) == ("OK", ANSWER, "STRICT_V1")
    assert state["run"]["model"] == MODEL
    assert rows(database, "SELECT run_id, request_id FROM runs") == rows(
        database, "SELECT run_id, request_id FROM validations"
    )


@pytest.mark.contract("S-2")
@pytest.mark.contract("P-4")
@pytest.mark.parametrize(
    ("request_", "context", "code"),
    [
        ({}, RunContext(policy="NOWHERE_V1"), "UNKNOWN_POLICY"),
        ({"limits": {"max_chunks": 99}}, RunContext(), "POLICY_LOOSENED"),
    ],
)
async def test_an_id_is_free_again_when_no_run_began(
    settings: Settings, database: str, request_: Any, context: RunContext, code: str
) -> None:
    asked = {"retrieval_bundle": EVIDENCE, "run_id": "run-1"}
    async with open_services(settings) as services:
        engine = Engine(services)
        with pytest.raises(SourceboundError) as raised:
            await engine.ask({**asked, **request_}, context)  # type: ignore[typeddict-item]
        assert raised.value.failure_code == code
        for table in ("runs", "checkpoints", "checkpoint_blobs", "checkpoint_writes"):
            assert single(database, f"SELECT count(*) FROM {table}") == 0
        assert (await engine.ask(asked)).status == "OK"  # type: ignore[arg-type]


@pytest.mark.contract("CP-2")
@pytest.mark.contract("S-2")
async def test_a_run_is_gone_on_with_by_one_process_at_a_time(
    settings: Settings, model_server: ModelServer, failing: Callable[[str], None]
) -> None:
    failing("assemble")
    await cut_off(settings, "run-1")
    failing("")
    model_server.think_seconds = 1
    async with open_services(settings) as first, open_services(settings) as second:
        engines = [Engine(services) for services in (first, second) * 3]
        results = await asyncio.gather(*(engine.resume("run-1") for engine in engines), return_exceptions=True)
        answered = [result for result in results if isinstance(result, PublicResponse)]
        refused = [result.failure_code for result in results if isinstance(result, RequestError)]
        assert ([response.status for response in answered], refused) == (["OK"], ["RUN_AT_WORK"] * 5)
        assert [await engine.resume("run-1") for engine in engines] == answered * 6
    assert len(model_server.calls) == 1


@pytest.mark.contract("S-2")
async def test_of_two_runs_of_one_id_at_once_one_is_refused(settings: Settings, model_server: ModelServer) -> None:
    async with open_services(settings) as first, open_services(settings) as second:
        results = await asyncio.gather(
            *(
                Engine(services).ask({"retrieval_bundle": EVIDENCE, "run_id": "run-1"}, RunContext(model=MODEL))
                for services in (first, second, first)
            ),
            return_exceptions=True,
        )
    assert sorted(getattr(result, "failure_code", None) or "answered" for result in results) == [
        "RUN_EXISTS",
        "RUN_EXISTS",
        "answered",
    ]
    assert len(model_server.calls) == 1


KILL_BACKENDS = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@pytest.mark.contract("CP-2")
async def test_an_active_run_is_left_alone_even_when_its_process_loses_all_connections(
    settings: Settings, database: str, model_server: ModelServer
) -> None:
    model_server.think_seconds = 60
    at_work = "SELECT is_lease_active(worker) FROM runs"
    async with open_services(settings) as services, open_services(settings) as other:
        asked = asyncio.create_task(
            Engine(services).ask({"retrieval_bundle": EVIDENCE, "run_id": "run-1"}, RunContext(model=MODEL))
        )
        await asyncio.to_thread(wait_until, lambda: bool(model_server.calls))
        number = single(database, "SELECT worker FROM runs")
        rows(database, KILL_BACKENDS)
        assert rows(database, f"SELECT worker, ({at_work}) FROM runs") == [(number, True)]
        assert await Engine(other).list_cut_off() == []
        with pytest.raises(RequestError) as raised:
            await Engine(other).resume("run-1")
        assert raised.value.failure_code == "RUN_AT_WORK"
        with pytest.raises(RequestError) as raised:
            await Engine(other).erase("run-1", "run-1")
        assert raised.value.failure_code == "RUN_AT_WORK"
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        found: list[str] = []
        for _ in range(600):  # the release of a cancelled run completes in the background
            if found := await Engine(other).list_cut_off():
                break
            await asyncio.sleep(0.05)
        assert found == ["run-1"]


@pytest.mark.contract("CP-2")
async def test_the_first_answer_that_was_kept_stands(
    settings: Settings, database: str, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was taken for dead may come back with an answer of its own."""
    keep = PostgresAnswerLog.keep

    async def keep_late(self: PostgresAnswerLog, asked: Any, generation: Any) -> Any:
        earlier = generation.model_copy(update={"raw_model_text": ANSWER})
        await keep(self, asked, earlier)
        return await keep(self, asked, generation)

    monkeypatch.setattr(PostgresAnswerLog, "keep", keep_late)
    model_server.answer = "Never check the seal. [C0]"
    async with open_services(settings) as services:
        engine = Engine(services)
        with pytest.raises(RequestError) as raised:
            await engine.ask({"retrieval_bundle": EVIDENCE, "run_id": "run-1"}, RunContext(model=MODEL))
        assert raised.value.failure_code == "RUN_AT_WORK"
        assert (await engine.resume("run-1")).answer == ANSWER
    assert rows(database, "SELECT run_id, attempt FROM model_answers") == [("run-1", 1)]
    assert single(database, "SELECT count(*) FROM validations") == 1


@pytest.mark.contract("R4-1")
async def test_an_answer_is_kept_with_the_hash_of_the_bytes_that_were_sent(
    settings: Settings, database: str, model_server: ModelServer
) -> None:
    async with open_services(settings) as services:
        await Engine(services).ask({"retrieval_bundle": EVIDENCE}, RunContext(model=MODEL))
    (call,) = model_server.calls
    assert single(database, "SELECT request_sha256 FROM model_answers") == sha256(call.body).hexdigest()


@pytest.mark.contract("R5P-3")
async def test_an_erased_run_keeps_no_answer_and_is_not_gone_on_with(
    settings: Settings, database: str, failing: Callable[[str], None]
) -> None:
    failing("record")
    await cut_off(settings, "run-1")
    assert single(database, "SELECT count(*) FROM model_answers") == 1
    async with open_services(settings) as services:
        engine = Engine(services)
        await engine.erase("run-1", "run-1")
        assert single(database, "SELECT count(*) FROM model_answers") == 0
        assert await engine.list_cut_off() == []
        with pytest.raises(RequestError) as raised:
            await engine.resume("run-1")
    assert raised.value.failure_code == "RUN_ERASED"
    assert rows(database, "SELECT run_id FROM runs") == [("run-1",)]


@pytest.mark.contract("CP-2")
@pytest.mark.contract("CP-5")
async def test_a_fork_that_was_cut_off_is_gone_on_with(
    settings: Settings, model_server: ModelServer, failing: Callable[[str], None]
) -> None:
    async with open_services(settings) as services:
        engine = Engine(services)
        origin = await engine.ask({"retrieval_bundle": EVIDENCE}, RunContext(model=MODEL))
        whole = await recorded(engine, origin.run_id)
        failing("record")
        with pytest.raises(StoreError):
            await what_if(services, whole, model=MODEL)
        failing("")
        (resumed,) = [each async for each in resume_all(engine)]
        assert resumed.response is not None
        assert (resumed.ending, resumed.response.answer) == (ResumeOutcome.ENDED, ANSWER)
        assert drifts(await verified(await recorded(engine, resumed.run_id))) == {}
        assert await services.run_log.list_forks(origin.run_id) == [resumed.run_id]
    assert [call.model for call in model_server.calls] == ["gpt-4.1"] * 2


@pytest.mark.contract("CP-2")
async def test_a_run_of_which_nothing_was_stored_says_so_and_leaves_nothing(settings: Settings, database: str) -> None:
    async with open_services(settings) as services:
        log: PostgresRunLog = services.run_log
        assert await log.open("run-1", "request-1", RunContext(model=MODEL))
        await log.release("run-1")
        resumed = [each async for each in resume_all(Engine(services))]
        assert [(each.run_id, each.ending) for each in resumed] == [("run-1", ResumeOutcome.NEVER_BEGAN)]
        assert await log.list_runs(5) == []


@pytest.mark.contract("CP-2")
async def test_every_run_that_was_cut_off_comes_to_its_end_by_one_command(
    settings: Settings, database: str, program: Program, model_server: ModelServer, failing: Callable[[str], None],
    tmp_path: Path,
) -> None:  # fmt: skip
    gone = tmp_path / "gone.toml"
    gone.write_text(POLICY.read_text("utf-8").replace("R2_POLICY_V1", "GONE_V1"))
    for node, run_id in (("accept", "run-1"), ("assemble", "run-2"), ("record", "run-3")):
        failing(node)
        await cut_off(settings, run_id)
    failing("accept")
    await cut_off(settings, "run-4", policy=str(gone))
    failing("")
    gone.rename(tmp_path / "elsewhere.toml")
    done = await asyncio.to_thread(program, "runs", "resume", "--all", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["run_id"], line["ending"], line["code"]) for line in lines] == [
        ("run-1", "ended", None),
        ("run-2", "ended", None),
        ("run-3", "ended", None),
        ("run-4", "cut_off", "UNKNOWN_POLICY"),
    ]
    assert [line["response"] and line["response"]["answer"] for line in lines] == [ANSWER] * 3 + [None]
    assert (done.code, done.stderr.splitlines()[-1]) == (1, "3 OK, 1 cut_off")
    assert len(model_server.calls) == 3
    (tmp_path / "elsewhere.toml").rename(gone)
    done = await asyncio.to_thread(program, "runs", "resume", "--all")
    assert (done.code, done.stdout) == (0, "run-4  OK\n")
    done = await asyncio.to_thread(program, "runs", "resume", "--all")
    assert (done.code, done.stdout, done.stderr) == (0, "", "There is no interrupted run.\n")
    assert rows(database, "SELECT run_id, attempt FROM validations ORDER BY 1") == [
        (f"run-{n}", 1) for n in range(1, 5)
    ]


@pytest.mark.contract("CP-2")
async def test_a_database_from_before_finds_its_runs_that_were_cut_off(
    empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This migration may come after later ones: databases at 0012 were made without it."""
    earlier = [migration for migration in list_migrations() if migration.name != "resuming"]
    async with open_pool(empty_database, max_size=1) as pool:
        with monkeypatch.context() as patch:
            patch.setattr("sourcebound.store.connection.migrations.list_migrations", lambda: earlier)
            await migrate(pool)
        for run_id, thread_id, status in (
            ("run-1", "run-1", "RUNNING"),
            ("run-2", "talk", "RUNNING"),
            ("run-3",) * 2 + ("OK",),
        ):
            rows(
                empty_database,
                "INSERT INTO runs (run_id, request_id, thread_id, policy_version, model, status, started_at) "
                "VALUES (%s, %s, %s, 'R2_POLICY_V1', 'extractive', %s, now())",
                run_id,
                run_id,
                thread_id,
                status,
            )
        assert [migration.name for migration in await migrate(pool)] == ["resuming"]
    async with open_services(settings_for(empty_database)) as services:
        assert await Engine(services).list_cut_off() == ["run-1"]


def test_resume_wants_a_run_or_all_of_them(program: Program) -> None:
    for arguments in ([], ["run-1", "--all"]):
        done = program("runs", "resume", *arguments)
        assert (done.code, done.stdout) == (2, "")
        assert "either a run or --all" in done.stderr


async def _cut_off(settings: Settings, failing: Callable[[str], None], *runs: str) -> None:
    failing("assemble")
    async with open_services(settings) as services:
        for run_id in runs:
            with pytest.raises(StoreError):
                await Engine(services).ask({"retrieval_bundle": EVIDENCE, "run_id": run_id}, RunContext(model=MODEL))
    failing("")


@pytest.mark.contract("CP-2")
@pytest.mark.parametrize("unknown", ["state", "context"])
async def test_a_run_of_another_version_stops_no_other(
    settings: Settings, database: str, failing: Callable[[str], None], unknown: str
) -> None:
    await _cut_off(settings, failing, "run-1", "run-2")
    async with open_services(settings) as services:
        engine = Engine(services)
        if unknown == "state":
            kind, blob = SERDE.dumps_typed({**(await engine.state("run-1"))["run"], "newer": 1})
            statement = "UPDATE checkpoint_blobs SET type = %s, blob = %s WHERE thread_id = 'run-1' AND channel = 'run'"
            rows(database, statement, kind, blob)
        else:
            rows(database, "UPDATE runs SET context = context::jsonb || '{\"newer\": 1}' WHERE run_id = 'run-1'")
        found = {each.run_id: each async for each in resume_all(engine)}
        assert {run: each.ending for run, each in found.items()} == {
            "run-1": ResumeOutcome.CUT_OFF,
            "run-2": ResumeOutcome.ENDED,
        }
        fault = found["run-1"].fault
        assert fault is not None
        assert fault.failure_code == "RUN_UNREADABLE"
        assert await engine.list_cut_off() == ["run-1"]  # nobody is at it: the version that began it may go on


@pytest.mark.contract("CP-2")
async def test_a_run_that_is_erased_meanwhile_is_passed_over(
    settings: Settings, failing: Callable[[str], None]
) -> None:
    await _cut_off(settings, failing, "run-1", "run-2")
    async with open_services(settings) as services:
        engine, found = Engine(services), []
        async for each in resume_all(engine):
            found.append((each.run_id, each.ending))
            await engine.erase("run-2", "run-2")
        assert found == [("run-1", ResumeOutcome.ENDED)]


@pytest.mark.contract("CP-2")
async def test_a_database_that_is_away_during_retrieval_cuts_the_run_off(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Engine.open(settings_for(library)) as engine:
        retrieve = PostgresRetriever.retrieve

        async def away(*_: Any) -> Any:
            raise StoreError("the database does not answer.", "Wait.")

        monkeypatch.setattr(PostgresRetriever, "retrieve", away)
        with pytest.raises(StoreError):
            await engine.ask({"question": "To what torque are the gland bolts tightened on the HP-200?"})
        monkeypatch.setattr(PostgresRetriever, "retrieve", retrieve)
        (run_id,) = await engine.list_cut_off()
        assert (await engine.resume(run_id)).status == "OK"


async def test_a_process_with_many_open_files_has_a_database(database: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        async with open_services(settings_for(database)) as services:
            assert await services.index.list_collections() == []
    finally:
        for each in held:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
