"""CP-8: issues the receipt of a recorded run."""

from datetime import UTC, datetime
from importlib.metadata import version

from sourcebound.contracts.audit.hash_chain import ChainedRow
from sourcebound.contracts.receipt.issue import find_disagreements, make_receipt
from sourcebound.contracts.receipt.sealed import Signer, seal_receipt
from sourcebound.contracts.state import State
from sourcebound.errors import RequestError, StoreError
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.record_check import check_run
from sourcebound.store.audit.log import PostgresAuditLog
from sourcebound.store.checkpoints.archive import PostgresHistory
from sourcebound.store.runs.log import RunSummary


async def issue_receipt(
    engine: Engine, audit_log: PostgresAuditLog, history: PostgresHistory, run: RunSummary, signer: Signer
) -> bytes:
    """Return the signed receipt of a run, as the bytes of its file.

    Args:
        engine: The engine over the run's database.
        audit_log: The audit log of the run.
        history: The stored rows of the run.
        run: The run, whatever its outcome.
        signer: The signing key.

    Raises:
        RequestError: The run has no audit record, or its texts were erased.
        StoreError: The stored parts of the run contradict each other.
    """
    rows = [row for row in await audit_log.find_records(run.run_id) if row.columns["run_id"] == run.run_id]
    state = await engine.state(run.thread_id, run.run_id)
    row = _record_of(run, rows, state)
    disagreements = [*find_disagreements(state, row), *check_run(await history.read(run))]
    if disagreements:
        raise StoreError(
            f"the stored parts of run {run.run_id} contradict each other: {'; '.join(disagreements)}.",
            "Run `sourcebound audit verify`, and compare the run with a backup.",
            code="RECEIPT_REFUSED",
        )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return seal_receipt(make_receipt(state, row, now, f"sourcebound {version('sourcebound')}"), signer)


def _record_of(run: RunSummary, rows: list[ChainedRow], state: State) -> ChainedRow:
    """Return the last record of the run."""
    if rows and not state:
        raise RequestError(
            f"the checkpoints of run {run.run_id} were erased or pruned, and a receipt needs them.",
            "Ask again, and write the receipt before the run is erased. Receipts that exist stay valid.",
            code="RUN_ERASED",
        )
    if not rows or "audit" not in state or "response" not in state:
        raise RequestError(
            f"run {run.run_id} has not ended with an audit record ({run.status}), so it has no receipt.",
            f"If it was interrupted: sourcebound runs resume {run.run_id}",
            code="NOT_RECORDED",
        )
    if rows[-1].position is None:
        raise RequestError(
            f"the record of run {run.run_id} is older than the audit chain.", "Ask again.", code="NOT_CHAINED"
        )
    return rows[-1]
