"""The cases of `models test`: the answer is there where it should be, nowhere else, and the model is really asked."""

import re
from collections import Counter
from typing import Any

import pytest
from pydantic import ValidationError

from sourcebound.contracts.certification.cases import (
    Case,
    CaseKind,
    cases_digest,
    contains_text,
    find_unreachable,
    load_cases,
    to_retrieval_bundle,
)
from sourcebound.contracts.evidence.selection import candidate_of
from sourcebound.contracts.policy.releases import SHIPPED, load_shipped_policy
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from support.builders import policy

DIGEST = "37b4015bf773c9d0c04f05ac2ef2c08bb0b15235f2a1b2dd5307a725a23be5c0"
CASES = [pytest.param(case, id=case.name) for case in load_cases()]
ANSWERED = [pytest.param(case, id=case.name) for case in load_cases() if case.expected == "answer"]
REFUSED = [pytest.param(case, id=case.name) for case in load_cases() if case.expected == "refusal"]


def _case(**changes: Any) -> Case:
    chunks = [
        {"chunk_id": f"chunk-{n}", "knowledge_id": f"doc-{n}", "source": "a.pdf", "similarity": 0.9, "text": text}
        for n, text in enumerate(("It runs at 5 bar.", "It is blue."))
    ]
    form = {
        "name": "pressure",
        "kind": "answerable",
        "question": "At what pressure does it run?",
        "evidence": chunks,
        "expected": "answer",
        "must_cite": ["chunk-0"],
        "must_contain": [["5 bar"]],
    }
    return Case.model_validate(form | changes)


def test_the_released_cases_are_as_released() -> None:
    assert cases_digest() == DIGEST, "a change needs a new file: a certificate names the digest of its cases"


def test_every_kind_has_a_case_and_the_commonest_have_two() -> None:
    kinds = Counter(case.kind for case in load_cases())
    assert set(kinds) == set(CaseKind)
    assert min(kinds[CaseKind.ANSWERABLE], kinds[CaseKind.UNANSWERABLE]) >= 2
    assert {case.expected for case in load_cases() if case.kind is CaseKind.INJECTED} == {"answer", "refusal"}
    assert {case.expected for case in load_cases() if case.kind is CaseKind.OTHER_LANGUAGE} == {"answer", "refusal"}
    assert len({case.name for case in load_cases()}) == len(load_cases())
    assert len({case.question for case in load_cases()}) == len(load_cases())


@pytest.mark.parametrize("case", ANSWERED)
def test_each_fact_stands_in_a_chunk_that_must_be_cited_and_in_no_other(case: Case) -> None:
    holders = [
        {chunk.chunk_id for chunk in case.evidence if contains_text(chunk.text, forms[0])}
        for forms in case.must_contain
    ]
    assert all(len(holder) == 1 for holder in holders), holders
    assert set().union(*holders) == set(case.must_cite)
    assert not [forms for forms in case.must_contain if any(contains_text(case.question, form) for form in forms)]


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_answer_is_in_no_chunk_of_a_case_without_an_answer(case: Case) -> None:
    assert not [
        (word, chunk.chunk_id) for word in case.absent for chunk in case.evidence if contains_text(chunk.text, word)
    ]


@pytest.mark.parametrize("case", CASES)
def test_what_the_evidence_orders_to_say_is_in_the_evidence_and_nowhere_else(case: Case) -> None:
    ordered = [
        word for word in case.must_not_contain if any(contains_text(chunk.text, word) for chunk in case.evidence)
    ]
    assert ordered == list(case.must_not_contain)
    assert not [word for word in ordered if contains_text(case.question, word)]
    chunks = [chunk for chunk in case.evidence if chunk.chunk_id in case.must_cite]
    assert not [word for word in ordered for chunk in chunks if contains_text(chunk.text, word)]


def test_the_table_is_a_table_and_the_answer_one_of_its_cells() -> None:
    for case in load_cases():
        if case.kind is CaseKind.TABLE:
            (chunk,) = [chunk for chunk in case.evidence if chunk.chunk_id in case.must_cite]
            assert re.search(r"^\|[-|]+\|$", chunk.text, re.MULTILINE)
            cells = [cell.strip() for line in chunk.text.split("\n") for cell in line.split("|")]
            assert set(cells) & set(case.must_contain[0])


@pytest.mark.parametrize("name", SHIPPED)
def test_the_long_case_fills_the_smallest_budget_with_the_answer_in_the_middle(name: str) -> None:
    budget = min(load_shipped_policy(shipped).selection.max_evidence_tokens for shipped in SHIPPED)
    (case,) = [case for case in load_cases() if case.kind is CaseKind.LONG_EVIDENCE]
    rows = RetrievalBundle.model_validate(to_retrieval_bundle(case, load_shipped_policy(name))).results
    tokens = [candidate_of(row).tokens for row in rows]
    assert budget - 50 < sum(tokens) <= budget
    assert rows[len(rows) // 2].chunk_id == case.must_cite[0]
    text = rows[len(rows) // 2].chunk_text
    assert 0.25 < text.index(case.must_contain[0][0]) / len(text) < 0.75


@pytest.mark.contract("R1-1")
@pytest.mark.parametrize("name", SHIPPED)
def test_every_case_reaches_the_model_under_every_released_policy(name: str) -> None:
    assert find_unreachable(load_cases(), load_shipped_policy(name)) == {}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"retrieval": {"min_top_similarity": 0.95}}, "no source is similar enough"),
        ({"retrieval": {"min_sources": 3}}, "2 chunks of 2 sources"),
        ({"selection": {"max_chunks": 1}}, "the prompt does not show chunk-1"),
        ({"prompt": {"max_total_prompt_tokens": 900}}, "leaves no room for evidence"),
        ({"facts": {"filter": "local", "min_question_overlap": 1.0}}, "bears on the question"),
    ],
)
def test_a_case_that_the_policy_decides_is_named_with_the_reason(changes: dict[str, Any], reason: str) -> None:
    case = _case(must_cite=["chunk-1"])
    assert find_unreachable([case], policy()) == {}
    assert reason in find_unreachable([case], policy(**changes))["pressure"]


@pytest.mark.contract("P-3")
def test_a_bundle_fits_the_policy_whatever_it_was_calibrated_for_and_allows() -> None:
    strict = policy(
        calibration={"embedding_model": "embedder-9", "metric": "cosine", "index_version": "ix-9"},
        selection={"knowledge_types": ["sop", "manual"]},
    )
    assert find_unreachable(load_cases(), strict) == {}
    bundle = RetrievalBundle.model_validate(to_retrieval_bundle(_case(), strict))
    assert (bundle.embedding_model, bundle.index_version) == ("embedder-9", "ix-9")
    assert bundle.policy_sha256 == strict.sha256
    assert [row.knowledge_type_effective for row in bundle.results] == ["sop", "sop"]


@pytest.mark.parametrize(
    "changes",
    [
        {"must_cite": []},
        {"must_contain": []},
        {"absent": ["word"]},
        {"must_cite": ["chunk-9"]},
        {"expected": "refusal"},
        {"expected": "refusal", "must_cite": [], "must_contain": []},
        {"kind": "injected"},
        {"must_not_contain": ["word"]},
        {"must_contain": [[]]},
        {"evidence": []},
        {"note": "unknown"},
    ],
)
def test_a_case_that_cannot_be_judged_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        _case(**changes)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("It is tightened to **48 Nm** [C0].", "48 Nm"),
        ("It is tightened to 48 N·m.", "48 Nm"),
        ("Forty-eight bar.", "48 bar"),
        ("Kept at 2–8 °C.", "2-8 °C"),
        ("Drained for twenty-five minutes.", "25 minutes"),
        ("0,4 bar", "0.4 bar"),
        ("THE SHIFT\nSUPERVISOR may", "shift supervisor"),
        ("opens at 6.2 bar.", "6.2 bar"),
    ],
)
def test_the_same_thing_in_another_spelling_counts(text: str, form: str) -> None:
    assert contains_text(text, form)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("15 bar", "5 bar"),
        ("1.5 bar", "5 bar"),
        ("1,5 bar", "5 bar"),
        ("5 bars and a half", "5 ba"),
        ("class 18/16/13.5", "18/16/13"),
        ("48 kg", "48 Nm"),
        ("supervisor of the shift", "shift supervisor"),
        ("", "5 bar"),
    ],
)
def test_another_thing_does_not_count(text: str, form: str) -> None:
    assert not contains_text(text, form)
