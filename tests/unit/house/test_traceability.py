"""docs/traceability.md: every requirement of the source contracts is carried by code and watched by a test."""

from typing import Any

import pytest

from support.docs.traceability import PAGE, SOURCES, Project, Source, find_problems, read_project, read_sources, render
from support.places import ROOT

THERE = Project(
    sections={"R2-V2": "3. R2 Answer assembly", "R2-V3": "3. R2 Answer assembly", "R9-1": "4. R9", "§12": "12. Logs"},
    pending=frozenset({"R9-1"}),
    code={
        "contracts/evidence/intake.py": frozenset({"check_bundle", "Row.rank"}),
        "contracts/prompt/templates/prose_v1.txt": frozenset(),
        "contracts/policy/released/SOME_V1.toml": frozenset(),
    },
    tests={
        "tests/unit/contracts/evidence/test_intake.py::test_ranks": frozenset({"R2-V2"}),
        "tests/unit/contracts/evidence/test_intake.py::test_similarity": frozenset({"R2-V3"}),
        "tests/unit/contracts/evidence/test_intake.py::test_other": frozenset(),
    },
)
BUILT: dict[str, Any] = {
    "says": "ranks rise",
    "clauses": ["R2-V2"],
    "code": ["contracts/evidence/intake.py:check_bundle"],
    "tests": ["tests/unit/contracts/evidence/test_intake.py::test_ranks"],
}
UNBUILT: dict[str, Any] = {"says": "a log", "clauses": ["§12"], "missing": "no line is written"}
KNOWN = "tests/unit/contracts/evidence/test_intake.py::test_ranks"


def _sources(*rows: dict[str, Any]) -> dict[str, Source]:
    """The five sources, the first of them with these rows."""
    numbered = {name: [{"id": f"{name}-01"} | BUILT] for name in SOURCES}
    numbered["S0"] = [{"id": f"S0-{number:02}"} | row for number, row in enumerate(rows, 1)]
    return {
        name: Source.model_validate(
            {"title": name, "policy": "SOME_V1", "part": [{"title": "All", "requirement": rows_of_it}]}
        )
        for name, rows_of_it in numbered.items()
    }


def test_every_requirement_is_carried_by_code_and_watched_by_a_test() -> None:
    assert find_problems(read_sources(), read_project()) == []


def test_the_page_is_what_the_data_make() -> None:
    assert PAGE.read_text("utf-8") == render(read_sources(), read_project()), "run: make traceability"
    assert "](docs/traceability.md)" in (ROOT / "README.md").read_text("utf-8")


def test_rows_that_hold_have_no_problem() -> None:
    member = BUILT | {"code": ["contracts/evidence/intake.py:Row.rank", "contracts/prompt/templates/prose_v1.txt"]}
    assert find_problems(_sources(BUILT, member, BUILT | {"instead": "they may have gaps"}, UNBUILT), THERE) == []


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (BUILT | {"clauses": []}, "no clause"),
        (BUILT | {"clauses": ["R2-V2", "R2-V99"]}, "no clause R2-V99"),
        (BUILT | {"clauses": ["R2-V2", "§99"]}, "no clause §99"),
        (BUILT | {"clauses": ["R2-V2", "R2-V3"]}, "none of its tests is marked R2-V3"),
        (BUILT | {"clauses": ["R2-V2", "R9-1"]}, "R9-1 is not in force, so it is not built"),
        (BUILT | {"code": []}, "no code"),
        (BUILT | {"code": ["contracts/gone.py"]}, "contracts/gone.py does not exist"),
        (BUILT | {"code": ["contracts/evidence/intake.py:gone"]}, "contracts/evidence/intake.py:gone does not exist"),
        (BUILT | {"tests": []}, "no test"),
        (BUILT | {"tests": [KNOWN, f"{KNOWN}_gone"]}, f"{KNOWN}_gone does not exist"),
        (
            BUILT | {"tests": ["tests/unit/contracts/evidence/test_intake.py::test_other"]},
            "none of its tests is marked R2-V2",
        ),
        (UNBUILT | {"tests": [KNOWN]}, "not built, and yet has code, tests or another decision"),
        (UNBUILT | {"code": BUILT["code"]}, "not built, and yet has code, tests or another decision"),
        (BUILT | {"id": "S0-02"}, "left out among the ids of S0"),
    ],
)
def test_each_breach_is_found_and_names_its_row(row: dict[str, Any], problem: str) -> None:
    assert f"S0-01: {problem}" in find_problems(_sources(row), THERE)


def test_an_id_is_given_once() -> None:
    twice = _sources(BUILT, BUILT | {"id": "S0-01"})
    assert find_problems(twice, THERE) == ["S0-01: not unique", "S0-02: left out among the ids of S0"]


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_without_requirements_is_found(name: str) -> None:
    sources = _sources(BUILT)
    empty = sources[name].model_copy(update={"part": ()})
    assert find_problems(sources | {name: empty}, THERE) == [f"{name}: no requirements"]
    del sources[name]
    assert find_problems(sources, THERE) == [f"{name}: no requirements"]


def test_a_source_without_its_policy_is_found() -> None:
    sources = _sources(BUILT)
    renamed = sources["S2"].model_copy(update={"policy": "GONE_V1"})
    assert find_problems(sources | {"S2": renamed}, THERE) == ["S2: no policy GONE_V1"]


def test_the_page_shows_what_was_decided_and_what_is_missing() -> None:
    page = render(_sources(BUILT | {"instead": "they may have gaps"}, UNBUILT), THERE)
    assert (
        "| S0-01 | ranks rise. **Decided otherwise:** they may have gaps | [R2-V2](contract.md#3-r2-answer-assembly) | "
        "[`contracts/evidence/intake.py:check_bundle`](../contracts/evidence/intake.py) | "
        "[ranks](../tests/unit/contracts/evidence/test_intake.py) |"
    ) in page
    built, _, unbuilt = page.partition("## Not built yet")
    assert "| S0-02 |" not in built
    assert "| S0-02 | a log | [§12](contract.md#12-logs) | no line is written |" in unbuilt


def test_names_and_marks_are_read_from_the_code_as_it_is() -> None:
    there = read_project()
    assert {"select", "Candidate"} <= there.code["contracts/evidence/selection.py"]
    assert "Status.FAILED" in there.code["contracts/outcome.py"]
    assert "PostgresAuditLog.append" in there.code["store/audit/log.py"]
    assert there.tests["tests/unit/store/test_signing_key.py::test_two_keys_are_not_the_same"] == {"CP-8"}
    assert there.tests["tests/unit/graph/test_graph.py::test_a_question_is_answered"] == {"R6-3"}
    assert there.sections["R5P-1"] == "7. R5P Audit record"
    assert there.sections["§13"] == "13. Index"
