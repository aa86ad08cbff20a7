"""`sourcebound keys create`, `list` and `revoke`: the API keys of the server."""

import json
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from sourcebound.cli.console import print_rich, run_async, say
from sourcebound.cli.options import read_label_options
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from sourcebound.store.keys.api_keys import ApiKey, ApiKeys, MadeKey

Result = TypeVar("Result")


def create(
    name: Annotated[str, typer.Argument(help="A name for people, such as that of its holder.")],
    collection: Annotated[
        list[str] | None, typer.Option(help="A collection that it opens. Repeatable. Default: all.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            help="A label that its holder has. Repeatable. The key opens the documents all of whose labels it has. "
            "Default: every document of its collections."
        ),
    ] = None,
    unlabelled: Annotated[bool, typer.Option("--unlabelled", help="It opens documents without labels only.")] = False,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help="ask (questions, feedback), read (documents, runs, evidence) or ingest (uploads). Repeatable. "
            "Default: ask and read."
        ),
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="The time that it is valid: 90d, 12h, 4w. Default: no end.")
    ] = None,
) -> None:
    """Make an API key for `serve` and print it. Nothing can show it again.

    From the first key on that was ever made, every request to the server needs one.
    """
    scopes, expires_at = _read_scopes(scope), _read_end(expires)
    labels = read_label_options(label, unlabelled, "--unlabelled", of_caller=True)

    async def make(keys: "ApiKeys") -> "MadeKey":
        return await keys.make(name, scopes, collection or None, expires_at, labels)

    made = run_async(lambda: _with_keys(make))
    print(made.text)
    say(f"  Next: give it to its holder, and keep its id to revoke it: sourcebound keys revoke {made.key.key_id}")


def list_keys(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the API keys, without their secrets."""

    async def read(keys: "ApiKeys") -> "list[ApiKey]":
        return await keys.list()

    found = run_async(lambda: _with_keys(read))
    if as_json:
        print(json.dumps([{**key._asdict(), "state": key.state} for key in found], default=str))
        return
    _print_table(found)


def revoke(key_id: Annotated[str, typer.Argument(help="The id of the key, from `keys list`.")]) -> None:
    """Revoke an API key. It opens nothing from now on."""

    async def end(keys: "ApiKeys") -> "ApiKey":
        return await keys.revoke(key_id)

    key = run_async(lambda: _with_keys(end))
    print(f"{key.key_id} ({key.name}) is revoked.")


async def _with_keys(work: "Callable[[ApiKeys], Awaitable[Result]]") -> Result:
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings(), as_owner=True) as services:
        return await work(services.api_keys)


def _read_scopes(given: list[str] | None) -> tuple[str, ...]:
    from sourcebound.store.keys.api_keys import DEFAULT_SCOPES, SCOPES

    unknown = [scope for scope in given or () if scope not in SCOPES]
    if unknown:
        raise RequestError(f"there is no scope {unknown[0]!r}.", f"Use {' or '.join(SCOPES)}.", code="UNKNOWN_SCOPE")
    return tuple(scope for scope in SCOPES if scope in (given or DEFAULT_SCOPES))


def _read_end(expires: str | None) -> "datetime | None":
    from datetime import UTC, datetime

    from sourcebound.cli.options import parse_duration

    if expires is None:
        return None
    try:
        return datetime.now(UTC) + parse_duration(expires)
    except ValueError as error:
        raise RequestError(f"{error}.", "Try --expires 90d.") from error


def _print_table(keys: "list[ApiKey]") -> None:
    from rich.table import Table

    table = Table(
        "id", "name", "state", "scopes", "collections", "labels", "created", "expires", box=None, pad_edge=False
    )
    for key in keys:
        collections = "all" if key.collections is None else " ".join(key.collections)
        expires = f"{key.expires_at:%Y-%m-%d}" if key.expires_at else "never"
        scopes = " ".join(key.scopes)
        labels = "any" if key.labels is None else " ".join(key.labels) or "none"
        created = f"{key.created_at:%Y-%m-%d}"
        table.add_row(key.key_id, key.name, key.state, scopes, collections, labels, created, expires)
    print_rich(table)
