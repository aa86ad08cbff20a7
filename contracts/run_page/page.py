"""The page of a recorded run, from which every renderer shows the run to people (contract R6-7, CP-1, R5P-4).

The page is built from what the layers recorded. It measures nothing again and decides nothing. Missing data is None: a
run that ended early has no later layers, and a run without checkpoints has only its row and its audit records.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sourcebound.contracts.audit.hash_chain import ChainedRow, Link, verify_chain
from sourcebound.contracts.base import Contract
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, AssemblyMetrics, EvidenceChunk, RowOutcome
from sourcebound.contracts.outcome import Outcome
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.presentation.source_view import released_validation
from sourcebound.contracts.request import Run
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.run_page.attempts import AttemptView, build_attempt_views
from sourcebound.contracts.run_page.code_labels import CODE_MESSAGES
from sourcebound.contracts.run_page.facts import FactsView, build_facts_view
from sourcebound.contracts.run_page.search_report import SearchReport, report_search
from sourcebound.contracts.state import State
from sourcebound.contracts.validation.quotes import Quote, cited_section, find_quotes


class RunHead(Contract):
    """A run's row in the list of runs."""

    run_id: str
    request_id: str
    thread_id: str
    collection: str | None
    policy_version: str
    model: str
    status: str
    """`RUNNING` until the run has ended."""
    reason: str | None
    started_at: datetime
    finished_at: datetime | None
    pruned_at: datetime | None = None
    """The time at which its checkpoints were removed because of their age (CP-7)."""
    erased_at: datetime | None = None
    """The time at which its texts and checkpoints were erased (R5P-3)."""
    question: str | None
    """None if it was erased or is not recorded yet."""
    caller_labels: tuple[str, ...] | None = None
    """The labels of its caller, which its search was restricted to (R6-7); None: it saw every document."""


class NodeTime(Contract):
    """A node, and the time from the previous checkpoint to its own."""

    node: str
    status: str
    milliseconds: float
    share: float
    """The time as a share of the longest one, in [0, 1]."""


class Source(Contract):
    """An evidence chunk; without its text if its document may not be read (R6-7)."""

    chunk: EvidenceChunk
    readable: bool
    cited: bool
    section: str | None
    """The section that its citation names; without a citation, the sections that it runs through."""
    quotes: tuple[Quote, ...] = ()
    """The words that the released answer rests on; none if its document may not be read."""


class RecordPlace(Contract):
    """The audit record of an attempt, with its place in the chain."""

    attempt: int
    position: int | None
    previous_hash: str | None
    row_hash: str | None
    timestamp_utc: str
    validation_status: str
    finding: str | None
    """The reason why its hash does not match its columns and the previous hash; None if it matches."""


class RunPage(Contract):
    """All that is known of a run."""

    head: RunHead
    explanation: str
    """The meaning of the reason code; empty if there is no code."""
    run: Run | None
    limits: Mapping[str, object]
    policy: Policy | None
    outcome: Outcome | None
    search: SearchReport | None
    metrics: AssemblyMetrics | None
    sources: tuple[Source, ...]
    facts: FactsView | None
    """None if the policy has no facts phase or the run did not reach it (R3-9)."""
    attempts: tuple[AttemptView, ...]
    prompt_withheld: bool
    """Whether the prompts were requested but contain a document that may not be read."""
    response: PublicResponse | None
    nodes: tuple[NodeTime, ...]
    records: tuple[RecordPlace, ...]

    @property
    def question(self) -> str | None:
        """The question of the run; None if its text is not stored."""
        return self.run.question if self.run else self.head.question


class RunRecord(NamedTuple):
    """The stored data of a run."""

    head: Mapping[str, object]
    """Its row in the list of runs."""
    state: State
    """Its last checkpointed state; empty if there is no checkpoint."""
    nodes: Sequence[tuple[str, str, float]]
    """The name, status and milliseconds of each node."""
    records: Sequence[ChainedRow]


def documents_of(state: State) -> frozenset[str]:
    """Return the documents whose text is in a run: those of its candidates.

    Args:
        state: The run's state.

    Returns:
        Their knowledge ids. A bundle that broke its contract adds none, because its text is not shown.
    """
    bundle = _read_candidates(state)
    return frozenset(row.knowledge_id for row in bundle.results) if bundle else frozenset()


def make_run_page(record: RunRecord, readable: Collection[str], *, with_prompt: bool = False) -> RunPage:
    """Build the page of a run.

    Args:
        record: The stored data of the run.
        readable: The ids from `documents_of` whose text may be shown now (R6-7).
        with_prompt: Whether to show the text of the prompts.

    Returns:
        The page.

    Raises:
        pydantic.ValidationError: The state was written by a version with other contracts.
    """
    state, head = record.state, RunHead.model_validate({**record.head})
    run = Run.model_validate(state["run"]) if state.get("run") else None
    policy = Policy.model_validate(state["policy"]) if state.get("policy") else None
    outcome = Outcome.model_validate(state["outcome"]) if state.get("outcome") else None
    answer_bundle = AnswerBundle.model_validate(state["assembly"]) if state.get("assembly") else None
    response = PublicResponse.model_validate(state["response"]) if state.get("response") else None
    bundle = _read_candidates(state)
    search = report_search(run, policy, outcome, bundle, answer_bundle) if run and policy and outcome else None
    is_withheld = with_prompt and not _documents_in_prompt(state, bundle, answer_bundle) <= set(readable)
    return RunPage(
        head=head,
        explanation=CODE_MESSAGES.get(head.reason or "", ""),
        run=run,
        limits=state.get("limits") or {},
        policy=policy,
        outcome=outcome,
        search=search and _hide_unreadable(search, readable),
        metrics=answer_bundle.assembly_metrics if answer_bundle else None,
        sources=_build_sources(state, answer_bundle, response, readable),
        facts=build_facts_view(state, bundle, readable, with_prompt=with_prompt and not is_withheld),
        attempts=build_attempt_views(state, with_prompt=with_prompt and not is_withheld),
        prompt_withheld=is_withheld,
        response=response,
        nodes=_build_node_times(record.nodes),
        records=tuple(map(_build_record_place, record.records)),
    )


def _read_candidates(state: State) -> RetrievalBundle | None:
    """Return the candidates, except those of a supplied bundle that broke its contract or was not checked yet."""
    is_checked = (state.get("assembly") or {}).get("trace") is not None
    is_supplied = state.get("retrieval_bundle") is not None
    if not state.get("retrieval") or not (is_checked or (not state.get("assembly") and not is_supplied)):
        return None
    return RetrievalBundle.model_validate(state["retrieval"])


def _documents_in_prompt(state: State, bundle: RetrievalBundle | None, answer_bundle: AnswerBundle | None) -> set[str]:
    """Return the documents that a prompt of the run may show. The prompt for a choice of facts shows all facts."""
    shown_outcomes = [RowOutcome.ADMITTED, RowOutcome.DROP_PROMPT_BUDGET]
    shown_outcomes += [RowOutcome.DROP_FACT_IRRELEVANT] if (state.get("facts") or {}).get("prompt") else []
    ranks = (
        {entry.rank for entry in answer_bundle.drop_ledger if entry.outcome in shown_outcomes}
        if answer_bundle
        else set()
    )
    return {row.knowledge_id for row in bundle.results if row.rank in ranks} if bundle else set()


def _hide_unreadable(search: SearchReport, readable: Collection[str]) -> SearchReport:
    candidates = tuple(
        row if row.knowledge_id in readable else row.model_copy(update={"first_line": "", "excerpt": ""})
        for row in search.candidates
    )
    return search.model_copy(update={"candidates": candidates})


def _build_sources(
    state: State, answer_bundle: AnswerBundle | None, response: PublicResponse | None, readable: Collection[str]
) -> tuple[Source, ...]:
    cited = {citation.anchor for citation in response.citations} if response else set()
    validation = released_validation(state) if answer_bundle and response else None
    return tuple(
        Source(
            chunk=chunk if chunk.knowledge_id in readable else chunk.model_copy(update={"sanitized_text": ""}),
            readable=chunk.knowledge_id in readable,
            cited=chunk.anchor in cited,
            section=cited_section(validation, chunk),
            quotes=find_quotes(validation, chunk) if chunk.knowledge_id in readable else (),
        )
        for chunk in (answer_bundle.selected_evidence if answer_bundle else ())
    )


def _build_node_times(nodes: Sequence[tuple[str, str, float]]) -> tuple[NodeTime, ...]:
    longest = max((milliseconds for _, _, milliseconds in nodes), default=0.0) or 1.0
    return tuple(NodeTime(node=n, status=s, milliseconds=ms, share=max(0.0, ms / longest)) for n, s, ms in nodes)


def _build_record_place(row: ChainedRow) -> RecordPlace:
    finding = "it is from before the chain"
    if row.position is not None and row.previous_hash is not None:
        broken_row = verify_chain([row], Link(row.position - 1, row.previous_hash))
        finding = broken_row.finding if broken_row else ""
    return RecordPlace(
        attempt=int(str(row.columns["attempt"])),
        position=row.position,
        previous_hash=row.previous_hash,
        row_hash=row.row_hash,
        timestamp_utc=str(row.columns["timestamp_utc"]),
        validation_status=str(row.columns["validation_status"]),
        finding=finding or None,
    )
