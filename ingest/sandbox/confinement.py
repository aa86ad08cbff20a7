"""Confines the process that reads documents: bounded memory, no network, no other program, no file written.

Parsers of other people's formats have bugs, and a document can be made to use them; so a process that opens one has
nothing that is worth taking over. Each of these is as strong as the system allows: the limits are POSIX, the network is
taken away by the kernel on Linux where it lets us, and refused by Python everywhere.
"""

import ctypes
import sys
from contextlib import suppress
from typing import Final

NEW_NETWORK: Final = 0x40000000
NEW_USER: Final = 0x10000000
"""`CLONE_NEWNET` and `CLONE_NEWUSER`; an account without privileges may make the first only within the second."""
REFUSED: Final = frozenset(
    {
        *("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo"),
        *("socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"),
        *("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn"),
    }
)
"""Audit events of the interpreter that end in a `PermissionError`."""


def confine(memory_megabytes: int) -> None:
    """Takes from this process, for good, what reading a document does not need.

    Args:
        memory_megabytes: The most address space that it may use.
    """
    _limit(memory_megabytes)
    _leave_network()
    sys.addaudithook(_refuse)


def _limit(memory_megabytes: int) -> None:
    try:
        import resource
    except ImportError:  # not a POSIX system
        return
    # An existing limit below ours stays; macOS refuses to limit the address space.
    for kind, most in (
        (resource.RLIMIT_AS, memory_megabytes << 20),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


def _leave_network() -> None:
    """Moves into a network namespace without any interface, so that native code cannot connect either."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    if libc.unshare(NEW_NETWORK) != 0:
        libc.unshare(NEW_NETWORK | NEW_USER)


def _refuse(event: str, _arguments: tuple[object, ...]) -> None:
    if event in REFUSED:
        raise PermissionError(f"{event} is refused while a document is read")
