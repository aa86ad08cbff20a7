"""The code that an exploited parser would run: raw system calls, which no rule of the interpreter can refuse.

`python native_payload.py confined|free ABSENT,…` reads a `Plan` as JSON on standard input. It plays the process that
ingests: it starts the payload in a confined parser, or as an ordinary child, and prints the outcomes as JSON. The
parser runs as on a kernel without the absent calls.
"""

import ctypes
import errno
import json
import os
import platform
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from sourcebound.contracts.corpus.document import DocumentMetadata, Page, ParsedDocument
from sourcebound.ingest.sandbox import worker
from sourcebound.ingest.sandbox.parser_pool import ParserPool

Plan = dict[str, Any]
"""The targets of the payload: `secret`, `folder`, `unix` (paths), `port`, `victim` (a process), `word` (the secret)."""
DONE: Final = "done"
"""The outcome of an act that succeeded."""
REFUSED: Final = {"EPERM", "EACCES"}
HERE: Final = -100
SIGNAL_ON_END: Final = 17
NEW_MOUNTS: Final = 0x20000
PRIVATE: Final = 0x44000
"""`CLONE_NEWNS`, and `MS_REC | MS_PRIVATE`: a mount that other namespaces do not see."""
NAMES: Final = (
    *("openat", "read", "truncate", "unlinkat", "mkdirat", "symlinkat", "fchmodat", "clone", "clone3", "execve"),
    *("socket", "connect", "bind", "socketpair", "kill", "pidfd_open", "ptrace", "process_vm_readv", "setns"),
    *("unshare", "mount", "bpf", "keyctl", "io_uring_setup", "perf_event_open", "memfd_create", "userfaultfd"),
    *("shmget", "inotify_init1", "pipe2", "chroot", "setuid", "personality", "pidfd_getfd", "finit_module"),
)
NUMBERS: Final = {
    "x86_64": (
        *(257, 0, 76, 263, 258, 266, 268, 56, 435, 59),
        *(41, 42, 49, 53, 62, 434, 101, 310, 308),
        *(272, 165, 321, 250, 425, 298, 319, 323),
        *(29, 294, 293, 161, 105, 135, 438, 313),
    ),
    "aarch64": (
        *(56, 63, 45, 35, 34, 36, 53, 220, 435, 221),
        *(198, 203, 200, 199, 129, 434, 117, 270, 268),
        *(97, 40, 280, 219, 425, 241, 279, 282),
        *(194, 26, 59, 51, 146, 92, 438, 273),
    ),
}
SYSTEM_CALLS: Final = dict(zip(NAMES, NUMBERS[platform.machine()], strict=True))
LIBRARY: Final = ctypes.CDLL(None, use_errno=True)
BUFFER: Final = ctypes.create_string_buffer(1 << 16)
ROOM: Final = ctypes.addressof(BUFFER)
"""Memory that the kernel may write to."""


def system_call(name: str, *arguments: int | bytes) -> int:
    """Call the kernel."""
    LIBRARY.syscall.restype = ctypes.c_long
    values = (each if isinstance(each, bytes) else ctypes.c_long(each) for each in arguments)
    result: int = LIBRARY.syscall(ctypes.c_long(SYSTEM_CALLS[name]), *values)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def _read(path: str | Path, word: str) -> None:
    size = system_call("read", system_call("openat", HERE, os.fsencode(path), 0, 0), ROOM, len(BUFFER))
    assert word.encode() in BUFFER.raw[:size]


def _write(path: str) -> None:
    descriptor = system_call("openat", HERE, os.fsencode(path), os.O_WRONLY | os.O_CREAT, 0o600)
    assert os.write(descriptor, b"written") == 7


def _end(child: int, code: int = 0) -> None:
    """End a child that the payload made; in the child, end at once."""
    if child == 0:
        LIBRARY._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def _execute() -> None:
    """Run a program in a child, or in this process where no child can be made."""
    arguments = (ctypes.c_char_p * 2)(b"/bin/true", None)
    try:
        child = system_call("clone", SIGNAL_ON_END, 0, 0, 0, 0)
    except OSError:
        child = 0
    if child == 0:
        system_call("execve", b"/bin/true", ctypes.addressof(arguments), 0)
    _end(child)


def _connect(family: int, address: bytes) -> None:
    system_call("connect", system_call("socket", family, socket.SOCK_STREAM, 0), address, len(address))


def _trace(process: int) -> None:
    system_call("ptrace", 16, process, 0, 0)  # PTRACE_ATTACH
    os.waitpid(process, 0x40000000)  # __WALL
    system_call("ptrace", 17, process, 0, 0)  # PTRACE_DETACH


def _start_thread() -> None:
    try:
        thread = threading.Thread(target=int)
        thread.start()
    except RuntimeError as error:
        raise OSError(errno.EPERM, "clone") from error
    thread.join()


def _enter_network_of(process: int) -> None:
    try:
        namespace = system_call("openat", HERE, f"/proc/{process}/ns/net".encode(), 0, 0)
    except OSError:
        namespace = 0
    system_call("setns", namespace, 0)


def may_leave_network() -> bool:
    """Return whether a process may leave the network here; some systems and containers forbid it."""
    probe = "import ctypes; c = ctypes.CDLL(None); print(c.unshare(0x40000000) == 0 or c.unshare(0x50000000) == 0)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    return done.stdout.strip() == "True"


def _mount(folder: bytes) -> None:
    """Mount in a namespace of its own, so that the machine does not keep what the control mounts."""
    with suppress(OSError):
        system_call("unshare", NEW_MOUNTS)
    system_call("mount", b"none", b"/", 0, PRIVATE, 0)
    system_call("mount", b"none", folder, b"tmpfs", 0, 0)


def list_acts(plan: Plan) -> dict[str, Callable[[], object]]:
    """Return what the payload tries, in order. The last acts end the victim."""
    folder, parent, victim = plan["folder"], os.getppid(), plan["victim"]
    path = {name: f"{folder}/{name}".encode() for name in ("old", "shortened", "linked", "made", "opened", "bound")}
    unix = socket.AF_UNIX.to_bytes(2, sys.byteorder) + plan["unix"].encode() + b"\0"
    internet = socket.AF_INET.to_bytes(2, sys.byteorder) + struct.pack(">H4s8x", plan["port"], bytes([127, 0, 0, 1]))
    memory = (ctypes.c_uint64 * 2)(ROOM, 8)
    clone3 = (ctypes.c_uint64 * 8)(0, 0, 0, 0, SIGNAL_ON_END)
    return {
        "read a file": lambda: _read(plan["secret"], plan["word"]),
        "read the parent's environment": lambda: _read(f"/proc/{parent}/environ", plan["word"]),
        "read its own environment": lambda: _read("/proc/self/environ", ""),
        "write a file": lambda: _write(f"{folder}/written"),
        "truncate a file": lambda: system_call("truncate", path["shortened"], 0),
        "open a file to others": lambda: system_call("fchmodat", HERE, path["opened"], 0o777),
        "remove a file": lambda: system_call("unlinkat", HERE, path["old"], 0),
        "make a folder": lambda: system_call("mkdirat", HERE, path["made"], 0o700),
        "make a link": lambda: system_call("symlinkat", b"/", HERE, path["linked"]),
        "fork": lambda: _end(system_call("clone", SIGNAL_ON_END, 0, 0, 0, 0)),
        "fork by clone3": lambda: _end(system_call("clone3", ctypes.addressof(clone3), 64)),
        "start a thread": _start_thread,
        "start a program": _execute,
        "connect to a port": lambda: _connect(socket.AF_INET, internet),
        "connect to a socket": lambda: _connect(socket.AF_UNIX, unix),
        "make a pair of sockets": lambda: system_call("socketpair", socket.AF_UNIX, socket.SOCK_STREAM, 0, ROOM),
        "make a pipe": lambda: system_call("pipe2", ROOM, 0),
        "make a file in memory": lambda: system_call("memfd_create", b"x", 0),
        "share memory": lambda: system_call("shmget", 0, 4096, 0o600),
        "watch files": lambda: system_call("inotify_init1", 0),
        "signal the parent": lambda: system_call("kill", parent, 18),  # SIGCONT
        "refer to a process": lambda: system_call("pidfd_open", victim, 0),
        "change its personality": lambda: system_call("personality", 0),
        "use a keyring": lambda: system_call("keyctl", 0, -3, 1),
        "use io_uring": lambda: system_call("io_uring_setup", 1, ROOM),
        "read a process": lambda: system_call(
            "process_vm_readv", victim, ctypes.addressof(memory), 1, ctypes.addressof(memory), 1, 0
        ),
        "trace a process": lambda: _trace(victim),
        "enter a namespace": lambda: _enter_network_of(parent),
        "load a program into the kernel": lambda: system_call("bpf", 0, 0, 0),
        "load a module": lambda: system_call("finit_module", -1, b"", 0),
        "become root": lambda: system_call("setuid", 0),
        "make a namespace": lambda: system_call("unshare", NEW_MOUNTS),
        "mount": lambda: _mount(path["made"]),
        "change the root folder": lambda: system_call("chroot", b"/"),
        "kill a process": lambda: system_call("kill", victim, 9),
    }


def attempt(plan: Plan) -> dict[str, str]:
    """Try each act; return `done` or the name of the error."""
    outcomes = {}
    for name, act in list_acts(plan).items():
        try:
            act()
        except OSError as error:
            outcomes[name] = errno.errorcode[error.errno or 0]
        except AssertionError:
            outcomes[name] = "nothing"
        else:
            outcomes[name] = DONE
    return outcomes


def load(path: Path, data: bytes, _max_bytes: int) -> ParsedDocument:
    """Run the payload instead of a parser. The file's bytes are its plan."""
    page = Page(index=0, text=json.dumps(attempt(json.loads(data))))
    return ParsedDocument(media_type="text/plain", metadata=DocumentMetadata(title=path.stem), pages=(page,))


def run(
    mode: str, plan: Plan, user: int | None, environment: Mapping[str, str], absent: Sequence[str] = ()
) -> dict[str, str]:
    """Run the payload under a process that ingests; return the outcomes.

    Args:
        mode: `confined` or `free`.
        plan: The targets.
        user: The account of the processes; None for this process's own.
        environment: Their environment.
        absent: The system calls that the parser's kernel lacks.
    """
    done = subprocess.run(
        [sys.executable, "-P", __file__, mode, ",".join(absent)],
        input=json.dumps(plan),
        capture_output=True,
        text=True,
        user=user,
        env=environment,
        timeout=60,
        check=False,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, str] = json.loads(done.stdout)
    return outcomes


def _main() -> None:
    if sys.argv[1] == "confined":
        kernel = (sys.executable, "-P", str(Path(__file__).with_name("older_kernel.py")), sys.argv[2])
        parser = (*kernel, sys.executable, "-P", __file__, "worker")
        with ParserPool(30, 512, processes=1, command=parser) as pool:
            print(pool.parse(Path("plan.txt"), sys.stdin.buffer.read(), 1 << 20).pages[0].text)
    elif sys.argv[1] == "free":
        command = [sys.executable, "-P", __file__, "payload"]
        print(subprocess.run(command, stdin=sys.stdin, capture_output=True, text=True, check=True).stdout)
    elif sys.argv[1] == "payload":
        print(json.dumps(attempt(json.load(sys.stdin))))
    else:
        worker.serve(int(sys.argv[2]), float(sys.argv[3]), load)


if __name__ == "__main__":
    _main()
