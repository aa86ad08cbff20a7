"""IX-1: every file under the paths is found, skipped with a code, or counted by its kind."""

import os
from pathlib import Path

import pytest

from sourcebound.errors import ConfigurationError, DocumentError
from sourcebound.ingest.discovery import LINK_OUTSIDE, find_files
from sourcebound.ingest.loaders.sidecar import Sidecar, read_sidecar
from sourcebound.models.profiles import Registry


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one document, next to another folder."""
    folder = tmp_path / "manuals"
    (folder / "inner").mkdir(parents=True)
    (folder / "pump.md").write_text("# Pump")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "secret.md").write_text("secret")
    return folder


def _found(folder: Path) -> tuple[list[str], dict[str, str]]:
    found = find_files([folder])
    return [file.knowledge_id for file in found.files], {skip.path.name: skip.code for skip in found.skipped}


@pytest.mark.contract("IX-1")
def test_every_file_is_counted(folder: Path) -> None:
    for name in ("photo.heic", "PHOTO.HEIC", "picture.png", "README", ".hidden", "pump.md.meta.toml"):
        (folder / name).write_text("x")
    (folder / ".git").mkdir()
    os.mkfifo(folder / "pipe.txt")
    found = find_files([folder])
    assert [file.knowledge_id for file in found.files] == ["pump.md"]
    assert found.skipped == []
    assert found.other_kinds == {
        ".heic": 2,
        ".png": 1,
        "without a suffix": 1,
        "hidden": 2,
        "no regular file": 1,
    }


@pytest.mark.contract("IX-1")
def test_a_link_out_of_the_folder_is_skipped_with_a_code(folder: Path, tmp_path: Path) -> None:
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "inner" / "passwd.txt").symlink_to("/etc/passwd")
    (folder / "folder").symlink_to(tmp_path / "other")
    (folder / "up.md").symlink_to("../other/secret.md")
    files, skipped = _found(folder)
    assert files == ["pump.md"]
    assert skipped == dict.fromkeys(["link.txt", "passwd.txt", "folder", "up.md"], LINK_OUTSIDE)


@pytest.mark.contract("IX-1")
def test_a_link_within_the_folder_is_its_target_once(folder: Path) -> None:
    (folder / "inner" / "again.md").symlink_to("../pump.md")
    (folder / "inner" / "folder").symlink_to("..")
    (folder / ".data").mkdir()
    (folder / ".data" / "valve").write_text("# Valve")
    (folder / "valve.md").symlink_to(".data/valve")
    files, skipped = _found(folder)
    assert (files, skipped) == (["pump.md", "valve.md"], {})


@pytest.mark.contract("S-4")
def test_a_link_to_itself_or_to_nothing_stops_no_other_file(folder: Path) -> None:
    (folder / "loop.txt").symlink_to("loop.txt")
    (folder / "one.md").symlink_to("two.md")
    (folder / "two.md").symlink_to("one.md")
    (folder / "gone.md").symlink_to("nowhere.md")
    files, skipped = _found(folder)
    assert files == ["pump.md"]
    assert skipped == dict.fromkeys(["loop.txt", "one.md", "two.md", "gone.md"], "UNREADABLE")


@pytest.mark.contract("S-4")
def test_a_deeply_nested_sidecar_is_refused_with_its_code(folder: Path) -> None:
    (folder / "pump.md.meta.toml").write_text("title = " + "[" * 100_000)
    with pytest.raises(DocumentError) as raised:
        read_sidecar(folder / "pump.md")
    assert raised.value.failure_code == "BAD_SIDECAR"


@pytest.mark.contract("S-4")
def test_a_name_that_is_too_long_for_a_sidecar_has_none(folder: Path) -> None:
    assert read_sidecar(folder / f"{'x' * 250}.md") == Sidecar()


@pytest.mark.contract("S-4")
def test_a_deeply_nested_model_file_is_an_error_of_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "models.toml"
    file.write_text("a = " + "[" * 100_000)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Registry(file)
