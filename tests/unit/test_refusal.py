"""Refusals: the exact string passes; anything that refuses in other words does not (R5-2)."""

import pytest
from builders import SEAL, answer_bundle, enforcing_policy
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.outcome import FailureCode, RefusalCode, RefusalSource, Status
from sourcebound.contracts.refusal import is_exact_refusal, refusal_pattern
from sourcebound.contracts.validation import Validation, ValidationStatus, validate

EXACT = "NO_EVIDENCE: The provided evidence does not contain sufficient information to answer this question."
INEXACT = [
    EXACT.lower(),
    EXACT[:-1],
    EXACT + " Sorry.",
    EXACT + " [C0]",
    f'"{EXACT}"',
    f"**{EXACT}**",
    EXACT + "\n" + EXACT,
    EXACT.replace("NO_EVIDENCE: ", ""),
    EXACT.replace(" ", "\u00a0"),
    "So: " + EXACT.replace(": ", "").replace(" ", "-"),
    EXACT.replace("The provided", "The  provided"),
    f"{SEAL} [C0] {EXACT}",
    "NO_EVIDENCE",
    "No evidence found.",
    "The provided documents do not contain this information.",
    "The context does not mention the torque.",
    "I cannot answer this question.",
    "I'm sorry, but that is not in the sources.",
    "I don't know.",
    "We are unable to answer that from the manual.",
    "The torque is not specified in the provided documents.",
    "There is insufficient information to say.",
    "There is not enough information in the text.",
    "This question cannot be answered from the manual.",
]


def _validate(text: str) -> Validation:
    return validate(text, answer_bundle(), enforcing_policy())


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize("text", [EXACT, f" {EXACT}", f"{EXACT}\n", f"\n\t {EXACT} \r\n"])
def test_the_exact_refusal_passes_outer_white_space_aside(text: str) -> None:
    verdict = _validate(text)
    assert verdict.validation_status is ValidationStatus.PASSED
    assert verdict.outcome.status is Status.NO_EVIDENCE
    assert verdict.outcome.refusal_code is RefusalCode.MODEL_REFUSED
    assert verdict.outcome.refusal_source is RefusalSource.MODEL
    assert verdict.outcome.failure_code is None
    assert verdict.validated_citations == ()
    assert verdict.grounding_metrics.refusal_detected


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize("text", INEXACT)
def test_an_inexact_refusal_is_rejected(text: str) -> None:
    verdict = _validate(text)
    assert verdict.validation_status is ValidationStatus.FAILED
    assert verdict.outcome.failure_code is FailureCode.INVALID_REFUSAL_FORMAT
    assert verdict.validated_answer_text == ""
    assert verdict.grounding_metrics.refusal_detected


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize("text", INEXACT)
def test_a_citation_does_not_turn_an_inexact_refusal_into_an_answer(text: str) -> None:
    assert _validate(f"{text} [C0]").outcome.failure_code is FailureCode.INVALID_REFUSAL_FORMAT


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize(
    "text",
    [
        SEAL,
        "The pump does not contain oil.",
        "Do not open the cover.",
        "No seal is needed at the flange.",
        "The alarm is not active below 5 bar.",
        "The operator cannot open the valve while the pump runs.",
        "The tank does not hold more than 5 litres.",
    ],
)
def test_an_ordinary_statement_is_no_refusal(text: str) -> None:
    assert refusal_pattern(text) is None
    assert not is_exact_refusal(text)


@pytest.mark.contract("R5-2")
@given(st.integers(0, len(EXACT) - 1), st.characters(categories=("Lu", "Ll", "Nd")))
def test_one_changed_character_is_not_the_exact_refusal(position: int, other: str) -> None:
    changed = EXACT[:position] + other + EXACT[position + 1 :]
    assert is_exact_refusal(changed) == (changed == EXACT)
    if changed != EXACT:
        assert _validate(changed).validation_status is ValidationStatus.FAILED
