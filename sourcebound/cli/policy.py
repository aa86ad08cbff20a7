"""`sourcebound policy`: the values that runs obey, and whether a released one was touched."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sourcebound.cli.console import BAD_USAGE, exit_with, say
from sourcebound.errors import ConfigurationError

if TYPE_CHECKING:
    from sourcebound.contracts.policy import Policy

app = typer.Typer(help="List, show and check policies.", no_args_is_help=True)


@app.command("list")
def list_policies() -> None:
    """List the released policies."""
    from sourcebound.contracts.released import SHIPPED, load_shipped_policy

    for name in SHIPPED:
        policy = load_shipped_policy(name)
        print(f"{name}  {policy.sha256[:12]}  {policy.description}")


@app.command("show")
def show_policy(name: Annotated[str, typer.Argument(help="A released policy or a policy file.")]) -> None:
    """Print a policy file as it is released."""
    from importlib.resources import files

    from sourcebound.contracts.released import SHIPPED

    if name in SHIPPED:
        print((files("sourcebound.contracts") / "policies" / f"{name}.toml").read_text("utf-8"), end="")
        return
    _find(name)
    print(Path(name).read_text("utf-8"), end="")


@app.command("check")
def check_policy(
    name: Annotated[str | None, typer.Argument(help="A policy file to check; the released ones when omitted.")] = None,
) -> None:
    """Check a policy file, or that every released policy and template is the one that was released."""
    from sourcebound.contracts.released import check_lock

    if name is not None:
        policy = _find(name)
        print(f"{policy.policy_version}  {policy.sha256}  valid")
        return
    findings = check_lock()
    for finding in findings:
        say(finding)
    if findings:
        raise typer.Exit(BAD_USAGE)
    print("Every released policy and template is as it was released.")


def _find(name: str) -> "Policy":
    from sourcebound.wiring import find_policy

    try:
        return find_policy(name, embedding_model=None)
    except ConfigurationError as error:
        raise exit_with(error) from error
