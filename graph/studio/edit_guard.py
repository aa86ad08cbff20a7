"""What goes on from a checkpoint: for a host that lets people edit a run's state and branch off from it.

A node trusts the channels that the nodes before it wrote. Here it may not: an altered channel is found before a node
reads it, and ends the run as FAILED with the clause that it breaks (contract CP-1). And a run that has ended cannot go
on: what goes on from one of its checkpoints is a run of its own, with its own record (S-2, R5P-1). The same holds for
the next run of a thread: it begins with nothing of the one before but the messages.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from sourcebound.contracts.outcome import fail_with
from sourcebound.contracts.replay.edited_state import StateEdit, find_state_edit
from sourcebound.contracts.request import Run
from sourcebound.contracts.state import RunContext, State
from sourcebound.errors import RequestError
from sourcebound.graph.workflow import Node, Ports

Update = dict[str, Any]
Guarded = Callable[[State, Runtime[RunContext], RunnableConfig], Awaitable[Update]]
OF_A_RUN: Final = (
    "resolution", "retrieval", "assembly", "facts", "prompt", "generation", "validation", "attempts", "audit",
    "response",
)  # fmt: skip
"""What a run leaves in its thread, and the next one must not find."""
INDISPENSABLE: Final = ("run", "outcome")
"""Channels without which there is no run to end."""
BEFORE_THE_ANSWER: Final = ("resolve", "retrieve", "assemble", "select_facts", "build_prompt", "generate")
BRANCHING: Final = (*BEFORE_THE_ANSWER, "validate")
"""Nodes that a branch may begin with; from there on, what was recorded is not recorded otherwise (R5P-1)."""


def guard_edited_state(ports: Ports) -> Callable[[str, Node], Node]:
    """Makes each node one that may be the first after an edit, or the first of a thread's next run.

    Args:
        ports: What tells whether a run has ended, and opens a new one.

    Returns:
        What `build_graph` puts around a node.
    """

    def around(name: str, node: Node) -> Guarded:
        async def begin(state: State, runtime: Runtime[RunContext], config: RunnableConfig) -> Update:
            return await _begin(node, state, runtime, config, ports)

        async def go_on(state: State, runtime: Runtime[RunContext], config: RunnableConfig) -> Update:
            found = find_state_edit(state, name)
            failed = _take_out(found, name) if found else {}
            context = runtime.context or RunContext()
            branch = await _branch(name, state, context, config, ports) if name in BRANCHING else {}
            if found and name in BRANCHING:
                return {**branch, **failed}
            return {**branch, **failed, **await node({**state, **branch, **failed})}

        return begin if name == "accept" else go_on

    return around


async def _begin(
    accept: Node, state: State, runtime: Runtime[RunContext], config: RunnableConfig, ports: Ports
) -> Update:
    """Opens a run on a thread that may have had others.

    Raises:
        RequestError: The input names a run that has ended.
        SourceboundError: As `accept`.
    """
    if state.get("run_id") and await ports.run_log.has_ended(state["run_id"]):
        raise RequestError(
            f"there is a run {state['run_id']!r} already.", "Leave run_id out, or give a new one.", code="RUN_EXISTS"
        )
    return {**{name: None for name in OF_A_RUN if state.get(name)}, **await accept(state, runtime, config)}


def _take_out(found: StateEdit, name: str) -> Update:
    """The failed outcome; the altered channel is taken out, so that nothing reads it afterwards.

    Raises:
        RequestError: There is no run left that could fail.
    """
    if found.channel in INDISPENSABLE:
        raise RequestError(f"{found.violation.message}.", "Go on from another checkpoint.", code="STATE_ALTERED")
    return {"outcome": fail_with(name, (found.violation,)).model_dump(mode="json"), found.channel: None}


async def _branch(name: str, state: State, context: RunContext, config: RunnableConfig, ports: Ports) -> Update:
    """The identity of the run that goes on here; nothing where it is the one that got here.

    Raises:
        RequestError: The context names another model than the run's where that one has answered already.
        StoreError: The database does not answer.
    """
    run, thread_id = Run.model_validate(state["run"]), str(config["configurable"]["thread_id"])
    model = context.model or run.model
    if model != run.model and name not in BEFORE_THE_ANSWER:
        raise RequestError(
            f"the answer at this checkpoint is that of {run.model}.",
            "To ask another model, go on from a checkpoint before generate.",
            code="ALREADY_ANSWERED",
        )
    if (run.model, run.thread_id) == (model, thread_id) and not await ports.run_log.has_ended(run.run_id):
        return {}
    identity = {"run_id": ports.new_id(), "thread_id": thread_id, "model": model, "conversation_id": None}
    branch = run.model_copy(update={**identity, "started_at": datetime.now(UTC).isoformat()})
    await ports.run_log.begin(branch)
    return {"run": branch.model_dump(mode="json")}
