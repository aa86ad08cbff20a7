"""Reads what the stores hold of a run into its page, whatever is missing (contract R6-7, CP-1, R5P-4).

The whole of a recorded run as a person reads it, for every renderer (contract R6-7, CP-1, R5P-4).

Made of what the layers recorded; nothing is measured anew and nothing is decided. Whatever is missing is None: a run
that ended early has no later layers, and one whose checkpoints are gone has only its row and its audit records.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sourcebound.contracts.audit.hash_chain import ChainedRow, Link, verify_chain
from sourcebound.contracts.base import Contract
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, AssemblyMetrics, EvidenceChunk, RowOutcome
from sourcebound.contracts.outcome import Outcome
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Run
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.run_page.attempts import AttemptView, build_attempt_views
from sourcebound.contracts.run_page.code_labels import CODE_MESSAGES
from sourcebound.contracts.run_page.facts import FactsView, build_facts_view
from sourcebound.contracts.run_page.search_report import SearchReport, report_search
from sourcebound.contracts.state import State


class RunHead(Contract):
    """A run's row in the list of runs."""

    run_id: str
    request_id: str
    thread_id: str
    collection: str | None
    policy_version: str
    model: str
    status: str
    """`RUNNING` until it has ended."""
    reason: str | None
    started_at: datetime
    finished_at: datetime | None
    pruned_at: datetime | None = None
    """When its checkpoints were removed for their age (CP-7)."""
    erased_at: datetime | None = None
    """When its texts and its checkpoints were erased (R5P-3)."""
    question: str | None
    """None where it was erased, or not yet recorded."""


class NodeTime(Contract):
    """A node and the time from the checkpoint before it to its own."""

    node: str
    status: str
    milliseconds: float
    share: float
    """Of the longest, in [0, 1]."""


class Source(Contract):
    """An evidence chunk; without its text where its document may not be read (R6-7)."""

    chunk: EvidenceChunk
    readable: bool
    cited: bool


class RecordPlace(Contract):
    """An attempt's audit record in the chain."""

    attempt: int
    position: int | None
    previous_hash: str | None
    row_hash: str | None
    timestamp_utc: str
    validation_status: str
    finding: str | None
    """Why its hash does not fit its own columns and the hash before; None where it does."""


class RunPage(Contract):
    """Everything that is known of a run."""

    head: RunHead
    explanation: str
    """The reason code in words; empty where there is none."""
    run: Run | None
    limits: Mapping[str, object]
    policy: Policy | None
    outcome: Outcome | None
    search: SearchReport | None
    metrics: AssemblyMetrics | None
    sources: tuple[Source, ...]
    facts: FactsView | None
    """None where the policy has no facts phase, or the run did not come to it (R3-9)."""
    attempts: tuple[AttemptView, ...]
    prompt_withheld: bool
    """Whether the prompts were asked for and hold a document that may not be read."""
    response: PublicResponse | None
    nodes: tuple[NodeTime, ...]
    records: tuple[RecordPlace, ...]

    @property
    def question(self) -> str | None:
        """As it was asked; None where its text is not there."""
        return self.run.question if self.run else self.head.question


class RunRecord(NamedTuple):
    """What the stores hold of a run."""

    head: Mapping[str, object]
    """Its row in the list of runs."""
    state: State
    """Its last checkpointed state; empty where there is none."""
    nodes: Sequence[tuple[str, str, float]]
    """Name, status and milliseconds of each node."""
    records: Sequence[ChainedRow]


def documents_of(state: State) -> frozenset[str]:
    """The documents whose text stands in a run: those of its candidates.

    Args:
        state: The run's state.

    Returns:
        Their knowledge ids; those of a bundle that broke its contract are none, for its text is not shown.
    """
    bundle = _bundle(state)
    return frozenset(row.knowledge_id for row in bundle.results) if bundle else frozenset()


def read_run(recorded: RunRecord, readable: Collection[str], *, with_prompt: bool = False) -> RunPage:
    """Puts the page of a run together.

    Args:
        recorded: What the stores hold of the run.
        readable: Of `documents_of`, those whose text may be shown now (R6-7).
        with_prompt: Whether the text of the prompts is shown.

    Returns:
        The page.

    Raises:
        pydantic.ValidationError: The state is that of a version with other contracts.
    """
    state, head = recorded.state, RunHead.model_validate({**recorded.head})
    run = Run.model_validate(state["run"]) if state.get("run") else None
    policy = Policy.model_validate(state["policy"]) if state.get("policy") else None
    outcome = Outcome.model_validate(state["outcome"]) if state.get("outcome") else None
    assembled = AnswerBundle.model_validate(state["assembly"]) if state.get("assembly") else None
    response = PublicResponse.model_validate(state["response"]) if state.get("response") else None
    bundle = _bundle(state)
    search = report_search(run, policy, outcome, bundle, assembled) if run and policy and outcome else None
    withheld = with_prompt and not _in_prompt(state, bundle, assembled) <= set(readable)
    return RunPage(
        head=head,
        explanation=CODE_MESSAGES.get(head.reason or "", ""),
        run=run,
        limits=state.get("limits") or {},
        policy=policy,
        outcome=outcome,
        search=search and _without_unreadable(search, readable),
        metrics=assembled.assembly_metrics if assembled else None,
        sources=_sources(assembled, response, readable),
        facts=build_facts_view(state, bundle, readable, with_prompt=with_prompt and not withheld),
        attempts=build_attempt_views(state, with_prompt=with_prompt and not withheld),
        prompt_withheld=withheld,
        response=response,
        nodes=_times(recorded.nodes),
        records=tuple(map(_place, recorded.records)),
    )


def _bundle(state: State) -> RetrievalBundle | None:
    """The candidates, but for a bundle from elsewhere that broke its contract or was not checked yet."""
    checked = (state.get("assembly") or {}).get("trace") is not None
    brought = state.get("retrieval_bundle") is not None
    if not state.get("retrieval") or not (checked or (not state.get("assembly") and not brought)):
        return None
    return RetrievalBundle.model_validate(state["retrieval"])


def _in_prompt(state: State, bundle: RetrievalBundle | None, assembled: AnswerBundle | None) -> set[str]:
    """The documents that a prompt of the run may show; that of a choice of facts shows those that were not chosen."""
    shown = [RowOutcome.ADMITTED, RowOutcome.DROP_PROMPT_BUDGET]
    shown += [RowOutcome.DROP_FACT_IRRELEVANT] if (state.get("facts") or {}).get("prompt") else []
    ranks = {entry.rank for entry in assembled.drop_ledger if entry.outcome in shown} if assembled else set()
    return {row.knowledge_id for row in bundle.results if row.rank in ranks} if bundle else set()


def _without_unreadable(search: SearchReport, readable: Collection[str]) -> SearchReport:
    candidates = tuple(
        row if row.knowledge_id in readable else row.model_copy(update={"first_line": ""}) for row in search.candidates
    )
    return search.model_copy(update={"candidates": candidates})


def _sources(
    assembled: AnswerBundle | None, response: PublicResponse | None, readable: Collection[str]
) -> tuple[Source, ...]:
    cited = {citation.anchor for citation in response.citations} if response else set()
    return tuple(
        Source(
            chunk=chunk if chunk.knowledge_id in readable else chunk.model_copy(update={"sanitized_text": ""}),
            readable=chunk.knowledge_id in readable,
            cited=chunk.anchor in cited,
        )
        for chunk in (assembled.selected_evidence if assembled else ())
    )


def _times(nodes: Sequence[tuple[str, str, float]]) -> tuple[NodeTime, ...]:
    longest = max((milliseconds for _, _, milliseconds in nodes), default=0.0) or 1.0
    return tuple(NodeTime(node=n, status=s, milliseconds=ms, share=max(0.0, ms / longest)) for n, s, ms in nodes)


def _place(row: ChainedRow) -> RecordPlace:
    finding = "it is from before the chain"
    if row.position is not None and row.previous_hash is not None:
        broken = verify_chain([row], Link(row.position - 1, row.previous_hash))
        finding = broken.finding if broken else ""
    return RecordPlace(
        attempt=int(str(row.columns["attempt"])),
        position=row.position,
        previous_hash=row.previous_hash,
        row_hash=row.row_hash,
        timestamp_utc=str(row.columns["timestamp_utc"]),
        validation_status=str(row.columns["validation_status"]),
        finding=finding or None,
    )
