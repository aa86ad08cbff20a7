"""One pool of connections to PostgreSQL, whichever server it is, and its faults in our own words.

Settings that matter: autocommit (LangGraph's saver needs it), statements that the server keeps the plans of unless a
transaction pooler stands in between (it would mix them up), and a check of each connection before use (a killed backend
costs no run).
"""

import asyncio
import select
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, LiteralString, TypeVar

import psycopg
from psycopg import AsyncConnection, errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from sourcebound.errors import ConfigurationError, StoreError

MINIMUM_VERSION: Final = 140000
"""PostgreSQL 14, as `server_version_num` writes it."""
CONNECT_SECONDS: Final = 10
PREPARED_AFTER: Final = 2
"""Executions on one connection after which the server keeps a statement's plan."""
Row = dict[str, Any]
"""A row as psycopg gives it; typed models are made of it before it leaves this room."""
Pool = AsyncConnectionPool[AsyncConnection[Row]]
Result = TypeVar("Result")


class LatestFirstPool(Pool):
    """Gives out the connection that came back last: what its server process did a moment ago is in its caches still.

    psycopg's own takes turns with all of them, and has no setting for it. Where it has too many, it closes the one that
    came back first.
    """

    async def getconn(self, timeout: float | None = None) -> AsyncConnection[Row]:  # noqa: ASYNC109
        """A connection that is not in use."""
        self._pool.rotate(1)
        return await super().getconn(timeout)


@contextmanager
def store_faults() -> Iterator[None]:
    """Turns psycopg's exceptions into `StoreError`, with a stable code and the next step."""
    try:
        yield
    except errors.DiskFull as error:
        raise StoreError(
            "the database has no disk space left; nothing of this step was stored.",
            "Free some space and run the command again.",
            code="NO_DISK_SPACE",
        ) from error
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"the database refused: {_first_line(error)}.",
            "Use the account that ran `sourcebound db migrate`, or grant this one its rights.",
            code="STORE_FORBIDDEN",
        ) from error
    except errors.UndefinedTable as error:
        raise StoreError(
            "the database has no tables of ours yet.", "Run `sourcebound db migrate`.", code="SCHEMA_MISSING"
        ) from error
    except (psycopg.OperationalError, PoolTimeout) as error:
        raise StoreError(
            f"the database does not answer: {_first_line(error)}.",
            "Check `sourcebound db status`, or the server that DATABASE_URL names, and run the command again.",
        ) from error
    except psycopg.Error as error:
        raise StoreError(
            f"the database refused a statement: {_first_line(error)}.",
            "Run `sourcebound doctor`; if it finds nothing, this is a defect worth reporting.",
            code="STORE_REFUSED",
        ) from error


@asynccontextmanager
async def open_pool(url: str, max_size: int = 8) -> AsyncIterator[Pool]:
    """Opens a pool after checking that the server can serve us.

    Args:
        url: A libpq connection string, used as it is.
        max_size: Connections at most.

    Yields:
        The pool, closed at the end.

    Raises:
        ConfigurationError: The connection string is none.
        StoreError: The server cannot be reached, is older than PostgreSQL 14 or has no pgvector.
    """
    _check_url(url)
    with store_faults():
        async with await AsyncConnection.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS) as connection:
            await _check_server(connection)
            is_direct = await _is_direct(connection)
    pool = LatestFirstPool(
        url,
        min_size=1,
        max_size=max_size,
        open=False,
        timeout=CONNECT_SECONDS,
        check=check_connection,
        kwargs={
            "autocommit": True,
            "prepare_threshold": PREPARED_AFTER if is_direct else None,
            "row_factory": dict_row,
        },
    )
    async with pool:
        yield pool


async def on_a_connection(pool: Pool, work: Callable[[AsyncConnection[Row]], Awaitable[Result]]) -> Result:
    """Does work that may be done twice; where its connection is lost on the way, it is done again on another.

    Args:
        pool: Where the connections come from; the second is waited for as long as any.
        work: What to do, the same however often it is done.

    Returns:
        What the work returned.

    Raises:
        StoreError: The database did not answer, or refused.
    """
    with store_faults():
        async with pool.connection() as connection:
            try:
                return await work(connection)
            except psycopg.OperationalError:
                if not connection.closed:
                    raise
        async with pool.connection() as connection:
            return await work(connection)


@asynccontextmanager
async def pipelined(connection: AsyncConnection[Row]) -> AsyncIterator[None]:
    """A pipeline; whoever fails in it, or is cancelled, loses the connection.

    Its pipeline may be left on, so that nothing would be committed any more; and of statements that were prepared in it
    the client believes that the server has them, which it has not.
    """
    try:
        async with connection.pipeline():
            yield
    except (psycopg.Error, asyncio.CancelledError):
        await connection.close()
        raise


@asynccontextmanager
async def one_state(connection: AsyncConnection[Row]) -> AsyncIterator[None]:
    """A transaction whose statements all see the database as it is at the first of them; it changes nothing.

    It is a pipeline too: what nobody waits for costs no way there and back, and that is how the transaction begins and
    ends. So whatever was asked for last is best read after the end, which brings it along.

    Args:
        connection: A connection in no transaction.
    """
    try:
        async with pipelined(connection):
            await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield
            await connection.execute("COMMIT")
    except BaseException:
        if not connection.closed:
            await connection.rollback()
        raise


async def fetch_one(pool: Pool, statement: LiteralString, values: Row) -> Row | None:
    """The first row of a statement that may be executed twice, as `on_a_connection` does.

    Raises:
        StoreError: As there.
    """

    async def fetch(connection: AsyncConnection[Row]) -> Row | None:
        return await (await connection.execute(statement, values)).fetchone()

    return await on_a_connection(pool, fetch)


async def check_connection(connection: AsyncConnection[Any]) -> None:
    """Lets a connection be used if it is alive.

    The server says nothing to an idle client unless it ends the connection, so a socket with nothing to read is taken
    for alive without asking; one that has something is asked, which fails where the server has gone.
    """
    waiting = select.poll()  # select.select knows no file beyond the thousandth
    waiting.register(connection.fileno(), select.POLLIN)
    if waiting.poll(0):
        await AsyncConnectionPool.check_connection(connection)


def _check_url(url: str) -> None:
    try:
        conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # The parser's own words quote the string, and with it the password.
        raise ConfigurationError(
            "DATABASE_URL is not a PostgreSQL connection string.",
            "Write it as postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or unset it to use the embedded database.",
            code="BAD_DATABASE_URL",
        ) from None


async def _check_server(connection: AsyncConnection[Any]) -> None:
    if connection.info.server_version < MINIMUM_VERSION:
        raise StoreError(
            f"the server is PostgreSQL {connection.info.server_version // 10000}; 14 or newer is needed.",
            "Point DATABASE_URL at a newer server, or unset it to use the embedded one.",
            code="STORE_TOO_OLD",
        )
    cursor = await connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")
    if await cursor.fetchone() is None:
        raise StoreError(
            "the server does not offer the pgvector extension.",
            "Install pgvector on it (package postgresql-NN-pgvector), or unset DATABASE_URL to use the embedded one.",
            code="PGVECTOR_MISSING",
        )


async def _is_direct(connection: AsyncConnection[Any]) -> bool:
    """Whether the process that the connection was opened to is the one that answers; a pooler's own has another number.

    Who is let through to one process for as long as the connection lives may have it keep plans.
    """
    row = await (await connection.execute("SELECT pg_backend_pid()")).fetchone()
    return row is not None and row[0] == connection.info.backend_pid


def _first_line(error: Exception) -> str:
    """The server's message without its details, which may quote values."""
    return str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__
