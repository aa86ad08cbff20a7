"""R5P-8: the embedded server asks every role for its password, and the product never connects as its superuser."""

import asyncio
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import errors

from sourcebound.contracts.corpus.document import Chunk
from sourcebound.errors import StoreError
from sourcebound.graph.engine import Engine
from sourcebound.store.connection.database import open_pool
from sourcebound.store.connection.migrations import list_migrations, migrate
from sourcebound.store.server.access import OPEN_RULES, OWNER, ROLES, RUNTIME, Access, url_for
from sourcebound.store.server.embedded import EmbeddedServer
from sourcebound.wiring import open_services
from support.processes.commands import Program
from support.processes.databases import MANUALS, ingest, rows, settings_for, single
from support.processes.homes import reachable_folder, stopped_server

pytestmark = pytest.mark.contract("R5P-8")
QUESTION = "How often is the shaft of a stored HP-200 turned by hand?"
PROCESSES = 6
OWNERS = """
SELECT DISTINCT pg_get_userbyid(owner) FROM (
    SELECT relowner AS owner FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
    UNION ALL
    SELECT proowner FROM pg_proc p WHERE pronamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
) AS everything
"""

NEWER = """
ALTER TABLE documents ADD file_sha256 bytea, ADD digest_suffix bytea, ADD labels text[] NOT NULL DEFAULT '{}';
ALTER TABLE chunks ADD section_starts integer[] NOT NULL DEFAULT '{}', ADD section_names text[] NOT NULL DEFAULT '{}';
CREATE TABLE source_files (sha256 bytea PRIMARY KEY, content bytea NOT NULL)
"""
"""What an ingest of today needs and an earlier schema lacks."""
NOTHING_NEWER = """
ALTER TABLE documents DROP file_sha256, DROP digest_suffix, DROP labels;
ALTER TABLE chunks DROP section_starts, DROP section_names;
DROP TABLE source_files
"""


@pytest.fixture
def home() -> Iterator[Path]:
    with reachable_folder() as folder, stopped_server(folder / "home") as made:
        yield made


@pytest.fixture
def program(home: Path) -> Program:
    return Program({"SOURCEBOUND_HOME": str(home), "SOURCEBOUND_EMBEDDER": "lexical"})


def _succeed(program: Program, *arguments: str | Path) -> str:
    done = program(*arguments)
    assert done.code == 0, done
    return done.stdout


def test_no_role_connects_without_its_password(home: Path) -> None:
    with EmbeddedServer(home) as server:
        url = server.start()
        password_file = home / "data" / "passwords"
        assert stat.S_IMODE(password_file.stat().st_mode) == 0o600
        passwords = [line.split(":")[-1] for line in password_file.read_text().splitlines()]
        assert len({*passwords}) == len(ROLES)
        assert not [password for password in passwords if password in url]
        for role in ROLES:
            assert single(url_for(url, role), "SELECT current_user") == role
            with pytest.raises(psycopg.OperationalError, match="no password supplied"):
                psycopg.connect(url_for(url, role).partition("&passfile=")[0])
        strong = "SELECT rolname FROM pg_roles WHERE rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls"
        assert rows(url, strong) == [("sourcebound",)]


def test_the_product_connects_as_the_runtime_role(home: Path, program: Program) -> None:
    _succeed(program, "ingest", MANUALS)
    _succeed(program, "db", "start")
    _succeed(program, "ask", QUESTION)
    shown = _succeed(program, "db", "status")
    url = shown.splitlines()[-1].split()[-1]
    assert urlsplit(url).username == RUNTIME
    assert not [line for line in (home / "data" / "passwords").read_text().split() if line.split(":")[-1] in shown]
    assert single(url, "SELECT count(*) FROM validations") == 1
    for statement in ("DELETE FROM validations", "UPDATE audit_head SET position = 0", "DELETE FROM chunks"):
        with pytest.raises(errors.InsufficientPrivilege):
            rows(url, statement)
    assert rows(url, OWNERS) == [(OWNER,)]
    assert _succeed(program, "db", "migrate") == "up to date\n"
    _succeed(program, "audit", "verify")


async def _fill_as_before(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Fill a data folder as the versions did that had one role, without a password; return the run's id."""
    with monkeypatch.context() as patch:
        patch.setattr(Access, "close", lambda self, connect: None)
        server = EmbeddedServer(home)
        url = await asyncio.to_thread(server.start)
        earlier = [migration for migration in list_migrations() if migration.version < 17]
        patch.setattr("sourcebound.store.connection.migrations.list_migrations", lambda: earlier)
        async with open_pool(url, max_size=1) as pool:
            await migrate(pool)
        rows(url, NEWER)
        for later in ("section_starts", "section_names"):  # no earlier ingest knew them, so no digest binds them
            patch.setattr(Chunk, later, [])
        async with open_services(settings_for(url)) as services:
            await ingest(services, MANUALS)
        rows(url, NOTHING_NEWER)
        await asyncio.to_thread(server.release)
    assert not (home / "data" / "passwords").exists()
    assert (home / "data" / "pg_hba.conf").read_text() == OPEN_RULES
    return url


async def test_data_of_an_earlier_version_is_taken_over(
    home: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many processes at once take it over, and nothing is lost."""
    url = await _fill_as_before(home, monkeypatch)
    with ThreadPoolExecutor(PROCESSES) as pool:
        answers = [*pool.map(lambda _: program("ask", QUESTION), range(PROCESSES))]
    assert [answer.code for answer in answers] == [0] * PROCESSES, answers
    with EmbeddedServer(home) as server:
        assert server.start() == url
        assert single(url, "SELECT count(*) FROM documents") == 9
        assert single(url, "SELECT count(*) FROM validations") == PROCESSES
        assert rows(url, OWNERS) == [(OWNER,)]
    _succeed(program, "audit", "verify")
    _succeed(program, "ingest", MANUALS / "hp-200-manual-rev-c.pdf", "--collection", "more")


async def test_a_running_server_of_an_earlier_version_is_taken_over(
    home: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Access, "close", lambda self, connect: None)
        server = EmbeddedServer(home)
        url = await asyncio.to_thread(server.start)
        rows(url.partition("&passfile=")[0], "CREATE TABLE theirs (number integer)")
    _succeed(program, "db", "migrate")
    assert rows(url_for(url, OWNER), OWNERS) == [(OWNER,)]
    await asyncio.to_thread(server.release)


def test_lost_passwords_are_made_again_by_the_next_start(home: Path, program: Program) -> None:
    _succeed(program, "ingest", MANUALS)
    password_file = home / "data" / "passwords"
    before = password_file.read_text()
    with EmbeddedServer(home):
        password_file.unlink()
        with pytest.raises(StoreError) as refused:
            EmbeddedServer(home).start()
        assert refused.value.failure_code == "PASSWORD_REFUSED"
        EmbeddedServer(home).stop()
    _succeed(program, "ask", QUESTION)
    assert password_file.read_text() != before


async def test_a_process_killed_while_it_makes_passwords_costs_nothing(
    home: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file may be missing, or the password of another attempt, as long as the server is open."""
    write, written = Access._write, []

    def fail(self: Access, path: Path, text: str) -> None:
        written.append(path.name)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        for name in ("passwords", "pg_hba.conf"):
            patch.setattr(
                Access,
                "_write",
                lambda self, path, text, name=name: (fail if path.name == name else write)(self, path, text),
            )
            patch.setattr(Access, "reopen", lambda self: None)
            with pytest.raises(KeyboardInterrupt):
                EmbeddedServer(home).start()
    assert written == ["passwords", "pg_hba.conf"]
    _succeed(program, "ingest", MANUALS)
    async with open_services(settings_for(_runtime_url(home))) as services:
        assert (await Engine(services).ask({"question": QUESTION})).status == "OK"


def _runtime_url(home: Path) -> str:
    EmbeddedServer(home).keep()
    url = EmbeddedServer(home).status().url
    assert url is not None
    return url_for(url, RUNTIME)
