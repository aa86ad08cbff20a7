"""Home folders and client processes for tests of the embedded server.

When tests run as root, the account that runs PostgreSQL cannot enter pytest's own temporary folders. It can enter the
folders that this module makes.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg

from sourcebound.store.server.binaries import WHEEL, Binaries
from sourcebound.store.server.embedded import EmbeddedServer

DEADLINE_SECONDS = 60.0

CLIENT = """
import encodings.idna, os, sys
from pathlib import Path
import psycopg
from sourcebound.errors import StoreError
from sourcebound.store.server.embedded import EmbeddedServer, stop_on_sigterm

home, uid, *options = sys.argv[1:]
if uid != "own":
    os.setgroups([])
    os.setgid(int(uid))
    os.setuid(int(uid))
if "sigterm" in options:
    stop_on_sigterm()
server = EmbeddedServer(Path(home))
try:
    print(server.keep() if "keep" in options else server.start(), flush=True)
except StoreError as error:
    print(error.failure_code, *str(error).splitlines(), flush=True)
    sys.exit(3)
if "fork" in options and os.fork() == 0:
    sys.exit()
if "fork" in options:
    os.wait()
    print("child ended", flush=True)
sys.stdin.read()
"""


class Client:
    """A process that holds the server until `leave` or `kill` ends it.

    Args:
        home: The server's home folder.
        uid: The ordinary account under which it runs; by default that of its parent.
        options: `keep` to start a server that stays, `sigterm` for a main program's handler, `fork` for a child.
        environment: Variables added to those of this process.
    """

    def __init__(self, home: Path, uid: int | None, *options: str, environment: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(home), "own" if uid is None else str(uid), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
            env={**os.environ, "HOME": str(home.parent), **(environment or {})},
        )

    def answer(self) -> str:
        """Read the next line that it prints: first the URL, or the code and message of the failure."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def leave(self) -> None:
        """End it normally and wait until it has ended."""
        self.process.communicate(timeout=DEADLINE_SECONDS)

    def kill(self, number: signal.Signals) -> int:
        """Send it a signal, wait until it has ended and return its exit code."""
        self.process.send_signal(number)
        self.process.communicate(timeout=DEADLINE_SECONDS)
        return self.process.returncode


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds. Fail at the deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "the deadline has passed"
        time.sleep(0.02)


MEMORY = Path("/dev/shm")
MEMORY_BYTES = 8 << 30
"""Far more than the servers of a session need."""


def _in_memory() -> Path | None:
    """Return the file system in memory, if it has room and runs programs; otherwise None, for the default folder.

    A test has a database of its own, of 300 files. In memory they are made in 10 ms, on a disk in 20 to 800: ext4
    without a journal looks at every inode that was freed in the last minutes.
    """
    if not MEMORY.is_dir():
        return None
    system = os.statvfs(MEMORY)
    has_room = system.f_bavail * system.f_frsize >= MEMORY_BYTES
    return MEMORY if has_room and not system.f_flag & os.ST_NOEXEC else None


@contextlib.contextmanager
def reachable_folder(owner: int | None = None) -> Iterator[Path]:
    """Make a temporary folder that every account can enter.

    Args:
        owner: The account that owns it; by default that of this process.
    """
    folder = Path(tempfile.mkdtemp(prefix="sourcebound-test-", dir=_in_memory())).resolve()
    try:
        folder.chmod(0o755)
        if owner is not None:
            os.chown(folder, owner, owner)
        yield folder
    finally:
        wait_until(lambda: _is_removed(folder))


def _is_removed(folder: Path) -> bool:
    """Remove a folder as far as possible: the `initdb` of a killed client may still write to it for a moment."""
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


@contextlib.contextmanager
def stopped_server(home: Path) -> Iterator[Path]:
    """Yield a home folder, and stop its server at the end in any case."""
    try:
        yield home
    finally:
        EmbeddedServer(home).stop()


def query(url: str, statement: str) -> list[tuple[object, ...]]:
    """Run one statement on its own connection and return its rows, if it has any."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def socket_folder(url: str) -> Path:
    """Return the folder of the socket that a URL names."""
    return Path(parse_qs(urlsplit(url).query)["host"][0])


def shown_by_ps(pid: int, column: str) -> str:
    """Return one column of the output of `ps` for one process."""
    command = ["ps", "-ww", "-o", f"{column}=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def copy_installation(installed: Binaries, target: Path) -> None:
    """Copy an installation next to a Python package that cannot be imported."""
    for part in installed.parts:
        shutil.copytree(installed.root / part, target / part)
    (target / WHEEL / "__init__.py").write_text("raise ImportError('this package must not be imported')")
