"""The embedded PostgreSQL: one server for each home folder, shared by every process that uses the folder.

Rule: a client's hold is a lock that the kernel drops when the client dies, even by `kill -9`, so a dead client never
keeps the server running for ever. Two locks in the home folder coordinate the processes (a third is the server's):

- `start.lock`: held while a server is started or stopped, so that only one process at a time does either.
- `clients.lock`: held shared by each client, so that the last client to leave detects that it is the last.

If the only client is killed with -9, the server idles until the next client leaves.

Two files keep what users asked for: `keep`, that the server stays without clients, and `stopped`, that no client
restarts it.
"""

import atexit
import contextlib
import errno
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import NamedTuple, Self

from sourcebound.errors import StoreError
from sourcebound.store.server.accounts import (
    OWN_DATABASE,
    Account,
    current_account,
    may_take_over,
    name_of,
    name_user_of,
)
from sourcebound.store.server.binaries import Binaries, disk_full_error
from sourcebound.store.server.postmaster import POLL_SECONDS, Postmaster, open_lock, try_lock

START_SECONDS = 120.0
RETRY_SECONDS = 0.5
LOCK_SECONDS = 240.0
"""Time to wait for another process that starts or stops the server. It exceeds the time that both may take."""


class ServerStatus(NamedTuple):
    """The state of a home folder's server.

    Args:
        running: Whether a server runs on the data, ready or not.
        pid: Its process id, once it has published one.
        data_dir: The folder of its data, which may not exist yet.
        url: The superuser's URL; None unless it answers.
        version: The answering server's version, such as `18.4`.
        clients: The number of its clients; None if the system does not report it.
        stays_running: Whether it keeps running after the last client disconnects.
        log: PostgreSQL's log.
    """

    running: bool
    pid: int | None
    data_dir: Path
    url: str | None
    version: str | None
    clients: int | None
    stays_running: bool
    log: Path


class EmbeddedServer:
    """A client's hold on the embedded server of a home folder.

    All methods block; call them through `asyncio.to_thread` from async code. A process that is forked while its
    parent has a hold must make its own `EmbeddedServer`.

    Args:
        home: The folder of the data, the log and the locks. The first start creates it.
    """

    def __init__(self, home: Path) -> None:
        self.home = home.expanduser().resolve()
        self._postmaster = Postmaster(self.home)
        self._clients = self.home / "clients.lock"
        self._marker = self.home / "keep"
        self._stopped = self.home / "stopped"
        self._hold: int | None = None
        self._holder = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def start(self) -> str:
        """Take a hold on the server, creating and starting it if necessary.

        Returns:
            A libpq URL of the database `sourcebound` for the superuser; `access.url_for` names another role.

        Raises:
            StoreError: The server cannot be created, started or reached.
        """
        return self._start(keep=False)

    def keep(self) -> str:
        """Start the server without taking a hold. It keeps running after the last client has left, until `stop`.

        Returns:
            A libpq URL of the database `sourcebound` for the superuser; `access.url_for` names another role.

        Raises:
            StoreError: The server cannot be created, started or reached.
        """
        return self._start(keep=True)

    def restart(self) -> None:
        """Start the server again if it has died under this client. A server that was stopped by `stop` stays stopped.

        Missing data is not created again.

        Raises:
            StoreError: The server cannot be started or reached.
        """
        with self._system_errors():
            if not self._postmaster.data.is_dir():
                return
            account = self._prepare_home()
            with self._lock_server():
                if self._hold is not None and not self._stopped.exists():
                    self._ensure_running(account)

    def release(self) -> None:
        """Drop the hold, if there is one. The last client to leave stops the server unless it is kept.

        Raises:
            StoreError: The server does not stop.
        """
        if self._hold is None:
            return
        with self._system_errors():
            if self._holder != os.getpid() or not self.home.is_dir():
                self._drop_hold()
                return
            with self._lock_server():
                self._leave()

    def stop(self) -> bool:
        """Stop the server for all clients, kept or not.

        Returns:
            Whether a server was running.

        Raises:
            StoreError: The server does not stop.
        """
        with self._system_errors():
            if not self.home.is_dir():
                return False
            with self._lock_server():
                self._marker.unlink(missing_ok=True)
                self._stopped.touch()
                self._drop_hold()
                return self._postmaster.stop()

    def status(self) -> ServerStatus:
        """Report the server's state without starting, creating or changing anything.

        Returns:
            The state, as far as it can be read without waiting for another process.

        Raises:
            StoreError: The home folder cannot be read.
        """
        with self._system_errors():
            running = self._postmaster.is_occupied()
            claim = self._postmaster.read_claim() if running else None
            version = self._postmaster.answering_version()
            return ServerStatus(
                running=running,
                pid=claim.pid if claim else None,
                data_dir=self._postmaster.data,
                url=claim.url() if claim and version else None,
                version=version,
                clients=_count_shared_locks(self._clients),
                stays_running=self._marker.exists(),
                log=self._postmaster.log,
            )

    @contextlib.contextmanager
    def _system_errors(self) -> Iterator[None]:
        """Convert an error of the operating system into a `StoreError` with the next step."""
        try:
            yield
        except OSError as error:
            raise _system_error(error, self.home) from error

    @contextlib.contextmanager
    def _lock_server(self) -> Iterator[None]:
        lock = open_lock(self.home / "start.lock")
        try:
            deadline = time.monotonic() + LOCK_SECONDS
            while not try_lock(lock, fcntl.LOCK_EX):
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"Another process is still starting or stopping the database in {self.home}.",
                        f"Wait, or end it (`fuser {self.home / 'start.lock'}` shows it), and try again.",
                    )
                time.sleep(POLL_SECONDS)
            yield
        finally:
            os.close(lock)

    def _start(self, *, keep: bool) -> str:
        with self._system_errors():
            account = self._prepare_home()
            with self._lock_server(), contextlib.ExitStack() as cleanup:
                had_hold = self._hold is not None
                self._take_hold()
                cleanup.callback(self._leave)
                url = self._ensure_running(account)
                self._stopped.unlink(missing_ok=True)
                if keep:
                    self._marker.touch()
                if had_hold or not keep:
                    cleanup.pop_all()
        return url

    def _prepare_home(self) -> Account:
        account = current_account()
        _make_folders(self.home, 0o755 if account.switched else 0o700)
        if account.switched and not account.can_enter(self.home):
            raise StoreError(
                f"PostgreSQL does not run as root, and the account {account.name}, which runs it instead, "
                f"cannot reach {self.home}.",
                f"Set SOURCEBOUND_HOME to a folder that every account can reach, or {OWN_DATABASE}.",
            )
        data = self._postmaster.data
        owner = data.stat().st_uid if data.exists() else account.uid
        if owner != account.uid and not may_take_over(account, owner):
            raise StoreError(
                f"The database in {data} belongs to the account {name_of(owner)}, not to {account.name}.",
                f"Run this as {name_user_of(owner)}, set SOURCEBOUND_HOME to another folder, or {OWN_DATABASE}.",
            )
        return account

    def _take_hold(self) -> None:
        if self._hold is not None and self._holder == os.getpid():
            return
        self._drop_hold()
        self._hold, self._holder = open_lock(self._clients), os.getpid()
        fcntl.flock(self._hold, fcntl.LOCK_SH)
        atexit.register(self.release)

    def _drop_hold(self) -> None:
        """Close the lock without unlocking it, because a forked child shares its parent's lock and must not drop it."""
        atexit.unregister(self.release)
        if self._hold is not None:
            hold, self._hold = self._hold, None
            os.close(hold)

    def _leave(self) -> None:
        """Drop the hold. If no other client has one, stop the server unless it is kept."""
        if self._hold is None:
            return
        self._drop_hold()
        clients = open_lock(self._clients)
        try:
            if not self._marker.exists() and try_lock(clients, fcntl.LOCK_EX):
                self._postmaster.stop()
        finally:
            os.close(clients)

    def _ensure_running(self, account: Account) -> str:
        """Wait for a server that answers, and launch one whenever none runs on the data."""
        deadline = time.monotonic() + START_SECONDS
        binaries: Binaries | None = None
        log_size: int | None = None
        while True:
            url = self._postmaster.answering_url()
            if url is not None:
                return url
            if not self._postmaster.is_occupied():
                if log_size is not None:
                    self._postmaster.check_exit(log_size)
                    time.sleep(RETRY_SECONDS)
                binaries = binaries or self._postmaster.prepare(account)
                log_size = self._postmaster.launch(binaries, account)
            if time.monotonic() > deadline:
                raise self._not_ready_error()
            time.sleep(POLL_SECONDS)

    def _not_ready_error(self) -> StoreError:
        """Build the error for a server that is not ready in time.

        The server is left running, because an interrupted recovery would restart from scratch.
        """
        self._drop_hold()
        return StoreError(
            f"The embedded database in {self.home} was not ready in {START_SECONDS:.0f} seconds. Its log ends:\n"
            f"{self._postmaster.log_tail()}\n",
            "If it is recovering from a crash, try again later. Otherwise end the remaining postgres processes.",
        )


def stop_on_sigterm() -> None:
    """Make SIGTERM end the program by `SystemExit`, so that the handlers registered with `atexit` run.

    Only main programs should call this, from the main thread. This module never installs a handler by itself.
    """
    signal.signal(signal.SIGTERM, _exit_on_signal)


def _exit_on_signal(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _system_error(error: OSError, home: Path) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full_error(home, str(error))
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError(
            f"The folder {home} of the embedded database cannot be used by this account: {error}.",
            f"Make it writable, set SOURCEBOUND_HOME to a writable folder, or {OWN_DATABASE}.",
        )
    return StoreError(
        f"The embedded database in {home} cannot be used: {error}.",
        f"Set SOURCEBOUND_HOME to another folder, or {OWN_DATABASE}.",
    )


def _make_folders(folder: Path, mode: int) -> None:
    """Create a folder and its missing parents with exactly this mode. Leave existing folders unchanged."""
    if folder.is_dir():
        return
    if not folder.parent.exists():
        _make_folders(folder.parent, mode)
    try:
        folder.mkdir()
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        folder.chmod(mode)


def _count_shared_locks(path: Path) -> int | None:
    """Count the shared locks on a file that the kernel lists. Return None where it lists no locks."""
    try:
        inode = str(path.stat().st_ino)
        locks = Path("/proc/locks").read_text().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None
    shared_locks = (line.split() for line in locks if " FLOCK " in line and " READ " in line)
    return sum(1 for words in shared_locks if words[5].rpartition(":")[2] == inode)
