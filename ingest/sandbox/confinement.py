"""The confinement of the process that reads documents: it keeps its memory, its pipes and nothing else.

Parsers of foreign formats have bugs, and a hostile document can exploit them. So a process that opens a document has
nothing that is worth an attack. Each measure is as strong as the system allows, no measure relies on another, and the
process reports which of them hold after it has tried them (IX-2).
"""

import ctypes
import os
import socket
import sys
from collections.abc import Callable, Collection
from contextlib import ExitStack, suppress
from itertools import pairwise
from types import ModuleType
from typing import Final

from pydantic import BaseModel, ConfigDict

from sourcebound.ingest.sandbox import landlock, seccomp, trials
from sourcebound.ingest.sandbox.kernel import call

resource: ModuleType | None
try:
    import resource
except ImportError:  # not a POSIX system
    resource = None

NEW_NETWORK: Final = 0x40000000
NEW_USER: Final = 0x10000000
"""`CLONE_NEWNET` and `CLONE_NEWUSER`. An account without privileges may create the first only inside the second."""
SET_NO_NEW_PRIVILEGES: Final = 38
GET_NO_NEW_PRIVILEGES: Final = 39
CAPABILITY_VERSION: Final = 0x20080522
MAY_KILL: Final = 5
"""`CAP_KILL`, the capability to end processes of other users."""
OWN_USER_IDS: Final = 0x70000000
"""The first user id of parsers, in a range that no account, container or service uses. The process id is added."""
SPARE_USER_IDS: Final = range(61184, 65520)
"""The ids to try where a container maps only 65,536: those that systemd gives to services without an account."""
REFUSED_EVENTS: Final = frozenset(
    {
        *("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo"),
        *("socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"),
        *("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn"),
    }
)
"""The audit events of the interpreter that raise a `PermissionError`."""


class Confinement(BaseModel):
    """The account that a confined process gives of itself.

    Args:
        enforced: The measures that hold, in words.
        missing: The measures that this machine does not enforce, in words.
        reachable: What native code in the process can still reach, in words.
    """

    model_config = ConfigDict(frozen=True)

    enforced: tuple[str, ...]
    missing: tuple[str, ...]
    reachable: tuple[str, ...]


def confine(memory_megabytes: int, kept: Collection[int] = (0, 1, 2)) -> Confinement:
    """Remove from this process everything that reading a document does not need. This cannot be undone.

    Everything that the process will ever import must be imported before, because it can open no file afterwards.

    Args:
        memory_megabytes: The largest address space that it may use.
        kept: The descriptors that stay open.

    Returns:
        The measures that hold and those that do not.
    """
    _close_descriptors(kept)
    parent = os.getppid()
    started_by_root = hasattr(os, "geteuid") and os.geteuid() == 0
    # The order matters: a privilege is used before it is given up, and a call before it is refused.
    measures = {"network namespace": _holds(_leave_network, NEW_NETWORK)}
    if started_by_root:
        measures["own user id"] = _holds(_take_own_user_id)
    measures["network namespace"] = measures["network namespace"] or _holds(_leave_network, NEW_NETWORK | NEW_USER)
    measures["no_new_privs"] = _holds(_give_up_privileges)
    measures[f"Landlock (ABI {landlock.get_version()})"] = _holds(landlock.deny_all) and not trials.can_open()
    measures["memory limit"] = _holds(_set_limits, memory_megabytes)
    measures["seccomp"] = _holds(seccomp.allow_only_parsing) and not trials.can_ask_for_parent()
    reachable = trials.list_reachable(parent)
    sys.addaudithook(_refuse)
    return Confinement(
        enforced=tuple(name for name, holds in measures.items() if holds),
        missing=tuple(name.partition(" (")[0] for name, holds in measures.items() if not holds),
        reachable=reachable,
    )


def _holds(measure: Callable[..., None], *arguments: int) -> bool:
    try:
        measure(*arguments)
    except OSError:
        return False
    return True


def _close_descriptors(kept: Collection[int]) -> None:
    edges = [-1, *sorted(kept), 1 << 16]
    for below, above in pairwise(edges):
        if above - below > 1:  # for an empty range Python closes everything
            os.closerange(below + 1, above)


def _leave_network(namespaces: int) -> None:
    """Move into a network namespace without an interface.

    Args:
        namespaces: The kinds of namespace to create.

    Raises:
        OSError: The kernel permits no new namespace, or a server of the old one still answers.
    """
    with ExitStack() as stack:
        server = None
        with suppress(OSError):  # a machine without a network
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        call("unshare", namespaces)
        if server and trials.can_connect(server.getsockname()):
            raise OSError("the network is still there")


def _take_own_user_id() -> None:
    """Change from root to a user and a group that nothing else on the machine has.

    Raises:
        OSError: The machine permits none of the ids, or permits a return to root. Or root may not end processes of
            other users here, so that the parent could not end this one.
    """
    if not _get_capabilities() >> MAY_KILL & 1:
        raise OSError("the parent could not end this process")
    with suppress(OSError):
        os.setgroups([])
    for user_id in (OWN_USER_IDS + os.getpid(), SPARE_USER_IDS[os.getpid() % len(SPARE_USER_IDS)]):
        with suppress(OSError):
            os.setgid(user_id)
            os.setuid(user_id)
            break
    if os.getuid() == 0 or trials.can_become_root():
        raise OSError("the process can still become root")


def _get_capabilities() -> int:
    """Return the first 32 effective capabilities as bits; all of them where the system has none."""
    held = (ctypes.c_uint32 * 6)()
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    try:
        call("capget", ctypes.addressof(header), ctypes.addressof(held))
    except OSError:
        return 0xFFFFFFFF
    return int(held[0])


def _give_up_privileges() -> None:
    """Drop all capabilities, and refuse those that a program could grant.

    Raises:
        OSError: The kernel has no such attribute of a process.
    """
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    none = (ctypes.c_uint32 * 6)()
    with suppress(OSError):
        call("capset", ctypes.addressof(header), ctypes.addressof(none))
    call("prctl", SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if call("prctl", GET_NO_NEW_PRIVILEGES, 0, 0, 0, 0) != 1:
        raise OSError("no_new_privs was not set")


def _set_limits(memory_megabytes: int) -> None:
    """Limit the memory, and permit no new file, descriptor or process, also where the kernel has no filter or ruleset.

    Raises:
        OSError: The system does not limit the memory, as macOS.
    """
    if resource is None:
        raise OSError("this system has no limits")
    limits = {
        resource.RLIMIT_AS: memory_megabytes << 20,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_NOFILE: 0,
    }
    for kind, maximum in limits.items():
        with suppress(ValueError, OSError):  # an existing limit below ours stays
            resource.setrlimit(kind, (maximum, maximum))
    _, highest = resource.getrlimit(resource.RLIMIT_AS)
    if highest == resource.RLIM_INFINITY:
        raise OSError("the memory is not limited")


def _refuse(event: str, _arguments: tuple[object, ...]) -> None:
    if event in REFUSED_EVENTS:
        raise PermissionError(f"{event} is not allowed while a document is read")
