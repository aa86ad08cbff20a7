"""A transaction pooler with few connections serves many processes at once."""

from sourcebound.wiring import Services
from support.processes.asking import ask_at_once
from support.processes.databases import MANUALS, ingest, rows, single
from support.processes.poolers import POOL_SIZE, needs_pgbouncer, pooled

PROCESSES = 20
QUESTION = "How often is the shaft of a stored HP-200 turned by hand?"
OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@needs_pgbouncer
async def test_twenty_processes_ask_at_once_through_five_connections(services: Services, database: str) -> None:
    await ingest(services, MANUALS)
    own = single(database, f"SELECT count(*) {OTHERS}")
    with pooled(database) as pooler:
        answers = ask_at_once(pooler, QUESTION, PROCESSES)
        assert single(database, f"SELECT count(*) {OTHERS}") - own <= POOL_SIZE
    assert len(answers) == PROCESSES
    assert {"14 days" in answer for answer in answers} == {True}, answers
    assert rows(database, "SELECT status, count(*) FROM runs GROUP BY 1") == [("OK", PROCESSES)]
    assert single(database, "SELECT count(DISTINCT run_id) FROM validations") == PROCESSES
