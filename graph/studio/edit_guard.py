"""Guards every node for a host that lets people edit the state of a run and fork it.

A node trusts the channels that earlier nodes wrote. With such a host it cannot: the guard finds an edited channel
before a node reads it, and the run ends as FAILED with the clause that it breaks (CP-1). An edit of a layer's input is
marked in the run, its record and its response (CP-11). A run that has ended never continues: a continuation from one of
its checkpoints is a new run with its own record (S-2, R5P-1). The next run of a thread starts with nothing of the
previous one except the messages.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from sourcebound.contracts.audit.agreement import CANCELLED, REPLACED
from sourcebound.contracts.outcome import fail_with
from sourcebound.contracts.ports import StartPoint
from sourcebound.contracts.replay.edited_state import StateEdit, find_state_edit
from sourcebound.contracts.request import Run
from sourcebound.contracts.state import RunContext, State
from sourcebound.contracts.versions import THIS_VERSION
from sourcebound.errors import RequestError
from sourcebound.graph.routing import BEFORE_THE_ANSWER, FORKABLE
from sourcebound.graph.studio.conclusions import find_edited_conclusion
from sourcebound.graph.workflow import Node, Ports
from sourcebound.nodes.accept import new_salt

Update = dict[str, Any]
Guarded = Callable[[State, Runtime[RunContext], RunnableConfig], Awaitable[Update]]
OF_A_RUN: Final = (
    "resolution", "retrieval", "assembly", "facts", "prompt", "generation", "validation", "attempts", "audit",
    "response",
)  # fmt: skip
"""Channels that a run leaves in its thread, and that the next run must not see."""
INDISPENSABLE: Final = ("run", "outcome")
"""Channels that a run needs in order to fail."""


def guard_edited_state(ports: Ports) -> Callable[[str, Node], Node]:
    """Wrap each node so that it may be the first after an edit, or the first of the thread's next run.

    Args:
        ports: The ports of the graph; the run log knows whether a run has ended, and opens a new one.

    Returns:
        The wrapper for `build_graph`.
    """

    def wrap(name: str, node: Node) -> Guarded:
        async def begin(state: State, runtime: Runtime[RunContext], config: RunnableConfig) -> Update:
            return await _begin(node, state, runtime, config, ports)

        async def resume(state: State, runtime: Runtime[RunContext], config: RunnableConfig) -> Update:
            edit = find_state_edit(state, name) or await find_edited_conclusion(state, name)
            failed = _fail_edited(edit, name) if edit else {}
            identity = await _find_identity(name, state, runtime, config, ports)
            if edit and name in FORKABLE:
                return {**identity, **failed}
            return {**identity, **failed, **await node({**state, **identity, **failed})}

        return begin if name == "accept" else resume

    return wrap


async def _begin(
    accept: Node, state: State, runtime: Runtime[RunContext], config: RunnableConfig, ports: Ports
) -> Update:
    """Open a run on a thread that may have had others. A branch from the input of an ended run gets an id of its own.

    Raises:
        RequestError: The input names a run that has ended.
        SourceboundError: As `accept`.
    """
    renamed: Update = {}
    if state.get("run_id") and await ports.run_log.find_end(state["run_id"]):
        start = await _find_start(runtime, config, ports, wait=True, is_first=True)
        if not start.is_branch:
            raise RequestError(
                f"there is a run {state['run_id']!r} already.", "Omit run_id, or give a new one.", code="RUN_EXISTS"
            )
        renamed = {"run_id": None}
    cleared = {name: None for name in OF_A_RUN if state.get(name)}
    begun = {**renamed, **cleared, **await accept({**state, **renamed}, runtime, config)}
    await ports.run_log.end_unfinished(_thread_id(config), begun["run"]["run_id"])
    return begun


async def _find_identity(
    name: str, state: State, runtime: Runtime[RunContext], config: RunnableConfig, ports: Ports
) -> Update:
    """Return the identity of the run that continues here: its own or that of a fork, marked if a person edited it.

    Raises:
        RequestError: The run has ended, and the node would write to it again; or as `_fork`.
        StoreError: The database does not answer.
    """
    run = Run.model_validate(state["run"])
    end = await ports.run_log.find_end(run.run_id)
    has_ended = end is not None
    start = await _find_start(runtime, config, ports, wait=has_ended)
    if has_ended and name not in FORKABLE and (start.is_branch or end in (REPLACED, CANCELLED)):
        raise RequestError(
            f"run {run.run_id} has ended, and nothing is written to it again.",
            "Continue from a checkpoint before record: a new run begins there.",
            code="RUN_ENDED",
        )
    context = runtime.context or RunContext()
    begun = await _fork(name, run, has_ended, context, config, ports) if name in FORKABLE else run
    if start.is_edited:
        begun = begun.model_copy(update={"evidence_supplied_by_hand": True})
    return {"run": begun.model_dump(mode="json")} if begun != run else {}


async def _find_start(
    runtime: Runtime[RunContext], config: RunnableConfig, ports: Ports, *, wait: bool, is_first: bool = False
) -> StartPoint:
    """Describe the checkpoint from which this node starts."""
    if runtime.execution_info is None:
        return StartPoint(is_branch=False, is_edited=False)
    checkpoint_id = runtime.execution_info.checkpoint_id
    return await ports.lineage.find_start(_thread_id(config), checkpoint_id, wait=wait, is_first=is_first)


def _thread_id(config: RunnableConfig) -> str:
    return str(config["configurable"]["thread_id"])


def _fail_edited(edit: StateEdit, name: str) -> Update:
    """Return the failed outcome, and clear the edited channel so that no later node reads it.

    Raises:
        RequestError: The state holds no run that could fail.
    """
    if edit.channel in INDISPENSABLE:
        raise RequestError(f"{edit.violation.message}.", "Continue from another checkpoint.", code="STATE_ALTERED")
    return {"outcome": fail_with(name, (edit.violation,)).model_dump(mode="json"), edit.channel: None}


async def _fork(name: str, run: Run, has_ended: bool, context: RunContext, config: RunnableConfig, ports: Ports) -> Run:
    """Return the fork that starts here, or the run itself if it continues.

    Raises:
        RequestError: The context names another model, and the model of the run has answered already.
        StoreError: The database does not answer.
    """
    thread_id, model = _thread_id(config), context.model or run.model
    if model != run.model and name not in BEFORE_THE_ANSWER:
        raise RequestError(
            f"the answer at this checkpoint is that of {run.model}.",
            "To ask another model, continue from a checkpoint before generate.",
            code="ALREADY_ANSWERED",
        )
    if (run.model, run.thread_id) == (model, thread_id) and not has_ended:
        return run
    identity = {"run_id": ports.new_id(), "thread_id": thread_id, "model": model, "conversation_id": None}
    started = {"started_at": datetime.now(UTC).isoformat(), "salt": new_salt(), "made_by": THIS_VERSION}
    fork = run.model_copy(update=identity | started)
    await ports.run_log.begin(fork)
    return fork
