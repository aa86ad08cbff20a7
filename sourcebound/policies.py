"""Finds policies by name or file, shipped or your own, and checks each against its release (P-1).

Your own files are in a folder (`SOURCEBOUND_POLICIES`) or anywhere else. The lock next to a file applies to it, and so
does the folder's lock. Nothing is cached: each run reads its file again, so the next run sees a change.
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
from sourcebound.contracts.validation.support.weights import verifier_digest
from sourcebound.errors import ConfigurationError, StoreError


class OwnPolicy(NamedTuple):
    """A policy file of your own folder, with its policy or the reason why it is rejected."""

    path: Path
    found: FoundPolicy | None
    fault: str = ""


def look_up_policy(name: str, folder: Path | None = None) -> FoundPolicy:
    """Find a policy.

    Args:
        name: The name of a shipped policy or of one in the folder, or the path of a file.
        folder: The folder of your own policies, each in a file of its name.

    Raises:
        ConfigurationError: There is no such policy, its file is invalid, or its released name has another digest.
    """
    if name in SHIPPED:
        policy = load_shipped_policy(name)
        return FoundPolicy(policy, _check_release_status(policy, f"the shipped {name}", []))
    path = _find_own_file(name, folder)
    if not _is_file(path):
        own_policies = [each.path.stem for each in list_own_policies(folder)]
        raise ConfigurationError(
            f"there is no policy {name!r}.",
            f"Use one of {', '.join([*SHIPPED, *own_policies])}, or the path of a policy file.",
            code="UNKNOWN_POLICY",
        )
    return read_policy_file(path, folder)


def _find_own_file(name: str, folder: Path | None) -> Path:
    """Return the file of that name in the folder if it exists, else the name as a path."""
    own_policies = folder / f"{name}.toml" if folder and Path(name).name == name else Path(name)
    return own_policies if _is_file(own_policies) else Path(name)


def read_policy_file(path: Path, folder: Path | None = None) -> FoundPolicy:
    """Read a policy file and check it completely: its values, its template, its name and digest against every lock.

    Args:
        path: The file.
        folder: The folder of your own policies. Its lock applies in addition to that of the file's folder.

    Raises:
        ConfigurationError: There is no such file, it is invalid, or its released name has another digest.
    """
    try:
        policy = _check_digests(parse_policy(path.read_text("utf-8")))
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"there is no file {path}.",
            "Check the path. `sourcebound policy new` creates a policy file.",
            code="PATH_MISSING",
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"{path} is not a valid policy: {_format_reason(error)}.",
            "Compare it with `sourcebound policy show SOURCEBOUND_V2`.",
            code="INVALID_POLICY",
        ) from error
    locks = [read_policy_lock(where) for where in {path.parent, folder or path.parent}]
    return FoundPolicy(policy, _check_release_status(policy, str(path), locks), path)


def list_own_policies(folder: Path | None) -> list[OwnPolicy]:
    """Return every policy file of a folder, ordered by name, or an empty list without a folder."""
    paths = sorted(folder.glob("*.toml")) if folder else []
    return [_check_own_file(path) for path in paths]


def check_own_policies(folder: Path | None) -> list[str]:
    """Return a sentence for each rejected file of the folder, and for each released policy whose file is missing."""
    if folder is None:
        return []
    if not folder.is_dir():
        return [f"SOURCEBOUND_POLICIES names the folder {folder}, which does not exist"]
    own_policies = list_own_policies(folder)
    missing = set(read_policy_lock(folder)) - {each.path.stem for each in own_policies}
    return [each.fault for each in own_policies if each.fault] + [
        f"policy {name} was released in {folder}, and its file is missing" for name in sorted(missing)
    ]


def release_policy(path: Path, folder: Path | None = None) -> FoundPolicy:
    """Release the policy of a file: from now on its name denotes this digest (P-1).

    Concurrent releases run one after another, and none is lost.

    Args:
        path: The file, which must have the name of its policy. The lock next to it is created or extended.
        folder: The folder of your own policies.

    Returns:
        The policy with its status before the release. A policy that was already released is left unchanged.

    Raises:
        ConfigurationError: The file is invalid, its name differs from its policy's, or that name is already released.
        StoreError: The lock cannot be written.
    """
    found = read_policy_file(path, folder)
    if found.release_status is not ReleaseStatus.DRAFT:
        return found
    with _lock_folder(path.parent):
        return _release(path, folder)


def _release(path: Path, folder: Path | None) -> FoundPolicy:
    found = read_policy_file(path, folder)  # again: another release may have come first
    name = found.policy.policy_version
    if found.release_status is not ReleaseStatus.DRAFT:
        return found
    if path.name != f"{name}.toml":
        raise ConfigurationError(
            f"{path} contains the policy {name}, and the file of a released policy must have its name.",
            f"Rename it to {name}.toml and release that file.",
            code="POLICY_FILE_NAME",
        )
    _write_atomically(
        path.parent / LOCK_FILE, render_lock({**read_policy_lock(path.parent), name: found.policy.sha256})
    )
    return found


def read_policy_lock(folder: Path) -> dict[str, str]:
    """Return the digests of a folder's lock by policy version, empty if there is no lock.

    Raises:
        ConfigurationError: The lock cannot be read, so no policy in the folder can be checked.
    """
    path = folder / LOCK_FILE
    try:
        return parse_lock(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"{path} is not a valid lock of policies: {_format_reason(error)}.",
            "Restore the file that `sourcebound policy release` wrote.",
            code="INVALID_POLICY_LOCK",
        ) from error


def _check_release_status(policy: Policy, where: str, locks: list[dict[str, str]]) -> ReleaseStatus:
    release_status = release_status_of(policy, read_lock()["policies"], locks)
    if release_status is ReleaseStatus.CHANGED:
        name = policy.policy_version
        raise ConfigurationError(
            f"{where} has changed since {name} was released, and a released policy never changes.",
            "Restore it, or release its values as a new version: set another policy_version in another file.",
            code="RELEASED_POLICY_CHANGED",
        )
    return release_status


def _check_own_file(path: Path) -> OwnPolicy:
    try:
        found = read_policy_file(path)
    except ConfigurationError as error:
        return OwnPolicy(path, None, error.message.rstrip("."))
    if found.policy.policy_version != path.stem:
        return OwnPolicy(
            path, None, f"{path} contains the policy {found.policy.policy_version}, whose file must have its name"
        )
    return OwnPolicy(path, found)


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Allow one release at a time in a folder. The folder itself is locked, because its lock file is replaced."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write_atomically(path: Path, text: str) -> None:
    """Write a file atomically: a reader finds either the old text or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoreError(
            f"{path} cannot be written: {error.strerror}.", "Check the folder's permissions.", code="LOCK_NOT_WRITTEN"
        ) from error


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _check_digests(policy: Policy) -> Policy:
    """Return the policy if its template is released and its verifier is the one of this version.

    Raises:
        ValueError: There is no such template or verifier, or the policy has another digest of it.
    """
    support = policy.validation.support
    if support and support.verifier_sha256 != verifier_digest():
        raise ValueError(f"validation.support: the verifier_sha256 of {support.verifier} is {verifier_digest()}")
    name, templates = policy.prompt.template, read_lock()["templates"]
    if templates.get(name) != policy.prompt.template_sha256:
        raise ValueError(f"prompt.template: {name!r} with this template_sha256 is not one of {', '.join(templates)}")
    return policy


def _format_reason(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(_format_details(error))


def _format_details(error: ValidationError) -> Iterator[str]:
    for detail in error.errors(include_url=False):
        yield f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}"
