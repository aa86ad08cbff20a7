"""docs/cli.md is what the help of the commands makes, and the README leads to it."""

from support.docs.cli_reference import render
from support.places import ROOT

PAGE = ROOT / "docs" / "cli.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == render(), "run: make cli-reference"
    assert "](docs/cli.md)" in (ROOT / "README.md").read_text("utf-8")


def test_the_page_names_every_command_and_every_option() -> None:
    page = PAGE.read_text("utf-8")
    for heading in ("ask", "runs prune", "replay verify", "collections", "policy release", "db migrate"):
        assert f"## `sourcebound {heading}`" in page
    assert "* `--at-once " in page
