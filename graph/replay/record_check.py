"""R5P-7: compares every audit record with what it speaks of: runs, texts and checkpoints, in both directions."""

from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

from sourcebound.contracts.audit.agreement import RunRow, TextRow, find_disagreements
from sourcebound.contracts.replay.report import ACCOUNTED_FOR, NotReplayable
from sourcebound.graph.replay.recorded_run import read_recorded
from sourcebound.store.checkpoints.archive import PostgresHistory, StoredRun


class RunCheck(NamedTuple):
    """A run and the disagreements between its stored parts."""

    run_id: str
    findings: tuple[str, ...]


async def check_runs(history: PostgresHistory) -> AsyncIterator[RunCheck]:
    """Compare every run with its audit records, oldest first, and then find audit records without a run.

    Args:
        history: The runs.

    Yields:
        Every run, also those without a finding.

    Raises:
        StoreError: The database does not answer.
    """
    async for page in history.pages():
        for stored in page:
            yield RunCheck(stored.summary.run_id, tuple(check_run(stored)))
    for run_id in await history.find_records_without_run():
        yield RunCheck(run_id, ("it has an audit record and is not in the list of runs",))


def check_run(stored: StoredRun) -> Iterator[str]:
    """Yield the disagreements between the stored parts of one run."""
    summary = stored.summary
    row = RunRow(
        summary.status,
        summary.reason,
        summary.policy_version,
        summary.model,
        summary.collection,
        is_erased=summary.erased_at is not None,
        is_pruned=summary.pruned_at is not None,
        removals=stored.removals,
        caller_labels=summary.caller_labels,
    )
    texts = {
        text.attempt: TextRow(text.question, text.raw_model_text, text.validated_answer_text, text.salt)
        for text in stored.texts
    }
    recorded = read_recorded(stored)
    if isinstance(recorded, NotReplayable):
        state = None
        if summary.status != "RUNNING" and recorded.code not in {*ACCOUNTED_FOR, "CHECKPOINTS_MISSING"}:
            yield recorded.message
    else:
        state = recorded.final_state()
    yield from find_disagreements(row, stored.records, texts, state, stored.answers, stored.turn)
