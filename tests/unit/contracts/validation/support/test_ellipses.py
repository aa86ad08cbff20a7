"""R5-17: what a sentence leaves out is read where the statement names the thing that it affirms."""

import pytest

from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.support.ellipses import complete

POLICY = load_shipped_policy("SOURCEBOUND_V2")
MODELS = "Model A is not waterproof. Model B is."
NEVER = "The blue model is not waterproof. The red model never is."
VALVES = "The lower valve is not open during the test, the upper valve is."


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("chunk", "statement", "expected"),
    [
        (MODELS, "Model B is waterproof.", f"{MODELS[:-1]} waterproof."),
        (VALVES, "The upper valve is open.", f"{VALVES[:-1]} open during the test."),
        (
            "The large pool isn't heated. The small one is.",
            "The small pool is warm.",
            "The large pool isn't heated. The small one is heated.",
        ),
        (
            "The HP-200 cannot run dry, but the HP-300 can.",
            "An HP-300 can run dry.",
            "The HP-200 cannot run dry, but the HP-300 can run dry.",
        ),
        (MODELS, "Model A is waterproof.", MODELS),
        (MODELS, "Model A and model B are waterproof.", MODELS),
        (MODELS, "Model C is waterproof.", MODELS),
        (NEVER, "The red model never is waterproof.", NEVER),
        ("Model A is waterproof. Model B is.", "Model B is waterproof.", "Model A is waterproof. Model B is."),
    ],
)
def test_left_out_words_are_added_for_a_thing_that_is_named(chunk: str, statement: str, expected: str) -> None:
    assert complete(chunk, statement) == expected


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("statement", "chunk", "is_released"),
    [
        ("Model B is waterproof.", MODELS, True),
        ("Model A is waterproof.", MODELS, False),
        ("The upper valve is open during the test.", VALVES, True),
        ("The lower valve is open during the test.", VALVES, False),
    ],
)
def test_the_firewall_reads_them(statement: str, chunk: str, is_released: bool) -> None:
    verdict = validate(f"{statement} [C0]", bundle_of_texts((chunk,), ""), POLICY)
    assert (verdict.failure_reason is None) is is_released
