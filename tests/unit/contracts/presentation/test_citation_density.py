"""Citation density: counted by paragraph over the statements that the firewall cut, and a metric alone."""

import pytest

from sourcebound.cli.records.run_labels import checks
from sourcebound.contracts.presentation.citation_density import Paragraph, citation_density
from sourcebound.contracts.validation.answer_reading import read_statements
from sourcebound.contracts.validation.firewall import validate
from support.builders import FILTER, SEAL, answer_bundle, policy
from support.recorded_runs import page_of, recorded


@pytest.mark.parametrize(
    ("text", "paragraphs"),
    [
        ("It runs. [C0]", [(1, 1)]),
        ("It runs. [C0] It stops. [C0] [C1]", [(2, 3)]),
        ("It runs. [C0]\nIt stops. [C1]", [(2, 2)]),
        ("It runs. [C0]\n\nIt stops. [C1] [C0]\n \nIt is red. [C1]", [(1, 1), (1, 2), (1, 1)]),
        ("# Seals\n\nIt runs. [C0]", [(0, 0), (1, 1)]),
        ("Check:\n- the seal [C0]\n- the cover [C1]", [(2, 2)]),
        ("It runs. It stops. [C0]", [(2, 1)]),
        ("It runs. [C0] [C0]", [(1, 1)]),
        ("", []),
    ],
)
def test_each_paragraph_has_its_statements_and_their_citations(text: str, paragraphs: list[tuple[int, int]]) -> None:
    assert citation_density(text, read_statements(text)) == tuple(Paragraph(*counts) for counts in paragraphs)


@pytest.mark.parametrize(("counts", "density"), [((2, 3), 1.5), ((2, 1), 0.5), ((0, 0), None)])
def test_the_density_is_a_share_of_the_statements_that_need_a_citation(
    counts: tuple[int, int], density: float | None
) -> None:
    assert Paragraph(*counts).density == density


@pytest.mark.contract("R5-14")
def test_the_recorded_metrics_are_the_frozen_ones_and_density_is_made_of_what_is_recorded() -> None:
    verdict = validate(f"{SEAL} [C0]\n\n{FILTER} [C1]", answer_bundle(), policy())
    assert "density" not in {*type(verdict.grounding_metrics).model_fields}
    assert citation_density(verdict.validated_answer_text, verdict.statements) == (Paragraph(1, 1), Paragraph(1, 1))


@pytest.mark.contract("R5-14")
def test_a_runs_page_shows_the_density_of_its_answer_and_the_target_of_its_policy() -> None:
    page = page_of(recorded(f"{SEAL} [C0]\n\nIt turns. It is red. [C0]", validation={"attribution_target": 0.9}))
    told = {fact.label: fact.value for fact in checks(page, page.attempts[-1])}
    assert told["coverage"] == "67% of the statements that need a citation have one; the policy aims at 90%"
    assert "density" not in told, "a rejected answer has none"
    page = page_of(recorded(f"# Seal\n\n{SEAL} [C0] [C0]\n\nIt turns at 5 bar. [C0]"))
    told = {fact.label: fact.value for fact in checks(page, page.attempts[-1])}
    assert told["coverage"] == "100% of the statements that need a citation have one"
    assert told["density"] == "1.0, 1.0 citations per statement, by paragraph"
