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

STAGE = "retrieve"


async def retrieve(state: State, *, retriever: Retriever) -> dict[str, Any]:
    """Write `retrieval`."""
    run, policy = Run.from_json(state["run"]), Policy.from_json(state["policy"])
    try:
        bundle = await retriever.retrieve(run, policy)
    except SourceboundError as error:
        if isinstance(error, StoreError) and error.is_unavailable:
            raise
        is_altered = error.failure_code == FailureCode.CHUNK_ALTERED
        code = FailureCode.CHUNK_ALTERED if is_altered else FailureCode.RETRIEVAL_FAILED
        return {"outcome": fail(STAGE, code, str(error)).to_json()}
    return {"retrieval": bundle.to_json(), "outcome": proceed(STAGE).to_json()}
