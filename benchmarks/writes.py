"""Measure the writes of requests to a PostgreSQL database: rows, bytes, WAL, transactions, flushes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

STATISTICS_SECONDS: Final = 11
"""An idle backend reports its statistics after ten seconds at the latest."""


class Writes(NamedTuple):
    """The mean writes per request of one side."""

    rows: Mapping[str, float]
    table_kilobytes: float
    wal_kilobytes: float
    transactions: float
    flushes: float


TABLES: Final = """
SELECT c.relname AS name, pg_total_relation_size(c.oid) AS bytes
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname = 'public'
"""
COUNTERS: Final = """
SELECT pg_current_wal_lsn() - '0/0'::pg_lsn AS wal,
       (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()) AS transactions,
       (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal') AS flushes
"""


async def _count(url: str) -> tuple[dict[str, int], dict[str, int], dict[str, float]]:
    await asyncio.sleep(STATISTICS_SECONDS)
    async with await psycopg.AsyncConnection.connect(url, autocommit=True, row_factory=dict_row) as connection:
        tables = await (await connection.execute(TABLES)).fetchall()
        rows = {}
        for table in tables:
            statement = sql.SQL("SELECT count(*) AS n FROM {}").format(sql.Identifier(table["name"]))
            rows[table["name"]] = (await (await connection.execute(statement)).fetchone() or {})["n"]
        counters = await (await connection.execute(COUNTERS)).fetchone() or {}
    return rows, {table["name"]: table["bytes"] for table in tables}, {k: float(v) for k, v in counters.items()}


async def measure_writes(url: str, ask: Callable[[str], Awaitable[Any]], questions: Sequence[str]) -> Writes:
    """Measure the writes of requests, made one after the other."""
    rows, sizes, counters = await _count(url)
    for question in questions:
        await ask(question)
    wal = await _wal(url)
    rows_after, sizes_after, counters_after = await _count(url)
    per_request = 1 / len(questions)
    new_rows = {name: (rows_after[name] - rows[name]) * per_request for name in rows_after}
    return Writes(
        {name: number for name, number in new_rows.items() if number},
        sum(sizes_after[name] - sizes[name] for name in sizes_after) * per_request / 1024,
        (wal - counters["wal"]) * per_request / 1024,
        (counters_after["transactions"] - counters["transactions"]) * per_request,
        (counters_after["flushes"] - counters["flushes"]) * per_request,
    )


async def _wal(url: str) -> float:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        row = await (await connection.execute("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")).fetchone()
    return float(row[0]) if row else 0.0
