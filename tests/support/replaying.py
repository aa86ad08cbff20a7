"""A recorded history for tests of replays: one run for each way in which a run can end, over a real database."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import SecretStr

from sourcebound.contracts.policy.releases import SHIPPED
from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.replay.release_diff import load_shipped_release
from sourcebound.contracts.replay.report import NotReplayable, RecordedRun, RunReport
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.recorded_run import read_recorded
from sourcebound.graph.replay.verify import verify
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.store.checkpoints.archive import PostgresHistory, StoredRun
from support.builders import SEAL, bundle, row
from support.places import ROOT
from support.processes.databases import Cluster, settings_for
from support.processes.model_servers import Fault, ModelServer

ANSWERED = "How often is the shaft of a stored HP-200 turned by hand?"
OFF_TOPIC = "Which orchestra played at the opening of the Sydney Opera House?"
MODEL = "openai:gpt-4.1"
GOOD = f"{SEAL} [C0]"
UNCITED = "The shaft seal lasts for ever."
POLICIES = ROOT / "contracts" / "policy" / "released"
ROWS = [row(0, chunk_text=SEAL), row(1, chunk_text="Rinse the filter \u201cHP-200\u201d \u2013 daily.")]
BUNDLE = bundle(ROWS, policy_version=None)

FIRST = json.dumps({"quote": SEAL, "pdf": "manual-0.pdf", "page": None, "chunk_id": "chunk-0000"})
CHOICE = f'{{"relevant_facts": [{FIRST}]}}'


class Case(NamedTuple):
    """A request, the model's replies in order, and the code with which the run ends."""

    request: AskInput
    ends: str
    says: tuple[str | Fault, ...] = ()
    policy: str | None = None


def cases(policies: "Policies") -> dict[str, Case]:
    """Return a case for every way in which a run can end, except those that need a broken database."""
    brought: AskInput = {"retrieval_bundle": BUNDLE}
    twice = [row(0), row(0)]
    beside = bundle([row(0, chunk_text="The canteen closes at noon.")], policy_version=None)
    return {
        "answered": Case({"question": ANSWERED}, "OK"),
        "off topic": Case({"question": OFF_TOPIC}, "below_similarity_gate"),
        "nowhere": Case({"question": ANSWERED, "collection": "nowhere"}, "collection_not_found"),
        "bad filter": Case({"question": ANSWERED, "filters": {"colour": "red"}}, "INVALID_REQUEST"),
        "tightened": Case({"question": ANSWERED, "limits": {"max_chunks": 2, "min_similarity": 0.2}}, "OK"),
        "few sources": Case({"question": ANSWERED, "limits": {"min_sources": 9}}, "insufficient_sources"),
        "bundle": Case(brought, "OK"),
        "bad bundle": Case({"retrieval_bundle": bundle(twice)}, "INVALID_RANK"),
        "other embedder": Case(brought, "POLICY_INDEX_MISMATCH", policy="SOURCEBOUND_V1"),
        "said": Case(brought, "OK", (GOOD,)),
        "refused": Case(brought, "model_refused", (REFUSAL,)),
        "uncited": Case(brought, "UNCITED_FACTUAL_STATEMENT", (UNCITED,)),
        "failed": Case(brought, "MODEL_REJECTED", (Fault.BAD_REQUEST,)),
        "mended": Case(brought, "OK", (UNCITED, GOOD), policies.twice),
        "not mended": Case(brought, "INVALID_CITATION_REFERENCE", (UNCITED, f"{SEAL} [C7]"), policies.twice),
        "no room": Case(brought, "PROMPT_BUDGET", (), policies.narrow),
        "one pushed out": Case(brought, "OK", (GOOD,), policies.snug),
        "facts": Case(brought, "OK", policy="QA_CONTRACT_V1"),
        "no facts": Case({"retrieval_bundle": beside}, "no_relevant_facts", policy="QA_CONTRACT_V1"),
        "chosen facts": Case(brought, "OK", (CHOICE, GOOD), policies.choosing),
        "quoted facts": Case(brought, "OK", policy=policies.choosing),
        "bad choice": Case(brought, "DUPLICATE_FACT", (CHOICE.replace("[", f"[{FIRST}, "),), policies.choosing),
        "failed choice": Case(brought, "MODEL_REJECTED", (Fault.BAD_REQUEST,), policies.choosing),
    }


BROUGHT = Case({"retrieval_bundle": BUNDLE}, "OK", (GOOD,))
"""A model's answer over a supplied bundle."""


class Policies(NamedTuple):
    """The paths of the test's own policy files."""

    twice: str
    narrow: str
    snug: str
    choosing: str


def write_policies(folder: Path) -> Policies:
    """Write copies of R2_POLICY_V1: two attempts, no room for evidence, room for one chunk, facts chosen by a model."""
    shipped = (POLICIES / "R2_POLICY_V1.toml").read_text("utf-8")
    budget = "max_total_prompt_tokens = 3500"
    assert budget in shipped
    return Policies(
        _write(folder, shipped, "TWICE_V1", "max_attempts = 1", "max_attempts = 2"),
        _write(folder, shipped, "NARROW_V1", budget, "max_total_prompt_tokens = 900"),
        _write(folder, shipped, "SNUG_V1", budget, "max_total_prompt_tokens = 1170"),
        _write(folder, shipped, "CHOOSING_V1", "[prompt]", '[facts]\nfilter = "model"\n\n[prompt]'),
    )


def _write(folder: Path, shipped: str, name: str, old: str, new: str) -> str:
    assert name not in SHIPPED
    path = folder / f"{name}.toml"
    path.write_text(shipped.replace("R2_POLICY_V1", name).replace(old, new), "utf-8")
    return str(path)


@contextlib.asynccontextmanager
async def opened(url: str, server: ModelServer, minilm: MiniLmEmbedder) -> AsyncIterator[Engine]:
    """Open an engine over a library, with the models of the server."""
    settings = settings_for(url, openai_base_url=server.openai_url, openai_api_key=SecretStr("sk-0123456789"))
    async with Engine.open(settings) as engine:
        engine._services._embedders["minilm"] = minilm
        yield engine


async def record(engine: Engine, server: ModelServer, case: Case) -> str:
    """Record the run of a case and return its id."""
    said = [text for text in case.says if isinstance(text, str)]
    server.answer = lambda _: said.pop(0)
    server.faults.extend(fault for fault in case.says if isinstance(fault, Fault))
    response = await engine.ask(case.request, RunContext(policy=case.policy, model=MODEL if case.says else None))
    assert (response.refusal_code or response.failure_code or "OK") == case.ends, response.message
    return response.run_id


async def stored(engine: Engine, run_id: str) -> StoredRun:
    """Return all stored data of a run."""
    (summary,) = await engine._services.run_log.find_runs(run_id)
    return await PostgresHistory(engine._services.pool).read(summary)


async def recorded(engine: Engine, run_id: str) -> RecordedRun:
    """Return the record of a run."""
    run = read_recorded(await stored(engine, run_id))
    assert isinstance(run, RecordedRun), run
    return run


async def verified(run: RecordedRun) -> RunReport:
    """Return the report on a run that can be recomputed."""
    report = await verify(run, load_shipped_release())
    assert not isinstance(report, NotReplayable), report
    return report


def drifts(report: RunReport) -> dict[str, list[str]]:
    """Return the layers that differ, each with the paths of its differences."""
    return {
        layer.layer: [difference.path for difference in layer.differences]
        for layer in report.layers
        if layer.verdict in ("DRIFT", "EDITED")
    }


@pytest.fixture(scope="module")
def kept(cluster: Cluster, filled: str, minilm: MiniLmEmbedder) -> RecordedRun:
    """The record of a run with a model's answer, for tests that need no database themselves."""

    async def make() -> RecordedRun:
        with ModelServer() as server:
            async with opened(url, server, minilm) as engine:
                return await recorded(engine, await record(engine, server, BROUGHT._replace(request=asked)))

    more = bundle([*ROWS, row(2, chunk_text="Drain the casing before winter.")], policy_version=None)
    asked, url = AskInput(retrieval_bundle=more), cluster.create(filled)
    try:
        return asyncio.run(make())
    finally:
        cluster.drop(url)


@pytest.fixture
def policies(tmp_path: Path) -> Policies:
    return write_policies(tmp_path)


def changed(run: RecordedRun, node: str, channel: str, change: Any) -> RecordedRun:
    """Copy a run with another value in a channel that a node wrote. `change` maps the recorded value to the new one."""
    steps = tuple(
        step.model_copy(update={"changes": {**step.changes, channel: change(step.changes[channel])}})
        if step.node == node
        else step
        for step in run.steps
    )
    return run.model_copy(update={"steps": steps})
