"""R5P in PostgreSQL: the audit record and the close of its run, in one transaction.

The database itself refuses changes.
"""

import contextlib

from sourcebound.contracts.audit import AuditRecord
from sourcebound.contracts.outcome import FailureCode
from sourcebound.contracts.request import Run
from sourcebound.errors import StoreError
from sourcebound.store.database import Pool, Row, store_faults
from sourcebound.store.queries import query


class PostgresAuditLog:
    """The table `validations`.

    Args:
        pool: Connections to its database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def append(self, record: AuditRecord, run: Run, raw_model_text: str, validated_answer_text: str) -> None:
        """Writes the record, the run's texts and its end together (R5P-1, R5P-3, R5P-6)."""
        row = _row(record)
        texts = {
            "run_id": run.run_id,
            "question": run.question,
            "raw_model_text": raw_model_text or None,
            "validated_answer_text": validated_answer_text or None,
        }
        end = {
            "run_id": run.run_id,
            "status": record.generation_status,
            "reason": record.failure_reason or record.refusal_code,
        }
        try:
            await self._write(record, row, texts, end)
        except StoreError as error:
            if error.failure_code != StoreError.code:  # the database answers
                with contextlib.suppress(StoreError):
                    await self._close_unrecorded(run)
            raise

    async def _write(self, record: AuditRecord, row: Row, texts: Row, end: Row) -> None:
        with store_faults():
            async with self._pool.connection() as connection, connection.transaction():
                cursor = await connection.execute(query("insert_validation"), row)
                if cursor.rowcount == 0:
                    cursor = await connection.execute(query("find_validation"), row)
                    _check_same(record, row, await cursor.fetchone() or {})
                await connection.execute(query("insert_run_text"), texts)
                await connection.execute(query("finish_run"), end)

    async def _close_unrecorded(self, run: Run) -> None:
        """The list of runs must not show for ever as running what failed for want of its record."""
        values = {"run_id": run.run_id, "reason": FailureCode.AUDIT_UNAVAILABLE.value}
        with store_faults():
            async with self._pool.connection() as connection:
                await connection.execute(query("close_unrecorded_run"), values)


def _row(record: AuditRecord) -> Row:
    values = record.model_dump(mode="json")
    return {**values, **values.pop("grounding_metrics")}


def _check_same(record: AuditRecord, row: Row, stored: Row) -> None:
    """A repeated write of the same record is nothing new; the time at which it was made again may differ (R5P-1)."""
    different = [
        name for name, value in row.items() if name in stored and name != "timestamp_utc" and stored[name] != value
    ]
    if different:
        raise StoreError(
            f"run {record.run_id} has another audit record already; they differ in {', '.join(sorted(different))}.",
            "Start a new run: a record is never replaced.",
            code="AUDIT_CONFLICT",
        )
