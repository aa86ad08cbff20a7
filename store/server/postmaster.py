"""One PostgreSQL server on one data folder: creates, starts, monitors and stops it, without regard to clients.

Rule: trust the kernel's state and verify the contents of files. The server and its children inherit a lock on
`server.lock`, which the kernel drops when the last of them has died. Therefore a process id in `postmaster.pid` that
was reused, belongs to a zombie or belongs to another container is never mistaken for a server. Two servers never run on
the same data, and orphaned children are waited for. A process is signalled only after its command line has shown that
it is PostgreSQL on our data.

Callers must ensure that only one process at a time launches or stops a home's server.
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
from sourcebound.store.connection.saturation import is_saturated
from sourcebound.store.server.access import DATABASE, Access, is_refused
from sourcebound.store.server.accounts import OWN_DATABASE, Account, find_creator, may_take_over, take_over
from sourcebound.store.server.binaries import (
    PARTIAL,
    SUPERUSER,
    Binaries,
    disk_full_error,
    find_binaries,
    reachable_binaries,
)

PORT = 5432
"""Part of the socket's name only. The server listens on no network address."""
STOP_SECONDS = 90.0
POLL_SECONDS = 0.02
LOG_BYTES = 10_000_000
LOG_LINES = 6
SPARE_BYTES = 32_000_000
"""With less free space PostgreSQL cannot even write its next two write-ahead segments."""
SOCKET_PATH_BYTES = 100
"""The kernel's limit is 104 bytes (macOS) or 108 (Linux), including the terminating zero."""

SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "fsync": "on",
    "shared_buffers": "512MB",
    "max_connections": "200",
    "jit": "off",
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_checkpoints": "off",
}
"""Set on the command line, so that neither an edited file nor the environment can change settings we rely on."""

TRANSIENT_REFUSALS = ("pre-existing shared memory block", "is another postmaster")
"""Log messages of PostgreSQL while a predecessor's children, or a manually started server, are still running."""


class Claim(NamedTuple):
    """The contents of `postmaster.pid`, which must be verified because a crash leaves the file behind."""

    pid: int
    socket_folder: str
    ready: bool
    password_file: Path

    def url(self, database: str = DATABASE) -> str:
        """Return the libpq URL of one of the server's databases for the superuser."""
        place = (
            f"host={quote(self.socket_folder, safe='')}&port={PORT}&passfile={quote(str(self.password_file), safe='')}"
        )
        return f"postgresql://{SUPERUSER}@/{database}?{place}"


class Postmaster:
    """The server of a home folder, running or not.

    Args:
        home: The existing or future folder of the data, the log and the locks.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.data = home / "data"
        self.log = home / "postgres.log"
        self._lock = home / "server.lock"
        self._access = Access(self.data)

    def is_occupied(self) -> bool:
        """Tell whether a server, or an orphaned child of one, runs on the data."""
        if is_locked(self._lock):
            return True
        claim = self.read_claim()
        return claim is not None and self._runs_our_data(claim.pid)

    def read_claim(self) -> Claim | None:
        """Read `postmaster.pid`. Return None while it is missing or incomplete."""
        try:
            lines = (self.data / "postmaster.pid").read_text().split("\n")
            ready = len(lines) > 7 and lines[7].strip() == "ready"
            return Claim(int(lines[0]), lines[4], ready, self._access.password_file)
        except (FileNotFoundError, NotADirectoryError, ValueError, IndexError):
            return None

    def answering_version(self) -> str | None:
        """Return the full version of the server, such as `18.4`, or None while no server answers."""
        claim = self.read_claim()
        if claim is None or not claim.ready or not self.is_occupied():
            return None
        try:
            with self._open(claim) as connection:
                return connection.info.parameter_status("server_version")
        except psycopg.OperationalError:
            return None

    def answering_url(self) -> str | None:
        """Return the superuser's URL of our database, or None while no server answers.

        The database, the roles and their passwords are created if they are missing.

        Raises:
            StoreError: The server answers but cannot create them, or it refuses the password.
        """
        claim = self.read_claim()
        if claim is None or not claim.ready or not self.is_occupied():
            return None
        try:
            connection = self._open(claim)
        except psycopg.OperationalError as error:
            if is_refused(error):
                raise self._access.refusal_error() from error
            return claim.url() if is_saturated(error) else None  # its clients have created the database
        try:
            with connection:
                if not connection.execute("SELECT FROM pg_database WHERE datname = 'sourcebound'").rowcount:
                    connection.execute("CREATE DATABASE sourcebound")
            if not self._access.is_closed():
                self._access.close(lambda database: self._open(claim, database))
        except psycopg.Error as error:
            raise self._program_error("could not create its database and roles", str(error)) from error
        return claim.url()

    def prepare(self, account: Account) -> Binaries:
        """Find the programs, and create the data folder if it is missing. Call this only while no server runs on it.

        Args:
            account: The account that will run the server.

        Returns:
            Programs of the data's version that the account can run.

        Raises:
            StoreError: There are no such programs, or the data folder cannot be created or is not PostgreSQL's.
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
        installation = find_binaries(version_file.read_text().strip() if made else None)
        binaries = reachable_binaries(installation, self.home, account)
        if not made:
            self._make_data(binaries, account)
        elif may_take_over(account, self.data.stat().st_uid):
            take_over(self.data, account)
        return binaries

    def launch(self, binaries: Binaries, account: Account) -> int:
        """Start the server in the background, where it holds `server.lock` itself.

        The shell hands it over to the system's first process at once. As our own child it would remain a zombie from
        its end until ours.

        Args:
            binaries: The return value of `prepare`.
            account: The account that runs the server.

        Returns:
            The size of the log before the start, in bytes, for `check_exit`.

        Raises:
            StoreError: There is no safe folder for the server's socket.
        """
        sockets = self._prepare_socket_folder(account)
        self._remove_stale_files(sockets)
        self._access.reopen()
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
        """Report why a launched server has ended, unless the reason is transient.

        Args:
            log_size: The return value of `launch`.

        Raises:
            StoreError: It ended for a permanent reason. The message has the last lines of its log.
        """
        output = self.log_tail(log_size)
        if not any(reason in output for reason in TRANSIENT_REFUSALS):
            raise self._program_error("did not start", output)

    def stop(self) -> bool:
        """Stop the server by a fast shutdown: clients are disconnected, nothing committed is lost.

        Returns:
            Whether a server was running.

        Raises:
            StoreError: The server does not stop.
        """
        if not self.is_occupied():
            return False
        deadline = time.monotonic() + STOP_SECONDS
        signalled: Claim | None = None
        while self.is_occupied():
            claim = self.read_claim()
            if claim is not None and signalled is None and self._runs_our_data(claim.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(claim.pid, signal.SIGINT)
                signalled = claim
            if time.monotonic() > deadline:
                raise StoreError(
                    f"The embedded database in {self.home} did not stop in {STOP_SECONDS:.0f} seconds.",
                    f"Read its log {self.log}. It may be running in another container, or still be writing.",
                )
            time.sleep(POLL_SECONDS)
        if signalled is not None and Path(signalled.socket_folder).name == self._short_name():
            with contextlib.suppress(OSError):
                Path(signalled.socket_folder).rmdir()
        return True

    def log_tail(self, start: int = 0) -> str:
        """Return the last lines that were written after the log's first `start` bytes."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as opened:
            opened.seek(max(start, self.log.stat().st_size - 4000))
            return _last_lines(opened.read().decode(errors="replace"))

    def _open(self, claim: Claim, database: str = "postgres") -> psycopg.Connection:
        return psycopg.connect(claim.url(database), autocommit=True, connect_timeout=10)

    def _make_data(self, binaries: Binaries, account: Account) -> None:
        """Create the data in a temporary folder and rename it, so that a kill leaves either all of it or nothing."""
        creator = find_creator(account)
        partial = Path(tempfile.mkdtemp(prefix=f"{PARTIAL}data-", dir=self.home))
        try:
            creator.adopt(partial)
            made = creator.run(binaries.creation_command(partial))
            if made.returncode != 0:
                raise self._program_error("could not create its data folder", made.stdout)
            take_over(partial, account)
            partial.rename(self.data)
            _sync_folder(self.home)
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def _short_name(self) -> str:
        return f"sourcebound-{hashlib.sha256(os.fsencode(self.home)).hexdigest()[:16]}"

    def _prepare_socket_folder(self, account: Account) -> Path:
        """Return the data folder or, if its path is too long, a private folder named by a hash of the home folder."""
        if _can_hold_socket(self.data):
            return self.data
        runtime = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
        usable = not account.switched and runtime.is_absolute() and runtime.is_dir()
        usable = usable and _can_hold_socket(runtime / self._short_name())
        folder = (runtime if usable else Path("/tmp")) / self._short_name()
        if folder.is_dir() and may_take_over(account, folder.lstat().st_uid):
            shutil.rmtree(folder)  # a killed server of the account that owned the data before
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            account.adopt(folder)
        if not account.owns_privately(folder):
            raise StoreError(
                f"{folder}, which holds the database's socket, is not a private folder of the account {account.name}.",
                "Remove it, or set SOURCEBOUND_HOME to a folder with a shorter path.",
            )
        return folder

    def _remove_stale_files(self, sockets: Path) -> None:
        """Remove the files of a dead server. PostgreSQL takes any live process with its id, even a zombie, for it."""
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        (sockets / f".s.PGSQL.{PORT}.lock").unlink(missing_ok=True)

    def _runs_our_data(self, pid: int) -> bool:
        return f"-D {self.data} " in f"{_command_line(pid)} "

    def _program_error(self, failure: str, output: str) -> StoreError:
        """Build the error for a PostgreSQL program that failed. A full disk often leaves no message."""
        reasons = [line for line in output.splitlines() if "No space left on device" in line]
        if reasons or (not output.strip() and shutil.disk_usage(self.home).free < SPARE_BYTES):
            return disk_full_error(self.home, "".join(reasons[:1]))
        return StoreError(
            f"The embedded database in {self.home} {failure}. PostgreSQL says:\n{_last_lines(output)}\n",
            f"Correct the cause (the whole log is {self.log}), or {OWN_DATABASE}.",
        )


def open_lock(path: Path) -> int:
    """Open a lock file, created if missing. Never follow a symbolic link, because root opens the file too."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def try_lock(lock: int, kind: int) -> bool:
    """Try to take a lock of a kind, such as `fcntl.LOCK_EX`, without waiting. Return whether it was taken."""
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(path: Path) -> bool:
    """Tell whether a process holds a lock exclusively. A shared lock tests it, so that two callers can test at once."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        return not try_lock(lock, fcntl.LOCK_SH)
    finally:
        os.close(lock)


def _command_line(pid: int) -> str:
    """Return a process's command line, or an empty string if the process is gone or a zombie."""
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
    """Sync a folder, so that a rename in it survives a power failure."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _can_hold_socket(folder: Path) -> bool:
    """Tell whether a socket's path there is short enough and free of characters special to PostgreSQL's lists."""
    path = folder / f".s.PGSQL.{PORT}"
    short = len(os.fsencode(path)) <= SOCKET_PATH_BYTES
    return short and re.fullmatch(r"[A-Za-z0-9_/.+@=:-]+", str(path)) is not None


def _rotate(log: Path) -> None:
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))


def _last_lines(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-LOG_LINES:])
