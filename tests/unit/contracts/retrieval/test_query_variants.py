"""R1-4, R1-7: variants and hints are the policy's data, and a fallback needs the document's name."""

import pytest

from sourcebound.contracts.policy.schema import DocumentHint, ExpansionRule
from sourcebound.contracts.retrieval.query_variants import (
    is_named_by,
    mentions,
    needs_fallback,
    query_variants,
    with_plain_years,
)
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalRow
from support.builders import policy, row

RULES = [
    ExpansionRule(when="continuous processing", add=("continuous manufacturing", "ICH Q13")),
    ExpansionRule(when="processing", add=("ICH Q13",)),
]


@pytest.mark.contract("R1-4")
@pytest.mark.parametrize(
    ("question", "added"),
    [
        ("What is Continuous  Processing?", ["continuous manufacturing", "ICH Q13"]),
        ("What is continuous processing by ICH-Q13?", ["continuous manufacturing"]),
        ("What is processing?", ["ICH Q13"]),
        ("What is discontinuous processings?", []),
        ("Is processing continuous?", ["ICH Q13"]),
    ],
)
def test_a_rule_adds_its_terms_to_a_question_that_has_its_words(question: str, added: list[str]) -> None:
    assert query_variants(question, RULES) == (question, *(f"{question} {term}" for term in added))


@pytest.mark.contract("R1-4")
def test_without_rules_the_question_is_searched_for_alone() -> None:
    assert query_variants("What is processing?", ()) == ("What is processing?",)


def test_words_are_mentioned_whole_and_in_order() -> None:
    assert mentions("The HP_200 pump", "hp 200")
    assert not mentions("The HP 2000 pump", "hp 200")
    assert not mentions("200 HP", "hp 200")
    assert not mentions("anything", "_")


@pytest.mark.contract("R1-7")
@pytest.mark.parametrize(
    ("question", "names", "named"),
    [
        ("How often is the HP-200 serviced?", ["hp-200-manual.md"], True),
        ("How often is the intake filter changed?", ["Intake guide"], True),
        ("What does the manual say about files?", ["manual.pdf"], False),
        ("What is it?", ["It is"], False),
        ("How is the seal checked?", ["Pump", "pump.md"], False),
        ("Which filters are there?", ["Filter"], False),
    ],
)
def test_a_document_is_named_by_a_word_of_its_name(question: str, names: list[str], named: bool) -> None:
    assert is_named_by(question, names, ()) is named


@pytest.mark.contract("R1-7")
def test_a_hint_points_from_the_words_of_a_question_to_a_document() -> None:
    hints = [DocumentHint(when="shelf life", document="stability report")]
    assert is_named_by("How long is the shelf life?", ["Stability_Report_2024.pdf"], hints)
    assert not is_named_by("How long is the shelf life?", ["Validation plan"], hints)
    assert not is_named_by("How long does it last?", ["Stability report"], hints)


def _needed(question: str, *scores: float, **changes: object) -> bool:
    rows = [
        RetrievalRow.model_validate(
            row(rank, similarity_score=score, knowledge_id="pump.md", source_reference="pump.md, p. 120")
            | {"page_number": 120}
            | changes
        )
        for rank, score in enumerate(scores)
    ]
    chosen = policy(retrieval={"fallback_min_similarity": 0.18}, selection={"min_similarity": 0.2})
    return needs_fallback(question, rows, chosen)


@pytest.mark.contract("R1-7")
@pytest.mark.parametrize(
    ("scores", "needed"),
    [
        ((0.19, 0.1), True),
        ((0.1, 0.18), True),
        ((0.2, 0.19), False),
        ((0.19, 0.2), False),
        ((0.17,), False),
        ((), False),
    ],
)
def test_a_fallback_is_for_rows_between_its_minimum_and_the_policys(scores: tuple[float, ...], needed: bool) -> None:
    assert _needed("How is the pump checked?", *scores) is needed


@pytest.mark.contract("R1-7")
def test_a_fallback_needs_the_name_of_the_best_rows_document() -> None:
    assert not _needed("How is the seal checked?", 0.19)
    assert not _needed("Is it 120 bar?", 0.19), "a page number is no name"
    assert _needed("How is the seal checked?", 0.19, title="Seals: the seal")
    assert not needs_fallback("How is the pump checked?", [RetrievalRow.model_validate(row())], policy())


@pytest.mark.contract("R1-4")
@pytest.mark.parametrize(
    ("written", "searched"),
    [
        ("sales in FY2022 and fy 23", "sales in 2022 and 2023"),
        ("the F.Y. 2021 report", "the 2021 report"),
        ("FY'24 against Q2 of FY2023", "2024 against Q2 of 2023"),
        ("pump FY200 of 2022, FYI", "pump FY200 of 2022, FYI"),
    ],
)
def test_a_fiscal_year_is_searched_as_documents_write_it(written: str, searched: str) -> None:
    assert with_plain_years(written) == searched
