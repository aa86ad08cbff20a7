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
from typing import Any, Final

from fastapi import FastAPI
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send
from uvicorn import Config
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from sourcebound.api.app import create_app
from sourcebound.api.metrics import FOLDER
from sourcebound.api.problems import without_database
from sourcebound.api.server import keep_start
from sourcebound.errors import SourceboundError, StoreError
from sourcebound.graph.workflow import new_id
from sourcebound.settings import get_settings
from sourcebound.telemetry import configure_telemetry, flush_traces
from sourcebound.wiring import open_services

LOG: Final = logging.getLogger("sourcebound.api")
UNRESPONSIVE_SECONDS: Final = 60
"""A worker that does not respond to its supervisor for so long is replaced."""
RETRY_SECONDS: Final = 1.0
"""The time between two attempts of a starting worker to reach the database."""


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
    return Worker()


class Worker:
    """An ASGI application that opens its services when it starts and closes them when it ends.

    While the database is unavailable it waits, and answers 503. A worker that failed to start would end the server,
    because the supervisor takes that for a fault of the program.
    """

    def __init__(self) -> None:
        self._app: FastAPI | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or start and end with the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await _answer_without_database(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        end = asyncio.create_task(_wait_for(receive))
        is_started = False
        async with AsyncExitStack() as stack:
            while not end.done():
                try:
                    self._app = await _open_app(stack)
                except Exception as error:  # noqa: BLE001 - a worker that only waited would answer 503 for ever
                    if not (isinstance(error, StoreError) and error.is_unavailable):
                        await _fail(error, send, is_started=is_started)
                        break
                    LOG.warning("a worker waits for the database: %s", error.message)
                if not is_started:
                    Thread(target=_end_with_supervisor, daemon=True).start()
                    await send({"type": "lifespan.startup.complete"})
                    is_started = True
                await asyncio.wait([end], timeout=None if self._app else RETRY_SECONDS)
            if not is_started:
                end.cancel()
                return
            await end
        await asyncio.to_thread(flush_traces)
        await send({"type": "lifespan.shutdown.complete"})


async def _open_app(stack: AsyncExitStack) -> FastAPI:
    """Open the services and start the application over them. What cannot be opened completely is closed.

    Raises:
        SourceboundError: They cannot be opened.
    """
    async with AsyncExitStack() as opened:
        app = create_app(await opened.enter_async_context(open_services(get_settings())))
        await opened.enter_async_context(app.router.lifespan_context(app))
        await stack.enter_async_context(opened.pop_all())
    keep_start()
    return app


async def _fail(error: Exception, send: Send, *, is_started: bool) -> None:
    """Report why a worker cannot serve. One that has started ends, so that its replacement reports it to the server."""
    known = error if isinstance(error, SourceboundError) else None
    said = f"{known.message} [{known.failure_code}] {known.next_step}" if known else repr(error)
    message = f"a worker cannot start: {said}"
    if not is_started:
        await send({"type": "lifespan.startup.failed", "message": message})
        return
    LOG.error("%s", message, exc_info=None if known else error)
    os.kill(os.getpid(), signal.SIGTERM)


async def _wait_for(receive: Receive) -> None:
    await receive()


async def _answer_without_database(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer as the application does while its database is unavailable: the process runs, and nothing else is known."""
    if scope["path"] == "/healthz":
        answer = JSONResponse({"status": "ok"})
    else:
        answer = without_database().response(new_id(), scope["path"])
    await answer(scope, receive, send)


def _end_with_supervisor() -> None:
    """End this worker as a signal does once its supervisor has died, so that it does not keep the port."""
    if supervisor := parent_process():
        supervisor.join()
        os.kill(os.getpid(), signal.SIGTERM)
