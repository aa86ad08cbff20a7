"""R5-17: a value that the chunks say of another thing is not supported."""

import pytest

from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.validation.binding.check import misplaces
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.literals.reading import read_literals

POLICY = load_shipped_policy("SOURCEBOUND_V2")
TABLE = (
    "| Segment | Revenue 2024 | Revenue 2023 |\n|---|---|---|\n| Labels | 402.7 | 377.9 |\n| Services | 96.1 | 88.6 |"
)
ROWS = "Public: Adulte; Entrée: 5,20 €; Carte: 44 €\nPublic: Enfant de 4 à 15 ans; Entrée: 3,10 €; Carte: 26 €"
GROUPS = "Ferritin rose from 21.4 to 38.9 µg/L in the daily group and from 20.8 to 43.6 µg/L in the treated group."
POOLS = "La température du grand bassin est maintenue à 27 °C et celle du petit bassin à 31 °C."
WEATHER = (
    "Wind 090 degrees at 15 knots; visibility 10 miles; temperature 28 degrees Celsius; dew point 22 degrees Celsius."
)
RECORDS = (
    "Each employer shall preserve for at least three years payroll records, agreements and sales records. Cards on "
    "which wages are computed are retained for two years, i.e., time cards and piece work tickets and wage tables."
)
PUMP_A = "## HP-200\n\nThe sound pressure level of the HP-200 at its rated point is 68 dB(A) at one metre."
PUMP_B = "## HP-300\n\nThe sound pressure level of the HP-300 at its rated point is 74 dB(A) at one metre."
FINES = (
    "A dealer who fails to keep records is liable to a fine of up to 5,000 dollars. "
    "A person who sells without registration is liable to a fine of up to 40,000 dollars."
)
TRIAL = (
    "Compared with device B, device A did not lower the risk of death 2.8% versus 3.2% (risk ratio [RR], 0.89), stroke "
    "1.3% versus 1.4% (RR, 0.93) or infection 0.9% versus 1.2% (RR, 0.82)."
)
RATES = (
    "Among stage IV patients the 5-year rates were as follows: overall survival: 68 vs. 56% (p = 0.02), freedom from "
    "relapse: 64 vs. 37% (p = 0.01), and local control: 86 vs. 56% (p = 0.009)."
)
BACKERS = (
    "The work is supported by:\n\n- [Tidelift](https://tidelift.com/lifter/pillow) (since 2018)\n"
    "- [Thanks.dev](https://thanks.dev) (since 2023)\n- [Sponsors](https://example.org/pillow) (since 2026)"
)
TWO_LISTS = "## Now\n\n- Tidelift (since 2018)\n\n{}\n\n- Thanks.dev (since 2023)"
LEASE = (
    "**Schedule 1**\n\n- Term: 10 years\n- Deposit: £11,625\n"
    "- Service charge: 6.4% of the costs, capped at £7,900 in the first year\n- Use: bakery"
)
CRON = (
    "By default, is_valid and expand only check that each field is within its own range (e.g. day 1-31, month 1-12). "
    "They do not compare fields, so expressions like 0 0 31 2 * (February 31st) are considered valid.\n"
    ">>> is_valid('0 0 1 * *') # True"
)
SIGNS = "- Sign permit\n  - Individual signs under 32 sq ft: $50\n  - Individual signs 32 sq ft and larger: $100"
RANGE = "Wait for 7-10 days (7 days for new seals, 10-14 days for old seals)."


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("statement", "chunks", "expected"),
    [
        # the row
        ("Revenue of Services was 402.7 in 2024.", [TABLE], True),
        ("Revenue of Labels was 402.7 in 2024.", [TABLE], False),
        ("Une entrée coûte 5,20 € pour un enfant de 4 à 15 ans.", [ROWS], True),
        ("Une entrée coûte 3,10 € pour un enfant de 4 à 15 ans.", [ROWS], False),
        # the bound of a number in the row's name
        ("Individual signs of 32 sq ft and larger cost $50.", [SIGNS], True),
        ("Individual signs of 32 sq ft and larger cost $100.", [SIGNS], False),
        ("An individual sign below 32 sq ft costs $100.", [SIGNS], True),
        ("An individual sign < 32 sq ft costs $50.", [SIGNS], False),
        # a range, whose first number has no unit
        ("It takes 10-14 days for new and 7 days for old seals.", [RANGE], True),
        ("It takes 7 days for new and 10-14 days for old seals.", [RANGE], False),
        ("It takes 10 to 14 days for new and 7 days for old seals.", [RANGE.replace("-", " to ")], True),
        # two values with a contrast between them are said of the same
        ("The rate of stroke was 1.4% with device B.", [TRIAL], False),
        ("The rate of infection was 1.4% with device B.", [TRIAL], True),
        # the probability of a result is said of nothing
        ("| 5-year rate (stage IV) | p |\n|---|---|\n| overall survival | 0.02 |", [RATES], False),
        # a number in code is a value
        ("Revenue of Services was `402.7` in 2024.", [TABLE], True),
        # the numbers of a phrase of code are said of nothing
        (
            "By default, `expand` only checks that each field is within its own range, so `0 0 31 2 *` is valid.",
            [CRON],
            False,
        ),
        # the column
        ("Revenue of Labels was 377.9 in 2024.", [TABLE], True),
        ("Revenue of Labels was 402.7 in 2024, after 377.9 in 2023.", [TABLE], False),
        ("| Segment | 2024 | 2023 |\n|---|---|---|\n| Labels | 377.9 | 402.7 |", [TABLE], True),
        # a table that names its scale elsewhere
        ("Revenue of Services was 402.7 million euros in 2024.", [TABLE], True),
        # the part of a sentence
        ("Le grand bassin est à 31 °C.", [POOLS], True),
        ("Ferritin rose to 43.6 µg/L in the daily group and to 38.9 µg/L in the treated group.", [GROUPS], True),
        ("Ferritin rose to 43.6 µg/L in the treated group and to 38.9 µg/L in the daily group.", [GROUPS], False),
        ("Le grand bassin est à 31 °C et le petit bassin à 27 °C.", [POOLS], True),
        ("Le petit bassin est à 31 °C et le grand bassin à 27 °C.", [POOLS], False),
        ("The temperature was 22 degrees Celsius and the dew point 28 degrees Celsius.", [WEATHER], True),
        ("The temperature was 28 degrees Celsius and the dew point 22 degrees Celsius.", [WEATHER], False),
        # the items of one list, whose addresses name nothing
        ("Tidelift has supported the work since 2023.", [BACKERS], True),
        ("Tidelift has supported the work since 2018.", [BACKERS], False),
        ("The work has been supported since 2023.", [BACKERS], False),
        ("Tidelift has supported the work since 2023.", [TWO_LISTS.format("- Others (since 2020)")], True),
        ("Tidelift has supported the work since 2023.", [TWO_LISTS.format("Others have done so, too:")], False),
        ("Tidelift has supported the work since 2023.", [TWO_LISTS.format("## Then")], False),
        ("Tidelift has supported the work since 2023.", [TWO_LISTS.format("| 1 | 2 |\n|---|---|\n| 3 | 4 |")], False),
        ("The service charge is 6.4%, with a cap of £11,625 in the first year.", [LEASE], True),
        ("Tidelift has supported the work since 2023.", ["Tidelift: since 2018. Thanks.dev: since 2023."], False),
        # an item of two sentences
        ("Tidelift has supported the work since 2023.", [BACKERS.replace("2018)", "2018). It is good.")], False),
        # another sentence
        ("The sound pressure level of the HP-200 is 74 dB(A) at one metre.", [PUMP_A, PUMP_B], True),
        ("The sound pressure level of the HP-300 is 74 dB(A) at one metre.", [PUMP_A, PUMP_B], False),
        ("A dealer who fails to keep records is liable to a fine of up to 40,000 dollars.", [FINES], True),
        ("A person who sells without registration is liable to a fine of up to 40,000 dollars.", [FINES], False),
        # a sentence that shares no word with the statement, next to one that says all of it
        ("Time cards and piece work tickets are kept for three years.", [RECORDS], True),
        ("Time cards and piece work tickets are kept for two years.", [RECORDS], False),
        ("Time cards and payroll records are kept for three years.", [RECORDS], False),
        ("Tickets are kept for three years.", [RECORDS], False),
        ("Tickets: three years.", [RECORDS], False),
        ("Time cards, piece work tickets and sales are kept for three years.", [RECORDS], False),
        (
            "Time cards and piece work tickets of foreign crews at sea are kept by their owners for three years.",
            [RECORDS],
            False,
        ),
        # the statement names both things, or compares them
        (
            "Unlike the other pump, the HP-200 reaches a sound pressure level of 74 dB(A) at its rated point.",
            [PUMP_A, PUMP_B],
            False,
        ),
        ("The HP-200 with 68 dB(A) is quieter than the HP-300 with 74 dB(A).", [PUMP_A, PUMP_B], False),
        ("The daily and the treated group had 43.6 and 38.9 µg/L.", [GROUPS], False),
        ("Revenue of Labels fell in 2024 from 402.7 million to 377.9 million against 2023.", [TABLE], False),
        # the head of a column is a name, and not a common word
        ("Une carte coûte 5,20 € pour un adulte.", [ROWS], False),
        # the chunks do not say the value of the named thing
        ("The sound pressure level of the HP-200 is 74 dB(A) at one metre.", [PUMP_B], False),
        # the value is said of both
        ("Revenue of Services was 402.7 in 2024.", [TABLE, "Services had a revenue of 402.7."], False),
        # another chunk has the value in another form, so what it says of it is unknown
        ("Le grand bassin est à 31 °C.", [POOLS, "See the list HP-31."], False),
    ],
)
def test_a_value_of_another_thing_is_found(statement: str, chunks: list[str], expected: bool) -> None:
    assert misplaces(read_literals(statement, is_source=False), [read_literals(chunk) for chunk in chunks]) is expected


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("Le grand bassin est à 27 °C et le petit bassin à 31 °C [C0].", None),
        ("Le grand bassin est à 31 °C et le petit bassin à 27 °C [C0].", "UNSUPPORTED_STATEMENT"),
        ("| Segment | 2024 | 2023 |\n|---|---|---|\n| Labels | 402.7 [C1] | 377.9 [C1] |", None),
        ("| Segment | 2024 | 2023 |\n|---|---|---|\n| Labels | 377.9 [C1] | 402.7 [C1] |", "UNSUPPORTED_STATEMENT"),
    ],
)
def test_the_firewall_rejects_it(answer: str, reason: str | None) -> None:
    verdict = validate(answer, bundle_of_texts([POOLS, TABLE], ""), POLICY)
    assert verdict.failure_reason == reason
