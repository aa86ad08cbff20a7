"""A run that is walked leaves the checkpoints that LangGraph's own loop leaves, to the last channel (CP-1, CP-2)."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.context import collect_runs
from langgraph.checkpoint.memory import InMemorySaver

from sourcebound.contracts.base import Contract, ModelJson
from sourcebound.contracts.conversation.turns import Turn
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.contracts.request import Run
from sourcebound.contracts.state import AskInput, JsonObject, RunContext, State
from sourcebound.contracts.validation.result import ValidationResult
from sourcebound.errors import StoreError
from sourcebound.graph.direct_runner import DirectRunner, Node, can_run_directly
from sourcebound.graph.routing import ROUTES
from sourcebound.graph.workflow import build_graph, make_nodes
from support.builders import SEAL, bundle, generation, policy, row
from support.fakes import FakeAuditLog, FakeModel, FakeOutside, FakeRetriever, Talker

QUESTION = "How often must the shaft seal be checked?"
CONTEXT = RunContext()
FACTS = {"filter": "local", "min_question_overlap": 0.1}
EARLIER = Turn(run_id="run-0", thread_id="run-0", ordinal=1, status=Status.OK, question=QUESTION, search_query=QUESTION)
MEASURED = re.compile(r'"(?:timestamp_utc|started_at|row_hash|salt|\w+_digest|\w*latency_ms)": (?:"[^"]*"|[\d.]+)')
Checkpoints = list[dict[str, Any]]


class Notes(InMemorySaver):
    """Keeps what it is given, with names for what differs from run to run."""

    def __init__(self) -> None:
        super().__init__()
        self.given: Checkpoints = []
        self._places: dict[str | None, int] = {None: 0}

    def get_next_version(self, current: Any, channel: None = None) -> str:
        return f"{int(current or 0) + 1:06}"

    def defer_to_record(self, thread_id: str) -> None:
        self._held = (len(self.given), {**self._places})

    def discard_deferred(self, thread_id: str) -> None:
        given, self._places = self._held
        del self.given[given:]

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self._places[checkpoint["id"]] = len(self._places)
        form = {
            **checkpoint,
            "id": self._places[checkpoint["id"]],
            "parent": self._places[config["configurable"].get("checkpoint_id")],
            "new": new_versions,
            "metadata": metadata,
        }
        del form["ts"]
        self.given.append(json.loads(MEASURED.sub('"": 0', json.dumps(form, sort_keys=True))))
        return await super().aput(config, deepcopy(checkpoint), metadata, new_versions)


def _outside(*answers: str, results: int = 2, facts: Any = None) -> FakeOutside:
    said = [generation(answer) for answer in answers or (f"{SEAL} [C0]",)]
    rows = [row(number, chunk_text=f"{SEAL} {number}") for number in range(results)]
    found = bundle(rows, retrieval_status="SUCCESS" if rows else "NO_EVIDENCE")
    chosen = policy(validation={"literal_grounding": "enforce", "max_attempts": 2}, facts=facts)
    return FakeOutside(chosen, FakeRetriever(found), Talker(answers=said))


def _unrecorded() -> FakeOutside:
    outside = _outside()
    outside.audit_log = FakeAuditLog(StoreError("it is full.", "Free some.", code="NO_DISK_SPACE"))
    return outside


def _in_a_conversation() -> FakeOutside:
    outside = _outside()
    outside.conversations.turns = [EARLIER]
    return outside


ASKED: AskInput = {"question": QUESTION, "request_id": "request-1", "run_id": "run-1"}
RUNS = [
    pytest.param(_outside, ASKED, "OK", id="answered"),
    pytest.param(lambda: _outside("It is blue.", f"{SEAL} [C0]"), ASKED, "OK", id="answered at the second attempt"),
    pytest.param(lambda: _outside("It is blue."), ASKED, "FAILED", id="rejected"),
    pytest.param(lambda: _outside(results=0), ASKED, "NO_EVIDENCE", id="nothing found"),
    pytest.param(lambda: _outside(facts=FACTS), ASKED, "OK", id="with a facts phase"),
    pytest.param(_outside, {**ASKED, "question": " "}, "FAILED", id="not accepted"),
    pytest.param(_outside, {**ASKED, "collection": "nowhere", "unknown": 1}, "NO_EVIDENCE", id="no collection"),
    pytest.param(_outside, {"retrieval_bundle": bundle([row(chunk_text=SEAL)])}, "OK", id="bundle"),
    pytest.param(_outside, {"messages": [{"role": "user", "content": QUESTION}]}, "OK", id="chat"),
    pytest.param(_in_a_conversation, {**ASKED, "conversation_id": "talk-1"}, "OK", id="conversation"),
    pytest.param(_unrecorded, ASKED, "FAILED", id="not recorded"),
]


def _direct_runner(outside: FakeOutside) -> DirectRunner:
    ports = outside.ports()
    return DirectRunner(make_nodes(ports), build_graph(ports).compile())


@pytest.mark.contract("CP-1")
@pytest.mark.contract("CP-2")
@pytest.mark.parametrize(("outside", "asked", "status"), RUNS)
async def test_the_checkpoints_of_a_walk_are_those_of_langgraph(
    outside: Callable[[], FakeOutside], asked: AskInput, status: str
) -> None:
    theirs, ours = Notes(), Notes()
    graph = build_graph(outside().ports()).compile(checkpointer=theirs)
    passed: list[str] = []
    nodes = [
        name
        async for update in graph.astream(asked, {"configurable": {"thread_id": "run-1"}}, stream_mode="updates")
        for name in update
    ]
    state = await _direct_runner(outside()).run(asked, "run-1", CONTEXT, ours, passed.append)  # type: ignore[arg-type]
    assert ours.given == theirs.given
    assert (state["response"]["status"], passed) == (status, nodes)
    snapshot = (
        await build_graph(outside().ports())
        .compile(checkpointer=ours)
        .aget_state({"configurable": {"thread_id": "run-1"}})
    )
    assert (snapshot.values, snapshot.next) == (state, ())


@pytest.mark.contract("CP-1")
async def test_no_layer_changes_what_the_layers_before_it_wrote_or_read() -> None:
    passed: set[str] = set()

    def watched(name: str, node: Node) -> Node:
        @wraps(node)
        async def watching(state: State, **offers: Any) -> JsonObject:
            before = deepcopy(state)
            written = await node(state, **offers)
            assert state == before
            for form in state.values():
                if isinstance(form, ModelJson) and isinstance(read := getattr(form, "read", None), Contract):
                    assert type(read).model_validate(form) == read
                    passed.add(name)
            return written

        return watching

    for run in RUNS:
        make_outside, asked, status = run.values
        ports = make_outside().ports()  # type: ignore[operator]
        nodes = {name: watched(name, node) for name, node in make_nodes(ports).items()}
        walker = DirectRunner(nodes, build_graph(ports).compile())
        state = await walker.run(asked, "run-1", CONTEXT, Notes())  # type: ignore[arg-type]
        assert state["response"]["status"] == status
    assert passed == {*make_nodes(ports)} - {"accept"}


@pytest.mark.contract("CP-1")
async def test_a_form_is_read_by_the_first_layer_that_needs_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    walker, validated = _direct_runner(_outside()), Counter[str]()

    def count(cls: type[Contract], form: Any) -> Any:
        validated[cls.__name__] += 1
        return cls.__pydantic_validator__.validate_python(form)

    monkeypatch.setattr(Contract, "model_validate", classmethod(count))
    await walker.run(ASKED, "run-1", CONTEXT, Notes())  # type: ignore[arg-type]
    read = (Run, Policy, AnswerBundle, Prompt, Generation, ValidationResult)
    assert [(model.__name__, validated[model.__name__]) for model in read] == [(model.__name__, 1) for model in read]


@pytest.mark.contract("CP-2")
@pytest.mark.parametrize("node", ["accept", *ROUTES])
async def test_langgraph_goes_on_with_a_walk_that_ended_early(node: str) -> None:
    """After any interruption, completed nodes do not run again."""
    outside, saver = _outside(facts=FACTS if node == "select_facts" else None), Notes()
    walker = _direct_runner(outside)

    async def cut_off(*arguments: Any, **options: Any) -> Any:
        raise StoreError("the store is away.", "Wait.")

    walker._nodes = {**walker._nodes, node: cut_off}
    asked: AskInput = {**ASKED, "conversation_id": "talk-1"} if node == "resolve" else ASKED
    with pytest.raises(StoreError):
        await walker.run(asked, "run-1", CONTEXT, saver)  # type: ignore[arg-type]
    searched = outside.retriever.calls
    graph = build_graph(outside.ports()).compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "run-1"}}
    assert (await graph.aget_state(config)).next == (node,)
    nodes = [name async for update in graph.astream(None, config, stream_mode="updates") for name in update]
    assert (nodes[0], nodes[-1]) == (node, "package")
    assert (await graph.aget_state(config)).values["response"]["status"] == "OK"
    assert outside.retriever.calls == max(searched, 1)


@pytest.mark.contract("CP-2")
async def test_a_checkpoint_is_taken_before_the_next_node_begins() -> None:
    seen: list[tuple[str, int]] = []

    class Slow(Notes):
        async def aput(self, *arguments: Any) -> Any:
            await asyncio.sleep(0)
            return await super().aput(*arguments)

    saver, outside = Slow(), _outside()
    walker = _direct_runner(outside)

    def noting(name: str, node: Any) -> Any:
        async def noted(*arguments: Any, **options: Any) -> Any:
            seen.append((name, len(saver.given)))
            return await node(*arguments, **options)

        return noted

    walker._nodes = {name: noting(name, node) for name, node in walker._nodes.items()}
    await walker.run(ASKED, "run-1", CONTEXT, saver)  # type: ignore[arg-type]
    assert [number for _, number in seen] == list(range(2, 2 + len(seen)))


async def test_a_run_to_which_somebody_listens_is_langgraphs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert can_run_directly()

    async def ask(_: object) -> bool:
        return can_run_directly()

    inside = RunnableLambda(ask)
    assert not await inside.ainvoke(None, {"callbacks": [AsyncCallbackHandler()]})
    with collect_runs():
        assert not can_run_directly()
    assert can_run_directly()
    monkeypatch.setattr("sourcebound.graph.direct_runner.tracing_is_enabled", lambda: True)
    assert not can_run_directly()


@pytest.mark.contract("CP-9")
@pytest.mark.parametrize(
    ("release", "is_tested"), [("1.2.0", True), ("1.2.99", True), ("1.3.0", False), ("1.20.0", False)]
)
def test_a_langgraph_that_was_not_tested_runs_by_its_own_loop(
    monkeypatch: pytest.MonkeyPatch, release: str, is_tested: bool
) -> None:
    monkeypatch.setattr("sourcebound.graph.direct_runner.INSTALLED_LANGGRAPH", release)
    assert can_run_directly() is is_tested


async def test_what_a_model_is_shown_is_the_same_either_way() -> None:
    prompts = []
    for walked in (True, False):
        outside = _outside()
        outside.model = FakeModel(generation(f"{SEAL} [C0]"))
        if walked:
            await _direct_runner(outside).run(ASKED, "run-1", CONTEXT, Notes())  # type: ignore[arg-type]
        else:
            await build_graph(outside.ports()).compile().ainvoke(ASKED)
        prompts.append([prompt.prompt_sha256 for prompt in outside.model.prompts])
    assert prompts[0] == prompts[1] != []
