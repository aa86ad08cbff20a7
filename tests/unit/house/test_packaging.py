"""The rooms at the top level, their map in pyproject.toml and the links that tools follow name the same folders."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Final

import pytest

import sourcebound
from support.places import ROOT

MOST_MODULES: Final = 14
MOST_LINES: Final = 400
MOST_CONTRACT_LINES: Final = 300
CLAUSE: Final = re.compile(r"\b(?:S|P|R1|R2|R3|R4|R5|R5P|R6|CP|R2-[ASV])-?\d|§\d|\b(?:R2-[ASV]|P)\b")
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]


def rooms() -> set[str]:
    return {folder.name for folder in ROOT.iterdir() if (folder / "__init__.py").is_file()} - {"sourcebound", "tests"}


def test_the_map_names_every_room() -> None:
    mapped = {name.removeprefix("sourcebound."): folder for name, folder in CONFIG["package-dir"].items()}
    assert mapped == {"sourcebound": "sourcebound"} | {room: room for room in rooms()}


def packages() -> dict[str, Path]:
    """Every package of the product, by import name."""
    inits = [init for room in (*rooms(), "sourcebound") for init in (ROOT / room).rglob("__init__.py")]
    names = {init.parent: ".".join(init.parent.relative_to(ROOT).parts) for init in inits}
    return {f"sourcebound.{name}".replace("sourcebound.sourcebound", "sourcebound"): at for at, name in names.items()}


def test_the_list_of_packages_names_every_folder_of_modules() -> None:
    assert set(CONFIG["packages"]) == set(packages())


@pytest.mark.parametrize("name", sorted(packages()))
def test_a_package_is_small_enough_to_be_read_as_a_list(name: str) -> None:
    assert len([file for file in packages()[name].glob("*.py") if file.name != "__init__.py"]) <= MOST_MODULES


def test_no_module_is_too_long() -> None:
    modules = [file for at in packages().values() for file in at.glob("*.py")]
    lengths = {file: len(file.read_text("utf-8").splitlines()) for file in modules}
    too_long = {file for file, lines in lengths.items() if lines > MOST_LINES}
    too_long |= {file for file, lines in lengths.items() if "contracts" in file.parts and lines > MOST_CONTRACT_LINES}
    assert too_long == set()


@pytest.mark.parametrize("name", sorted(name for name in packages() if name.startswith("sourcebound.contracts.")))
def test_the_docstring_of_a_contract_package_names_its_clauses(name: str) -> None:
    docstring = ast.get_docstring(ast.parse((packages()[name] / "__init__.py").read_text("utf-8"))) or ""
    assert CLAUSE.search(docstring)


def test_the_package_map_of_contributing_names_every_package() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = set(re.findall(r"^([a-z_/]+)/ {2,}", page, re.MULTILINE))
    assert named >= {str(at.relative_to(ROOT)) for at in packages().values()}


def test_the_wheel_made_from_the_source_distribution_holds_every_module_and_every_data_file(tmp_path: Path) -> None:
    source = tmp_path / "source"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file() and not (ROOT / name).is_symlink():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    pack = f"from setuptools.build_meta import build_sdist; build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", pack], cwd=source, capture_output=True, check=True)
    (packed_source,) = tmp_path.glob("*.tar.gz")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(tmp_path), str(packed_source)], capture_output=True, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    tops = (*rooms(), "sourcebound")
    files = {file.relative_to(source) for top in tops for file in (source / top).rglob("*") if file.is_file()}
    assert packed == {str(file) if file.parts[0] == "sourcebound" else f"sourcebound/{file}" for file in files}


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
        "for m in pkgutil.walk_packages(c.__path__, c.__name__ + '.'): importlib.import_module(m.name)\n"
        "print([n for n in ('langgraph', 'langchain_core', 'psycopg', 'httpx', 'onnxruntime') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
