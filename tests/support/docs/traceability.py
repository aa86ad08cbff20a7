"""The mapping of each requirement of the source contracts to clauses, code and tests. As a program, it prints the page.

The data are docs/traceability/*.toml, one file for each source, and the page is docs/traceability.md. A requirement
names its tests one by one, because with the mark of a clause alone it would still pass when its own test is gone. Code
and tests are read as syntax trees. Nothing is imported or collected.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict

from support.clauses import CONTRACT, read_clauses
from support.places import ROOT

DATA: Final = ROOT / "docs" / "traceability"
PAGE: Final = ROOT / "docs" / "traceability.md"
SOURCES: Final = ("S0", "S1", "S2", "S3", "S4")
HEADING: Final = re.compile(r"^## ((\d+)\. .+)$", re.MULTILINE)
INTRODUCTION: Final = """\
# Traceability

Five source contracts came before [the contract](contract.md), which reconciles them. Here is every requirement of each,
in its order and in our words: the clauses that decide it, the code that carries it, and tests that go red when it
breaks. Whoever lays a source beside this page sees what was left out. Where the contract decided otherwise than a
source, the row says what holds instead, and its tests are of that. What no code carries yet stands at the end, and
nowhere else.

The rows are data, one file a source, under `docs/traceability/`; there each test has its exact name, and
`make traceability` makes this page of them. `tests/unit/house/test_traceability.py` fails where a requirement has no
test, where a clause, a file, a name or a test does not exist, and where none of the tests of a row is marked with a
clause of the row.
"""


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Requirement(_Row):
    """One requirement of a source: built (`code` and `tests`), or not (`missing`)."""

    id: str
    says: str
    clauses: tuple[str, ...]
    """Ids of clauses, or `§12` for a section of the contract without clauses."""
    code: tuple[str, ...] = ()
    """Paths such as `contracts/evidence/selection.py`, or with a name: `contracts/evidence/selection.py:select`."""
    tests: tuple[str, ...] = ()
    """Test ids of pytest: `tests/unit/contracts/evidence/test_selection.py::test_no_limit_is_ever_passed`."""
    instead: str | None = None
    """The decision of the contract, if it overrules the source."""
    missing: str | None = None
    """The missing part of a requirement that is not built yet."""


class Part(_Row):
    """A section of a source."""

    title: str
    requirement: tuple[Requirement, ...]


class Source(_Row):
    """A source contract, and the policy that keeps its values."""

    title: str
    policy: str
    part: tuple[Part, ...]

    @property
    def requirements(self) -> list[Requirement]:
        """All requirements in order."""
        return [requirement for part in self.part for requirement in part.requirement]


class Project(NamedTuple):
    """The names that a row may use."""

    sections: Mapping[str, str]
    """The heading above each clause, and that of each section (`§12`)."""
    pending: frozenset[str]
    """The clauses that are specified but not in force."""
    code: Mapping[str, frozenset[str]]
    """The files of the rooms, and the names that each defines."""
    tests: Mapping[str, frozenset[str]]
    """The tests, and the clauses with which each is marked."""


def read_sources() -> dict[str, Source]:
    """Read the sources by their ids.

    Raises:
        ValidationError: A file has an unknown key, lacks one, or has a value of the wrong type.
    """
    return {
        path.stem.upper(): Source.model_validate(tomllib.loads(path.read_text("utf-8")))
        for path in sorted(DATA.glob("*.toml"))
    }


@cache
def read_project() -> Project:
    """Read the clauses, code and tests of the project."""
    text = CONTRACT.read_text("utf-8")
    headings = [(found.start(), found[1], found[2]) for found in HEADING.finditer(text)]
    clauses = read_clauses(text)
    sections = {f"§{number}": heading for _, heading, number in headings}
    for clause in clauses:
        place = text.index(f"- **{clause}**")
        sections[clause] = [heading for start, heading, _ in headings if start < place][-1]
    rooms = [path.name for path in (ROOT / "sourcebound").iterdir() if path.is_symlink()]
    files = [path for room in (*rooms, "sourcebound") for path in (ROOT / room).rglob("*") if path.is_file()]
    tests = {
        f"{path.relative_to(ROOT)}::{name}": marks
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for name, marks in _tests_of(ast.parse(path.read_text("utf-8")))
    }
    return Project(
        sections,
        frozenset(clause for clause, in_force in clauses.items() if not in_force),
        {str(path.relative_to(ROOT)): _names_of(path) for path in files},
        tests,
    )


def _names_of(path: Path) -> frozenset[str]:
    if path.suffix != ".py":
        return frozenset()
    found: set[str] = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        for name in _bound(node):
            found.add(name)
            if isinstance(node, ast.ClassDef):
                found.update(f"{name}.{member}" for inner in node.body for member in _bound(inner))
    return frozenset(found)


def _bound(node: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _tests_of(tree: ast.Module) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the tests of a module, each with the clauses of its own marks and of the module's."""
    common = [mark for node in tree.body if "pytestmark" in _bound(node) for mark in _marks(node)]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            own = [mark for decorator in node.decorator_list for mark in _marks(decorator)]
            yield node.name, frozenset([*common, *own])


def _marks(tree: ast.AST) -> list[str]:
    """Return the clause of each `pytest.mark.contract("…")` in a statement or an expression."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [ast.literal_eval(call.args[0]) for call in calls if ast.unparse(call.func) == "pytest.mark.contract"]


def find_problems(sources: Mapping[str, Source], project: Project) -> list[str]:
    """Return the problems of the data, as sentences that begin with the id of the row."""
    problems = [f"{name}: no requirements" for name in SOURCES if name not in sources or not sources[name].requirements]
    for name, source in sources.items():
        if _policy_file(source) not in project.code:
            problems.append(f"{name}: no policy {source.policy}")
        ids = [requirement.id for requirement in source.requirements]
        expected = [f"{name}-{number:02}" for number in range(1, len(ids) + 1)]
        problems += [f"{found}: not unique" for found in sorted({found for found in ids if ids.count(found) > 1})]
        problems += [f"{wanted}: left out among the ids of {name}" for wanted in expected if wanted not in ids]
        for requirement in source.requirements:
            problems += [f"{requirement.id}: {problem}" for problem in _problems_of(requirement, project)]
    return problems


def _problems_of(row: Requirement, project: Project) -> Iterator[str]:
    yield from (f"no clause {clause}" for clause in row.clauses if clause not in project.sections)
    if not row.clauses:
        yield "no clause"
    if row.missing:
        if row.code or row.tests or row.instead:
            yield "not built, and yet has code, tests or another decision"
        return
    yield from (f"{clause} is not in force, so it is not built" for clause in row.clauses if clause in project.pending)
    yield from (f"{place} does not exist" for place in row.code if not _exists(place, project))
    yield from (f"{test} does not exist" for test in row.tests if test not in project.tests)
    if not row.code:
        yield "no code"
    if not row.tests:
        yield "no test"
        return
    marked = {clause for test in row.tests for clause in project.tests.get(test, ())}
    named = [clause for clause in row.clauses if not clause.startswith("§")]
    yield from (f"none of its tests is marked {clause}" for clause in named if clause not in marked)


def _policy_file(source: Source) -> str:
    return f"contracts/policy/released/{source.policy}.toml"


def _exists(place: str, project: Project) -> bool:
    path, colon, name = place.partition(":")
    return path in project.code and (not colon or name in project.code[path])


def render(sources: Mapping[str, Source], project: Project) -> str:
    """Render the page as Markdown."""
    lines = [INTRODUCTION, *_summary(sources)]
    for name, source in sources.items():
        lines += ["", f"## {name} {source.title}", "", f"Policy: [`{source.policy}`](../{_policy_file(source)})."]
        for part in source.part:
            built = [row for row in part.requirement if not row.missing]
            if built:
                lines += [
                    "",
                    f"### {part.title}",
                    "",
                    "| id | requirement | clauses | code | tests |",
                    "|---|---|---|---|---|",
                ]
                lines += [_line(row, project) for row in built]
    missing = [row for source in sources.values() for row in source.requirements if row.missing]
    lines += ["", "## Not built yet", "", "| id | requirement | clauses | what is missing |", "|---|---|---|---|"]
    lines += [f"| {row.id} | {row.says} | {_clauses(row, project)} | {row.missing} |" for row in missing]
    return "\n".join(lines) + "\n"


def _summary(sources: Mapping[str, Source]) -> list[str]:
    lines = ["| source | requirements | as asked | decided otherwise | not built yet |", "|---|---|---|---|---|"]
    for name, source in sources.items():
        rows = source.requirements
        otherwise, missing = sum(bool(row.instead) for row in rows), sum(bool(row.missing) for row in rows)
        lines.append(
            f"| {name} {source.title} | {len(rows)} | {len(rows) - otherwise - missing} | {otherwise} | {missing} |"
        )
    return lines


def _line(row: Requirement, project: Project) -> str:
    says = f"{row.says}. **Decided otherwise:** {row.instead}" if row.instead else row.says
    code = ", ".join(f"[`{place}`](../{place.partition(':')[0]})" for place in row.code)
    tests = "; ".join(f"[{_in_words(test)}](../{test.partition('::')[0]})" for test in row.tests)
    return f"| {row.id} | {says} | {_clauses(row, project)} | {code} | {tests} |"


def _in_words(test: str) -> str:
    return test.partition("::test_")[2].replace("_", " ")


def _clauses(row: Requirement, project: Project) -> str:
    return ", ".join(f"[{clause}](contract.md#{_anchor(project.sections[clause])})" for clause in row.clauses)


def _anchor(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")


if __name__ == "__main__":
    found, there = read_sources(), read_project()
    if wrong := find_problems(found, there):
        sys.exit("\n".join(wrong))
    print(render(found, there), end="")
