"""The tests of the command line fork the program where they can: a fork does what a process started anew does."""

import os
from functools import partial
from pathlib import Path

import pytest

from support.places import ROOT
from support.processes.commands import Program
from support.processes.forked import can_fork, run_forked

NOWHERE = {"SOURCEBOUND_HOME": "/dev/null/nowhere"}
ANEW = {"COLUMNS": "80"}
"""It counts when a process starts, so a program with it is no fork."""
BUNDLE = ROOT / "examples" / "rejected" / "sources.json"


@pytest.mark.parametrize(
    ("arguments", "stdin", "code"),
    [
        (["--version"], "", 0),
        (["ask"], "", 2),
        (["collections"], "", None),
        (["check", "--bundle", str(BUNDLE), "--answer", "-"], "It holds 0.65 litres.\r\n" * 9_000, None),
    ],
    ids=["an output", "bad usage", "a fault", "more than a pipe holds"],
)
def test_a_fork_ends_as_a_process_started_anew_does(arguments: list[str], stdin: str, code: int | None) -> None:
    assert can_fork(NOWHERE)
    assert not can_fork(ANEW)
    forked, started = (Program({**NOWHERE, **other})(*arguments, stdin=stdin) for other in ({}, ANEW))
    assert forked == started
    assert forked.code == code if code is not None else forked.code > 0


def test_a_process_that_a_fork_leaves_behind_is_not_waited_for(tmp_path: Path) -> None:
    """It keeps the standard streams of the fork open, longer than the fork may take."""
    leave = partial(os.spawnlp, os.P_NOWAIT, "sleep", "sleep", "12")
    assert run_forked(["program"], "", dict(os.environ), str(tmp_path), 6, leave) == (0, "", "")
