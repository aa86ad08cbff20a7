"""Home folders and client processes for tests of the embedded server.

As root, pytest's own temporary folders are closed to the account that runs PostgreSQL; the folders made here are open.
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
    """A process that holds the server until it is told to leave, or dies.

    Args:
        home: The server's home folder.
        uid: The ordinary account that it runs as; its parent's own when None.
        options: `keep` to start a server that stays, `sigterm` for a main program's handler, `fork` for a child.
        environment: Added to this process's own.
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
        """The next line that it prints: the URL first, or the failure's code and message."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def leave(self) -> None:
        """Ends it the ordinary way and waits until it has ended."""
        self.process.communicate(timeout=DEADLINE_SECONDS)

    def kill(self, number: signal.Signals) -> int:
        """Sends it a signal, waits until it has ended and returns its exit code."""
        self.process.send_signal(number)
        self.process.communicate(timeout=DEADLINE_SECONDS)
        return self.process.returncode


def wait_until(holds: Callable[[], bool]) -> None:
    """Waits until something holds; fails at the deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "the deadline has passed"
        time.sleep(0.02)


@contextlib.contextmanager
def reachable_folder(owner: int | None = None) -> Iterator[Path]:
    """A temporary folder that every account can enter.

    Args:
        owner: The account that it is given to; this process's own when None.
    """
    folder = Path(tempfile.mkdtemp(prefix="sourcebound-test-")).resolve()
    try:
        folder.chmod(0o755)
        if owner is not None:
            os.chown(folder, owner, owner)
        yield folder
    finally:
        wait_until(lambda: _is_removed(folder))


def _is_removed(folder: Path) -> bool:
    """Removes a folder as far as it can: a killed client's `initdb` may still write into it for a moment."""
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


@contextlib.contextmanager
def stopped_server(home: Path) -> Iterator[Path]:
    """A home folder whose server is stopped at the end, whatever happens."""
    try:
        yield home
    finally:
        EmbeddedServer(home).stop()


def query(url: str, statement: str) -> list[tuple[object, ...]]:
    """Runs one statement on a connection of its own and returns its rows, if it has any."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def socket_folder(url: str) -> Path:
    """The folder of the socket that a URL names."""
    return Path(parse_qs(urlsplit(url).query)["host"][0])


def shown_by_ps(pid: int, column: str) -> str:
    """One column of the system's list of processes, for one process."""
    command = ["ps", "-ww", "-o", f"{column}=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def copy_installation(installed: Binaries, target: Path) -> None:
    """Copies an installation beside a Python package that cannot be imported."""
    for part in installed.parts:
        shutil.copytree(installed.root / part, target / part)
    (target / WHEEL / "__init__.py").write_text("raise ImportError('this package must not be imported')")
