"""A request: one question with its filters, and the identity of its run."""

import json
from datetime import date
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from sourcebound.contracts.base import Contract, is_absent
from sourcebound.contracts.labels import MAX_CALLER_LABELS, Label
from sourcebound.contracts.versions import THIS_VERSION, Versions

MAX_QUESTION_CHARACTERS = 4000
EVERY_AUTHORITY: Final = "MIXED"
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class Filters(Contract):
    """Filters of retrieval (R1-8); all given filters must match."""

    equipment_id: Name | None = None
    knowledge_type: Name | None = None
    authority: Name | None = None
    """A scope; `MIXED` is every scope."""
    knowledge_id: Name | None = None
    knowledge_ids: Annotated[tuple[Name, ...] | None, Field(min_length=1)] = None
    """Documents, any of which may match."""
    event_date_from: date | None = None
    event_date_to: date | None = None

    def given(self) -> dict[str, str]:
        """Return the filters that are set, as text; several documents as a JSON list."""
        values = self.model_dump(mode="json", exclude_none=True)
        return {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}

    def in_force(self) -> dict[str, object]:
        """Return every filter by name; None if it restricts nothing."""
        scope = None if self.authority == EVERY_AUTHORITY else self.authority
        ids = None if self.knowledge_ids is None else list(self.knowledge_ids)
        return self.model_dump() | {"authority": scope, "knowledge_ids": ids}


class Run(Contract):
    """The identity of one execution of the graph, and its question (S-2)."""

    request_id: str
    run_id: str
    thread_id: str
    question: str
    collection: str | None
    filters: Filters
    model: str
    policy_version: str
    policy_sha256: str
    entry: Annotated[str, Field(pattern="^(question|bundle)$")]
    started_at: str
    """UTC, ISO 8601."""
    is_draft: bool = False
    """Whether the policy was a draft when the run began (P-1)."""
    conversation_id: str | None = None
    salt: Annotated[str | None, Field(exclude_if=is_absent)] = None
    """Random, so that the digests of the audit record say nothing about erased texts (R5P-7)."""
    made_by: Annotated[Versions | None, Field(exclude_if=is_absent)] = None
    """The versions that made the run; None for 0.1.0 (CP-10)."""
    evidence_supplied_by_hand: Annotated[bool | None, Field(exclude_if=is_absent)] = None
    """Whether a person edited the state of the run between two nodes (CP-11)."""
    search_query: str | None = None
    """The search query of a follow-up, which replaces the question in retrieval (CP-6)."""
    carried: tuple[str, ...] = ()
    """Chunks that an earlier run of the conversation cited; they are candidates again."""
    caller_labels: Annotated[tuple[Label, ...] | None, Field(max_length=MAX_CALLER_LABELS, exclude_if=is_absent)] = None
    """The labels of the caller, ordered: the search sees only documents all of whose labels are among them (R6-7).
    None: every document."""


def fork_request(run_id: str) -> str:
    """Return the request id of a run's forks (CP-5), by which the audit record of a fork names the original run."""
    return f"whatif:{run_id}"


def unrecorded_run(question: str, collection: str, policy_version: str, policy_sha256: str, purpose: str) -> Run:
    """Return the run of a retrieval that is only measured: it has no record, and its ids name the purpose."""
    return Run(
        request_id=purpose,
        run_id=purpose,
        thread_id=purpose,
        question=question,
        collection=collection,
        filters=Filters(),
        model="none",
        policy_version=policy_version,
        policy_sha256=policy_sha256,
        entry="question",
        started_at="1970-01-01T00:00:00Z",
        made_by=THIS_VERSION,
    )
