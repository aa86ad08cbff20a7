"""The trials of a confined process: it tries natively, as an exploited parser could, what it must not be able to do.

A trial that succeeds changes nothing: it closes what it opened, ends what it started and sends no signal.
"""

import os
import socket
from contextlib import suppress
from typing import Final

from sourcebound.ingest.sandbox.kernel import call

REACHABLE: Final = ("files", "sockets", "new processes", "other processes")


def list_reachable(parent: int) -> tuple[str, ...]:
    """Return what native code in this process can still reach, in words.

    Args:
        parent: The process that started this one.
    """
    if os.name != "posix":
        return REACHABLE
    socket_opens = _gives_descriptor("socket", socket.AF_INET, socket.SOCK_STREAM, 0)
    outcomes = (can_open(), socket_opens, _can_fork(), _succeeds("kill", parent, 0))
    return tuple(name for name, succeeds in zip(REACHABLE, outcomes, strict=True) if succeeds)


def can_open() -> bool:
    """Try to open a folder that every account may read."""
    return _gives_descriptor("open", b"/", os.O_RDONLY)


def can_ask_for_parent() -> bool:
    """Try a call that only a filter of system calls refuses."""
    return _succeeds("getppid")


def can_become_root() -> bool:
    """Try to become the administrator again."""
    return _succeeds("setuid", 0)


def can_connect(address: tuple[str, int]) -> bool:
    """Try to reach a server that listens on this machine.

    Args:
        address: Its host and port.
    """
    try:
        socket.create_connection(address, timeout=1).close()
    except OSError:
        return False
    return True


def _succeeds(name: str, *arguments: int) -> bool:
    try:
        call(name, *arguments)
    except OSError:
        return False
    return True


def _gives_descriptor(name: str, *arguments: int | bytes) -> bool:
    try:
        os.close(call(name, *arguments))
    except OSError:
        return False
    return True


def _can_fork() -> bool:
    try:
        child = call("fork")
    except OSError:
        return False
    if child == 0:
        call("_exit", 0)
    with suppress(OSError):
        os.waitpid(child, 0)
    return True
