"""`sourcebound runs prune` as a real process: what it would do, that it is asked twice, what it did."""

import json
import re

import pytest

from support.builders import SEAL, bundle, row
from support.processes.commands import Finished, Program
from support.processes.databases import rows

NOWHERE = Program({"SOURCEBOUND_HOME": "/dev/null/nowhere"})
"""A program whose database cannot be opened: bad usage is said without one."""


def _check_fault(done: Finished, failure_code: str, words: str) -> None:
    message, next_step = done.stderr.splitlines()
    assert (done.code, done.stdout) == (2, "")
    assert words in message
    assert message.endswith(f"[{failure_code}]")
    assert next_step.startswith("  Next: ")


@pytest.mark.contract("CP-7")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--older-than AGE, --keep-last N, or both"),
        (["--older-than", "30m", "--yes"], "'30m' is not a duration"),
        (["--older-than", "", "--yes"], "'' is not a duration"),
    ],
)
def test_what_is_not_said_clearly_prunes_nothing(arguments: list[str], words: str) -> None:
    _check_fault(NOWHERE("runs", "prune", *arguments), "BAD_REQUEST", words)


@pytest.mark.contract("CP-7")
def test_prune_asks_first_then_says_what_it_freed_and_the_run_says_that_it_was_pruned(database: str) -> None:
    program = Program({"DATABASE_URL": database})
    asked = program("ask", "--json", "--bundle", "-", stdin=json.dumps(bundle([row(chunk_text=SEAL)])))
    run = json.loads(asked.stdout)["run_id"]
    rows(database, "UPDATE runs SET finished_at = now() - interval '31 days'")
    order = ("runs", "prune", "--older-than", "30d")
    planned = program(*order, "--dry-run")
    assert (planned.code, planned.stdout) == (
        0,
        "would remove the checkpoints of 1 run, 0.0 MB; nothing was removed (--dry-run)\n",
    )
    _check_fault(
        program(*order),
        "NOT_CONFIRMED",
        "this would remove the checkpoints of 1 run, 0.0 MB for good. Nothing was removed.",
    )
    assert program(*order, "--keep-last", "1", "--yes").stdout.startswith("removed the checkpoints of 0 runs: 0 rows")
    pruned = program(*order, "--yes")
    assert (pruned.code, pruned.stderr) == (0, "")
    assert re.match(r"removed the checkpoints of 1 run: \d\d rows, 0.0 MB\non disk  0.\d MB before,", pruned.stdout)
    assert re.search(rf"  {run}  OK  pruned \d{{4}}-\d\d-\d\d\n", program("runs", "list").stdout)
    shown = program("runs", "show", run)
    assert (shown.code, "reason     Its checkpoints were pruned on " in shown.stdout) == (0, True)
    _check_fault(program("runs", "show", run, "--json"), "RUN_PRUNED", f"the checkpoints of run {run} were pruned on")


@pytest.mark.contract("CP-7")
def test_doctor_says_what_is_stored_and_prune_names_what_never_ended(database: str) -> None:
    program = Program({"DATABASE_URL": database})
    rows(
        database,
        "INSERT INTO runs (run_id, request_id, thread_id, policy_version, model, status, started_at) "
        "VALUES ('dead', 'dead', 'dead', 'P_V1', 'extractive', 'RUNNING', now() - interval '2 days')",
    )
    size = r"\d+\.\d MB"
    found = re.search(r"^ok  storage +(.*)\n(.*)", program("doctor").stdout, re.MULTILINE)
    assert found is not None
    each = r" \(\d+\.\d kB a run\)"
    assert re.fullmatch(rf"index {size}, checkpoints {size}{each}, runs {size}{each}, audit {size}", found[1])
    assert "prune" not in found[2]
    pruned = program("runs", "prune", "--older-than", "1d", "--dry-run")
    assert "1 run of that age never ended and kept the checkpoints" in pruned.stderr
