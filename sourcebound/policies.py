"""Policies by name or by file: those that ship and a deployment's own, and whether each is what was released (P-1).

The files of a deployment stand in a folder (`SOURCEBOUND_POLICIES`) or anywhere. The lock beside a file counts for it,
and so does the folder's. Nothing here is remembered: each run reads its file again, so a change is seen by the next.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from sourcebound.contracts.policy.lock import (
    LOCK_FILE,
    FoundPolicy,
    ReleaseStatus,
    parse_lock,
    release_status_of,
    render_lock,
)
from sourcebound.contracts.policy.releases import SHIPPED, load_shipped_policy, read_lock
from sourcebound.contracts.policy.schema import Policy, parse_policy
from sourcebound.errors import ConfigurationError, StoreError


class OwnPolicy(NamedTuple):
    """A policy file of a deployment's folder; it has a policy, or the reason why it is not accepted."""

    path: Path
    found: FoundPolicy | None
    fault: str = ""


def look_up_policy(name: str, folder: Path | None = None) -> FoundPolicy:
    """Finds a policy.

    Args:
        name: The name of one that ships or of one in the folder, or the path of a file.
        folder: The deployment's own policies, each in a file that bears its name.

    Raises:
        ConfigurationError: There is none, its file is not valid, or it bears a released name with another digest.
    """
    if name in SHIPPED:
        policy = load_shipped_policy(name)
        return FoundPolicy(policy, _stand(policy, f"the shipped {name}", []))
    path = _own_file(name, folder)
    if not _is_file(path):
        own = [each.path.stem for each in list_own_policies(folder)]
        raise ConfigurationError(
            f"there is no policy {name!r}.",
            f"Policies: {', '.join([*SHIPPED, *own])}; or give the path of a policy file.",
            code="UNKNOWN_POLICY",
        )
    return read_policy_file(path, folder)


def _own_file(name: str, folder: Path | None) -> Path:
    """The file of that name in the folder, where there is one; else the path that the name is."""
    own = folder / f"{name}.toml" if folder and Path(name).name == name else Path(name)
    return own if _is_file(own) else Path(name)


def read_policy_file(path: Path, folder: Path | None = None) -> FoundPolicy:
    """The policy of a file, checked whole: its values, its template, its name and digest against every lock.

    Args:
        path: The file.
        folder: The deployment's own policies, whose lock counts beside that of the file's folder.

    Raises:
        ConfigurationError: There is none, it is not valid, or it bears a released name with another digest.
    """
    try:
        policy = _with_its_template(parse_policy(path.read_text("utf-8")))
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"there is no file {path}.",
            "Check the path; `sourcebound policy new` makes a policy file.",
            code="PATH_MISSING",
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"{path} is not a valid policy: {_reason(error)}.",
            "Compare it with `sourcebound policy show SOURCEBOUND_V1`.",
            code="INVALID_POLICY",
        ) from error
    locks = [read_policy_lock(where) for where in {path.parent, folder or path.parent}]
    return FoundPolicy(policy, _stand(policy, str(path), locks), path)


def list_own_policies(folder: Path | None) -> list[OwnPolicy]:
    """Every policy file of a folder, by name; none where there is no folder."""
    paths = sorted(folder.glob("*.toml")) if folder else []
    return [_examine(path) for path in paths]


def check_own_policies(folder: Path | None) -> list[str]:
    """A sentence for each file of the folder that is not accepted, and each released policy that has lost its file."""
    if folder is None:
        return []
    if not folder.is_dir():
        return [f"there is no folder {folder}, which SOURCEBOUND_POLICIES names"]
    own = list_own_policies(folder)
    lost = set(read_policy_lock(folder)) - {each.path.stem for each in own}
    return [each.fault for each in own if each.fault] + [
        f"policy {name} was released in {folder} and its file is not there" for name in sorted(lost)
    ]


def release_policy(path: Path, folder: Path | None = None) -> FoundPolicy:
    """Releases the policy of a file: its name stands for this digest from now on (P-1).

    Releases that are made at the same time are made one after another, and none is lost.

    Args:
        path: The file, which bears the name of its policy; the lock is made, or added to, beside it.
        folder: The deployment's own policies.

    Returns:
        The policy and how it stood before: one that was released already is left as it is.

    Raises:
        ConfigurationError: It is not valid, bears another name than its policy, or a released one.
        StoreError: The lock cannot be written.
    """
    found = read_policy_file(path, folder)
    if found.standing is not ReleaseStatus.DRAFT:
        return found
    with _alone_in(path.parent):
        return _release(path, folder)


def _release(path: Path, folder: Path | None) -> FoundPolicy:
    found = read_policy_file(path, folder)  # again: another release may have come first
    name = found.policy.policy_version
    if found.standing is not ReleaseStatus.DRAFT:
        return found
    if path.name != f"{name}.toml":
        raise ConfigurationError(
            f"{path} holds the policy {name}, and a released policy is found by the name of its file.",
            f"Rename it to {name}.toml and release that.",
            code="POLICY_FILE_NAME",
        )
    _replace(path.parent / LOCK_FILE, render_lock({**read_policy_lock(path.parent), name: found.policy.sha256}))
    return found


def read_policy_lock(folder: Path) -> dict[str, str]:
    """The digests of a folder's lock by policy version; none where there is no lock.

    Raises:
        ConfigurationError: The lock cannot be read: then nothing can be said of any policy beside it.
    """
    path = folder / LOCK_FILE
    try:
        return parse_lock(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"{path} is no lock of policies: {_reason(error)}.",
            "Restore it as `sourcebound policy release` wrote it.",
            code="INVALID_POLICY_LOCK",
        ) from error


def _stand(policy: Policy, where: str, locks: list[dict[str, str]]) -> ReleaseStatus:
    standing = release_status_of(policy, read_lock()["policies"], locks)
    if standing is ReleaseStatus.CHANGED:
        name = policy.policy_version
        raise ConfigurationError(
            f"{where} has changed since {name} was released, and a released policy never changes.",
            "Restore it, or make its values a version of their own: set another policy_version in another file.",
            code="RELEASED_POLICY_CHANGED",
        )
    return standing


def _examine(path: Path) -> OwnPolicy:
    try:
        found = read_policy_file(path)
    except ConfigurationError as error:
        return OwnPolicy(path, None, error.message.rstrip("."))
    if found.policy.policy_version != path.stem:
        return OwnPolicy(path, None, f"{path} holds the policy {found.policy.policy_version}: it is not found by name")
    return OwnPolicy(path, found)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Lets one release at a time into a folder. The folder is what is locked: its lock file is replaced."""
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _replace(path: Path, text: str) -> None:
    """Writes a file so that whoever reads it finds the old text or the new one, and never a part."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise StoreError(
            f"{path} cannot be written: {error.strerror}.", "Check the folder's rights.", code="LOCK_NOT_WRITTEN"
        ) from error


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _with_its_template(policy: Policy) -> Policy:
    """The policy, if its template is a released one.

    Raises:
        ValueError: There is no such template, or the policy names another digest of it.
    """
    name, templates = policy.prompt.template, read_lock()["templates"]
    if templates.get(name) != policy.prompt.template_sha256:
        raise ValueError(f"prompt.template: {name!r} with this template_sha256 is not one of {', '.join(templates)}")
    return policy


def _reason(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(_details(error))


def _details(error: ValidationError) -> Iterator[str]:
    for detail in error.errors(include_url=False):
        yield f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}"
