"""Landlock: the Linux kernel denies this process every right on files, TCP ports, foreign sockets and processes.

A ruleset that names rights and has no rule denies all of them. An unprivileged process may apply it to itself.
"""

import ctypes
import os
from typing import Final, NamedTuple

from sourcebound.ingest.sandbox.kernel import MACHINE, system_call

CREATE_RULESET: Final = 444
RESTRICT_SELF: Final = 446
"""The numbers of the system calls, which are the same on every processor."""
GET_VERSION: Final = 1
ALL_THREADS: Final = 1 << 3
ALL_THREADS_SINCE: Final = 8
"""`LANDLOCK_RESTRICT_SELF_TSYNC`, and the version that introduced it."""


class _Rights(NamedTuple):
    """The numbers of known rights on files and on TCP ports, and of known scopes (abstract sockets, signals)."""

    files: int
    ports: int = 0
    scopes: int = 0


RIGHTS: Final = (
    _Rights(17, 2, 2),
    _Rights(16, 2, 2),
    _Rights(16, 2),
    _Rights(15, 2),
    _Rights(15),
    _Rights(14),
    _Rights(13),
)
"""The rights by version, newest first: 9, 6, 5, 4, 3, 2 and 1. A kernel refuses a ruleset with an unknown right."""


def get_version() -> int:
    """Return the version of the kernel's interface, its ABI; 0 where it has no Landlock."""
    if not MACHINE:
        return 0
    try:
        return system_call(CREATE_RULESET, 0, 0, GET_VERSION)
    except OSError:
        return 0


def deny_all() -> None:
    """Deny this process all rights that the kernel can deny. The process must have set `no_new_privs` (IX-2).

    Raises:
        OSError: The kernel has no Landlock, or it is switched off.
    """
    ruleset = _create_ruleset()
    try:
        system_call(RESTRICT_SELF, ruleset, ALL_THREADS if get_version() >= ALL_THREADS_SINCE else 0)
    finally:
        os.close(ruleset)


def _create_ruleset() -> int:
    """Return the descriptor of a ruleset that denies the most that this kernel knows."""
    if not MACHINE:
        raise OSError("Landlock is part of Linux")
    for index, rights in enumerate(RIGHTS):
        attributes = (ctypes.c_uint64 * 3)(*((1 << count) - 1 for count in rights))
        try:
            return system_call(CREATE_RULESET, ctypes.addressof(attributes), ctypes.sizeof(attributes), 0)
        except OSError:
            if index == len(RIGHTS) - 1:
                raise
    raise AssertionError("RIGHTS is empty")
