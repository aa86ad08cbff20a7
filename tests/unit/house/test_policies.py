"""A deployment's own policies: drafts, releases, and files that were changed after their release (P-1)."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

import sourcebound.policies
from sourcebound.cli.policy import check_policy, show_policy
from sourcebound.contracts.calibration.proposed_policy import render_policy
from sourcebound.contracts.policy.lock import FoundPolicy, ReleaseStatus, parse_lock, release_status_of, render_lock
from sourcebound.contracts.policy.releases import SHIPPED, load_shipped_policy, read_lock
from sourcebound.contracts.policy.schema import Policy, parse_policy
from sourcebound.errors import ConfigurationError, StoreError
from sourcebound.policies import (
    check_own_policies,
    list_own_policies,
    look_up_policy,
    read_policy_lock,
    release_policy,
)
from support.builders import policy

MINE = policy().model_copy(update={"policy_version": "MINE_V1"})
STRICTER = policy(retrieval={"min_top_similarity": 0.9}).model_copy(update={"policy_version": "MINE_V1"})


def write(folder: Path, chosen: Policy = MINE, name: str = "") -> Path:
    path = folder / f"{name or chosen.policy_version}.toml"
    path.write_text(render_policy(chosen), "utf-8")
    return path


def code_of(raised: "pytest.ExceptionInfo[ConfigurationError]") -> str:
    assert raised.value.next_step
    return raised.value.failure_code


@pytest.mark.contract("P-1")
@pytest.mark.parametrize("name", SHIPPED)
def test_what_ships_is_shipped_and_so_is_a_copy_of_it(tmp_path: Path, name: str) -> None:
    assert look_up_policy(name) == (load_shipped_policy(name), ReleaseStatus.SHIPPED, None)
    assert look_up_policy(str(write(tmp_path, load_shipped_policy(name)))).release_status is ReleaseStatus.SHIPPED


@pytest.mark.contract("P-1")
def test_a_file_that_no_lock_names_is_a_draft_and_may_change(tmp_path: Path) -> None:
    path = write(tmp_path)
    assert look_up_policy(str(path)) == (MINE, ReleaseStatus.DRAFT, path)
    write(tmp_path, STRICTER)
    assert look_up_policy(str(path)) == (STRICTER, ReleaseStatus.DRAFT, path)


@pytest.mark.contract("P-1")
def test_a_released_policy_is_known_by_its_name_and_its_digest(tmp_path: Path) -> None:
    path = write(tmp_path)
    assert release_policy(path).release_status is ReleaseStatus.DRAFT
    assert read_policy_lock(tmp_path) == {"MINE_V1": MINE.sha256}
    assert look_up_policy("MINE_V1", tmp_path) == (MINE, ReleaseStatus.RELEASED, path)
    lock = (tmp_path / "policies.lock").read_text("utf-8")
    assert release_policy(path).release_status is ReleaseStatus.RELEASED
    assert (tmp_path / "policies.lock").read_text("utf-8") == lock
    path.write_text("# a remark\n" + path.read_text("utf-8"), "utf-8")
    assert look_up_policy(str(path)).release_status is ReleaseStatus.RELEASED


@pytest.mark.contract("P-1")
@pytest.mark.parametrize("how", ["in use", "released again"])
def test_a_file_that_was_changed_after_its_release_is_refused(tmp_path: Path, how: str) -> None:
    release_policy(write(tmp_path))
    path = write(tmp_path, STRICTER)
    with pytest.raises(ConfigurationError, match="has changed since MINE_V1 was released") as raised:
        look_up_policy(str(path)) if how == "in use" else release_policy(path)
    assert code_of(raised) == "RELEASED_POLICY_CHANGED"
    assert read_policy_lock(tmp_path) == {"MINE_V1": MINE.sha256}


@pytest.mark.contract("P-1")
@pytest.mark.parametrize("name", SHIPPED)
def test_no_file_bears_the_name_of_a_shipped_policy_with_other_values(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, STRICTER.model_copy(update={"policy_version": name}), name)
    for attempt in (look_up_policy, lambda path: release_policy(Path(path))):
        with pytest.raises(ConfigurationError) as raised:
            attempt(str(path))
        assert code_of(raised) == "RELEASED_POLICY_CHANGED"


@pytest.mark.contract("P-1")
def test_the_lock_of_the_folder_counts_for_a_copy_elsewhere(tmp_path: Path) -> None:
    release_policy(write(tmp_path))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = write(elsewhere)
    assert look_up_policy(str(path), tmp_path).release_status is ReleaseStatus.RELEASED
    write(elsewhere, STRICTER)
    assert look_up_policy(str(path)).release_status is ReleaseStatus.DRAFT
    with pytest.raises(ConfigurationError) as raised:
        look_up_policy(str(path), tmp_path)
    assert code_of(raised) == "RELEASED_POLICY_CHANGED"


@pytest.mark.contract("P-1")
def test_a_shipped_policy_that_differs_from_its_lock_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = {**read_lock(), "policies": {**read_lock()["policies"], "R2_POLICY_V1": "00"}}
    monkeypatch.setattr("sourcebound.policies.read_lock", lambda: changed)
    with pytest.raises(ConfigurationError, match="the shipped R2_POLICY_V1") as raised:
        look_up_policy("R2_POLICY_V1")
    assert code_of(raised) == "RELEASED_POLICY_CHANGED"


@pytest.mark.contract("P-1")
@pytest.mark.parametrize(
    "broken",
    [
        render_policy(MINE).replace("top_k", "top_kay"),
        render_policy(MINE).replace(MINE.prompt.template_sha256, "00"),
        render_policy(MINE).replace("MINE_V1", "mine"),
        "not toml",
    ],
)
def test_a_policy_that_is_not_valid_is_not_released(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "MINE_V1.toml"
    path.write_text(broken, "utf-8")
    with pytest.raises(ConfigurationError) as raised:
        release_policy(path)
    assert (code_of(raised), (tmp_path / "policies.lock").exists()) == ("INVALID_POLICY", False)


def test_a_released_policy_bears_the_name_of_its_file(tmp_path: Path) -> None:
    path = write(tmp_path, name="other")
    with pytest.raises(ConfigurationError, match="contains the policy MINE_V1") as raised:
        release_policy(path)
    assert (code_of(raised), "MINE_V1.toml" in raised.value.next_step) == ("POLICY_FILE_NAME", True)


@pytest.mark.parametrize(
    "lock",
    ["", "not toml", "policies = 3", "[policies]\nMINE_V1 = 3", 'MINE_V1 = "00"', "[policy]", "[policies]\n[more]"],
)
def test_a_lock_that_cannot_be_read_leaves_no_policy_beside_it_in_use(tmp_path: Path, lock: str) -> None:
    (tmp_path / "policies.lock").write_text(lock)
    with pytest.raises(ConfigurationError) as raised:
        look_up_policy(str(write(tmp_path)))
    assert code_of(raised) == "INVALID_POLICY_LOCK"


RELEASE = """
import sys
from pathlib import Path
from sourcebound.policies import release_policy
print("ready", flush=True)
sys.stdin.read()
for path in sys.argv[1:]:
    release_policy(Path(path))
"""


@pytest.mark.contract("P-1")
def test_no_release_is_lost_beside_others_that_are_made_at_the_same_time(tmp_path: Path) -> None:
    names = [f"MINE_{number}_V1" for number in range(40)]
    paths = [str(write(tmp_path, MINE.model_copy(update={"policy_version": name}))) for name in names]
    with ExitStack() as started:
        releasing = [
            started.enter_context(subprocess.Popen(
                [sys.executable, "-c", RELEASE, *paths[first::4]], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            ))
            for first in range(4)
        ]  # fmt: skip
        for process in releasing:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        for process in releasing:
            assert process.stdin is not None
            process.stdin.close()
        assert [process.wait() for process in releasing] == [0] * 4
    assert sorted(read_policy_lock(tmp_path)) == sorted(names)
    assert {path.name for path in tmp_path.iterdir()} == {*(f"{name}.toml" for name in names), "policies.lock"}


@pytest.mark.contract("P-1")
def test_of_two_releases_of_one_name_at_the_same_time_the_first_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, looked = write(tmp_path), sourcebound.policies.read_policy_file

    def look_and_be_overtaken(path: Path, folder: Path | None) -> FoundPolicy:
        found = looked(path, folder)
        (tmp_path / "policies.lock").write_text(render_lock({"MINE_V1": STRICTER.sha256}))
        return found

    monkeypatch.setattr("sourcebound.policies.read_policy_file", look_and_be_overtaken)
    with pytest.raises(ConfigurationError) as raised:
        release_policy(path)
    assert code_of(raised) == "RELEASED_POLICY_CHANGED"
    assert read_policy_lock(tmp_path) == {"MINE_V1": STRICTER.sha256}


def test_a_policy_file_that_is_not_there_is_said_to_be_so(tmp_path: Path) -> None:
    for path in (tmp_path / "nofile.toml", tmp_path / "nowhere" / "nofile.toml"):
        with pytest.raises(ConfigurationError, match=r"there is no file .*nofile\.toml") as raised:
            release_policy(path)
        assert code_of(raised) == "PATH_MISSING"


def test_a_lock_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    path = write(tmp_path)
    (tmp_path / "policies.lock").mkdir()
    with pytest.raises((StoreError, ConfigurationError)):
        release_policy(path)
    assert [each.name for each in tmp_path.iterdir() if each.name.endswith(".new")] == []


@pytest.mark.parametrize("digests", [{}, {"A_V1": "00"}, {"B_V1": "11", "A_V1": "00"}])
def test_a_lock_comes_back_as_it_was_written(digests: dict[str, str]) -> None:
    assert list(parse_lock(render_lock(digests)).items()) == list(digests.items())


@pytest.mark.contract("P-1")
def test_a_name_that_two_locks_know_otherwise_is_never_accepted() -> None:
    assert release_status_of(MINE, {}, [{"MINE_V1": MINE.sha256}, {"MINE_V1": "00"}]) is ReleaseStatus.CHANGED
    assert release_status_of(MINE, {}, [{"MINE_V1": MINE.sha256}, {"OTHER_V1": "00"}]) is ReleaseStatus.RELEASED
    assert release_status_of(MINE, {"MINE_V1": "00"}, []) is ReleaseStatus.CHANGED


def test_the_folder_is_listed_and_its_faults_are_named(tmp_path: Path) -> None:
    release_policy(write(tmp_path))
    lost = MINE.model_copy(update={"policy_version": "LOST_V1"})
    release_policy(write(tmp_path, lost))
    (tmp_path / "LOST_V1.toml").unlink()
    write(tmp_path, MINE.model_copy(update={"policy_version": "NEW_V1"}))
    write(tmp_path, MINE, "copy")
    (tmp_path / "broken.toml").write_text("[")
    listed = list_own_policies(tmp_path)
    assert [(each.path.stem, each.found and each.found.release_status) for each in listed] == [
        ("MINE_V1", ReleaseStatus.RELEASED), ("NEW_V1", ReleaseStatus.DRAFT), ("broken", None), ("copy", None),
    ]  # fmt: skip
    faults = check_own_policies(tmp_path)
    assert ["broken.toml is not a valid policy" in faults[0], "whose file must have its name" in faults[1]] == [
        True,
        True,
    ]
    assert "LOST_V1 was released" in faults[2]
    assert check_own_policies(tmp_path / "nowhere") == [
        f"SOURCEBOUND_POLICIES names the folder {tmp_path / 'nowhere'}, which does not exist"
    ]
    assert (check_own_policies(None), list_own_policies(None)) == ([], [])


@pytest.mark.parametrize("folder", [None, Path()], ids=["no folder", "the folder"])
@pytest.mark.parametrize("name", ["other", "other.toml", "R2_POLICY_V1"])
def test_the_file_that_is_shown_is_the_one_that_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, folder: Path | None
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sourcebound.cli.policy._folder", lambda: folder)
    Path("other").write_text(render_policy(MINE), "utf-8")
    write(Path(), STRICTER, "other")
    check_policy(name)
    digest = capsys.readouterr().out.split()[1]
    show_policy(name)
    assert parse_policy(capsys.readouterr().out).sha256 == digest


def test_a_policy_that_is_not_there_lists_those_that_are(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(ConfigurationError, match="'NO_SUCH_V1'") as raised:
        look_up_policy("NO_SUCH_V1", tmp_path)
    assert (code_of(raised), "MINE_V1" in raised.value.next_step) == ("UNKNOWN_POLICY", True)
    with pytest.raises(ConfigurationError):
        look_up_policy(str(tmp_path / "MINE_V1"), tmp_path / "nowhere")
    with pytest.raises(ConfigurationError):
        look_up_policy("x" * 5000, tmp_path)
