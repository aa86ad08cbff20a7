"""The embedded PostgreSQL: one server for each home folder, shared by every process that uses the folder.

Rule: a client's hold is a lock that the kernel drops when the client dies, however it dies; so a client killed by
kill -9 does not keep the server for ever. Two locks in the home folder say who does what (a third is the server's):

- `start.lock`: held while a server is started or stopped, so that only one process at a time does either;
- `clients.lock`: held shared by each client, so that the last one out knows that it is the last.

If the only client is killed with -9, the server idles until the next client leaves.
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
from sourcebound.store.server.binaries import OWN_DATABASE, Account, Binaries, current_account, name_of
from sourcebound.store.server.postmaster import POLL_SECONDS, Postmaster, disk_full, open_lock, try_lock

START_SECONDS = 120.0
RETRY_SECONDS = 0.5
LOCK_SECONDS = 240.0
"""How long to wait for another process that starts or stops the server; more than both may take."""


class ServerStatus(NamedTuple):
    """What is known about a home folder's server.

    Args:
        running: Whether a server runs on the data, be it ready or not.
        pid: Its process number, once it has published one.
        data_dir: Where its data are, or would be.
        url: How to connect to it; None unless it answers.
        version: The answering server's version, such as `18.4`.
        clients: How many clients hold it; None where the system does not say.
        kept: Whether it stays after the last client has left.
        log: PostgreSQL's log.
    """

    running: bool
    pid: int | None
    data_dir: Path
    url: str | None
    version: str | None
    clients: int | None
    kept: bool
    log: Path


class EmbeddedServer:
    """A client's hold on the embedded server of a home folder.

    All methods block; call them through `asyncio.to_thread` from async code. A process that is forked while its
    parent has a hold must make its own `EmbeddedServer`.

    Args:
        home: The folder of the data, the log and the locks; made by the first start.
    """

    def __init__(self, home: Path) -> None:
        self.home = home.expanduser().resolve()
        self._postmaster = Postmaster(self.home)
        self._clients = self.home / "clients.lock"
        self._marker = self.home / "keep"
        self._hold: int | None = None
        self._holder = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def start(self) -> str:
        """Takes a hold on the server, which is made and started as far as it is not yet.

        Returns:
            A libpq URL of the database `sourcebound`.

        Raises:
            StoreError: The server cannot be made, started or reached.
        """
        return self._start(keep=False)

    def keep(self) -> str:
        """Starts the server to stay: it runs on after the last client has left, until `stop`. Takes no hold.

        Returns:
            A libpq URL of the database `sourcebound`.

        Raises:
            StoreError: The server cannot be made, started or reached.
        """
        return self._start(keep=True)

    def release(self) -> None:
        """Drops the hold, if there is one; the last client out stops the server unless it is kept.

        Raises:
            StoreError: The server does not stop.
        """
        if self._hold is None:
            return
        with self._faults():
            if self._holder != os.getpid() or not self.home.is_dir():
                self._drop_hold()
                return
            with self._exclusive():
                self._leave()

    def stop(self) -> bool:
        """Stops the server for everyone, kept or not.

        Returns:
            Whether there was a server to stop.

        Raises:
            StoreError: The server does not stop.
        """
        with self._faults():
            if not self.home.is_dir():
                return False
            with self._exclusive():
                self._marker.unlink(missing_ok=True)
                self._drop_hold()
                return self._postmaster.stop()

    def status(self) -> ServerStatus:
        """Tells what runs, without starting, making or changing anything.

        Returns:
            What could be found out without waiting for anyone.

        Raises:
            StoreError: The home folder cannot be read.
        """
        with self._faults():
            running = self._postmaster.occupied()
            claim = self._postmaster.read_claim() if running else None
            version = self._postmaster.answering_version()
            return ServerStatus(
                running=running,
                pid=claim.pid if claim else None,
                data_dir=self._postmaster.data,
                url=claim.url() if claim and version else None,
                version=version,
                clients=_count_shared_locks(self._clients),
                kept=self._marker.exists(),
                log=self._postmaster.log,
            )

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        """Turns what the operating system refuses into a fault that says what to do."""
        try:
            yield
        except OSError as error:
            raise _system_fault(error, self.home) from error

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        lock = open_lock(self.home / "start.lock")
        try:
            deadline = time.monotonic() + LOCK_SECONDS
            while not try_lock(lock, fcntl.LOCK_EX):
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"Another process is still starting or stopping the database in {self.home}.",
                        f"End it (`fuser {self.home / 'start.lock'}` names it) and try again.",
                    )
                time.sleep(POLL_SECONDS)
            yield
        finally:
            os.close(lock)

    def _start(self, *, keep: bool) -> str:
        with self._faults():
            account = self._prepare_home()
            with self._exclusive(), contextlib.ExitStack() as leaving:
                had_hold = self._hold is not None
                self._take_hold()
                leaving.callback(self._leave)
                url = self._ensure_running(account)
                if keep:
                    self._marker.touch()
                if had_hold or not keep:
                    leaving.pop_all()
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
        if owner != account.uid:
            raise StoreError(
                f"The database in {data} belongs to the account {name_of(owner)}, not to {account.name}.",
                f"Run this as {name_of(owner)}, set SOURCEBOUND_HOME to another folder, or {OWN_DATABASE}.",
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
        """Closes and does not unlock: a forked child has the same lock and must not drop its parent's."""
        atexit.unregister(self.release)
        if self._hold is not None:
            hold, self._hold = self._hold, None
            os.close(hold)

    def _leave(self) -> None:
        """Drops the hold and, when nobody else has one, stops the server unless it is kept."""
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
        """Waits for a server that answers, and launches one whenever nothing runs on the data."""
        deadline = time.monotonic() + START_SECONDS
        binaries: Binaries | None = None
        log_size: int | None = None
        while True:
            url = self._postmaster.answering_url()
            if url is not None:
                return url
            if not self._postmaster.occupied():
                if log_size is not None:
                    self._postmaster.check_exit(log_size)
                    time.sleep(RETRY_SECONDS)
                binaries = binaries or self._postmaster.prepare(account)
                log_size = self._postmaster.launch(binaries, account)
            if time.monotonic() > deadline:
                raise self._not_ready()
            time.sleep(POLL_SECONDS)

    def _not_ready(self) -> StoreError:
        """The fault of a server that takes too long; it goes on, for a recovery that is stopped begins anew."""
        self._drop_hold()
        return StoreError(
            f"The embedded database in {self.home} was not ready in {START_SECONDS:.0f} seconds. Its log ends:\n"
            f"{self._postmaster.log_tail()}\n",
            "If it is recovering from a crash, try again later; else end the postgres processes that are left.",
        )


def stop_on_sigterm() -> None:
    """Makes SIGTERM end the program by `SystemExit`, so that what is registered with `atexit` runs.

    For main programs only, from the main thread; nothing in this module installs a handler by itself.
    """
    signal.signal(signal.SIGTERM, _exit_on_signal)


def _exit_on_signal(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _system_fault(error: OSError, home: Path) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(home, str(error))
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError(
            f"The folder {home} of the embedded database cannot be used by this account: {error}.",
            f"Make it writable, set SOURCEBOUND_HOME to a folder that is, or {OWN_DATABASE}.",
        )
    return StoreError(
        f"The embedded database in {home} cannot be used: {error}.",
        f"Set SOURCEBOUND_HOME to another folder, or {OWN_DATABASE}.",
    )


def _make_folders(folder: Path, mode: int) -> None:
    """Makes a folder and its missing parents with exactly this mode; what exists is left as it is."""
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
    """Counts the shared locks on a file as the kernel lists them; None where it does not."""
    try:
        inode = str(path.stat().st_ino)
        locks = Path("/proc/locks").read_text().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None
    held = (line.split() for line in locks if " FLOCK " in line and " READ " in line)
    return sum(1 for words in held if words[5].rpartition(":")[2] == inode)
