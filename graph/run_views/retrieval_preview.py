"""A preview of a run up to selection: admission, retrieval and selection, by the graph's own nodes.

No model is called and no run is recorded, so the result must not be released as an answer.
"""

from datetime import UTC, datetime
from typing import NamedTuple, cast

from sourcebound.contracts.admission import admit
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, EvidenceChunk
from sourcebound.contracts.outcome import Outcome, RefusalCode, Status
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Run
from sourcebound.contracts.response.advice import advise, say_why
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.run_page.search_report import SearchReport, report_search
from sourcebound.contracts.state import AskInput, RunContext, State
from sourcebound.contracts.versions import THIS_VERSION
from sourcebound.errors import RequestError
from sourcebound.graph.workflow import Ports
from sourcebound.nodes.accept import resolve_settings
from sourcebound.nodes.assemble import assemble
from sourcebound.nodes.retrieve import retrieve

NO_MODEL = "none"


class Preview(NamedTuple):
    """The way of a question through admission, retrieval and selection."""

    run: Run
    policy: Policy
    outcome: Outcome
    """The outcome of the last stage that ran."""
    bundle: RetrievalBundle | None
    assembled: AnswerBundle | None


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
    return report_search(*await _preview(request, context, ports))


async def find_evidence(request: AskInput, context: RunContext, ports: Ports) -> tuple[EvidenceChunk, ...]:
    """Retrieve and select for a question as a run would, and return what its prompt would show.

    Args:
        request: As for `search`.
        context: As for `search`.
        ports: As for `search`.

    Returns:
        The evidence in the order of its anchors; nothing if the gate or the selection refuses the question.

    Raises:
        SourceboundError: As `search`; or retrieval or selection failed, or there is no such collection, with the code
            of the run's outcome.
    """
    _, _, outcome, _, assembled = await _preview(request, context, ports)
    if outcome.status is Status.FAILED or outcome.refusal_code is RefusalCode.COLLECTION_NOT_FOUND:
        code = outcome.failure_code or outcome.refusal_code or ""
        raise RequestError(f"{say_why(outcome, NO_MODEL)}.", advise(outcome) or "", code=code)
    return assembled.selected_evidence if assembled and outcome.status is Status.OK else ()


async def _preview(request: AskInput, context: RunContext, ports: Ports) -> Preview:
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
    return Preview(run, settings.policy, outcome, bundle, assembled)
