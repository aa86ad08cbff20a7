"""The word lists of the verifier (R5-17)."""

import pytest

from sourcebound.contracts.validation.support.word_lists import has_opposite


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("stem", "others", "expected"),
    [
        ("high", {"pump", "low"}, True),
        ("low", {"high"}, True),
        ("stable", {"unstable"}, True),
        ("unstable", {"stable"}, True),
        ("high", {"high", "pump"}, False),
        ("un", {"unun"}, False),
        ("unit", {"it"}, False),
        ("high", set(), False),
    ],
)
def test_opposites_are_listed_or_differ_by_a_prefix(stem: str, others: set[str], expected: bool) -> None:
    assert has_opposite(stem, others) is expected
