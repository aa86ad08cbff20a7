"""The pool of connections to PostgreSQL, and the translation of its errors into ours.

Settings that matter: autocommit (LangGraph's saver needs it), prepared statements unless a transaction pooler is in
between (it would mix them up), and a check of each connection before use (so that no run fails on a killed backend).
"""

import asyncio
import select
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, LiteralString, TypeVar

import psycopg
from psycopg import AsyncConnection, errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from psycopg_pool.base import AttemptWithBackoff

from sourcebound.errors import TOO_MANY_CLIENTS, ConfigurationError, StoreError
from sourcebound.store.connection import saturation
from sourcebound.store.connection.saturation import is_saturated, wait_for_slot
from sourcebound.store.connection.visibility import announce, is_restricted

MINIMUM_VERSION: Final = 140000
"""PostgreSQL 14, as `server_version_num` writes it."""
CONNECT_SECONDS: Final = 10
PREPARED_AFTER: Final = 2
"""Executions on one connection after which a statement is prepared on the server."""
Row = dict[str, Any]
"""A row as psycopg returns it. It is converted to a typed model before it leaves this room."""
Result = TypeVar("Result")


class SteadyAttempt(AttemptWithBackoff):
    """Attempts to connect in constant intervals, so that a pool recovers within a second of its server.

    psycopg's own intervals double, and after a minute of outage the next attempt may be a minute away.
    """

    INITIAL_DELAY = 0.5
    DELAY_JITTER = 0.5
    DELAY_BACKOFF = 1.0


class Pool(AsyncConnectionPool[AsyncConnection[Row]]):
    """A LIFO pool: it reuses the most recently returned connection, whose server process still has warm caches.

    psycopg's own pool rotates through all connections and has no setting for this. When there are too many, this pool
    closes the connection that was returned first.
    """

    restart: Callable[[], Awaitable[None]] | None = None
    """Starts a server that has died again. None for a server that is not ours."""
    _connect_error: Exception | None = None
    """The error of the last attempt to connect, if it failed."""
    _has_lost: bool = False
    """Whether a connection was lost and none was made since."""

    @property
    def is_away(self) -> bool:
        """Whether the database is known to be away: no idle connection is alive, or the last attempt to connect failed.

        This sends nothing. Without an idle connection, a lost one and the attempt count, because others may be in use.
        """
        if self._pool:
            return not any(_is_silent(connection) for connection in reversed(self._pool))
        return self._has_lost or (self._connect_error is not None and not is_saturated(self._connect_error))

    async def putconn(self, conn: AsyncConnection[Row]) -> None:
        """Return a connection. A lost one means that the database may be away."""
        self._has_lost |= conn.broken
        await super().putconn(conn)

    async def wait_for_first(self) -> None:
        """Wait for the first connection, because a client that asks for it earlier makes the pool open a second one.

        Raises:
            PoolTimeout: There was no connection in time.
            TooManyConnections: The server still has too many clients after `WAIT_SECONDS`.
        """
        try:
            await self.wait(saturation.WAIT_SECONDS)
        except PoolTimeout as error:
            self._raise_if_saturated(error)
            raise

    async def getconn(self, timeout: float | None = None) -> AsyncConnection[Row]:  # noqa: ASYNC109
        """Return a connection that is not in use.

        While the server has too many clients, this waits longer than `timeout`.

        Raises:
            PoolTimeout: There was no connection in time.
            TooManyConnections: The server still has too many clients after `WAIT_SECONDS`.
        """
        deadline = time.monotonic() + saturation.WAIT_SECONDS
        while True:
            self._pool.rotate(1)
            if self._pool and not _is_silent(self._pool[0]):
                await self.check()  # of all, because the client would meet the lost ones with growing pauses
            try:
                return await super().getconn(timeout)
            except PoolTimeout as error:
                if not is_saturated(self._connect_error):
                    raise
                if time.monotonic() >= deadline:
                    self._raise_if_saturated(error)

    def _raise_if_saturated(self, timeout: PoolTimeout) -> None:
        if is_saturated(self._connect_error):
            raise errors.TooManyConnections(str(self._connect_error)) from timeout

    async def _connect(self, timeout: float | None = None) -> AsyncConnection[Row]:  # noqa: ASYNC109
        try:
            connection = await super()._connect(timeout)
        except Exception as error:
            self._connect_error = error
            if self.restart is None or is_saturated(error):
                raise
            await self.restart()
            connection = await super()._connect(timeout)
        self._connect_error, self._has_lost = None, False
        return connection

    async def _add_connection(self, attempt: AttemptWithBackoff | None, growing: bool = False) -> None:
        await super()._add_connection(attempt or SteadyAttempt(timeout=self.reconnect_timeout), growing)


@contextmanager
def store_faults() -> Iterator[None]:
    """Convert psycopg's exceptions into `StoreError`, with a stable code and the next step."""
    try:
        yield
    except errors.DiskFull as error:
        raise StoreError(
            "the database has no disk space left. Nothing of this step was stored.",
            "Free some space and run the command again.",
            code="NO_DISK_SPACE",
        ) from error
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            "the database account lacks a permission.",
            "Questions need the rights of `sourcebound db grant ROLE`. Collections and the schema are changed only "
            "with a DATABASE_URL of the owner of the tables.",
            code="STORE_FORBIDDEN",
            detail=_first_line(error),
        ) from error
    except errors.UndefinedTable as error:
        raise StoreError(
            "the database lacks a table of sourcebound.",
            "Run `sourcebound db migrate`. If that finds nothing to do, `sourcebound doctor` names what is gone.",
            code="SCHEMA_MISSING",
        ) from error
    except (psycopg.OperationalError, PoolTimeout) as error:
        if is_saturated(error):
            raise StoreError(
                "the database has too many clients and accepts no further connection.",
                "Run the command again later. If this persists, end other clients, or raise max_connections of the "
                "server that DATABASE_URL names.",
                code=TOO_MANY_CLIENTS,
            ) from error
        raise StoreError(
            "the database does not answer.",
            "Check `sourcebound db status`, or the server that DATABASE_URL names, and run the command again.",
            detail=_first_line(error),
        ) from error
    except psycopg.Error as error:
        raise StoreError(
            "the database refused a statement.",
            "Run `sourcebound doctor`. If it finds no problem, report this as a defect.",
            code="STORE_REFUSED",
            detail=_first_line(error),
        ) from error


@asynccontextmanager
async def open_pool(
    url: str, max_size: int = 8, *, restart: Callable[[], Awaitable[None]] | None = None
) -> AsyncIterator[Pool]:
    """Open a pool after checking that the server meets our requirements.

    Args:
        url: A libpq connection string, used unchanged.
        max_size: The maximum number of connections.
        restart: Starts the server again if it has died.

    Yields:
        The pool, closed at the end.

    Raises:
        ConfigurationError: The connection string is invalid.
        StoreError: The server cannot be reached, is older than PostgreSQL 14 or has no pgvector.
    """
    _check_url(url)
    with store_faults():
        async with await wait_for_slot(
            lambda: AsyncConnection.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS)
        ) as connection:
            await _check_server(connection)
            is_direct = await _is_direct(connection)
    pool = Pool(
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
    pool.restart = restart
    async with pool:
        with store_faults():
            await pool.wait_for_first()
        yield pool


async def retry_on_lost_connection(pool: Pool, work: Callable[[AsyncConnection[Row]], Awaitable[Result]]) -> Result:
    """Run idempotent work on a connection. If the connection is lost, run it once more on another one.

    Args:
        pool: The pool of connections. Waiting for the second connection has the usual timeout.
        work: The idempotent work.

    Returns:
        The return value of the work.

    Raises:
        StoreError: The database did not answer, or refused a statement.
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
async def open_pipeline(connection: AsyncConnection[Row]) -> AsyncIterator[None]:
    """Open a pipeline. Close the connection if the block fails or is cancelled.

    A failed pipeline may leave pipeline mode on, so that nothing more would be committed. The client may also believe
    that the server has statements of that pipeline prepared, although the server does not.
    """
    try:
        async with connection.pipeline():
            yield
    except (psycopg.Error, asyncio.CancelledError):
        await connection.close()
        raise


@asynccontextmanager
async def read_snapshot(connection: AsyncConnection[Row]) -> AsyncIterator[None]:
    """Open a read-only transaction whose statements all see the snapshot taken by the first of them.

    It sees the collections of the caller only.

    It is also a pipeline, so BEGIN and COMMIT need no round trip of their own. Read the result of the last statement
    after the block, because the end of the transaction fetches it.

    Args:
        connection: A connection outside a transaction.
    """
    try:
        async with open_pipeline(connection):
            await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            await announce(connection)
            yield
            await connection.execute("COMMIT")
    except BaseException:
        if not connection.closed:
            await connection.rollback()
        raise


async def fetch_one(pool: Pool, statement: LiteralString, values: Row) -> Row | None:
    """Return the first row of an idempotent statement, or None. Retry once if the connection is lost.

    Raises:
        StoreError: The database did not answer, or refused the statement.
    """

    async def fetch(connection: AsyncConnection[Row]) -> Row | None:
        return await (await connection.execute(statement, values)).fetchone()

    return await retry_on_lost_connection(pool, fetch)


async def fetch_visible(pool: Pool, statement: LiteralString, values: Row) -> list[Row]:
    """Return the rows of a read-only statement that the caller may see. Retry once if the connection is lost.

    Raises:
        StoreError: The database did not answer, or refused the statement.
    """

    async def fetch(connection: AsyncConnection[Row]) -> list[Row]:
        if not is_restricted():
            return await (await connection.execute(statement, values)).fetchall()
        async with open_pipeline(connection), connection.transaction():
            await announce(connection)
            return await (await connection.execute(statement, values)).fetchall()

    return await retry_on_lost_connection(pool, fetch)


async def check_connection(connection: AsyncConnection[Any]) -> None:
    """Check that a connection is alive before it is used.

    The server sends nothing to an idle client unless it ends the connection, so a socket with nothing to read counts as
    alive without a query. A socket with data is tested by a query, which fails if the server has gone.
    """
    if not _is_silent(connection):
        await AsyncConnectionPool.check_connection(connection)


def _is_silent(connection: AsyncConnection[Any]) -> bool:
    """Tell whether a connection is open and has nothing to read."""
    if connection.closed:
        return False
    poller = select.poll()  # select.select fails on file descriptors above 1023
    poller.register(connection.fileno(), select.POLLIN)
    return not poller.poll(0)


def _check_url(url: str) -> None:
    try:
        conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # The parser's message quotes the string, and with it the password.
        raise ConfigurationError(
            "DATABASE_URL is not a PostgreSQL connection string.",
            "Write it as postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or unset it to use the embedded database.",
            code="BAD_DATABASE_URL",
        ) from None


async def _check_server(connection: AsyncConnection[Any]) -> None:
    if connection.info.server_version < MINIMUM_VERSION:
        raise StoreError(
            f"the server is PostgreSQL {connection.info.server_version // 10000}, and 14 or newer is needed.",
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
    """Tell whether the connection leads directly to one server process: a pooler reports another process id.

    Statements may be prepared only where one process serves the connection for its whole life.
    """
    row = await (await connection.execute("SELECT pg_backend_pid()")).fetchone()
    return row is not None and row[0] == connection.info.backend_pid


def _first_line(error: Exception) -> str:
    """Return the first line of the server's message, without its details, which may quote values."""
    return str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__
