"""`sourcebound db`: the embedded server, and the schema of the database in use."""

from typing import Annotated

import typer

from sourcebound.cli.console import exit_with, run_async, say
from sourcebound.errors import SourceboundError

app = typer.Typer(help="Start, stop and migrate the database.", no_args_is_help=True)


@app.command()
def start() -> None:
    """Start the embedded PostgreSQL and keep it running. Otherwise it stops with its last client."""
    from sourcebound.settings import get_settings
    from sourcebound.store.server.embedded import EmbeddedServer

    settings = get_settings()
    if settings.database_url:
        say("DATABASE_URL is set, so the embedded server is not used. Unset it to use the embedded one.")
        raise typer.Exit(2)
    try:
        server = EmbeddedServer(settings.home)
        server.keep()
        server.release()
    except SourceboundError as error:
        raise exit_with(error) from error
    status()


@app.command()
def stop() -> None:
    """Stop the embedded PostgreSQL for all clients."""
    from sourcebound.settings import get_settings
    from sourcebound.store.server.embedded import EmbeddedServer

    try:
        stopped = EmbeddedServer(get_settings().home).stop()
    except SourceboundError as error:
        raise exit_with(error) from error
    print("stopped" if stopped else "was not running")


@app.command()
def status() -> None:
    """Show which database is in use and whether it runs."""
    from sourcebound.settings import get_settings
    from sourcebound.store.server.access import RUNTIME, url_for
    from sourcebound.store.server.embedded import EmbeddedServer

    settings = get_settings()
    if settings.database_url:
        print("DATABASE_URL is set and is used unchanged; `sourcebound doctor` tests the connection")
        return
    try:
        found = EmbeddedServer(settings.home).status()
    except SourceboundError as error:
        raise exit_with(error) from error
    if not found.running:
        print(f"embedded PostgreSQL: not running (it starts when needed)\ndata  {found.data_dir}")
        return
    url = url_for(found.url, RUNTIME) if found.url else "(starting)"
    stays = "until `sourcebound db stop`" if found.stays_running else "until its last client disconnects"
    print(f"embedded PostgreSQL {found.version or '(starting)'}: running, {stays}")
    print(f"data  {found.data_dir}\nlog   {found.log}\nurl   {url}")


@app.command()
def migrate() -> None:
    """Migrate the schema of the database in use. Concurrent calls are safe."""
    applied = run_async(_migrate)
    for name in applied:
        print(f"applied {name}")
    print("up to date")


@app.command()
def grant(
    role: Annotated[str, typer.Argument(help="An existing role of your own server, such as `app`.")],
) -> None:
    """Give ROLE the rights of the application. Run this with a DATABASE_URL of the owner of the tables.

    The application then connects as ROLE. It can answer questions and append to the audit record. It can neither change
    nor delete a record, nor change a collection. A later `sourcebound db migrate` renews these rights.
    """
    run_async(lambda: _grant(role))
    print(f"{role} has the rights of the application")


async def _grant(role: str) -> None:
    from sourcebound.settings import get_settings
    from sourcebound.store.connection.migrations import pending_migrations
    from sourcebound.store.connection.rights import grant_runtime
    from sourcebound.wiring import open_database, schema_missing_error

    async with open_database(get_settings(), max_size=1, as_owner=True) as pool:
        if await pending_migrations(pool):
            raise schema_missing_error()
        await grant_runtime(pool, role)


async def _migrate() -> list[str]:
    from sourcebound.settings import get_settings
    from sourcebound.store.connection.migrations import migrate
    from sourcebound.wiring import migrate_embedded, open_database

    settings = get_settings()
    if settings.database_url:
        async with open_database(settings, max_size=1) as pool:
            applied = await migrate(pool)
    else:
        applied = await migrate_embedded(settings)
    return [f"{migration.version:04}_{migration.name}" for migration in applied]
