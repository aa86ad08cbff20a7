"""Several processes that serve one socket over one database.

uvicorn's supervisor starts the workers, and replaces one that has died or does not respond. Each worker opens its own
services. The runs of a dead worker are free at once, because its lease ends with its process, and the next worker
resumes them (CP-2). The measurements of all workers are files of one folder, and any worker reports their sum.
"""

import asyncio
import logging
import os
import signal
import socket
from contextlib import AsyncExitStack
from multiprocessing import parent_process
from tempfile import TemporaryDirectory
from threading import Thread
from time import monotonic
from typing import Any, Final

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send
from uvicorn import Config
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from sourcebound.api.app import create_app
from sourcebound.api.metrics import FOLDER, forget_dead_workers
from sourcebound.errors import SourceboundError, StoreError
from sourcebound.settings import get_settings
from sourcebound.telemetry import configure_telemetry, flush_traces
from sourcebound.wiring import Services, open_services

LOG: Final = logging.getLogger("sourcebound.api")
UNRESPONSIVE_SECONDS: Final = 60
"""A worker that does not respond to its supervisor for so long is replaced."""
START_SECONDS: Final = 60.0
"""The time in which a starting worker waits for a database that is unavailable."""
RETRY_SECONDS: Final = 1.0


def supervise(listener: socket.socket, count: int, options: dict[str, Any]) -> bool:
    """Serve with several workers until a signal ends them.

    Args:
        listener: The socket, which all workers accept from.
        count: The number of workers.
        options: Options of uvicorn's `Config`.

    Returns:
        Whether every worker could start.
    """
    with TemporaryDirectory(prefix="sourcebound-metrics-") as folder:
        os.environ[FOLDER] = folder  # the workers inherit it
        config = Config(
            "sourcebound.api.workers:create_worker",
            factory=True,
            workers=count,
            lifespan="on",
            timeout_worker_healthcheck=UNRESPONSIVE_SECONDS,
            **options,
        )
        supervisor = Multiprocess(config, [listener])
        supervisor.run()
        return all(worker.exitcode != STARTUP_FAILURE for worker in supervisor.processes)


def create_worker() -> "Worker":
    """Build the application of a worker process; uvicorn calls it there."""
    configure_telemetry(get_settings(), "info")
    forget_dead_workers()
    return Worker()


class Worker:
    """An ASGI application that opens its services when it starts and closes them when it ends."""

    def __init__(self) -> None:
        self._app: FastAPI | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or start and end with the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app:
            await self._app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with AsyncExitStack() as stack:
            try:
                self._app = create_app(await _open_services(stack))
                await stack.enter_async_context(self._app.router.lifespan_context(self._app))
            except SourceboundError as error:
                message = f"a worker cannot start: {error.message} [{error.failure_code}] {error.next_step}"
                await send({"type": "lifespan.startup.failed", "message": message})
                return
            Thread(target=_end_with_supervisor, daemon=True).start()
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await asyncio.to_thread(flush_traces)
        await send({"type": "lifespan.shutdown.complete"})


async def _open_services(stack: AsyncExitStack) -> Services:
    """Open the services; a database that is unavailable has some time to return.

    Raises:
        SourceboundError: They cannot be opened.
    """
    deadline = monotonic() + START_SECONDS
    while True:
        try:
            return await stack.enter_async_context(open_services(get_settings()))
        except StoreError as error:
            if not error.is_unavailable or monotonic() > deadline:
                raise
            LOG.warning("a worker waits for the database: %s", error.message)
        await asyncio.sleep(RETRY_SECONDS)


def _end_with_supervisor() -> None:
    """End this worker as a signal does once its supervisor has died, so that it does not keep the port."""
    if supervisor := parent_process():
        supervisor.join()
        os.kill(os.getpid(), signal.SIGTERM)
