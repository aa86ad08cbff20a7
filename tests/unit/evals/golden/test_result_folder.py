"""The folder of an evaluation and its collection: whose files it replaces, and whose commit it records."""

import shutil
import subprocess
from pathlib import Path

import pytest

from sourcebound.errors import RequestError
from sourcebound.evals.golden import results
from sourcebound.evals.golden.corpus import name_collection
from sourcebound.evals.golden.results import ResultFolder, find_commit
from support.golden import circumstances
from support.places import ROOT


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("name", ["results.jsonl", "summary.json"])
def test_files_of_something_else_are_left(tmp_path: Path, name: str, again: bool) -> None:
    (tmp_path / name).write_text("mine", "utf-8")
    with pytest.raises(RequestError, match=name) as caught:
        ResultFolder(tmp_path).begin(circumstances(), again=again)
    assert caught.value.failure_code == "FOLDER_NOT_EMPTY"
    assert {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()} == {name: "mine"}


def test_an_evaluation_is_replaced_when_that_is_meant(tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path / "new" / "out")
    folder.begin(circumstances())
    (folder.path / "summary.json").write_text("{}", "utf-8")
    assert folder.begin(circumstances(model="other"), again=True) == []
    assert [path.name for path in folder.path.iterdir()] == ["evaluation.json"]


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", folder, *identity, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_commit_is_that_of_this_project(tmp_path: Path) -> None:
    installed = tmp_path / ".venv" / "lib"
    installed.mkdir(parents=True)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "Theirs")
    assert find_commit(installed) is None
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "theirs"\n', "utf-8")
    assert find_commit(installed) is None
    (tmp_path / "pyproject.toml").write_text("not TOML", "utf-8")
    assert find_commit(installed) is None
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    git(tmp_path, "add", "pyproject.toml")
    assert find_commit(installed) == f"{git(tmp_path, 'rev-parse', '--short=12', 'HEAD')}-dirty"
    git(tmp_path, "commit", "--quiet", "--message", "Ours")
    assert find_commit(installed) == git(tmp_path, "rev-parse", "--short=12", "HEAD")


def test_there_is_no_commit_without_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert results.find_commit() is None


def test_each_place_of_documents_has_a_collection_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [tmp_path / "one" / "manuals", tmp_path / "two" / "manuals"]
    names = [name_collection([place]) for place in places]
    monkeypatch.chdir(tmp_path)
    assert [name_collection([place.relative_to(tmp_path)]) for place in places] == names
    assert len(set(names)) == len(places)
