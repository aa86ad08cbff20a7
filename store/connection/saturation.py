"""A server that accepts no further connection for now (SQLSTATE 53300): detection and a bounded wait."""

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import psycopg
from psycopg import errors

WAIT_SECONDS: Final = 30.0
"""The longest time to wait for a connection of a saturated server."""
FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 1.0
MESSAGE: Final = re.compile(r"too many (clients|connections)|remaining connection slots|no more connections allowed")
"""The messages of PostgreSQL and pgbouncer. libpq reports no SQLSTATE of a failed connection."""
Result = TypeVar("Result")


def is_saturated(error: BaseException | None) -> bool:
    """Tell whether a connection failed because the server has too many clients."""
    if isinstance(error, errors.TooManyConnections):
        return True
    return isinstance(error, psycopg.OperationalError) and MESSAGE.search(str(error)) is not None


async def wait_for_slot(connect: Callable[[], Awaitable[Result]]) -> Result:
    """Connect, and try again while the server has too many clients.

    The pauses are random, so that many waiting processes do not return at the same time.

    Args:
        connect: Opens a connection.

    Raises:
        psycopg.OperationalError: The server is unavailable, or still has too many clients after `WAIT_SECONDS`.
    """
    deadline, pause = time.monotonic() + WAIT_SECONDS, FIRST_PAUSE
    while True:
        try:
            return await connect()
        except psycopg.OperationalError as error:
            if not is_saturated(error) or time.monotonic() >= deadline:
                raise
        await asyncio.sleep(random.uniform(pause / 2, pause))
        pause = min(2 * pause, LONGEST_PAUSE)
