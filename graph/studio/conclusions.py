"""CP-11: compares what the earlier layers concluded with what they conclude from the same input, before it is used.

Assembly and prompt are functions of the retrieval bundle, the policy and the recorded choice of facts. If a person
edited one of them, or the bundle after it was assembled, the nodes do not give it again.
"""

from typing import Any, Final, cast

from sourcebound.contracts.outcome import FailureCode, Outcome, Status, Violation
from sourcebound.contracts.replay.edited_state import StateEdit
from sourcebound.contracts.state import State
from sourcebound.errors import DATA_ERRORS
from sourcebound.graph.replay.recompute import replay_facts
from sourcebound.nodes.assemble import assemble
from sourcebound.nodes.build_prompt import build_prompt

WITHOUT_PROMPT: Final = ("select_facts", "build_prompt")
"""Nodes that read the assembly before the next prompt is built."""
BEFORE_ASSEMBLY: Final = ("resolve", "retrieve", "assemble")


async def find_edited_conclusion(state: State, node: str) -> StateEdit | None:
    """Recompute assembly and prompt, and compare them with those of the state.

    Args:
        state: The state, whose channels fit their contracts.
        node: The next node.

    Returns:
        The first channel that differs; None if the nodes give the same again, or did not run yet, or if the run
        releases nothing.
    """
    is_released = Outcome.model_validate(state["outcome"]).status is Status.OK
    if not is_released or node in BEFORE_ASSEMBLY or not state.get("assembly") or not state.get("retrieval"):
        return None
    try:
        computed = await _recompute(state, node)
    except DATA_ERRORS as error:
        return _build_edit("assembly", f"it cannot be computed from the retrieval bundle ({type(error).__name__})")
    for channel in ("assembly", "prompt"):
        if channel in computed and computed[channel] != state.get(channel):
            return _build_edit(channel, "it is not what the earlier layers give from the retrieval bundle")
    return None


async def _recompute(state: State, node: str) -> dict[str, Any]:
    """Return the assembly, and the prompt if there is one, as the nodes give them."""
    attempts = state.get("attempts") or []
    run_id = (state["assembly"].get("trace") or {}).get("run_id") or state["run"]["run_id"]  # a fork keeps the assembly
    begun: dict[str, Any] = {**state, "run": {**state["run"], "run_id": run_id}, "attempts": []}
    computed = await assemble(cast("State", begun))
    if state.get("facts"):
        computed |= await replay_facts(cast("State", begun | computed), state["facts"])
    is_built = node not in WITHOUT_PROMPT
    for number in range(len(attempts) + is_built):
        computed |= await build_prompt(cast("State", begun | computed | {"attempts": attempts[:number]}))
    return computed if is_built else {"assembly": computed["assembly"]}


def _build_edit(channel: str, reason: str) -> StateEdit:
    message = f"the checkpoint was altered: {channel}: {reason}"
    return StateEdit(channel, Violation(code=FailureCode.STATE_ALTERED, clause="CP-11", message=message, field=channel))
