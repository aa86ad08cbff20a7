"""Reads a recorded run from its checkpoints: its input, and the changes of each node in order."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from langgraph.constants import START

from sourcebound.contracts.audit.agreement import CANCELLED, REPLACED
from sourcebound.contracts.audit.hash_chain import ChainedRow
from sourcebound.contracts.replay.report import NotReplayable, RecordedRow, RecordedRun, RecordedStep
from sourcebound.contracts.state import AskInput, JsonObject
from sourcebound.errors import DATA_ERRORS
from sourcebound.graph.serializer import StateSerializer
from sourcebound.store.checkpoints.archive import StoredCheckpoint, StoredRun, StoredValue

TRIGGER: Final = "branch:to:"
"""The prefix of LangGraph's channels that trigger a node."""
OWN: Final = "__"
"""The prefix of LangGraph's own channels."""
EMPTY: Final = "empty"
"""The type of a deleted value."""
SERDE: Final = StateSerializer()
Values = Mapping[tuple[str, str], StoredValue]


def read_recorded(stored: StoredRun) -> RecordedRun | NotReplayable:
    """Read a run from its checkpoints.

    Args:
        stored: The stored rows of the run.

    Returns:
        The run; or the reason why it cannot be recomputed: it was erased, has no checkpoints, has not ended, or its
        rows are damaged (S-4).
    """
    try:
        return _read_recorded(stored)
    except DATA_ERRORS as error:
        return NotReplayable(
            stored.summary.run_id,
            "RUN_UNREADABLE",
            f"its stored rows are damaged ({type(error).__name__})",
            "Restore them from a backup of the database.",
        )


def _read_recorded(stored: StoredRun) -> RecordedRun | NotReplayable:
    run_id = stored.summary.run_id
    if not stored.checkpoints:
        return _without_checkpoints(stored)
    values: Values = {(value.channel, value.version): value for value in stored.values}
    end = _end(run_id, stored.checkpoints, values)
    if stored.summary.status in (REPLACED, CANCELLED):
        return _ended_early(run_id, stored.summary.status)
    if end is None:
        is_recorded = stored.summary.status != "RUNNING"
        return _missing(run_id, "its checkpoints are gone from its thread") if is_recorded else _unfinished(run_id)
    checkpoints = _lineage(stored.checkpoints, end)
    has_input = checkpoints[0].metadata.get("source") == "input"
    if checkpoints[0].parent_checkpoint_id is not None and not has_input:
        return _missing(run_id, "its first checkpoints are gone")
    begin = 1 if has_input else 0
    if len(checkpoints) <= begin or "response" not in end.checkpoint["channel_versions"]:
        return _unfinished(run_id) if stored.summary.status == "RUNNING" else _without_response(run_id)
    start = _read_changes("(input)", checkpoints[begin], {}, values)
    steps = [_read_step(before, after, values) for before, after in pairwise(checkpoints[begin:])]
    if steps and steps[0].node == "":  # a fork from the input: its fields are written again
        start = start.model_copy(update={"changes": {**start.changes, **steps.pop(0).changes}})
    if checkpoints[0].parent_checkpoint_id is not None:
        start, steps = _without_earlier_run(start, steps)
    if start.damaged:
        steps.insert(0, start)
    if has_input and (edited := _find_edited_request(checkpoints[0], start, values)):
        steps.append(RecordedStep(node="(input)", changes=edited))
    return RecordedRun(
        run_id=run_id,
        start=start.changes,
        steps=tuple(step for step in steps if step.changes or step.damaged or not step.node.startswith("(")),
        records=tuple(map(_row, stored.records)),
        texts=stored.texts,
    )


def _find_edited_request(first: StoredCheckpoint, start: RecordedStep, values: Values) -> JsonObject:
    """Return the fields of LangGraph's own copy of the request that differ from the channels."""
    value = values.get((START, first.checkpoint["channel_versions"].get(START, "")))
    copy = _load(value) if value is not None and value.type != EMPTY else {}
    return {name: value for name, value in copy.items() if start.changes.get(name) != value and name != "messages"}


def _without_checkpoints(stored: StoredRun) -> NotReplayable:
    run_id, status, pruned_at = stored.summary.run_id, stored.summary.status, stored.summary.pruned_at
    if status in (REPLACED, CANCELLED) and not stored.texts:
        return _ended_early(run_id, status)
    if pruned_at and not stored.summary.erased_at:
        step = f"See `sourcebound audit show {run_id}`."
        return NotReplayable(run_id, "RUN_PRUNED", f"its checkpoints were pruned on {pruned_at:%Y-%m-%d}", step)
    if stored.texts:
        return _missing(run_id, "its checkpoints are gone")
    if status == "RUNNING":
        return NotReplayable(run_id, "RUN_UNFINISHED", "the run has not ended", "Ask the question again.")
    return NotReplayable(
        run_id,
        "RUN_ERASED",
        "its texts and checkpoints were erased, and only its audit record is left",
        f"See `sourcebound audit show {run_id}`.",
    )


def _missing(run_id: str, how: str) -> NotReplayable:
    return NotReplayable(run_id, "CHECKPOINTS_MISSING", how, "Restore them from a backup of the database.")


def _without_response(run_id: str) -> NotReplayable:
    next_step = f"If it was interrupted: sourcebound runs resume {run_id}. Otherwise restore them from a backup."
    return NotReplayable(run_id, "CHECKPOINTS_MISSING", "it has ended, and its last checkpoints are gone", next_step)


def _ended_early(run_id: str, status: str) -> NotReplayable:
    """Return the reason for a run that ended without an answer and a record."""
    if status == REPLACED:
        message = "another run began on its thread before it ended"
        return NotReplayable(run_id, "RUN_REPLACED", message, "See the later run: `sourcebound runs list`.")
    return NotReplayable(run_id, "RUN_CANCELLED", "its host cancelled it before it ended", "Ask the question again.")


def _unfinished(run_id: str) -> NotReplayable:
    next_step = f"Run `sourcebound runs resume {run_id}` first."
    return NotReplayable(run_id, "RUN_UNFINISHED", "the run has not ended", next_step)


def _end(run_id: str, checkpoints: tuple[StoredCheckpoint, ...], values: Values) -> StoredCheckpoint | None:
    """Return the last checkpoint of a run; on a thread with several runs, the first that holds its response."""
    inputs = sum(checkpoint.metadata.get("source") == "input" for checkpoint in checkpoints)
    if inputs <= 1 and {_run_id(checkpoint, "run", values) for checkpoint in checkpoints} <= {run_id, None}:
        return checkpoints[-1]
    return next((each for each in checkpoints if _run_id(each, "response", values) == run_id), None)


def _run_id(checkpoint: StoredCheckpoint, channel: str, values: Values) -> object:
    """Return the run of a channel in a checkpoint; None if it is unknown."""
    try:
        value = _load(values[channel, checkpoint.checkpoint["channel_versions"][channel]])
    except (KeyError, ValueError):
        return None
    return value.get("run_id") if isinstance(value, dict) else None


def _lineage(checkpoints: tuple[StoredCheckpoint, ...], end: StoredCheckpoint) -> list[StoredCheckpoint]:
    """Return a checkpoint and its ancestors from the input on; other branches are not included."""
    by_id = {checkpoint.checkpoint_id: checkpoint for checkpoint in checkpoints}
    lineage, parent = [], end.checkpoint_id
    while parent in by_id:
        lineage.append(by_id.pop(parent))
        is_input = lineage[-1].metadata.get("source") == "input"
        parent = "" if is_input else lineage[-1].parent_checkpoint_id or ""
    return lineage[::-1]


def _without_earlier_run(start: RecordedStep, steps: list[RecordedStep]) -> tuple[RecordedStep, list[RecordedStep]]:
    """Remove the values of the thread's previous run from the input, and their clearing from the first node."""
    request = {name: value for name, value in start.changes.items() if name in AskInput.__annotations__}
    first = [step.model_copy(update={"changes": _written(step)}) for step in steps[:1]]
    return start.model_copy(update={"changes": request}), [*first, *steps[1:]]


def _written(step: RecordedStep) -> JsonObject:
    """Return the changes of a node without the channels of the previous run that it cleared."""
    return {
        name: value for name, value in step.changes.items() if value is not None or name in AskInput.__annotations__
    }


def _read_step(before: StoredCheckpoint, after: StoredCheckpoint, values: Values) -> RecordedStep:
    """Return the changes between two checkpoints: the work of a node, or an edit by a person."""
    source = after.metadata.get("source")
    due = [name.removeprefix(TRIGGER) for name in before.checkpoint["channel_values"] if name.startswith(TRIGGER)]
    node = ",".join(due) if source == "loop" else f"({source})"
    step = _read_changes(node, after, before.checkpoint["channel_versions"], values)
    inline, known = after.checkpoint["channel_values"], before.checkpoint["channel_values"]
    edited = {name: inline[name] for name in inline.keys() & known.keys() if inline[name] != known[name]}
    kept = {name: value for name, value in edited.items() if not name.startswith((TRIGGER, OWN))}
    return step.model_copy(update={"changes": {**kept, **step.changes}})


def _read_changes(node: str, after: StoredCheckpoint, known: Mapping[str, str], values: Values) -> RecordedStep:
    """Return the channels with a new version in a checkpoint, and their values."""
    changes: JsonObject = {}
    damaged = []
    versions: dict[str, str] = after.checkpoint["channel_versions"]
    inline: JsonObject = after.checkpoint["channel_values"]
    for name in sorted(versions):
        if versions[name] == known.get(name) or name.startswith((TRIGGER, OWN)):
            continue
        try:
            value = values[name, versions[name]] if name not in inline else None
            if value is None or value.type != EMPTY:
                changes[name] = inline[name] if value is None else _load(value)
        except (KeyError, ValueError):
            damaged.append(name)
    return RecordedStep(node=node, changes=changes, damaged=tuple(damaged))


def _load(value: StoredValue) -> Any:
    return SERDE.loads_typed((value.type, value.blob or b""))


def _row(row: ChainedRow) -> RecordedRow:
    return RecordedRow(
        position=row.position, previous_hash=row.previous_hash, row_hash=row.row_hash, columns=dict(row.columns)
    )
