"""The making of an answer, for a reader: candidates, statements, scores and times (§10).

The view has nothing that a reader may not see: no prompt, no text that a model wrote and R5 rejected (CP-12), and no
text of a document that the caller may not read now (R6-7).
"""

from datetime import datetime

from pydantic import BaseModel

from sourcebound.contracts.outcome import Status
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.run_page.attempts import AttemptView, StatementView
from sourcebound.contracts.run_page.code_labels import ROW_OUTCOME_LABELS
from sourcebound.contracts.run_page.page import RunPage
from sourcebound.contracts.run_page.search_report import SearchRow
from sourcebound.store.runs.feedback import Feedback


class CandidateView(BaseModel):
    """A passage that retrieval found, with its entry in the drop ledger (R2-S8)."""

    rank: int
    similarity_score: float
    outcome: str | None
    outcome_label: str
    anchor: str | None
    knowledge_id: str
    title: str | None
    section: str | None
    page_number: int | None
    source_reference: str | None
    excerpt: str
    """The beginning of the passage; empty if its document may not be read now."""


class ViolationView(BaseModel):
    """A broken rule, without the words that broke it."""

    code: str
    clause: str
    message: str


class StatementReport(BaseModel):
    """A statement of an answer with its verdict."""

    number: int
    text: str | None
    """None if the answer was not released."""
    anchors: list[str]
    verdict: str
    support: int | None
    """How far its sources say it, in thousandths (R5-17)."""
    violations: list[ViolationView]


class AttemptReport(BaseModel):
    """One answer of the model, and the verdict on it."""

    number: int
    model: str | None
    prompt_sha256: str | None
    validation_status: str | None
    verifier: str | None
    answers_question: int | None
    """Whether the answer is one to the question, in thousandths (R5-18)."""
    statements: list[StatementReport]
    violations: list[ViolationView]
    """Those that belong to no single statement."""


class GateView(BaseModel):
    """The measurements and the minima of the gate (R1-11)."""

    top_similarity: float | None
    min_top_similarity: float
    question_coverage: float | None
    min_question_coverage: float | None


class StageView(BaseModel):
    """A stage with its status and its time."""

    stage: str
    status: str
    milliseconds: float


class RecordView(BaseModel):
    """The place of an audit record in the chain (R5P-4)."""

    attempt: int
    position: int | None
    row_hash: str | None
    timestamp_utc: str
    finding: str | None


class FeedbackView(BaseModel):
    """The words of a reader about the answer."""

    feedback_id: str
    rating: str
    comment: str | None
    given_at: datetime


class RunView(BaseModel):
    """A recorded run."""

    run_id: str
    request_id: str
    status: str
    reason: str | None
    explanation: str
    """The meaning of the reason, in words."""
    question: str | None
    collection: str | None
    caller_labels: list[str] | None
    """The labels that its search was restricted to; None: it saw every document."""
    conversation_id: str | None
    policy_version: str | None
    policy_sha256: str | None
    min_support: int | None
    warn_support: int | None
    model: str
    index_version: str | None
    started_at: datetime
    finished_at: datetime | None
    response: PublicResponse | None
    gate: GateView | None
    candidates: list[CandidateView]
    attempts: list[AttemptReport]
    stages: list[StageView]
    records: list[RecordView]
    feedback: list[FeedbackView]


def view_run(page: RunPage, feedback: list[Feedback]) -> RunView:
    """Build the view of a run.

    Args:
        page: The page of the run, built for the caller.
        feedback: The feedback on it.
    """
    search, run = page.search, page.run
    verifier = page.policy.validation.support if page.policy else None
    is_released = page.response is not None and page.response.status is Status.OK
    return RunView(
        run_id=page.head.run_id,
        request_id=page.head.request_id,
        status=page.head.status,
        reason=page.head.reason,
        explanation=page.explanation,
        question=page.question,
        collection=page.head.collection,
        caller_labels=None if page.head.caller_labels is None else list(page.head.caller_labels),
        conversation_id=run.conversation_id if run else None,
        policy_version=page.head.policy_version,
        policy_sha256=run.policy_sha256 if run else None,
        min_support=verifier.min_support if verifier else None,
        warn_support=verifier.warn_support if verifier else None,
        model=page.head.model,
        index_version=search.index_version if search else None,
        started_at=page.head.started_at,
        finished_at=page.head.finished_at,
        response=page.response,
        gate=GateView.model_validate(search.gate.model_dump()) if search else None,
        candidates=[view_candidate(row) for row in search.candidates] if search else [],
        attempts=[
            _view_attempt(attempt, is_released=is_released and attempt is page.attempts[-1])
            for attempt in page.attempts
        ],
        stages=[StageView(stage=node.node, status=node.status, milliseconds=node.milliseconds) for node in page.nodes],
        records=[
            RecordView.model_validate(record.model_dump(include={*RecordView.model_fields})) for record in page.records
        ],
        feedback=[FeedbackView.model_validate(each._asdict()) for each in feedback],
    )


def view_candidate(row: SearchRow) -> CandidateView:
    """Build the view of a candidate."""
    label = ROW_OUTCOME_LABELS[row.outcome] if row.outcome else "the run ended before the selection"
    outcome = row.outcome.value if row.outcome else None
    values = row.model_dump(include={*CandidateView.model_fields} - {"outcome"})
    return CandidateView(outcome=outcome, outcome_label=label, **values)


def _view_attempt(attempt: AttemptView, *, is_released: bool) -> AttemptReport:
    validation, generation = attempt.validation, attempt.generation
    support = validation.support if validation else None
    scores = {item.statement + 1: item.score for item in support.statements} if support else {}
    return AttemptReport(
        number=attempt.number,
        model=generation.model_name if generation else None,
        prompt_sha256=attempt.prompt.prompt_sha256,
        validation_status=validation.validation_status.value if validation else None,
        verifier=support.verifier if support else None,
        answers_question=support.answers_question if support else None,
        statements=[
            _view_statement(statement, scores.get(statement.number), is_released=is_released)
            for statement in attempt.statements
        ],
        violations=[
            ViolationView(code=each.code, clause=each.clause, message=each.message) for each in attempt.other_violations
        ],
    )


def _view_statement(statement: StatementView, score: int | None, *, is_released: bool) -> StatementReport:
    return StatementReport(
        number=statement.number,
        text=statement.text if is_released else None,
        anchors=[*statement.anchors],
        verdict=statement.verdict.value,
        support=score,
        violations=[
            ViolationView(code=each.code, clause=each.clause, message=each.message) for each in statement.violations
        ],
    )
