"""R2: validates the retrieval bundle and selects the evidence."""

from typing import Any

from sourcebound.contracts.evidence import assemble as assembly
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Run
from sourcebound.contracts.state import State


async def assemble(state: State) -> dict[str, Any]:
    """Write `assembly`."""
    run, policy = Run.from_json(state["run"]), Policy.from_json(state["policy"])
    bundle = assembly.assemble(state["retrieval"], policy, run)
    return {"assembly": bundle.to_json(), "outcome": bundle.outcome.to_json()}
