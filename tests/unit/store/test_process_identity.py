"""The identity of a process: a dead process is detected, and no live one is taken for dead."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from sourcebound.store.checkpoints import process_identity
from sourcebound.store.checkpoints.process_identity import ProcessIdentity, find_identity, is_dead

OWN = find_identity()
pytestmark = pytest.mark.skipif(OWN is None, reason="the system does not tell the identity of a process")
IDENTITY = (
    "from sourcebound.store.checkpoints.process_identity import find_identity; print(*find_identity(), flush=True);"
)


@pytest.fixture
def process() -> Iterator["subprocess.Popen[str]"]:
    """A process that prints its identity and waits."""
    command = [sys.executable, "-c", f"{IDENTITY} input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        yield started
        started.kill()


def identity_of(process: "subprocess.Popen[str]") -> ProcessIdentity:
    assert process.stdout is not None
    host, pid, started = process.stdout.readline().split()
    return ProcessIdentity(host, int(pid), int(started))


@pytest.mark.contract("CP-2")
def test_a_process_is_alive_until_it_is_killed(process: "subprocess.Popen[str]") -> None:
    assert OWN is not None
    found = identity_of(process)
    assert (found.host, found.pid) == (OWN.host, process.pid)
    assert not is_dead(found.pid, found.started)
    process.send_signal(signal.SIGSTOP)
    assert not is_dead(found.pid, found.started)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # a zombie
    assert is_dead(found.pid, found.started)
    process.wait()
    assert is_dead(found.pid, found.started)


@pytest.mark.contract("CP-2")
def test_another_process_with_the_same_id_is_another_process() -> None:
    assert OWN is not None
    assert not is_dead(OWN.pid, OWN.started)
    assert is_dead(OWN.pid, OWN.started - 1)


@pytest.mark.contract("CP-2")
def test_a_process_that_the_system_hides_counts_as_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    assert OWN is not None

    def hidden(pid: int) -> list[str]:
        raise FileNotFoundError

    monkeypatch.setattr(process_identity, "_read_fields", hidden)
    assert find_identity() is None
    assert not is_dead(OWN.pid, OWN.started)
