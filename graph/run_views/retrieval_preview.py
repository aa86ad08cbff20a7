"""The front half of a run, for looking at: admission, retrieval and selection, by the graph's own nodes.

No model is asked and no run is recorded, so nothing that is found this way may be released as an answer.
"""

from datetime import UTC, datetime
from typing import cast

from sourcebound.contracts.admission import admit
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.outcome import Outcome, Status
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.run_page.search_report import SearchReport, report_search
from sourcebound.contracts.state import AskInput, RunContext, State
from sourcebound.graph.workflow import Ports
from sourcebound.nodes.accept import resolve_settings
from sourcebound.nodes.assemble import assemble
from sourcebound.nodes.retrieve import retrieve

NO_MODEL = "none"


async def search(request: AskInput, context: RunContext, ports: Ports) -> SearchReport:
    """Retrieves and selects for a question as a run would.

    Args:
        request: A question, its collection, filters and limits.
        context: The policy, where it differs from the defaults.
        ports: What the graph's nodes reach; run log, audit log and models are left alone.

    Returns:
        The report, whatever the outcome.

    Raises:
        SourceboundError: There is no such policy, a limit would loosen it, or the database did not answer.
    """
    settled = await resolve_settings(
        request, context, catalog=ports.catalog, find_policy=ports.find_policy, defaults=ports.defaults
    )
    run, outcome = admit(
        request,
        settled.policy,
        settled.collection,
        collection_name=settled.collection_name,
        model=NO_MODEL,
        thread_id="",
        new_id=ports.new_id,
        started_at=datetime.now(UTC).isoformat(),
    )
    state = cast("State", {"run": run.model_dump(mode="json"), "policy": settled.policy.model_dump(mode="json")})
    if outcome.status is Status.OK:
        state |= cast("State", await retrieve(state, retriever=ports.retriever))
        outcome = Outcome.model_validate(state["outcome"])
    if outcome.status is Status.OK:
        state |= cast("State", await assemble(state))
        outcome = Outcome.model_validate(state["outcome"])
    bundle = RetrievalBundle.model_validate(state["retrieval"]) if "retrieval" in state else None
    assembled = AnswerBundle.model_validate(state["assembly"]) if "assembly" in state else None
    return report_search(run, settled.policy, outcome, bundle, assembled)
