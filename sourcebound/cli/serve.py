"""`sourcebound serve`: the HTTP server."""

import socket
from typing import TYPE_CHECKING, Annotated, Final

import typer

from sourcebound.cli.console import run_async
from sourcebound.errors import UsageError

if TYPE_CHECKING:
    from sourcebound.wiring import Services

GRACE_SECONDS: Final = 30
"""The time that questions in progress have to end after a signal. The next start resumes the others."""
RESUMED: Final = "Runs that were interrupted are resumed at the next start."


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for a free one.")] = 8080,
) -> None:
    """Serve questions, records and evidence over HTTP. `/openapi.json` describes every route.

    A signal ends the server when the questions in progress have ended, and 30 seconds later at the latest. Runs that
    were interrupted are resumed at the next start.
    """
    run_async(lambda: _serve(host, port), interrupted=RESUMED, log_level="info")


async def _serve(host: str, port: int) -> None:
    from uvicorn import Config, Server

    from sourcebound.api.app import create_app
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        await _require_keys_beyond_loopback(host, services)
        with _listen(host, port) as listener:
            config = Config(
                create_app(services),
                log_level="warning",
                log_config=None,  # its records go to our log
                server_header=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
            print(f"http://{_as_name(host)}:{listener.getsockname()[1]}", flush=True)
            await Server(config).serve([listener])


async def _require_keys_beyond_loopback(host: str, services: "Services") -> None:
    """Raise an error for an address that other machines reach, if there is no active key."""
    from sourcebound.api.callers import is_loopback

    if not is_loopback(host) and not any(key.state == "active" for key in await services.api_keys.list()):
        raise UsageError(
            f"{host} can be reached from other machines, and a server without keys would answer all of them.",
            "Make a key first: sourcebound keys create NAME",
            code="KEYS_REQUIRED",
        )


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        UsageError: The address is not of this machine, or the port is taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family)
    except OSError as error:
        raise UsageError(
            f"nothing can listen on {host} port {port}: {error.strerror}.",
            "Choose another port with --port.",
            code="PORT_UNAVAILABLE",
        ) from error


def _as_name(host: str) -> str:
    return f"[{host.strip('[]')}]" if ":" in host else host
