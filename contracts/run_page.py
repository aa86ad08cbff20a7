"""The whole of a recorded run as a person reads it, for every renderer (contract R6-7, CP-1, R5P-4).

Made of what the layers recorded; nothing is measured anew and nothing is decided. Whatever is missing is None: a run
that ended early has no later layers, and one whose checkpoints are gone has only its row and its audit records.
"""

from collections.abc import Mapping
from datetime import datetime

from sourcebound.contracts.attempt_page import ShownAttempt
from sourcebound.contracts.evidence import AssemblyMetrics, EvidenceChunk
from sourcebound.contracts.facts_page import ShownFacts
from sourcebound.contracts.model import Contract
from sourcebound.contracts.outcome import Outcome
from sourcebound.contracts.policy import Policy
from sourcebound.contracts.request import Run
from sourcebound.contracts.response import PublicResponse
from sourcebound.contracts.search import SearchReport


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
    facts: ShownFacts | None
    """None where the policy has no facts phase, or the run did not come to it (R3-9)."""
    attempts: tuple[ShownAttempt, ...]
    prompt_withheld: bool
    """Whether the prompts were asked for and hold a document that may not be read."""
    response: PublicResponse | None
    nodes: tuple[NodeTime, ...]
    records: tuple[RecordPlace, ...]

    @property
    def question(self) -> str | None:
        """As it was asked; None where its text is not there."""
        return self.run.question if self.run else self.head.question
