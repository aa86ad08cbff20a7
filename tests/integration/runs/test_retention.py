"""Retention: old checkpoints go, whole runs at a time; runs, their texts and the audit record stay (CP-7)."""

import asyncio
from datetime import timedelta
from importlib.resources import files
from itertools import count
from typing import Any

import pytest

from sourcebound.contracts.prompt.build import Prompt
from sourcebound.contracts.state import RunContext
from sourcebound.errors import RequestError, StoreError
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.history import read_run
from sourcebound.graph.run_views.page import build_run_page
from sourcebound.models.registry import Models
from sourcebound.store.checkpoints import retention
from sourcebound.store.checkpoints.archive import PostgresHistory
from sourcebound.store.checkpoints.retention import Prunable, Pruned, Rule
from sourcebound.wiring import Services
from support.builders import SEAL, bundle, generation, row
from support.fakes import FakeModel
from support.processes.databases import rows, single, tables_with

MONTH = Rule(timedelta(days=30), 0)
TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
LASTING = ("validations", "audit_head", "run_texts")
NUMBERS = count()


@pytest.fixture
def engine(services: Services) -> Engine:
    """An engine over an empty database: these runs bring their own candidates."""
    return Engine(services)


async def ended(engine: Engine, database: str, *days: float) -> list[str]:
    """Runs that ended so many days ago, each started before the next."""
    names = []
    for age in days:
        name = f"run-{next(NUMBERS):04}"
        await engine.ask({"retrieval_bundle": bundle([row(chunk_text=SEAL)]), "run_id": name, "request_id": name})
        ago = timedelta(days=age)
        rows(
            database,
            "UPDATE runs SET finished_at = now() - %s, started_at = now() - %s WHERE run_id = %s",
            ago,
            ago,
            name,
        )
        names.append(name)
    return names


async def prune(services: Services, rule: Rule = MONTH) -> Pruned:
    return await services.retention.prune(rule, (await services.retention.plan(rule)).threads)


def threads(database: str, table: str = "checkpoints") -> set[str]:
    return {name for (name,) in rows(database, f"SELECT DISTINCT thread_id FROM {table}")}


def marked(database: str) -> set[str]:
    return {name for (name,) in rows(database, "SELECT run_id FROM runs WHERE pruned_at IS NOT NULL")}


@pytest.mark.contract("CP-7")
async def test_old_checkpoints_go_and_everything_else_stays(services: Services, engine: Engine, database: str) -> None:
    old, older, young = await ended(engine, database, 31, 400, 29)
    lasting = [rows(database, f"SELECT * FROM {table} ORDER BY 1, 2") for table in LASTING]
    stored = sum(single(database, f"SELECT count(*) FROM {table} WHERE thread_id <> %s", young) for table in TABLES)
    whole = await engine.state(young)
    plan = await services.retention.plan(MONTH)
    assert (set(plan.threads), plan.unfinished) == ({old, older}, 0)
    assert threads(database) == {old, older, young}
    pruned = await prune(services)
    assert pruned == Pruned(2, stored, plan.bytes)
    assert pruned.bytes > 2000
    assert [threads(database, table) - {young} for table in TABLES] == [set()] * 3
    assert marked(database) == {old, older}
    assert rows(database, "SELECT DISTINCT run_id FROM model_answers") == [(young,)]
    assert [rows(database, f"SELECT * FROM {table} ORDER BY 1, 2") for table in LASTING] == lasting
    assert await engine.state(young) == whole
    assert (await services.audit_log.verify()).broken is None
    assert await prune(services) == Pruned(0, 0, 0)


@pytest.mark.contract("CP-7")
async def test_the_newest_runs_keep_theirs_whatever_their_age(
    services: Services, engine: Engine, database: str
) -> None:
    first, second, third, fourth = await ended(engine, database, 90, 80, 70, 60)
    rows(database, "UPDATE runs SET status = 'RUNNING', finished_at = NULL WHERE run_id = %s", fourth)
    await prune(services, MONTH._replace(keep_last=2))
    assert (threads(database), marked(database)) == ({second, third, fourth}, {first})


@pytest.mark.contract("CP-7")
async def test_a_run_that_has_not_ended_is_never_touched(services: Services, engine: Engine, database: str) -> None:
    ended_run, dead = await ended(engine, database, 500, 500)
    rows(database, "UPDATE runs SET status = 'RUNNING' WHERE run_id = %s", dead)
    before = await engine.state(dead)
    assert (await services.retention.plan(MONTH)).unfinished == 1
    await prune(services)
    assert (threads(database), marked(database)) == ({dead}, {ended_run})
    assert await engine.state(dead) == before


@pytest.mark.contract("CP-7")
@pytest.mark.contract("CP-2")
async def test_a_run_that_waits_for_its_response_is_never_touched(
    services: Services, engine: Engine, database: str
) -> None:
    """The record is written, and the run was interrupted before anything was released."""
    (waiting,) = await ended(engine, database, 40)
    rows(database, "UPDATE runs SET context = '{}', worker = NULL")
    assert await services.retention.plan(MONTH) == Prunable((), 0, 1)
    assert await prune(services) == Pruned(0, 0, 0)
    assert (await engine.resume(waiting)).status == "OK"


@pytest.mark.contract("CP-7")
async def test_a_run_that_ended_a_moment_ago_may_still_write(services: Services, engine: Engine, database: str) -> None:
    moment, settled = await ended(engine, database, 0, 2 / 1440)
    await prune(services, Rule(timedelta(0), 0))
    assert (threads(database), marked(database)) == ({moment}, {settled})


@pytest.mark.contract("CP-7")
async def test_a_thread_of_several_runs_goes_with_the_last_of_them(
    services: Services, engine: Engine, database: str
) -> None:
    old, young = await ended(engine, database, 90, 1)
    rows(database, "UPDATE runs SET thread_id = %s WHERE run_id = %s", old, young)
    await prune(services)
    assert old in threads(database)
    rows(database, "UPDATE runs SET finished_at = now() - interval '31 days'")
    await prune(services, MONTH._replace(keep_last=1))
    assert old in threads(database)
    await prune(services)
    assert old not in threads(database)
    assert marked(database) == {old, young}


@pytest.mark.contract("CP-7")
async def test_a_crash_leaves_whole_runs_and_the_next_prune_goes_on(
    services: Services, engine: Engine, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    names = await ended(engine, database, *[60] * 5)
    fourth = sorted(names)[3]
    before = {table: single(database, f"SELECT count(*) FROM {table}") for table in TABLES}
    states = {name: await engine.state(name) for name in names}
    rows(
        database,
        "CREATE TRIGGER crash BEFORE DELETE ON checkpoints FOR EACH ROW "
        f"WHEN (OLD.thread_id = '{fourth}') EXECUTE FUNCTION refuse_change()",
    )
    with pytest.raises(StoreError):
        await prune(services)
    left = set(sorted(names)[2:])
    assert ({*threads(database)}, marked(database)) == (left, set(names) - left)
    assert {name: await engine.state(name) for name in left} == {name: states[name] for name in left}
    rows(database, "DROP TRIGGER crash ON checkpoints")
    done: list[int] = []
    plan = await services.retention.plan(MONTH)
    await services.retention.prune(MONTH, plan.threads, done.append)
    assert (done, threads(database), marked(database)) == ([2, 3], set(), set(names))
    assert before["checkpoints"] > 0
    assert [single(database, f"SELECT count(*) FROM {table}") for table in TABLES] == [0] * 3


@pytest.mark.contract("CP-7")
async def test_what_is_no_longer_prunable_when_its_turn_comes_stays(
    services: Services, engine: Engine, database: str
) -> None:
    gone, kept = await ended(engine, database, 60, 60)
    plan = await services.retention.plan(MONTH)
    rows(database, "UPDATE runs SET status = 'RUNNING', finished_at = NULL WHERE run_id = %s", kept)
    assert (await services.retention.prune(MONTH, plan.threads)).threads == 1
    assert (threads(database), marked(database)) == ({kept}, {gone})


@pytest.mark.contract("CP-7")
async def test_pruning_twice_at_once_disturbs_neither_each_other_nor_the_questions_asked_meanwhile(
    services: Services, engine: Engine, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 1)
    names = await ended(engine, database, *[60] * 6)
    plan = await services.retention.plan(MONTH)
    both = asyncio.gather(*(services.retention.prune(MONTH, plan.threads) for _ in range(2)))
    asked = (engine.ask({"retrieval_bundle": bundle([row(chunk_text=SEAL)])}) for _ in range(8))
    responses = await asyncio.gather(*asked)
    first, second = await both
    assert first.threads + second.threads == 6
    assert first.bytes + second.bytes == plan.bytes
    assert marked(database) == set(names)
    for response in responses:
        assert (await engine.state(response.run_id))["response"] == response.model_dump(mode="json")


@pytest.mark.contract("CP-7")
@pytest.mark.contract("R5P-3")
@pytest.mark.parametrize("way", ["pruned", "erased"])
async def test_whoever_asks_for_a_run_that_is_gone_is_told_why(
    services: Services, engine: Engine, database: str, way: str
) -> None:
    (name,) = await ended(engine, database, 60)
    await (prune(services) if way == "pruned" else engine.erase(name, name))
    for asked in (engine.evidence(name, "C0"), engine.resume(name), services.run_log.require_not_erased(name)):
        with pytest.raises(RequestError, match=f"{name} were {way}") as raised:
            await asked
        assert raised.value.failure_code == f"RUN_{way.upper()}"
    (run,) = await services.run_log.find_runs(name)
    with pytest.raises(RequestError) as raised:
        await read_run(PostgresHistory(services.pool), run)
    assert raised.value.failure_code == f"RUN_{way.upper()}"
    page = await build_run_page(services, run)
    assert (page.head.status, page.run, len(page.records)) == ("OK", None, 1)
    assert (run.pruned_at is None, run.erased_at is None) == (way != "pruned", way != "erased")
    assert (run.question is None) == (way == "erased")
    rows(database, "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint) VALUES (%s, 'late', '{}')", name)
    await prune(services)
    assert threads(database) == set()
    assert marked(database) == ({name} if way == "pruned" else set())


async def test_a_run_that_is_whole_or_unknown_is_not_said_to_be_gone(
    services: Services, engine: Engine, database: str
) -> None:
    (name,) = await ended(engine, database, 60)
    await services.run_log.require_not_erased(name)
    await services.run_log.require_not_erased("unknown")


@pytest.mark.contract("R5P-3")
@pytest.mark.contract("R5-12")
async def test_erasing_leaves_nothing_that_a_model_said(
    services: Services, database: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    class Talker(FakeModel):
        said = iter(["It is Wendeline's.", f"{SEAL} [C0] Ask Wendeline. [C0]"])

        async def generate(self, prompt: Prompt, policy: Any) -> Any:
            return generation(next(self.said), prompt_sha256=prompt.prompt_sha256)

    async def open_talker(self: Models, name: str) -> FakeModel:
        return Talker()

    monkeypatch.setattr(Models, "open", open_talker)
    text = (files("sourcebound.contracts.policy") / "released" / "R2_POLICY_V1.toml").read_text("utf-8")
    (tmp_path / "twice.toml").write_text(text.replace("max_attempts = 1", "max_attempts = 2").replace("R2_", "TWICE_"))
    engine, context = Engine(services), RunContext(policy=str(tmp_path / "twice.toml"))
    response = await engine.ask({"retrieval_bundle": bundle([row(chunk_text=SEAL)], policy_version=None)}, context)
    assert (response.status, "Wendeline" in response.answer) == ("OK", True), response.message
    assert tables_with(database, "Wendeline") >= {"run_texts", "model_answers", "checkpoint_blobs"}
    await engine.erase(response.run_id, response.run_id)
    assert tables_with(database, "Wendeline") == set()


async def test_sizes_cover_every_table_and_count_what_they_are_of(
    services: Services, engine: Engine, database: str
) -> None:
    await ended(engine, database, 60, 1, 1)
    await prune(services)
    sizes = await services.retention.sizes()
    assert (sizes.listed, sizes.whole, sizes.records) == (3, 2, 3)
    every = "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r' AND relnamespace = 2200"
    assert sizes.runs + sizes.checkpoints + sizes.collections + sizes.audit == single(database, every)
    assert min(sizes.runs, sizes.checkpoints, sizes.collections, sizes.audit) > 0


async def test_a_plan_of_nothing_is_empty(services: Services) -> None:
    assert await services.retention.plan(MONTH) == Prunable((), 0, 0)
    assert await services.retention.prune(MONTH, ()) == Pruned(0, 0, 0)
