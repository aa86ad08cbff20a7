"""`sourcebound keys`: the API keys of the server, and the key that signs receipts (CP-8)."""

from typing import TYPE_CHECKING

import typer

from sourcebound.cli import api_keys
from sourcebound.cli.console import say

if TYPE_CHECKING:
    from pathlib import Path

    from sourcebound.store.audit.signing_key import SigningKey

app = typer.Typer(help="API keys of the server, and the key that signs receipts.", no_args_is_help=True)
app.command("create")(api_keys.create)
app.command("list")(api_keys.list_keys)
app.command("revoke")(api_keys.revoke)


@app.command("init")
def init() -> None:
    """Create the key that signs receipts. An existing key is never replaced."""
    from sourcebound.settings import get_settings
    from sourcebound.store.audit.signing_key import SigningKey

    path = get_settings().signing_key_file
    _render(path, SigningKey.create(path))
    say("  Next: keep a copy of the file in a safe place, and publish the public key where its readers trust it.")


@app.command("show")
def show() -> None:
    """Print the public key, which readers of receipts need, and its fingerprint."""
    from sourcebound.settings import get_settings
    from sourcebound.store.audit.signing_key import SigningKey

    path = get_settings().signing_key_file
    _render(path, SigningKey.load(path))


def _render(path: "Path", key: "SigningKey") -> None:
    from sourcebound.store.audit.signing_key import fingerprint

    print(f"private key  {path}")
    print(f"public key   {key.public_key}")
    print(f"fingerprint  {fingerprint(key.public_key)}")
