"""Citations: one form counts; what a reader would take for one and is not is malformed (R5-3, R5-4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.outcome import FailureCode
from sourcebound.contracts.text.citations import find_citations, find_look_alikes, first_use_order
from sourcebound.contracts.validation.firewall import validate
from support.builders import SEAL, answer_bundle, enforcing_policy

LOOK_ALIKES = [
    "[c0]", "(C0)", "[C-1]", "[C 0]", "[C01]", "[C0, C1]", "［C0］", "【C0】", "[C0,1]", "[C0-C2]",
    "[C0 and C1]", "[C0; C1]", "{C0}", "<C0>", "[ C0 ]", "[C00]", "[C#]", "[C]", "[С0]", "[Ｃ0]",
    "[C０]", "[C0", "C0]", "[^C0]", "[C_0]", "[C:0]", "[C٣]", "[Citation 1]", "[source: 2]", "[C+1]",
    "[C.1]", "(c1)", "[[C 1]]",
]  # fmt: skip


@pytest.mark.contract("R5-3")
@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("It runs. [C0]", ["C0"]),
        ("It runs.[C0][C1]", ["C0", "C1"]),
        ("It runs [C10], then stops [C2].", ["C10", "C2"]),
        ("It runs.", []),
    ],
)
def test_a_well_formed_citation_is_found(text: str, anchors: list[str]) -> None:
    assert [citation.anchor for citation in find_citations(text)] == anchors
    assert find_look_alikes(text) == []


@pytest.mark.contract("R5-3")
@given(st.integers(0, 10**6), st.text(alphabet="abc .,", max_size=10), st.text(alphabet="abc .,", max_size=10))
def test_a_citation_keeps_its_place(number: int, before: str, after: str) -> None:
    text = f"{before}[C{number}]{after}"
    (citation,) = find_citations(text)
    assert text[citation.start : citation.end] == f"[{citation.anchor}]" == f"[C{number}]"


@pytest.mark.contract("R5-3")
@pytest.mark.parametrize("look_alike", LOOK_ALIKES)
def test_a_look_alike_is_found_and_is_no_citation(look_alike: str) -> None:
    text = f"It runs {look_alike}."
    assert find_citations(text) == []
    found = find_look_alikes(text)
    assert found
    assert all(text[item.start : item.start + len(item.text)] == item.text for item in found)


@pytest.mark.contract("R5-3")
@pytest.mark.parametrize("look_alike", LOOK_ALIKES)
def test_an_answer_with_a_look_alike_is_rejected_even_beside_a_good_citation(look_alike: str) -> None:
    verdict = validate(f"{SEAL} {look_alike} [C0]", answer_bundle(), enforcing_policy())
    assert verdict.outcome.failure_code is FailureCode.MALFORMED_CITATION
    assert verdict.grounding_metrics.malformed_anchor_count >= 1


@pytest.mark.contract("R5-3")
@pytest.mark.parametrize(
    "text",
    [
        "Heat it to 20 °C (68 °F). [C0]",
        "See table [3] and figure (2). [C0]",
        "Check (a) the seal, (b) the cover and (c) the flush. [C0]",
        "The C compiler is C99 compliant. [C0]",
        "Use vitamin C (ascorbic acid). [C0]",
        "Keep [caution] in mind. [C0]",
        "The array a[0] is empty. [C0]",
        "Set CO2 (carbon dioxide) to 5. [C0]",
    ],
)
def test_ordinary_brackets_are_no_look_alikes(text: str) -> None:
    assert find_look_alikes(text) == []


@pytest.mark.contract("R5-3")
@given(st.lists(st.integers(0, 20), max_size=8))
def test_only_well_formed_citations_means_no_look_alikes(numbers: list[int]) -> None:
    text = "It runs " + " ".join(f"[C{number}]" for number in numbers) + "."
    assert find_look_alikes(text) == []
    assert len(find_citations(text)) == len(numbers)


@pytest.mark.contract("R5-9")
@given(st.lists(st.sampled_from(["C0", "C1", "C2", "C3"])))
def test_anchors_are_unique_and_in_order_of_first_use(anchors: list[str]) -> None:
    ordered = first_use_order(anchors)
    assert len(set(ordered)) == len(ordered)
    assert set(ordered) == set(anchors)
    assert [anchors.index(anchor) for anchor in ordered] == sorted(anchors.index(anchor) for anchor in ordered)


@pytest.mark.contract("R5-4")
@pytest.mark.parametrize("anchor", ["C2", "C10", "C999999999999"])
def test_an_anchor_that_the_bundle_does_not_know_is_invented(anchor: str) -> None:
    verdict = validate(f"{SEAL} [C0] [{anchor}]", answer_bundle(), enforcing_policy())
    assert verdict.outcome.failure_code is FailureCode.INVALID_CITATION_REFERENCE
    assert verdict.outcome.violations[0].value == anchor
    assert verdict.grounding_metrics.invalid_anchor_count == 1


@pytest.mark.contract("R5-4")
@pytest.mark.parametrize("anchor", ["C0", "C1"])
def test_an_anchor_of_the_bundle_is_known(anchor: str) -> None:
    verdict = validate(f"The seal is inspected. [{anchor}]", answer_bundle(), enforcing_policy())
    assert verdict.outcome.failure_code is None
    assert verdict.validated_citations == (anchor,)


@pytest.mark.contract("R5-3")
@pytest.mark.parametrize(
    "text", ["It needs a compiler (C++14).", "The standard [C++ 11] has it.", "(‘C++20’) is used.", "(C++11/14) is."]
)
def test_a_release_of_a_language_is_no_look_alike_from_the_second_version_on(text: str) -> None:
    assert find_look_alikes(text, 2) == []
    assert len(find_look_alikes(text, 1)) == 1
    assert len(find_look_alikes(text.replace("++", ""), 2)) == 1


@pytest.mark.contract("R5-3")
@pytest.mark.parametrize("text", ["[C++ 0]", "[_C++_1]", "(C++1)", "【C++0】"])
def test_an_anchor_with_signs_is_a_look_alike(text: str) -> None:
    assert [each.text for each in find_look_alikes(f"The seal is inspected {text}.", 2)] == [text]
