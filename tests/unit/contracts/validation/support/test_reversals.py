"""R5-17: a statement that repeats a chunk's words with the opposite polarity is not supported."""

import pytest

from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.support.reversals import reverses

POLICY = load_shipped_policy("SOURCEBOUND_V2")
RAILS = "Bed rails are not used to prevent falls in confused patients, because they may climb over them."


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("statement", "chunks", "expected"),
    [
        ("Bed rails are used to prevent falls in confused patients.", [RAILS], True),
        ("Bed rails are not used to prevent falls in confused patients.", [RAILS], False),
        ("Bed rails aren't used to prevent falls in confused patients.", [RAILS], False),
        ("The red valve doesn't open at high pressure.", ["The red valve does open at high pressure."], True),
        ("The red valve cannot open at high pressure.", ["The red valve can open at high pressure."], True),
        ("Never use white vinegar in the tank at home.", ["Use white vinegar in the tank at home."], True),
        ("No, the red valve opens at high pressure.", ["The red valve opens at high pressure."], False),
        ("The red valve is not open at high pressure.", ["The red valve is open at high pressure, except now."], False),
        (
            "Our employees are not covered by the union agreement.",
            ["None of our employees are covered by the union agreement."],
            False,
        ),
        ("Kinder dürfen die alte Maschine bedienen.", ["Kinder dürfen die alte Maschine nicht bedienen."], True),
        ("The tank is not made of steel and glass.", ["It is made of plastic."], False),
        # both are said of different things
        (
            "The guarantee covers damage by vinegar in the tank.",
            ["The guarantee covers damage by vinegar in the tank.", "It never covers damage by vinegar in the tank."],
            False,
        ),
        # a bound is denied as a whole, or at its comparison
        ("Fill the tank with no more than 40 litres.", ["Do not fill the tank with more than 40 litres."], False),
        ("Do not fill the tank with more than 40 litres.", ["Fill the tank with no more than 40 litres."], False),
        ("Fill the tank with no more than 40 litres.", ["Fill the tank with more than 40 litres."], True),
        (
            "A reading outside that lasts no longer than 10 min is logged.",
            ["It is any reading outside that lasts longer than 10 minutes. For 10 minutes or less it is logged."],
            False,
        ),
        (
            "A reading outside that lasts no longer than 10 min is logged.",
            ["It is any reading outside that lasts longer than 10 minutes."],
            True,
        ),
        # no content word says that the sentence is the same
        ("It is one of these to be.", ["It is not one of these to be."], False),
        # a sentence ends between the words
        ("He was not there. The red valve opens wide.", ["There. The red valve opens wide."], False),
    ],
)
def test_a_reversed_sentence_is_found(statement: str, chunks: list[str], expected: bool) -> None:
    assert reverses(statement, chunks) is expected


@pytest.mark.contract("R5-17")
def test_the_firewall_rejects_it() -> None:
    verdicts = [
        validate(
            f"Bed rails are {word}used to prevent falls in confused patients. [C0]",
            bundle_of_texts([RAILS], ""),
            POLICY,
        )
        for word in ("not ", "")
    ]
    assert [verdict.failure_reason for verdict in verdicts] == [None, "UNSUPPORTED_STATEMENT"]
    assert verdicts[1].support is not None
    assert verdicts[1].support.lowest == 0
