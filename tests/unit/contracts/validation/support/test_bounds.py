"""R5-17: a statement that has as the least what its chunks have as the most is not supported."""

import pytest

from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.support.polarity.bounds import turns_bound

DOSE = "The starting dose is <= 10 mg per day for patients with kidney disease."


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("statement", "chunks", "expected"),
    [
        ("The starting dose is at least 10 mg per day.", [DOSE], True),
        ("The starting dose is 10 mg or more per day.", [DOSE], True),
        ("The starting dose is at most 10 mg per day.", [DOSE], False),
        ("The starting dose is up to 10 mg per day.", [DOSE], False),
        ("The starting dose is 10 mg per day.", [DOSE], False),
        ("Wait no more than five minutes.", ["Wait at least 5 minutes."], True),
        ("Wait five minutes at most.", ["Wait a minimum of 5 minutes."], True),
        ("Wait 5 minutes or longer.", ["Wait no less than five minutes."], False),
        ("It must not exceed 1,200 bar.", ["It is at least 1200 bar."], True),
        ("Wait 5 minutes or above.", ["Wait at most 5 minutes."], True),
        ("It was done more than four weeks before.", ["It was done less than four weeks before."], True),
        ("It was done under four weeks before.", ["It was done more than four weeks before."], True),
        ("It was done less than four weeks before.", ["It was done less than four weeks before."], False),
        ("It was done more than four weeks before.", ["It was done four weeks before."], False),
        # a limit and what is beyond it are often said in one text
        ("Warn above 8 bar.", ["Use at most 8 bar."], False),
        ("It must not rise above 8 bar.", ["Keep it below 8 bar."], False),
        ("If it rises above 8 bar, stop it.", ["Keep it below 8 bar."], False),
        # a place with the same bound, or with none, supports it
        ("Wait at most 5 minutes.", ["Wait at least 5 minutes.", "Wait at most 5 minutes."], False),
        ("Wait at most 5 minutes.", ["Wait at least 5 minutes. After 5 minutes it stops."], False),
        # the latest time before another is the least one
        ("Send it no later than 14 days before.", ["Send it at least 14 days before."], False),
        ("Send it no later than 14 days before.", ["Send it at most 14 days before."], True),
        ("Send it no later than 14 days after.", ["Send it at least 14 days after."], True),
        # the bound belongs to another number
        ("Wait at most 5 minutes.", ["Wait at least 4 of 5 minutes."], False),
        ("The limit is at most 5 bar.", ["The limit is 5 bar and at least 4 bar."], False),
        ("At least one of the 5 valves is open.", ["At most 5 valves are open."], False),
    ],
)
def test_a_turned_bound_is_found(statement: str, chunks: list[str], expected: bool) -> None:
    assert turns_bound(statement, chunks) is expected


@pytest.mark.contract("R5-17")
def test_an_answer_with_a_turned_bound_is_rejected() -> None:
    def codes(answer: str) -> set[str]:
        verdict = validate(answer, bundle_of_texts([DOSE], "What is the dose?"), load_shipped_policy("SOURCEBOUND_V2"))
        return {each.code.value for each in verdict.outcome.violations}

    said = "The starting dose is {} 10 mg per day for patients with kidney disease. [C0]"
    assert codes(said.format("at most")) == set()
    assert codes(said.format("at least")) == {"UNSUPPORTED_STATEMENT"}
