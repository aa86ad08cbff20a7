"""The identity of a process on its host, by which other processes of the host detect that it has died.

Only Linux tells it. Elsewhere the identity is None, and a lease ends only when it is released or expires.
"""

import os
from pathlib import Path
from typing import NamedTuple

BOOT = Path("/proc/sys/kernel/random/boot_id")
STATE, STARTED = 0, 19
"""The positions of two fields in `/proc/PID/stat`, counted after the name of the program."""


class ProcessIdentity(NamedTuple):
    """A process: its host, its id and its start.

    Args:
        host: The boot of the machine and the namespace of the process id.
        pid: The id, which another process may get later.
        started: The start in clock ticks since the boot, which distinguishes the two.
    """

    host: str
    pid: int
    started: int


def find_identity() -> ProcessIdentity | None:
    """Return the identity of this process, or None if the system does not tell it."""
    pid = os.getpid()
    try:
        host = f"{BOOT.read_text().strip()}/{os.readlink('/proc/self/ns/pid')}"
        fields = _read_fields(pid)
    except (OSError, IndexError):
        return None
    return ProcessIdentity(host, pid, int(fields[STARTED]))


def is_dead(pid: int, started: int) -> bool:
    """Tell whether a process of this host and namespace has died. If it exists but cannot be read, it counts as alive.

    Args:
        pid: The id of the process.
        started: Its start in clock ticks since the boot.
    """
    try:
        fields = _read_fields(pid)
    except (OSError, IndexError):  # it has ended, or the system hides the processes of other accounts
        return not _exists(pid)
    return fields[STATE] in ("Z", "X") or int(fields[STARTED]) != started


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _read_fields(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
