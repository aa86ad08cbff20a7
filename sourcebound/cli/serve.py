"""`sourcebound serve`: the HTTP server."""

import socket
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from sourcebound.cli.console import FAULT, run_async
from sourcebound.errors import UsageError

if TYPE_CHECKING:
    from sourcebound.wiring import Services

GRACE_SECONDS: Final = 30
"""The time that questions in progress have to end after a signal. The next start resumes the others."""
SERVER: Final[dict[str, Any]] = {
    "log_level": "warning",
    "log_config": None,  # its records go to our log
    "server_header": False,
    "timeout_graceful_shutdown": GRACE_SECONDS,
}
"""Options of uvicorn."""
RESUMED: Final = "Runs that were interrupted are resumed at the next start."


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for a free one.")] = 8080,
    workers: Annotated[int, typer.Option(min=1, help="The number of processes that share the address.")] = 1,
) -> None:
    """Serve questions, records and evidence over HTTP. `/openapi.json` describes every route.

    A signal ends the server when the questions in progress have ended, and 30 seconds later at the latest. Runs that
    were interrupted are resumed at the next start, or by another worker.
    """
    if workers == 1:
        run_async(lambda: _serve(host, port), interrupted=RESUMED, log_level="info")
    elif not _serve_with_workers(host, port, workers):
        raise typer.Exit(FAULT)


async def _serve(host: str, port: int) -> None:
    from uvicorn import Config, Server

    from sourcebound.api.app import create_app
    from sourcebound.api.server import keep_start
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        await _require_keys_beyond_loopback(host, services)
        with _listen(host, port) as listener:
            config = Config(create_app(services), **SERVER)
            keep_start()
            print(_url(host, listener), flush=True)
            await Server(config).serve([listener])


def _serve_with_workers(host: str, port: int, workers: int) -> bool:
    """Serve with several processes, and return whether all could start.

    This process holds the embedded database meanwhile, so that it stays while workers are replaced.
    """
    from sourcebound.api.workers import supervise
    from sourcebound.settings import get_settings
    from sourcebound.store.server.embedded import EmbeddedServer

    settings = get_settings()
    with nullcontext() if settings.database_url else EmbeddedServer(settings.home):
        run_async(lambda: _check_services(host), log_level="info")
        with _listen(host, port) as listener:
            print(_url(host, listener), flush=True)
            return supervise(listener, workers, SERVER)


async def _check_services(host: str) -> None:
    """Open the services once, so that a fault is reported before a worker starts, and the database is migrated."""
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        await _require_keys_beyond_loopback(host, services)


async def _require_keys_beyond_loopback(host: str, services: "Services") -> None:
    """Raise an error for an address that other machines reach, if there is neither an active key nor an issuer."""
    from sourcebound.api.callers import is_loopback

    if is_loopback(host) or services.settings.oidc_issuer:
        return
    if not any(key.state == "active" for key in await services.api_keys.list()):
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


def _url(host: str, listener: socket.socket) -> str:
    name = f"[{host.strip('[]')}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}"
