"""R5P-7: whether the stored parts of a run agree with its audit records.

The audit chain shows a change of a record. These checks show a change of everything that a record speaks of: the row of
the run, its texts, and the state in its checkpoints.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sourcebound.contracts.audit.digests import bind_calls, salted_digest
from sourcebound.contracts.audit.hash_chain import ChainedRow

JsonObject = dict[str, Any]
UNRECORDED = "AUDIT_UNAVAILABLE"
"""The reason of a run whose record the database refused (R5P-6)."""

REPLACED = "REPLACED"
"""The status of a run that another one replaced on its thread before it ended (CP-11)."""
CANCELLED = "CANCELLED"
"""The status of a run that its host cancelled before it ended (CP-11)."""


class RunRow(NamedTuple):
    """The row of a run in `runs`."""

    status: str
    reason: str | None
    policy_version: str | None
    model: str
    collection: str | None
    is_erased: bool
    is_pruned: bool
    removals: frozenset[str]
    """The kinds of its removals that were noted: `erased`, `pruned`."""
    caller_labels: Sequence[str] | None = None


class TextRow(NamedTuple):
    """The texts of one attempt, as stored."""

    question: str
    raw_model_text: str | None
    validated_answer_text: str | None
    salt: str | None


class AnswerRow(NamedTuple):
    """A model's answer in `model_answers`, which a run that is resumed would take."""

    attempt: int
    prompt_sha256: str
    generation: JsonObject


class TurnRow(NamedTuple):
    """The place of a run in its conversation, which later runs build on."""

    conversation_id: str | None
    question: str | None
    search_query: str | None


def find_disagreements(
    run: RunRow,
    records: Sequence[ChainedRow],
    texts: Mapping[int, TextRow],
    state: JsonObject | None,
    answers: Sequence[AnswerRow] = (),
    turn: TurnRow | None = None,
) -> Iterator[str]:
    """Yield a clause for each disagreement between the audit records of a run and its other stored parts.

    Args:
        run: Its row in `runs`.
        records: Its audit records, by attempt.
        texts: Its texts, by attempt.
        state: The state of its last checkpoint; None without checkpoints.
        answers: The stored answers of its models.
        turn: Its place in a conversation; None if it has none.
    """
    yield from _compare_removals(run)
    if run.status == "RUNNING":
        return
    if run.status in (REPLACED, CANCELLED) and not records:
        return
    if run.reason == UNRECORDED:
        return
    if not records:
        yield f"the run ended as {run.status} and has no audit record"
        return
    yield from _compare_row(run, records[-1])
    yield from _compare_attempts(records, texts, is_erased=run.is_erased)
    yield from _compare_answers(records, texts, answers)
    if records[-1].columns.get("run_digest") is not None:
        yield from _compare_place(run, records[-1], texts, turn, state)
    if state is not None:
        yield from _compare_state(run, records, state)
    elif not (run.is_erased or run.is_pruned):
        yield "its checkpoints are missing"


def _compare_removals(run: RunRow) -> Iterator[str]:
    for kind, is_marked in (("erased", run.is_erased), ("pruned", run.is_pruned)):
        if is_marked and kind not in run.removals:
            yield f"the row of the run says that it was {kind}, and this was not noted"
        elif kind in run.removals and not is_marked:
            yield f"it was noted that the run was {kind}, and its row does not say so"


def _compare_row(run: RunRow, record: ChainedRow) -> Iterator[str]:
    columns = record.columns
    reason = columns.get("failure_reason") or columns.get("refusal_code")
    expected = {
        "status": columns.get("generation_status"),
        "reason": reason,
        "policy_version": columns.get("policy_version"),
    }
    for name, value in expected.items():
        if getattr(run, name) != value:
            yield f"the row of the run has the {name} {getattr(run, name)!r}, and its audit record {value!r}"


def _compare_attempts(records: Sequence[ChainedRow], texts: Mapping[int, TextRow], *, is_erased: bool) -> Iterator[str]:
    known = {record.columns.get("attempt") for record in records}
    for attempt in sorted(texts):
        if attempt not in known:
            yield f"attempt {attempt} has texts and no audit record"
    for record in records:
        text = texts.get(_attempt(record))
        if text is None:
            if not is_erased:
                yield f"the texts of attempt {_attempt(record)} are missing"
            continue
        yield from _compare_digests(record, text.salt, _text_values(text))


def _compare_answers(
    records: Sequence[ChainedRow], texts: Mapping[int, TextRow], answers: Sequence[AnswerRow]
) -> Iterator[str]:
    stored = {(answer.attempt, answer.prompt_sha256): answer.generation for answer in answers}
    for record in records:
        answer = stored.get((_attempt(record), str(record.columns.get("prompt_sha256"))))
        text = texts.get(_attempt(record))
        if answer is not None and text is not None:
            value = ("stored answer of the model", answer.get("raw_model_text") or None)
            yield from _compare_digests(record, text.salt, {"raw_text_digest": value})


def _compare_place(
    run: RunRow, record: ChainedRow, texts: Mapping[int, TextRow], turn: TurnRow | None, state: JsonObject | None
) -> Iterator[str]:
    """Compare the collection, the caller's labels and the place in a conversation with what the record binds."""
    text = texts.get(_attempt(record))
    if turn and turn.question is not None and text and turn.question != text.question:
        yield "its question in the conversation is not the one that was recorded"
    if state is None:
        return
    identity = state.get("run") or {}
    row = {
        "collection": run.collection,
        "caller_labels": run.caller_labels,
        "conversation_id": turn and turn.conversation_id,
        "search_query": turn and turn.search_query,
    }
    for name, value in row.items():
        if identity.get(name) != value:
            yield f"the row of the run has the {name} {value!r}, and its checkpoint {identity.get(name)!r}"


def _text_values(text: TextRow) -> dict[str, tuple[str, str | None]]:
    return {
        "question_digest": ("question", text.question),
        "raw_text_digest": ("text of the model", text.raw_model_text),
        "answer_digest": ("released answer", text.validated_answer_text),
    }


def _compare_state(run: RunRow, records: Sequence[ChainedRow], state: JsonObject) -> Iterator[str]:
    identity = state.get("run") or {}
    if identity.get("model") != run.model:
        yield f"the row of the run names the model {run.model!r}, and its checkpoint {identity.get('model')!r}"
    answers = [attempt.get("generation") or {} for attempt in state.get("attempts") or []]
    generations = [*answers, state.get("generation") or {}]
    if len(generations) != len(records):
        yield f"its checkpoint has {len(generations)} attempts, and the audit has {len(records)}"
        return
    evidence = (state.get("assembly") or {}).get("selected_evidence")
    for record, generation in zip(records, generations, strict=True):
        is_last = record is records[-1]
        released = (state.get("validation") or {}).get("validated_answer_text") if is_last else None
        values: dict[str, tuple[str, object]] = {
            "run_digest": ("identity of the run in its checkpoint", identity),
            "question_digest": ("question in its checkpoint", identity.get("question")),
            "raw_text_digest": ("text of the model in its checkpoint", generation.get("raw_model_text") or None),
            "answer_digest": ("released answer in its checkpoint", released or None),
            "evidence_digest": ("evidence in its checkpoint", evidence),
            "generation_digest": ("result of the model in its checkpoint", _calls(generation, state)),
        }
        yield from _compare_digests(record, identity.get("salt"), values)
    response = state.get("response") or {}
    last = records[-1].columns
    released = (state.get("validation") or {}).get("validated_answer_text")
    if last.get("generation_status") == "OK" and response.get("answer") != released:
        yield "the response in its checkpoint has another answer than the validated one"
    if response and response.get("status") != last.get("generation_status"):
        yield f"the response in its checkpoint has the status {response.get('status')!r}"


def _calls(generation: JsonObject, state: JsonObject) -> JsonObject | None:
    return bind_calls(generation, state.get("resolution"), state.get("facts")) or None


def _compare_digests(record: ChainedRow, salt: str | None, values: Mapping[str, tuple[str, object]]) -> Iterator[str]:
    if record.columns.get("run_digest") is None:
        return  # a record of an earlier version binds no texts
    if salt is None:
        yield f"the salt of attempt {_attempt(record)} is missing"
        return
    for column, (name, value) in values.items():
        if record.columns.get(column) != salted_digest(salt, value):  # type: ignore[arg-type]
            yield f"the {name} is not the one that was recorded"


def _attempt(record: ChainedRow) -> int:
    attempt = record.columns.get("attempt")
    return attempt if isinstance(attempt, int) else 0
