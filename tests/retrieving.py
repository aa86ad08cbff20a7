"""Retrieval alone, for tests: one question of the example manuals under a policy with other values."""

from typing import Any, Final

from databases import COLLECTION

from sourcebound.contracts.policy import Policy
from sourcebound.contracts.request import Filters, Run
from sourcebound.contracts.retrieval import RetrievalBundle
from sourcebound.graph.engine import new_id
from sourcebound.wiring import Services, find_policy

QUESTION: Final = "To what torque are the gland bolts of the mechanical seal tightened?"


def run_for(question: str, policy: Policy, **filters: Any) -> Run:
    return Run(
        request_id=new_id(),
        run_id=new_id(),
        thread_id="thread",
        question=question,
        collection=COLLECTION,
        filters=Filters.model_validate(filters),
        model="extractive",
        policy_version=policy.policy_version,
        policy_sha256=policy.sha256,
        entry="question",
        started_at="2025-01-01T00:00:00+00:00",
    )


def policy_with(name: str = "SOURCEBOUND_V1", **retrieval: Any) -> Policy:
    policy = find_policy(name, embedding_model=None)
    return policy.model_copy(update={"retrieval": policy.retrieval.model_copy(update=retrieval)})


async def retrieve(
    services: Services, question: str = QUESTION, policy: Policy | None = None, **filters: Any
) -> RetrievalBundle:
    chosen = policy or policy_with()
    return await services.retriever.retrieve(run_for(question, chosen, **filters), chosen)


def ids(bundle: RetrievalBundle) -> list[str]:
    return [row.chunk_id for row in bundle.results]
