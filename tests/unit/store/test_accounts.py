"""The choice of the account that runs the embedded server, without a server."""

import os
import pwd
from collections.abc import Callable
from pathlib import Path

import pytest

from sourcebound.errors import StoreError
from sourcebound.ingest.sandbox.confinement import OWN_USER_IDS, SPARE_USER_IDS
from sourcebound.store.server import accounts
from sourcebound.store.server.accounts import (
    LISTED_ACCOUNT,
    SHARED_ACCOUNT,
    UNLISTED_IDS,
    Account,
    current_account,
    describe_owner,
    find_creator,
    may_take_over,
    name_user_of,
)

PROCESS_IDS = 1 << 22
"""The most process ids that Linux gives."""

List = Callable[..., None]


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> List:
    """Replace the system's list of accounts, and act as a user id."""

    def replace(uid: int, **ids: int) -> None:
        by_name = {
            name: pwd.struct_passwd((name, "x", number, number, "", "/", "/bin/sh")) for name, number in ids.items()
        }
        monkeypatch.setattr(os, "geteuid", lambda: uid)
        monkeypatch.setattr(pwd, "getpwnam", by_name.__getitem__)
        monkeypatch.setattr(pwd, "getpwuid", {entry.pw_uid: entry for entry in by_name.values()}.__getitem__)

    return replace


@pytest.fixture
def mapped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Replace the kernel's map of user ids; that of group ids has all of them."""

    def replace(text: str) -> None:
        (tmp_path / "uid_map").write_text(text)
        (tmp_path / "gid_map").write_text("         0          0 4294967295\n")
        monkeypatch.setattr(accounts, "ID_MAPS", (tmp_path / "uid_map", tmp_path / "gid_map"))

    return replace


def test_no_parser_has_the_id_of_the_server() -> None:
    parsers = [range(OWN_USER_IDS, OWN_USER_IDS + PROCESS_IDS), SPARE_USER_IDS]
    assert not [number for number in UNLISTED_IDS if any(number in ids for ids in parsers)]


def test_an_ordinary_account_runs_its_own_server(listed: List) -> None:
    listed(1000, ann=1000, sourcebound=7)
    assert current_account() == Account("ann", 1000, os.getegid(), switched=False)
    assert find_creator(current_account()).name == "ann"


def test_root_uses_the_account_that_the_system_has_for_it(listed: List) -> None:
    listed(0, root=0, nobody=65534, sourcebound=7)
    account = current_account()
    assert account == Account(LISTED_ACCOUNT, 7, 7, switched=True)
    assert find_creator(account) == account


@pytest.mark.parametrize(
    ("id_map", "number"),
    [
        ("         0          0 4294967295\n", UNLISTED_IDS[0]),
        ("         0     100000      65536\n", UNLISTED_IDS[1]),
        ("         0       1000          1\n         1     100000      65536\n", UNLISTED_IDS[1]),
    ],
)
def test_root_uses_an_id_without_an_account(
    listed: List, mapped: Callable[[str], None], id_map: str, number: int
) -> None:
    listed(0, root=0, nobody=65534)
    mapped(id_map)
    account = current_account()
    assert account == Account(str(number), number, number, switched=True)
    assert find_creator(account).name == SHARED_ACCOUNT  # for the second that `initdb` takes


def test_an_account_of_that_name_with_the_rights_of_root_is_not_used(listed: List) -> None:
    listed(0, root=0, nobody=65534, sourcebound=0)
    assert current_account().uid in UNLISTED_IDS


def test_a_container_with_one_user_id_is_refused(listed: List, mapped: Callable[[str], None]) -> None:
    listed(0, root=0, nobody=65534)
    mapped("         0       1000          1\n")
    with pytest.raises(StoreError, match="no other user id") as caught:
        current_account()
    assert "DATABASE_URL" in caught.value.next_step


def test_a_system_that_lists_no_other_account_is_told_which_to_add(listed: List) -> None:
    listed(0, root=0)
    with pytest.raises(StoreError, match="only for a named account") as caught:
        find_creator(Account("61000", 61000, 61000, switched=True))
    assert f"useradd --system {LISTED_ACCOUNT}" in caught.value.next_step


def test_only_root_takes_over_and_only_what_its_servers_own(listed: List) -> None:
    listed(0, root=0, daemon=1, nobody=65534, sourcebound=7)
    account = current_account()
    assert [uid for uid in (0, 1, 7, 1000, 65534, *UNLISTED_IDS) if may_take_over(account, uid)] == [
        7,
        65534,
        *UNLISTED_IDS,
    ]
    assert not may_take_over(Account("daemon", 1, 1, switched=False), 65534)
    assert [name_user_of(uid) for uid in (1, 7, 65534, UNLISTED_IDS[0])] == ["daemon", "root", "root", "root"]


def test_the_owner_of_data_is_described(listed: List, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    listed(0, nobody=65534, sourcebound=7)
    described = {}
    for uid in (7, 65534, UNLISTED_IDS[0]):
        status = os.stat_result((0o40700, 0, 0, 2, uid, uid, 0, 0, 0, 0))
        monkeypatch.setattr(Path, "stat", lambda _path, status=status: status)
        described[uid] = describe_owner(tmp_path)
    assert described[7].endswith("the account sourcebound")
    assert "shared account nobody until the server starts again" in described[65534]
    assert str(UNLISTED_IDS[0]) in described[UNLISTED_IDS[0]]
