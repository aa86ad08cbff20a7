"""A preview of a run up to selection: admission, retrieval and selection, by the graph's own nodes.

No model is called and no run is recorded, so the result must not be released as an answer.
"""

from datetime import UTC, datetime
from typing import cast

from sourcebound.contracts.admission import admit
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.outcome import Outcome, Status
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.run_page.search_report import SearchReport, report_search
from sourcebound.contracts.state import AskInput, RunContext, State
from sourcebound.contracts.versions import THIS_VERSION
from sourcebound.graph.workflow import Ports
from sourcebound.nodes.accept import resolve_settings
from sourcebound.nodes.assemble import assemble
from sourcebound.nodes.retrieve import retrieve

NO_MODEL = "none"


async def search(request: AskInput, context: RunContext, ports: Ports) -> SearchReport:
    """Retrieve and select for a question as a run would.

    Args:
        request: A question, its collection, filters and limits.
        context: The policy, where it differs from the defaults.
        ports: The ports of the graph; run log, audit log and models are not used.

    Returns:
        The report, whatever the outcome.

    Raises:
        SourceboundError: The policy does not exist, a limit would loosen it, or the database did not answer.
    """
    settings = await resolve_settings(
        request, context, catalog=ports.catalog, find_policy=ports.find_policy, defaults=ports.defaults
    )
    run, outcome = admit(
        request,
        settings.policy,
        settings.collection,
        collection_name=settings.collection_name,
        model=NO_MODEL,
        thread_id="",
        new_id=ports.new_id,
        started_at=datetime.now(UTC).isoformat(),
        made_by=THIS_VERSION,
    )
    state = cast("State", {"run": run.model_dump(mode="json"), "policy": settings.policy.model_dump(mode="json")})
    if outcome.status is Status.OK:
        state |= cast("State", await retrieve(state, retriever=ports.retriever))
        outcome = Outcome.model_validate(state["outcome"])
    if outcome.status is Status.OK:
        state |= cast("State", await assemble(state))
        outcome = Outcome.model_validate(state["outcome"])
    bundle = RetrievalBundle.model_validate(state["retrieval"]) if "retrieval" in state else None
    assembled = AnswerBundle.model_validate(state["assembly"]) if "assembly" in state else None
    return report_search(run, settings.policy, outcome, bundle, assembled)
