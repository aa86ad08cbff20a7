"""Real `sourcebound` processes, run to the end or started and signalled, with environment variables of the test."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.places import ROOT
from support.processes.forked import can_fork, run_forked
from support.processes.homes import reachable_folder, stopped_server

PROGRAM = Path(sys.executable).with_name("sourcebound")
DEADLINE_SECONDS = 120


class Finished(NamedTuple):
    """The exit code and the output of a process."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Program:
    """The installed program with some environment variables set.

    Args:
        environment: Variables added to those of this process.
    """

    environment: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str | Path, stdin: str = "") -> Finished:
        """Run the program to its end, in a fork where that makes no difference to it."""
        if can_fork(self.environment):
            command = [str(part) for part in (PROGRAM, *arguments)]
            return Finished(*run_forked(command, stdin, self.variables(), tempfile.gettempdir(), DEADLINE_SECONDS))
        done = subprocess.run(
            [PROGRAM, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            errors="backslashreplace",
            timeout=DEADLINE_SECONDS,
            check=False,
            **self._options(),
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str | Path) -> "subprocess.Popen[str]":
        """Start the program in its own process group. `kill` ends it."""
        return subprocess.Popen(
            [PROGRAM, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
            **self._options(),
        )

    def variables(self) -> dict[str, str]:
        """Return the whole environment of its processes."""
        return {**os.environ, **self.environment}

    def _options(self) -> dict[str, Any]:
        return {"env": self.variables(), "cwd": tempfile.gettempdir()}


def end(process: "subprocess.Popen[str]", number: signal.Signals) -> Finished:
    """Send a signal and wait for the end."""
    process.send_signal(number)
    _, stderr = process.communicate(timeout=DEADLINE_SECONDS)
    return Finished(process.returncode, "", stderr)


MANUALS = ROOT / "examples" / "manuals"


@pytest.fixture(scope="session")
def demo() -> Iterator[Program]:
    """The program over its own embedded database, which stays up and holds the example manuals as `demo`."""
    with reachable_folder() as folder, stopped_server(folder / "home") as home:
        program = Program({"SOURCEBOUND_HOME": str(home), "SOURCEBOUND_COLLECTION": "demo"})
        for arguments in (["db", "start"], ["ingest", str(MANUALS)]):
            done = program(*arguments)
            assert done.code == 0, done.stderr
        yield program


@pytest.fixture
def fresh() -> Iterator[Program]:
    """The program over an embedded database that does not exist yet."""
    with reachable_folder() as folder, stopped_server(folder / "home") as home:
        yield Program({"SOURCEBOUND_HOME": str(home)})
