"""The account that runs the embedded server and owns its data.

Rule: no other program uses this account (decision 31). A user's server runs as that user. PostgreSQL refuses to run as
root, so root runs it as the account `sourcebound` if the system has one, and otherwise as a user id that no account of
the system has. A data folder of the shared account `nobody`, which earlier versions used, is taken over while no server
runs on it.
"""

import os
import pwd
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sourcebound.errors import StoreError

LISTED_ACCOUNT: Final = "sourcebound"
UNLISTED_IDS: Final = (0x71000000, 61000)
"""The user and group ids to use without that account: the first that this system can give to a process.

The first is above the ids of accounts, services and containers, and above those of the confined parsers. The second is
for a container that maps only 65,536 ids: systemd reserves it for nothing.
"""
SHARED_ACCOUNT: Final = "nobody"
OWN_DATABASE: Final = "set DATABASE_URL to your own PostgreSQL server"
ID_MAPS: Final = (Path("/proc/self/uid_map"), Path("/proc/self/gid_map"))


@dataclass(frozen=True)
class Account:
    """The account that PostgreSQL runs as and that owns its files.

    Args:
        name: Its login name, or its user id where it has no name.
        uid: Its user id.
        gid: Its group id.
        switched: Whether it differs from this process's own account, which is root in that case.
    """

    name: str
    uid: int
    gid: int
    switched: bool

    def run(
        self, command: Sequence[str], *, stdout: int = subprocess.PIPE, pass_fds: Sequence[int] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run a program as this account, in its own session and in a folder that every account can reach.

        Args:
            command: The program's path and its arguments.
            stdout: Destination of its output and error messages; captured when omitted.
            pass_fds: Open file descriptors that it inherits.

        Returns:
            The finished process. A non-zero exit code does not raise.

        Raises:
            OSError: The program could not be started.
        """
        return subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env=_make_environment(),
            cwd="/",
            start_new_session=True,
            pass_fds=pass_fds,
            user=self.uid if self.switched else None,
            group=self.gid if self.switched else None,
            extra_groups=[] if self.switched else None,
        )

    def adopt(self, path: Path) -> None:
        """Make this account the owner of a file or folder that we have just created."""
        if self.switched:
            os.chown(path, self.uid, self.gid)

    def owns_privately(self, folder: Path) -> bool:
        """Tell whether a path is a real folder that this account owns and no other account can access."""
        found = folder.lstat()
        return stat.S_ISDIR(found.st_mode) and found.st_uid == self.uid and not found.st_mode & 0o077

    def is_listed(self) -> bool:
        """Tell whether the system has a name for this account. In a container it may have none."""
        return self.name != str(self.uid)

    def can_enter(self, folder: Path) -> bool:
        """Tell whether this account can reach the contents of a folder."""
        return self.run(["/bin/sh", "-c", 'test -x "$1"', "sh", str(folder)]).returncode == 0

    def can_execute(self, program: Path) -> bool:
        """Tell whether this account can run a PostgreSQL program."""
        try:
            return self.run([str(program), "--version"]).returncode == 0
        except PermissionError:
            return False


def current_account() -> Account:
    """Return the account that PostgreSQL must run as in this process.

    Returns:
        This process's own account. For root, the account `sourcebound` or the first usable one of `UNLISTED_IDS`.

    Raises:
        StoreError: This process runs as root in a container that has no other user id.
    """
    uid = os.geteuid()
    if uid != 0:
        return Account(name_of(uid), uid, os.getegid(), switched=False)
    listed = _find_listed(LISTED_ACCOUNT)
    if listed is not None and listed.uid != 0:
        return listed
    for unlisted in UNLISTED_IDS:
        if all(_is_mapped(unlisted, id_map) for id_map in ID_MAPS):
            return Account(str(unlisted), unlisted, unlisted, switched=True)
    raise StoreError(
        "PostgreSQL does not run as root, and this container has no other user id to run it as.",
        f"Run this as an ordinary user, or {OWN_DATABASE}.",
    )


def find_creator(account: Account) -> Account:
    """Return the account that runs `initdb`, which refuses to run as a user id without a name.

    Args:
        account: The account that will own the data.

    Returns:
        The account itself if it has a name. Otherwise `nobody`, which owns the new folder only until it is complete.

    Raises:
        StoreError: There is no account with a name to run it as.
    """
    if account.is_listed():
        return account
    shared = _find_listed(SHARED_ACCOUNT) if account.switched else None
    if shared is not None:
        return shared
    raise StoreError(
        f"PostgreSQL creates a database only for a named account, and the user id {account.uid} has no name.",
        f"Give it a name (in a container: a line in /etc/passwd), or {OWN_DATABASE}."
        if not account.switched
        else f"Add an account {LISTED_ACCOUNT} (`useradd --system {LISTED_ACCOUNT}`), or {OWN_DATABASE}.",
    )


def may_take_over(account: Account, owner: int) -> bool:
    """Tell whether data of a user id can be given to the account, because a server of root made it."""
    return account.switched and _is_of_root(owner)


def name_user_of(owner: int) -> str:
    """Return the name of the account to run the product as, to use data of a user id."""
    return "root" if _is_of_root(owner) else name_of(owner)


def take_over(folder: Path, account: Account) -> None:
    """Give a folder, and everything in it that has the same owner, to an account.

    The folder itself changes last. So a process that is killed in between leaves a folder of the former owner, and the
    next one begins again. Links are not followed.

    Args:
        folder: A data folder on which no server runs, or a link to it.
        account: Its future owner.

    Raises:
        OSError: The owner of a file could not be changed.
    """
    folder = folder.resolve()
    former = folder.stat().st_uid
    if former == account.uid:
        return
    for _, folders, files, opened in os.fwalk(folder, topdown=False):
        for name in (*folders, *files):
            if os.stat(name, dir_fd=opened, follow_symlinks=False).st_uid == former:
                os.chown(name, account.uid, account.gid, dir_fd=opened, follow_symlinks=False)
    os.chown(folder, account.uid, account.gid)


def describe_owner(data: Path) -> str:
    """Describe the account that owns a data folder, for an operator."""
    owner = data.stat().st_uid
    if owner in UNLISTED_IDS:
        return f"the data belongs to the user id {owner}, which no account has"
    name = name_of(owner)
    if name == SHARED_ACCOUNT:
        return f"the data belongs to the shared account {name} until the server starts again"
    return f"the data belongs to the account {name}"


def name_of(uid: int) -> str:
    """Return an account's login name, or its user id where it has no name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _find_listed(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, switched=True)


def _is_of_root(owner: int) -> bool:
    """Tell whether root's servers run, or ran in an earlier version, as a user id."""
    listed = (_find_listed(name) for name in (LISTED_ACCOUNT, SHARED_ACCOUNT))
    return owner in {*UNLISTED_IDS, *(account.uid for account in listed if account is not None)}


def _is_mapped(number: int, id_map: Path) -> bool:
    """Tell whether this process's namespace has an id. A system without such a file has all of them."""
    try:
        lines = id_map.read_text().splitlines()
    except FileNotFoundError:
        return True
    ranges = ((int(first), int(count)) for first, _, count in map(str.split, lines))
    return any(first <= number < first + count for first, count in ranges)


def _make_environment() -> dict[str, str]:
    """Return our environment without PostgreSQL's variables, which would redirect the server, and in English."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return variables | {"LC_ALL": "C"}
