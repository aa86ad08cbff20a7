"""R1: retrieves the candidates.

An error of the index or the embedder ends the run as RETRIEVAL_FAILED (contract S-3), and an altered chunk ends it as
CHUNK_ALTERED (IX-3), because an answer from the other chunks could lack exactly what was altered. If the database does
not answer, the run is interrupted (CP-2), because its state is then unknown.
"""

from typing import Any

from sourcebound.contracts.outcome import FailureCode, fail, proceed
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.ports import Retriever
from sourcebound.contracts.request import Run
from sourcebound.contracts.state import State
from sourcebound.errors import SourceboundError, StoreError
from sourcebound.nodes._faults import describe, fail_in_public

STAGE = "retrieve"


async def retrieve(state: State, *, retriever: Retriever) -> dict[str, Any]:
    """Write `retrieval`."""
    run, policy = Run.from_json(state["run"]), Policy.from_json(state["policy"])
    try:
        bundle = await retriever.retrieve(run, policy)
    except SourceboundError as error:
        if isinstance(error, StoreError) and error.is_unavailable:
            raise
        if error.failure_code == FailureCode.CHUNK_ALTERED:
            return {"outcome": fail(STAGE, FailureCode.CHUNK_ALTERED, str(error)).to_json()}
        return {"outcome": fail_in_public(run, STAGE, FailureCode.RETRIEVAL_FAILED, describe(error)).to_json()}
    return {"retrieval": bundle.to_json(), "outcome": proceed(STAGE).to_json()}
