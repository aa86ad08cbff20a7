"""`sourcebound policy`: list, compare, create and release policies, and check that released ones are unchanged."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from sourcebound.cli.console import BAD_USAGE, FAILED, exit_with, say
from sourcebound.errors import ConfigurationError, RequestError

if TYPE_CHECKING:
    from sourcebound.contracts.policy.diff import PolicyChange
    from sourcebound.contracts.policy.lock import FoundPolicy
    from sourcebound.contracts.policy.schema import Policy

app = typer.Typer(help="List, show, compare, create, check and release policies.", no_args_is_help=True)
NAME: Final = re.compile(r"[A-Z][A-Z0-9_]*_V[0-9]+")
Named = Annotated[str, typer.Argument(help="A policy's name or a policy file.")]


@app.command("list")
def list_policies() -> None:
    """List the shipped policies and those of SOURCEBOUND_POLICIES: shipped, released, draft, or not accepted."""
    from sourcebound.contracts.policy.lock import FoundPolicy, ReleaseStatus
    from sourcebound.contracts.policy.releases import SHIPPED, load_shipped_policy
    from sourcebound.policies import list_own_policies

    for name in SHIPPED:
        _print_policy(name, FoundPolicy(load_shipped_policy(name), ReleaseStatus.SHIPPED))
    for path, found, fault in list_own_policies(_folder()):
        if found is None:
            print(f"{path.stem}  NOT ACCEPTED  {fault}")
        else:
            _print_policy(path.stem, found)


def _print_policy(name: str, found: "FoundPolicy") -> None:
    print(f"{name}  {found.release_status}  {found.policy.sha256[:12]}  {found.policy.description}")


@app.command("show")
def show_policy(name: Named) -> None:
    """Print a policy file."""
    from importlib.resources import files

    path = _find(name).path or files("sourcebound.contracts.policy") / "released" / f"{name}.toml"
    print(path.read_text("utf-8"), end="")


@app.command("check")
def check_policy(
    name: Annotated[str | None, typer.Argument(help="A policy's name or file. Default: every released policy.")] = None,
) -> None:
    """Check a policy file, or that no released policy or template has changed."""
    from sourcebound.contracts.policy.releases import check_lock
    from sourcebound.policies import check_own_policies

    if name is not None:
        found = _find(name)
        print(f"{found.policy.policy_version}  {found.policy.sha256}  valid, {found.release_status}")
        return
    findings = [*check_lock(), *check_own_policies(_folder())]
    for finding in findings:
        say(finding)
    if findings:
        raise typer.Exit(BAD_USAGE)
    print("No released policy or template has changed.")


@app.command("diff")
def diff_policies(
    old: Named,
    new: Named,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the differences, as JSON.")] = False,
) -> None:
    """Show each value in which two policies differ, from old to new, and whether the change tightens or loosens.

    Only a value that a request may tighten has a direction (P-4). Name and description are not compared.
    Exit codes: 0 the same values, 4 different values, 2 bad usage.
    """
    from sourcebound.contracts.policy.diff import compare_policies

    before, after = _find(old).policy, _find(new).policy
    changes = compare_policies(before, after)
    if as_json:
        print(json.dumps(_diff_json(before, after, changes), ensure_ascii=False, indent=2))
    else:
        _render_diff(before, after, changes)
        if changes:
            say(f"Next: try it on a recorded run: sourcebound replay whatif RUN --policy {new}")
    raise typer.Exit(FAILED if changes else 0)


@app.command("new")
def new_policy(
    name: Annotated[str, typer.Argument(help="The new policy version: MY_POLICY_V1.")],
    base: Annotated[str, typer.Option("--from", help="The policy to copy.")],
    folder: Annotated[Path | None, typer.Option(help="The folder of NAME.toml. Default: the current one.")] = None,
) -> None:
    """Write a draft: a copy of a policy under a new name, to edit, try and release."""
    from sourcebound.contracts.calibration.proposed_policy import render_policy

    path = (folder or Path()) / f"{name}.toml"
    check_new_name(name, path.parent)
    check_new_file(path)
    origin = _find(base).policy
    labels = {"policy_version": name, "description": f"A copy of {origin.policy_version}."}
    remark = f"A draft, made from {origin.policy_version}. `sourcebound policy release {name}.toml` releases it."
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(render_policy(origin.model_copy(update=labels), [remark]))
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror}.", "Name another folder.") from error
    print(path)
    say(f"Next: edit it, then sourcebound policy diff {base} {path}")


@app.command("release")
def release_policy(
    path: Annotated[Path, typer.Argument(help="A policy file, named after the policy.")],
    comparisons: Annotated[
        list[Path] | None,
        typer.Option("--comparison", help="A file of `eval compare` with the version before it. Repeatable."),
    ] = None,
) -> None:
    """Release a policy: its values are fixed under this name, and a changed file is refused.

    A new version of a released policy needs a comparison with the version before it. Name and digest are written to
    policies.lock in the same folder. Keep both under version control.
    """
    from sourcebound.contracts.policy.lock import LOCK_FILE, ReleaseStatus
    from sourcebound.policies import release_policy

    _require_comparison(path, comparisons or [])
    found = release_policy(path, _folder())
    done = (
        "released"
        if found.release_status is ReleaseStatus.DRAFT
        else f"{found.release_status} already, with this digest"
    )
    print(f"{found.policy.policy_version}  {found.policy.sha256}  {done}")
    if found.release_status is ReleaseStatus.DRAFT:
        say(f"Its digest is in {path.parent / LOCK_FILE}. A changed {path} is refused from now on.")


def _require_comparison(path: Path, files: list[Path]) -> None:
    """Check that a draft was compared with the released version before it, if there is one."""
    from sourcebound.contracts.policy.lock import ReleaseStatus
    from sourcebound.contracts.policy.releases import SHIPPED
    from sourcebound.evals.golden.comparison import check_policy_change, find_predecessor, read_comparison
    from sourcebound.policies import look_up_policy, read_policy_file, read_policy_lock

    comparisons = [read_comparison(file) for file in files]
    found = read_policy_file(path, _folder())
    if found.release_status is not ReleaseStatus.DRAFT:
        return
    released = {*SHIPPED, *read_policy_lock(path.parent), *read_policy_lock(_folder() or path.parent)}
    name = find_predecessor(found.policy.policy_version, released)
    if name is not None:
        earlier = path.parent / f"{name}.toml"
        predecessor = read_policy_file(earlier, _folder()) if earlier.is_file() else look_up_policy(name, _folder())
        check_policy_change(found.policy, predecessor.policy, comparisons)


def check_new_name(name: str, folder: Path) -> None:
    """Check that a policy version of this name may be created.

    Args:
        name: The name.
        folder: The folder of its file.

    Raises:
        RequestError: The name has another form, or is that of a released policy.
    """
    from sourcebound.contracts.policy.releases import SHIPPED
    from sourcebound.policies import read_policy_lock

    if not NAME.fullmatch(name):
        raise RequestError(f"{name!r} is not the name of a policy version.", "Try MY_POLICY_V1.")
    released = {*SHIPPED, *read_policy_lock(folder), *read_policy_lock(_folder() or folder)}
    if name in released:
        raise RequestError(
            f"{name} is a released policy, and a released policy never changes.",
            "Choose a name that is not released, such as MY_POLICY_V1.",
            code="RELEASED_POLICY",
        )


def check_new_file(path: Path) -> None:
    """Check that a file can be created.

    Raises:
        RequestError: The file exists already, or its folder does not exist.
    """
    if path.exists():
        raise RequestError(f"{path} exists already and is not overwritten.", "Name a new file.", code="FILE_EXISTS")
    if not path.parent.is_dir():
        raise RequestError(f"there is no folder {path.parent}.", "Create it, or name another.", code="PATH_MISSING")


def _diff_json(before: "Policy", after: "Policy", changes: "tuple[PolicyChange, ...]") -> dict[str, Any]:
    return {
        "old": {"policy_version": before.policy_version, "sha256": before.sha256},
        "new": {"policy_version": after.policy_version, "sha256": after.sha256},
        "same": not changes,
        "changes": [change.model_dump(mode="json") for change in changes],
    }


def _render_diff(before: "Policy", after: "Policy", changes: "tuple[PolicyChange, ...]") -> None:
    from sourcebound.contracts.policy.diff import Effect

    for policy, mark in ((before, "---"), (after, "+++")):
        print(f"{mark} {policy.policy_version}  {policy.sha256[:12]}")
    width = max((len(change.field) for change in changes), default=0)
    for change in changes:
        old, new = (
            "–" if value is None else json.dumps(value, ensure_ascii=False) for value in (change.old, change.new)
        )
        effect = "" if change.effect is Effect.UNDEFINED else f"  {change.effect}"
        print(f"{change.field:{width}}  {old} → {new}{effect}")
    if not changes:
        print("the same values")


def _find(name: str) -> "FoundPolicy":
    from sourcebound.policies import look_up_policy

    try:
        return look_up_policy(name, _folder())
    except ConfigurationError as error:
        raise exit_with(error) from error


def _folder() -> Path | None:
    from sourcebound.settings import get_settings

    return get_settings().policies
