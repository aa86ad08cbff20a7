"""The account of the embedded server, with real processes: new data, and data of an earlier account (decision 31)."""

import os
import pwd
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sourcebound.store.server import embedded
from sourcebound.store.server.accounts import SHARED_ACCOUNT, Account, current_account, take_over
from sourcebound.store.server.embedded import EmbeddedServer
from support.processes.homes import Client, query, reachable_folder, socket_folder, stopped_server, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as another account")

SHARED = pwd.getpwnam(SHARED_ACCOUNT)


@pytest.fixture
def home() -> Iterator[Path]:
    with reachable_folder() as folder, stopped_server(folder / "home") as made:
        yield made


@pytest.fixture
def of_nobody(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder as an earlier version left it: its data and its running server are `nobody`'s."""
    start_as_nobody(home, monkeypatch)
    return home


def start_as_nobody(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    with monkeypatch.context() as patch:
        account = Account(SHARED.pw_name, SHARED.pw_uid, SHARED.pw_gid, switched=True)
        patch.setattr(embedded, "current_account", lambda: account)
        url = EmbeddedServer(home).keep()
    query(url, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS number")
    return url


def owners(folder: Path) -> set[int]:
    return {path.lstat().st_uid for path in (folder, *folder.rglob("*"))}


def test_no_other_account_owns_or_runs_new_data(home: Path) -> None:
    account = current_account()
    assert account.uid not in (0, SHARED.pw_uid)
    with EmbeddedServer(home) as server:
        pid = server.status().pid
        assert os.stat(f"/proc/{pid}").st_uid == account.uid
        assert owners(home / "data") == {account.uid}
        assert (home / "data").stat().st_mode & 0o777 == 0o700


def test_data_of_nobody_is_taken_over_by_the_next_start_and_no_sooner(of_nobody: Path) -> None:
    data = of_nobody / "data"
    with EmbeddedServer(of_nobody) as server:
        assert query(server.start(), "SELECT count(*) FROM kept") == [(1000,)]
        assert owners(data) == {SHARED.pw_uid}  # its server runs
        server.stop()
    clients = [Client(of_nobody, None) for _ in range(4)]
    urls = {client.answer() for client in clients}
    assert query(urls.pop(), "SELECT count(*) FROM kept") == [(1000,)]
    assert not urls
    assert owners(data) == {current_account().uid}
    for client in clients:
        client.leave()


def test_a_killed_server_of_nobody_recovers_under_the_new_account(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stopped_server(home / ("long" * 30)) as long:  # its socket is in a folder of its own, which stays behind
        sockets = socket_folder(start_as_nobody(long, monkeypatch))
        pid = EmbeddedServer(long).status().pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not EmbeddedServer(long).status().running)
        assert sockets.stat().st_uid == SHARED.pw_uid
        assert query(EmbeddedServer(long).keep(), "SELECT count(*) FROM kept") == [(1000,)]
        assert sockets.stat().st_uid == current_account().uid


def test_a_take_over_that_was_killed_is_completed(of_nobody: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    EmbeddedServer(of_nobody).stop()
    data, change, changed = of_nobody / "data", os.chown, 0

    def chown(*arguments: object, **options: object) -> None:
        nonlocal changed
        changed += 1
        if changed == 100:
            raise OSError("killed")
        change(*arguments, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(os, "chown", chown)
        with pytest.raises(OSError, match="killed"):
            take_over(data, current_account())
    assert owners(data) == {SHARED.pw_uid, current_account().uid}
    assert data.stat().st_uid == SHARED.pw_uid
    assert query(EmbeddedServer(of_nobody).keep(), "SELECT count(*) FROM kept") == [(1000,)]
    assert owners(data) == {current_account().uid}


def test_a_take_over_changes_nothing_but_files_of_the_former_owner(tmp_path: Path) -> None:
    outside, data = tmp_path / "outside", tmp_path / "real"
    outside.mkdir()
    (outside / "file").touch()
    data.mkdir()
    for name in ("file", "linked", "of_another"):
        (data / name).touch()
    (data / "linked").unlink()
    (data / "linked").symlink_to(outside)
    for path in (outside, outside / "file", data, data / "file", data / "linked"):
        os.chown(path, SHARED.pw_uid, SHARED.pw_gid, follow_symlinks=False)
    (tmp_path / "data").symlink_to(data)
    account = current_account()
    take_over(tmp_path / "data", account)
    assert {path.lstat().st_uid for path in (data, data / "file", data / "linked")} == {account.uid}
    assert {path.lstat().st_uid for path in (outside, outside / "file")} == {SHARED.pw_uid}
    assert (data / "of_another").stat().st_uid == 0
