"""The rooms at the top level, their map in pyproject.toml and the links that tools follow name the same folders."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sourcebound

ROOT = Path(__file__).parents[2]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]


def rooms() -> set[str]:
    return {folder.name for folder in ROOT.iterdir() if (folder / "__init__.py").is_file()} - {"sourcebound", "tests"}


def test_the_map_names_every_room() -> None:
    mapped = {name.removeprefix("sourcebound."): folder for name, folder in CONFIG["package-dir"].items()}
    assert mapped == {"sourcebound": "sourcebound"} | {room: room for room in rooms()}


def test_the_packages_are_the_map_and_the_command_line() -> None:
    assert set(CONFIG["packages"]) == set(CONFIG["package-dir"]) | {"sourcebound.cli"}


def test_a_relative_link_leads_to_every_room() -> None:
    links = {entry.name: os.readlink(entry) for entry in (ROOT / "sourcebound").iterdir() if entry.is_symlink()}
    assert links == {room: f"../{room}" for room in rooms()}


@pytest.mark.parametrize("name", sourcebound.__all__)
def test_every_public_name_loads(name: str) -> None:
    assert getattr(sourcebound, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        sourcebound.Nothing  # noqa: B018


def test_the_contracts_load_without_graph_database_or_models() -> None:
    program = (
        "import pkgutil, sys, importlib, sourcebound.contracts as c\n"
        "for m in pkgutil.iter_modules(c.__path__): importlib.import_module(c.__name__ + '.' + m.name)\n"
        "print([n for n in ('langgraph', 'langchain_core', 'psycopg', 'httpx', 'onnxruntime') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
