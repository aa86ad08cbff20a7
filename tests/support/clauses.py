"""A pytest plugin that ends a full test run with the clauses of docs/contract.md that no test names.

A mark that names no clause is an error.
"""

import re
from typing import Any, Final

import pytest

from support.places import ROOT

CONTRACT: Final = ROOT / "docs" / "contract.md"
CLAUSE: Final = re.compile(r"^- \*\*([A-Z][A-Z0-9]*-[A-Z]?[0-9]+)\*\*(.*)$", re.MULTILINE)
PENDING: Final = "(specified, not in force yet)"
NAMED: Final = "named_clauses"
FOUND: Final = pytest.StashKey[set[str]]()


def read_clauses(text: str) -> dict[str, bool]:
    """Return the clause ids of the contract in order, and whether each is in force."""
    return {name: PENDING not in rest for name, rest in CLAUSE.findall(text)}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Collect the clauses that the tests name."""
    known = read_clauses(CONTRACT.read_text("utf-8"))
    named = {(str(mark.args[0]), item.nodeid) for item in items for mark in item.iter_markers("contract")}
    unknown = sorted(f"{clause} ({test})" for clause, test in named if clause not in known)
    if unknown:
        raise pytest.UsageError(f"marks that name no clause of {CONTRACT.name}: {', '.join(unknown)}")
    found = {clause for clause, _ in named}
    config.stash[FOUND] = found
    if hasattr(config, "workeroutput"):
        config.workeroutput[NAMED] = sorted(found)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the clauses that a worker found, because with workers only they collect the tests."""
    node.config.stash.setdefault(FOUND, set()).update(node.workeroutput[NAMED])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the clauses without a test, after a run of all tests."""
    if config.args != config.getini("testpaths") or config.option.keyword or config.option.markexpr:
        return
    clauses = read_clauses(CONTRACT.read_text("utf-8"))
    missing = [clause for clause in clauses if clause not in config.stash[FOUND]]
    in_force = [clause for clause in missing if clauses[clause]]
    terminalreporter.section("clauses without a test")
    terminalreporter.line(f"in force:          {' '.join(in_force) or 'none'}")
    terminalreporter.line(f"not in force yet:  {' '.join(c for c in missing if not clauses[c]) or 'none'}")
