"""The confinement of the process that reads documents: limited memory, no network, no other program, no written file.

Parsers of foreign formats have bugs, and a hostile document can exploit them. So a process that opens a document has
nothing that is worth an attack. Each restriction is as strong as the system allows: the limits need POSIX, the kernel
removes the network on Linux where it permits that, and Python refuses network calls everywhere.
"""

import ctypes
import sys
from contextlib import suppress
from typing import Final

NEW_NETWORK: Final = 0x40000000
NEW_USER: Final = 0x10000000
"""`CLONE_NEWNET` and `CLONE_NEWUSER`. An account without privileges may create the first only inside the second."""
REFUSED_EVENTS: Final = frozenset(
    {
        *("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo"),
        *("socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"),
        *("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn"),
    }
)
"""The audit events of the interpreter that raise a `PermissionError`."""


def confine(memory_megabytes: int) -> None:
    """Remove from this process everything that reading a document does not need. This cannot be undone.

    Args:
        memory_megabytes: The largest address space that it may use.
    """
    _set_limits(memory_megabytes)
    _leave_network()
    sys.addaudithook(_refuse)


def _set_limits(memory_megabytes: int) -> None:
    try:
        import resource
    except ImportError:  # not a POSIX system
        return
    # An existing limit below ours stays; macOS refuses to limit the address space.
    for kind, maximum in (
        (resource.RLIMIT_AS, memory_megabytes << 20),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (maximum, maximum))


def _leave_network() -> None:
    """Move into a network namespace without an interface, so that native code cannot connect either."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    if libc.unshare(NEW_NETWORK) != 0:
        libc.unshare(NEW_NETWORK | NEW_USER)


def _refuse(event: str, _arguments: tuple[object, ...]) -> None:
    if event in REFUSED_EVENTS:
        raise PermissionError(f"{event} is not allowed while a document is read")
