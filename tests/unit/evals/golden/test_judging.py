"""The judgement counts what an answer says and cites, and does not trust the firewall."""

from typing import Any

import pytest

from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.outcome import FailureCode, RefusalCode, RefusalSource, Status, fail, proceed, refuse
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.validation.firewall import validate
from sourcebound.evals.golden.judging import Observed, judge
from sourcebound.evals.golden.results import ItemResult
from support.builders import CHARGE, answer_bundle, bundle, enforcing_policy, row_of_two_sections, rows, run
from support.golden import golden_item

SAID = "Check the shaft seal every 12 hours at 5 bar. [C0]"


def answered(text: str = SAID, **changes: Any) -> Observed:
    assembly = answer_bundle()
    result = validate(text, assembly, enforcing_policy())
    return Observed("run-1", result.outcome, RetrievalBundle.model_validate(bundle(rows(3))), assembly, result)


def released(text: str) -> Observed:
    """The end of a run whose firewall accepts everything."""
    seen = answered(text)
    assert seen.validation is not None
    cited = ("C0",) if "[C0]" in text else ()
    changes = {"validated_answer_text": text, "validated_citations": cited, "outcome": proceed("validate")}
    return seen._replace(outcome=proceed("validate"), validation=seen.validation.model_copy(update=changes))


def not_answered(status: Status) -> Observed:
    if status is Status.FAILED:
        return Observed("run-1", fail("generate", FailureCode.RETRIEVAL_FAILED, "away"))
    return Observed(
        "run-1", refuse("assemble", RefusalCode.BELOW_SIMILARITY_GATE, RefusalSource.GATE, "nothing is near")
    )


def test_an_answer_that_says_its_facts_from_its_places_passes() -> None:
    result = judge(golden_item(), answered())
    assert result.passed
    assert not result.hallucinated
    assert (result.facts_said, result.places_cited, result.citations_right) == (1, 1, 1)
    assert [(each.document, each.page, each.section) for each in result.cited] == [("doc-0", 7, "Maintenance > Seals")]
    assert result.ranks == (None,)  # the candidates of the builder have no page
    assert result.attribution_coverage == 1.0


def test_an_answer_cites_the_section_that_its_citation_names_and_no_other_of_the_chunk() -> None:
    retrieved = bundle([row_of_two_sections()])
    assembly = assemble(retrieved, enforcing_policy(), run())
    said = validate(f"{CHARGE} [C0]", assembly, enforcing_policy())
    seen = Observed("run-1", said.outcome, RetrievalBundle.model_validate(retrieved), assembly, said)
    for section, is_cited in (("4.1 Oil change", True), ("3.4 Leak test", False)):
        result = judge(
            golden_item(facts=[["1.1 litres"]], citations=[[{"document": "doc-0", "section": section}]]), seen
        )
        assert (result.passed, result.places_cited, result.citations_right) == (is_cited, is_cited, is_cited)
        assert [each.section for each in result.cited] == ["4 Bearings > 4.1 Oil change"]
        assert result.ranks == (0,)  # the candidate holds both


@pytest.mark.parametrize(
    ("changes", "passed"),
    [
        ({"facts": [["12 h"]]}, True),
        ({"facts": [["13 hours", "twelve hours"]]}, True),
        ({"facts": [["2 hours"]]}, False),
        ({"facts": [["12 hours"], ["6 bar"]]}, False),
        ({"citations": [[{"document": "doc-0", "page": 8}]]}, False),
        ({"citations": [[{"document": "doc-1"}, {"document": "doc-0"}]]}, True),
        ({"citations": [[{"document": "doc-0"}], [{"document": "doc-1"}]]}, False),
        ({"citations": [[{"document": "doc-0", "section": "SEALS"}]]}, True),
        ({"citations": [[{"document": "doc-0", "section": "Filters"}]]}, False),
        ({"forbidden": ["5 bar"]}, False),
        ({"forbidden": ["15 bar"]}, True),
        ({"status": ["OK", "NO_EVIDENCE"]}, True),
        ({"status": ["NO_EVIDENCE"], "facts": [], "citations": []}, False),
    ],
)
def test_a_change_of_the_item_decides(changes: dict[str, Any], passed: bool) -> None:
    assert judge(golden_item(**changes), answered()).passed is passed


@pytest.mark.parametrize(
    ("status", "accepted", "passed"),
    [
        ("NO_EVIDENCE", ["OK"], False),
        ("NO_EVIDENCE", ["OK", "NO_EVIDENCE"], True),
        ("FAILED", ["OK", "NO_EVIDENCE"], False),
    ],
)
def test_an_answerable_item_that_is_not_answered(status: str, accepted: list[str], passed: bool) -> None:
    result = judge(golden_item(status=accepted), not_answered(Status(status)))
    assert (result.passed, result.hallucinated, result.facts_said, result.answer) == (passed, False, 0, "")


def hallucinations(item: dict[str, Any], text: str) -> ItemResult:
    return judge(golden_item(**item), released(text))


def test_a_released_answer_to_a_question_without_an_answer_is_a_hallucination() -> None:
    assert hallucinations({"status": ["NO_EVIDENCE"], "facts": [], "citations": []}, SAID).hallucinated


def test_a_forbidden_text_is_a_hallucination() -> None:
    assert hallucinations({"forbidden": ["5 bar"]}, SAID).forbidden_said == ("5 bar",)


@pytest.mark.parametrize(
    ("text", "unsupported"),
    [
        ("Check the shaft seal every 12 hours at 9 bar. [C0]", ("9 bar",)),
        ("Check the shaft seal every 12 h at 5 bar. [C0]", ()),
        ("Check it every 12 hours, or on 3 March 2024. [C0]", ("3 March 2024",)),  # only the uncited source says it
    ],
)
def test_a_literal_that_no_cited_source_holds_is_found_again(text: str, unsupported: tuple[str, ...]) -> None:
    result = hallucinations({}, text)
    assert result.unsupported_literals == unsupported
    assert result.hallucinated is bool(unsupported)
    assert result.passed is not bool(unsupported)


def test_the_rank_of_a_place_is_that_of_its_first_candidate() -> None:
    found = RetrievalBundle.model_validate(bundle(rows(3, page_number=7)))
    item = golden_item(citations=[[{"document": "doc-2", "page": 7}, {"document": "doc-1"}], [{"document": "doc-9"}]])
    assert judge(item, answered()._replace(retrieval=found)).ranks == (1, None)
