"""Runs that stop at named points and wait there to be killed, to lose their database or to be resumed.

This program reads cases from its standard input and runs them concurrently, as a server does. On its standard output it
reports which runs have reached their points and, after `go`, the result of each. Only this module wraps the product's
own functions with such points.
"""

import asyncio
import functools
import json
import sys
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import SecretStr

from sourcebound.contracts.state import RunContext
from sourcebound.errors import SourceboundError
from sourcebound.graph import checkpoint, workflow
from sourcebound.graph.engine import Engine
from sourcebound.models.openai import OpenAIBackend
from sourcebound.settings import Settings
from sourcebound.store.audit import log as audit
from sourcebound.store.runs.conversations import PostgresConversations
from sourcebound.store.runs.log import PostgresRunLog
from sourcebound.store.runs.model_answers import PostgresAnswerLog
from sourcebound.store.search.chunk_queries import ChunkSearch
from sourcebound.store.search.retriever import PostgresRetriever
from sourcebound.wiring import open_services

NODES = (
    "accept", "resolve", "retrieve", "assemble", "select_facts", "build_prompt", "generate", "validate", "record",
    "package",
)  # fmt: skip
INSIDE: tuple[tuple[str, type | Any, str], ...] = (
    ("noted", PostgresRunLog, "open"),
    ("begun", PostgresRunLog, "begin"),
    ("query kept", PostgresConversations, "keep"),
    ("opened", PostgresRetriever, "_open_matching_embedder"),
    ("searching", ChunkSearch, "begin"),
    ("answered", OpenAIBackend, "send"),
    ("kept", PostgresAnswerLog, "keep"),
    ("in the transaction", audit, "_append"),
    ("appended", audit.PostgresAuditLog, "append"),
)
"""The functions of the product after which a run may stop, each with the name of its point within the calling node."""
ASKING = ("resolve/asking", "select_facts/asking", "generate/asking")
"""The points at which the model server has the request and the run waits for the answer."""
WAVES: dict[str, tuple[str, ...]] = {
    "": ("start/noted", "start/saved", "accept/before", "resolve/kept"),
    "accept/begun": (
        "accept/begun", "accept/done", "accept/saved", "resolve/before", "resolve/asking", "resolve/answered",
    ),
    "resolve/query kept": (
        "resolve/query kept", "resolve/done", "resolve/saved", "retrieve/before", "retrieve/opened",
        "retrieve/searching", "retrieve/done", "retrieve/saved", "assemble/before", "assemble/done", "assemble/saved",
        "select_facts/before", "select_facts/asking", "select_facts/answered",
    ),
    "select_facts/kept": (
        "select_facts/kept", "select_facts/done", "select_facts/saved", "build_prompt/before", "build_prompt/done",
        "build_prompt/saved", "generate/before", "generate/asking", "generate/answered",
    ),
    "generate/kept": (
        "generate/kept", "generate/done", "generate/saved", "validate/before", "validate/done", "validate/saved",
        "record/before", "record/appended", "record/done", "record/saved", "package/before", "package/done",
        "package/in the transaction",
    ),
    "package/saved": ("package/saved",),
}  # fmt: skip
"""Every point, in waves. The runs of a wave first meet at a point after a commit that waits for the disk.

Their later commits do not wait for the disk, so a database that dies loses them.
"""
POINTS = tuple(point for wave in WAVES.values() for point in wave)
LOCKING = "package/in the transaction"
"""The point at which a run keeps all others from writing their audit records."""
KEY = "sk-right-0123456789"
MODEL = "openai:gpt-4.1"
Async = Callable[..., Awaitable[Any]]


class Case(NamedTuple):
    """One run, and the point at which it stops."""

    point: str
    run_id: str
    question: str
    conversation_id: str


@dataclass(frozen=True)
class World:
    """The environment of the runs: database, model server and policy."""

    database: str
    model_url: str
    policy: str

    def settings(self) -> Settings:
        return Settings(
            database_url=SecretStr(self.database),
            openai_base_url=self.model_url,
            openai_api_key=SecretStr(KEY),
            policy=self.policy,
        )


@dataclass
class Under:
    """A run in progress."""

    case: Case
    gate: asyncio.Barrier | None
    gate_point: str
    go: asyncio.Event
    here: str = "start"
    passed: set[str] = field(default_factory=set)

    async def reach(self, point: str) -> None:
        """Stop here, the first time, if this is the gate or the point of the case."""
        if point in self.passed:
            return
        self.passed.add(point)
        if self.gate and point == self.gate_point:
            await self.gate.wait()
        if point == self.case.point:
            say(reached=self.case.run_id)
            await self.go.wait()


UNDER: ContextVar[Under | None] = ContextVar("UNDER", default=None)


def say(**line: str) -> None:
    print(json.dumps(line), flush=True)


def put_points() -> None:
    """Wrap the functions of the product."""
    for label, owner, name in INSIDE:
        setattr(owner, name, stopping(getattr(owner, name), label))
    for node in NODES:
        setattr(workflow, node, surrounded(getattr(workflow, node), node))
    save = checkpoint.RunSaver.aput

    async def aput(self: Any, config: Any, saved: Any, metadata: Any, versions: Any) -> Any:
        place = await save(self, config, saved, metadata, versions)
        under = UNDER.get()
        if under and (under.here != "start" or metadata["source"] == "input"):
            await under.reach(f"{under.here}/saved")
        return place

    setattr(checkpoint.RunSaver, "aput", aput)  # noqa: B010  # mypy knows that it is a method


def stopping(function: Async, label: str) -> Async:
    """Wrap a function with a stop after it."""

    @functools.wraps(function)
    async def stopped(*arguments: Any, **options: Any) -> Any:
        result = await function(*arguments, **options)
        if under := UNDER.get():
            await under.reach(f"{under.here}/{label}")
        return result

    return stopped


def surrounded(node: Async, name: str) -> Async:
    """Wrap a node with a stop before it and one after it, and note that the run is in it."""

    @functools.wraps(node)
    async def noted(*arguments: Any, **options: Any) -> Any:
        under = UNDER.get()
        if under is None:
            return await node(*arguments, **options)
        under.here = name
        await under.reach(f"{name}/before")
        update = await node(*arguments, **options)
        await under.reach(f"{name}/done")
        return update

    return noted


async def ask(engine: Engine, under: Under) -> None:
    """Ask, and report the result: the response as JSON, or the code of the fault."""
    UNDER.set(under)
    case = under.case
    request = {"question": case.question, "run_id": case.run_id, "conversation_id": case.conversation_id}
    try:
        response = await engine.ask(request, RunContext(model=MODEL))  # type: ignore[arg-type]
        said = response.model_dump_json()
    except SourceboundError as error:
        said = error.failure_code
    say(run_id=case.run_id, said=said)


async def run_waves(world: World) -> None:
    """Start the cases that arrive on standard input and resume all of them on `go`, until the input ends."""
    async with open_services(world.settings()) as services:
        engine, tasks, go = Engine(services), list[asyncio.Task[None]](), asyncio.Event()
        while line := await asyncio.to_thread(sys.stdin.readline):
            order = json.loads(line)
            if "cases" in order:
                cases, gate_point = [Case(*case) for case in order["cases"]], order["gate"]
                gate = asyncio.Barrier(len(cases)) if gate_point else None
                tasks += [asyncio.create_task(ask(engine, Under(case, gate, gate_point, go))) for case in cases]
                continue
            services.pool.timeout = order["go"]
            go.set()
            await asyncio.gather(*tasks)
            tasks, go = [], asyncio.Event()


def main() -> None:
    world = World(**json.loads(sys.stdin.readline()))
    put_points()
    asyncio.run(run_waves(world))


if __name__ == "__main__":
    main()
