"""R5-16: an answer that says nothing is rejected, although it cites a source and has no wrong number."""

import re

import pytest

from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.policy.releases import load_shipped_policy, read_template
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.result import ValidationResult
from support.builders import answer_bundle

SOURCES = [
    "The shaft seal must be checked every 12 hours. The pump may run dry for 5 seconds.",
    "Press the button. Wait until the lamp is green. Press the button. Close the valve.",
]
QUESTION = "How often must the shaft seal be checked?"


def _check(text: str, question: str = QUESTION) -> ValidationResult:
    return validate(text, bundle_of_texts(SOURCES, question), load_shipped_policy("SOURCEBOUND_V1"))


def _findings(text: str, question: str = QUESTION) -> list[str]:
    return [each.message for each in _check(text, question).outcome.violations if each.clause == "R5-16"]


DEGENERATE = {
    "a loop": "The pump may run dry. [C0] The pump may run dry. [C0] The pump may run dry. [C0]",
    "a loop in other letters": "The pump may run dry. [C0] THE PUMP may run dry! [C0]",
    "a loop in a list": "- The pump may run dry [C0]\n- The pump may run dry [C0]",
    "the question": f"{QUESTION} [C0]",
    "the question as a statement": "The shaft seal must be checked often. [C0]",
    "an answer about the answer": "The answer to the question is in the source [C0] [C1].",
    "the evidence about itself": "This information is in the context. [C0]",
}
MEANINGFUL = {
    "a short answer": "Every 12 hours. [C0]",
    "a whole answer": "The shaft seal must be checked every 12 hours. [C0]",
    "a step that the source repeats": "Press the button. [C1] Close the valve. [C1] Press the button. [C1]",
    "a negation": "The shaft seal must not be checked often. [C0]",
    "two statements with the same words elsewhere": "The pump runs dry. [C0] The pump runs dry for 5 seconds. [C0]",
}


@pytest.mark.contract("R5-16")
@pytest.mark.parametrize("name", DEGENERATE)
def test_an_answer_that_says_nothing_is_rejected(name: str) -> None:
    verdict = _check(DEGENERATE[name])
    assert _findings(DEGENERATE[name]) != []
    assert (verdict.outcome.status, verdict.validated_answer_text) == ("FAILED", "")


@pytest.mark.contract("R5-16")
@pytest.mark.parametrize("name", MEANINGFUL)
def test_an_answer_that_says_something_is_not_degenerate(name: str) -> None:
    assert _findings(MEANINGFUL[name]) == []


@pytest.mark.contract("R5-16")
def test_a_question_for_yes_or_no_is_answered_in_its_own_words() -> None:
    question = "Must the shaft seal be checked every 12 hours?"
    assert _findings("The shaft seal must be checked every 12 hours. [C0]", question) == []
    assert _findings(f"{question} [C0]", question) == ["statement 1 is the question"]


@pytest.mark.contract("R5-16")
def test_the_instructions_of_the_prompt_are_no_answer() -> None:
    policy = load_shipped_policy("SOURCEBOUND_V1")
    sentences = re.split(r"[.\n]", read_template(policy.prompt.template))
    long = [sentence.strip("- ") for sentence in sentences if len(re.findall(r"\w+", sentence)) > 8]
    assert len(long) > 3
    for sentence in long:
        assert _findings(f"{' '.join(sentence.split()[:9])} [C0].") != [], sentence


@pytest.mark.contract("R5-16")
def test_each_finding_names_its_statement() -> None:
    found = _check(f"{MEANINGFUL['a whole answer']} {QUESTION} [C0]").outcome.violations
    assert [(each.code, each.clause, each.row) for each in found] == [("DEGENERATE_ANSWER", "R5-16", 1)]


@pytest.mark.contract("R5-16")
@pytest.mark.contract("CP-10")
def test_a_run_of_the_first_release_is_judged_by_its_own_rules() -> None:
    bundle, policy = answer_bundle(), load_shipped_policy("SOURCEBOUND_V1")
    text = " ".join(["The same again. [C0]"] * 2)
    codes = [[each.code for each in validate(text, bundle, policy, version).outcome.violations] for version in (1, 2)]
    assert codes == [[], ["DEGENERATE_ANSWER"]]


@pytest.mark.contract("R5-16")
@pytest.mark.parametrize(
    "introduction", ["The shaft seal must be checked: [C0]", "**Shaft seal** [C0]", "- Check of the shaft seal [C0]"]
)
def test_a_label_or_a_lead_in_says_nothing_only_where_nothing_follows(introduction: str) -> None:
    assert _findings(f"{introduction}\n\n- Replace it every 12 hours. [C0]") == []
    assert _findings(introduction) == ["statement 1 says nothing beyond the question"]
