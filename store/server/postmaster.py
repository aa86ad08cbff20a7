"""One PostgreSQL server on one data folder: made, launched, watched and stopped. It knows nothing of clients.

Rule: what the kernel keeps is believed, what a file says is checked. The server and its children inherit a lock
on `server.lock`, which the kernel drops when the last of them has died. Therefore a process number in
`postmaster.pid` that was reused, is a zombie's or belongs to another container is never taken for a server, two
servers never run on the same data, and orphaned children are waited for. A process is signalled only after its
command line has shown that it is PostgreSQL on our data.

Callers see to it that only one process at a time launches or stops a home's server.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import psycopg

from sourcebound.errors import StoreError
from sourcebound.store.server.binaries import (
    OWN_DATABASE,
    PARTIAL,
    ROLE,
    Account,
    Binaries,
    find_binaries,
    reachable_binaries,
)

DATABASE = "sourcebound"
PORT = 5432
"""Only part of the socket's name: the server listens on no network address."""
STOP_SECONDS = 90.0
POLL_SECONDS = 0.02
LOG_BYTES = 10_000_000
LOG_LINES = 6
SPARE_BYTES = 32_000_000
"""With less free space PostgreSQL cannot even write its next two write-ahead segments."""
SOCKET_PATH_BYTES = 100
"""The kernel's limit is 104 bytes (macOS) or 108 (Linux), its final zero included."""

SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "fsync": "on",
    "shared_buffers": "512MB",
    "max_connections": "100",
    "jit": "off",
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_checkpoints": "off",
}
"""Given on the command line, so that neither an edited file nor the environment changes what we rely on."""

TRANSIENT_REFUSALS = ("pre-existing shared memory block", "is another postmaster")
"""What PostgreSQL says while a predecessor's children, or a server that was started by hand, still live."""


class Claim(NamedTuple):
    """What `postmaster.pid` says; to be checked, for a crash leaves the file behind."""

    pid: int
    socket_folder: str
    ready: bool

    def url(self, database: str = DATABASE) -> str:
        """The libpq URL of one of the server's databases."""
        return f"postgresql://{ROLE}@/{database}?host={quote(self.socket_folder, safe='')}&port={PORT}"


class Postmaster:
    """The server of a home folder, whether it runs or not.

    Args:
        home: The existing or future folder of the data, the log and the locks.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.data = home / "data"
        self.log = home / "postgres.log"
        self._lock = home / "server.lock"

    def occupied(self) -> bool:
        """Whether a server, or an orphaned child of one, runs on the data."""
        if is_locked(self._lock):
            return True
        claim = self.read_claim()
        return claim is not None and self._is_ours(claim.pid)

    def read_claim(self) -> Claim | None:
        """What the server published; None where there is nothing, or not all of it yet."""
        try:
            lines = (self.data / "postmaster.pid").read_text().split("\n")
            ready = len(lines) > 7 and lines[7].strip() == "ready"
            return Claim(int(lines[0]), lines[4], ready)
        except (FileNotFoundError, NotADirectoryError, ValueError, IndexError):
            return None

    def answering_version(self) -> str | None:
        """The full version of the server, such as `18.4`; None while no server answers."""
        connection = self._connect(self.read_claim())
        if connection is None:
            return None
        with connection:
            return connection.info.parameter_status("server_version")

    def answering_url(self) -> str | None:
        """The URL of our database, which is made if it is missing; None while no server answers.

        Raises:
            StoreError: The server answers and cannot make the database.
        """
        claim = self.read_claim()
        connection = self._connect(claim)
        if claim is None or connection is None:
            return None
        try:
            with connection:
                if not connection.execute("SELECT FROM pg_database WHERE datname = 'sourcebound'").rowcount:
                    connection.execute("CREATE DATABASE sourcebound")
        except psycopg.Error as error:
            raise self._refusal("could not make its database", str(error)) from error
        return claim.url()

    def prepare(self, account: Account) -> Binaries:
        """Finds the programs, and makes the data folder where there is none; only while nothing runs on it.

        Args:
            account: The account that will run the server.

        Returns:
            Programs that fit the data and that the account can run.

        Raises:
            StoreError: There are no such programs, or the data folder cannot be made or is not PostgreSQL's.
        """
        for partial in self.home.glob(f"{PARTIAL}*"):
            shutil.rmtree(partial, ignore_errors=True)
        version_file = self.data / "PG_VERSION"
        made = version_file.exists()
        if not made and self.data.exists() and any(self.data.iterdir()):
            raise StoreError(
                f"The folder {self.data} is not empty and is not a PostgreSQL database.",
                "Move it away, or set SOURCEBOUND_HOME to another folder.",
            )
        found = find_binaries(version_file.read_text().strip() if made else None)
        binaries = reachable_binaries(found, self.home, account)
        if not made:
            self._make_data(binaries, account)
        return binaries

    def launch(self, binaries: Binaries, account: Account) -> int:
        """Starts the server in the background, where it holds `server.lock` by itself.

        The shell leaves it to the system's first process at once: as our own child it would stay a zombie after
        its end for as long as we live.

        Args:
            binaries: What `prepare` returned.
            account: The account that runs the server.

        Returns:
            The size of the log before the start, in bytes, for `check_exit`.

        Raises:
            StoreError: The server's socket has no safe place.
        """
        sockets = self._prepare_socket_folder(account)
        self._remove_stale_files(sockets)
        _rotate(self.log)
        command = [str(binaries.folder / "postgres"), "-D", str(self.data)]
        for name, value in {**SETTINGS, "unix_socket_directories": str(sockets)}.items():
            command += ["-c", f"{name}={value}"]
        with contextlib.ExitStack() as opened:
            log = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            opened.callback(os.close, log)
            lock = open_lock(self._lock)
            opened.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX)
            size = os.fstat(log).st_size
            account.run(["/bin/sh", "-c", '"$@" &', "sh", *command], stdout=log, pass_fds=[lock])
        return size

    def check_exit(self, log_size: int) -> None:
        """Explains why a launched server has ended, unless its reason passes by itself.

        Args:
            log_size: What `launch` returned.

        Raises:
            StoreError: It ended for a reason that does not pass; with the last lines of its log.
        """
        said = self.log_tail(log_size)
        if not any(reason in said for reason in TRANSIENT_REFUSALS):
            raise self._refusal("did not start", said)

    def stop(self) -> bool:
        """Ends the server by a fast shutdown: clients are disconnected, nothing committed is lost.

        Returns:
            Whether there was a server to stop.

        Raises:
            StoreError: The server does not stop.
        """
        if not self.occupied():
            return False
        deadline = time.monotonic() + STOP_SECONDS
        signalled: Claim | None = None
        while self.occupied():
            claim = self.read_claim()
            if claim is not None and signalled is None and self._is_ours(claim.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(claim.pid, signal.SIGINT)
                signalled = claim
            if time.monotonic() > deadline:
                raise StoreError(
                    f"The embedded database in {self.home} did not stop in {STOP_SECONDS:.0f} seconds.",
                    f"Read its log {self.log}; it may run in another container, or still be writing.",
                )
            time.sleep(POLL_SECONDS)
        if signalled is not None and Path(signalled.socket_folder).name == self._short_name():
            with contextlib.suppress(OSError):
                Path(signalled.socket_folder).rmdir()
        return True

    def log_tail(self, start: int = 0) -> str:
        """The last lines that the log got after its first `start` bytes."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as opened:
            opened.seek(max(start, self.log.stat().st_size - 4000))
            return _last_lines(opened.read().decode(errors="replace"))

    def _connect(self, claim: Claim | None) -> psycopg.Connection | None:
        if claim is None or not claim.ready or not self.occupied():
            return None
        try:
            return psycopg.connect(claim.url("postgres"), autocommit=True, connect_timeout=10)
        except psycopg.OperationalError:
            return None

    def _make_data(self, binaries: Binaries, account: Account) -> None:
        """Makes the data beside their place and then renames, so that a kill leaves all of it or nothing."""
        if not account.is_listed():
            raise StoreError(
                f"PostgreSQL makes a database only for an account that has a name, and number {account.uid} has none.",
                f"Give it one (in a container: a line in /etc/passwd), or {OWN_DATABASE}.",
            )
        partial = Path(tempfile.mkdtemp(prefix=f"{PARTIAL}data-", dir=self.home))
        try:
            account.adopt(partial)
            made = account.run(binaries.creation_command(partial))
            if made.returncode != 0:
                raise self._refusal("could not make its data folder", made.stdout)
            partial.rename(self.data)
            _sync_folder(self.home)
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def _short_name(self) -> str:
        return f"sourcebound-{hashlib.sha256(os.fsencode(self.home)).hexdigest()[:16]}"

    def _prepare_socket_folder(self, account: Account) -> Path:
        """The data folder, or a private folder named by a hash of the home where the path is too long."""
        if _can_hold_socket(self.data):
            return self.data
        runtime = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
        usable = not account.switched and runtime.is_absolute() and runtime.is_dir()
        usable = usable and _can_hold_socket(runtime / self._short_name())
        folder = (runtime if usable else Path("/tmp")) / self._short_name()
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            account.adopt(folder)
        if not account.owns_privately(folder):
            raise StoreError(
                f"{folder}, which the database's socket needs, is not a private folder of the account {account.name}.",
                "Remove it, or set SOURCEBOUND_HOME to a folder with a shorter path.",
            )
        return folder

    def _remove_stale_files(self, sockets: Path) -> None:
        """Removes what names a server that is gone: PostgreSQL believes any living process, even a zombie."""
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        (sockets / f".s.PGSQL.{PORT}.lock").unlink(missing_ok=True)

    def _is_ours(self, pid: int) -> bool:
        return f"-D {self.data} " in f"{_command_line(pid)} "

    def _refusal(self, what: str, said: str) -> StoreError:
        """The fault of a program that did not do its work; a full disk often leaves no message."""
        reasons = [line for line in said.splitlines() if "No space left on device" in line]
        if reasons or (not said.strip() and shutil.disk_usage(self.home).free < SPARE_BYTES):
            return disk_full(self.home, "".join(reasons[:1]))
        return StoreError(
            f"The embedded database in {self.home} {what}. PostgreSQL says:\n{_last_lines(said)}\n",
            f"Correct what it names (the whole log is {self.log}), or {OWN_DATABASE}.",
        )


def disk_full(home: Path, said: str) -> StoreError:
    """The fault of a home folder without space.

    Args:
        home: The folder of the embedded database.
        said: What the system or PostgreSQL said.
    """
    return StoreError(
        f"There is no space left on the disk of {home}. {said}".strip(),
        "Free some space, or set SOURCEBOUND_HOME to a folder on another disk.",
        code="NO_DISK_SPACE",
    )


def open_lock(path: Path) -> int:
    """Opens a lock file, which is made where it is missing; never through a link, for root opens it too."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def try_lock(lock: int, kind: int) -> bool:
    """Takes a lock of a kind, such as `fcntl.LOCK_EX`, unless another holder forbids it, and tells whether."""
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(path: Path) -> bool:
    """Whether some process holds a lock exclusively; by a shared lock, so that two may ask at once."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        return not try_lock(lock, fcntl.LOCK_SH)
    finally:
        os.close(lock)


def _command_line(pid: int) -> str:
    """A process's command line; empty when it is gone or a zombie."""
    if sys.platform == "linux":
        try:
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return ""
        return arguments.replace(b"\0", b" ").decode(errors="replace")
    else:
        command = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _sync_folder(folder: Path) -> None:
    """Makes a rename in a folder survive a power failure."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _can_hold_socket(folder: Path) -> bool:
    """Whether a socket there has a short enough path, without what PostgreSQL's lists treat specially."""
    path = folder / f".s.PGSQL.{PORT}"
    short = len(os.fsencode(path)) <= SOCKET_PATH_BYTES
    return short and re.fullmatch(r"[A-Za-z0-9_/.+@=:-]+", str(path)) is not None


def _rotate(log: Path) -> None:
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))


def _last_lines(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-LOG_LINES:])
