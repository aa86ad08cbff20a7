"""Literal grounding: what can be checked to the letter is checked to the letter (R5-8)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.validation.literals.check import LiteralFinding, LiteralKind, check_literals, read_evidence

SUPPORTED = [
    # thousands separators
    ("It runs 1,200 hours.", "It runs 1200 hours."),
    ("It runs 1200 hours.", "It runs 1,200 hours."),
    ("It runs 1 200 hours.", "It runs 1,200 hours."),
    ("It costs 2 million dollars.", "It costs $2,000,000."),
    ("It is 0.50 bar.", "It is 0.5 bar."),
    ("It is 0.5 bar.", "It is .5 bar."),
    ("It is 5,5 bar.", "It is 5.5 bar."),
    ("It is 1.234,5 bar.", "It is 1234.5 bar."),
    ("It takes 1.5 x 10^3 hours.", "It takes 1500 hours."),
    # number words
    ("Turn it twelve times.", "Turn it 12 times."),
    ("Turn it 12 times.", "Turn it twelve times."),
    ("Use twenty-five bolts.", "Use 25 bolts."),
    ("Use one hundred and five bolts.".replace(" and five", ""), "Use 100 bolts."),
    ("Use two thousand three hundred bolts.", "Use 2300 bolts."),
    ("Use 1 bolt.", "Use one bolt."),
    # times
    ("It starts at 14:30.", "It starts at 2:30 pm."),
    ("It starts at 2:30 p.m.", "It starts at 14:30."),
    ("It starts at 2 PM.", "It starts at 14:00."),
    # dates
    ("Since 3 March 2024.", "Since 2024-03-03."),
    ("Since March 3, 2024.", "Since 3 March 2024."),
    ("Since 3rd of March 2024.", "Since 03/03/2024."),
    ("Since Mar 2024.", "Since 2024-03-03."),
    ("Since 2024.", "Since 3 March 2024."),
    ("Since 5 Oct 99.".replace(" 99", " 1999"), "Since 5.10.99."),
    # spelling of units
    ("It is 5 bars.", "It is 5 bar."),
    ("It is 5 percent.", "It is 5 %."),
    ("It is 20 degC.", "It is 20 °C."),
    ("It is 20℃.", "It is 20 °C."),
    ("It weighs 5 grams.", "It weighs 5 g."),
    ("It draws 5 amps.", "It draws 5 A."),
    ("It draws 5 watts.", "It draws 5 W."),
    ("It is 5 m long.", "It is 5 metres long."),
    ("It is 5 metres long.", "It is 5 m long."),
    ("It is 45 N·m.", "It is 45 Nm."),
    ("It costs 5 dollars.", "It costs $5."),
    ("Wait 5 min.", "Wait 5 minutes."),
    ("It is 12mm wide.", "It is 12 mm wide."),
    # signs
    ("Keep it at −5 °C.", "Keep it at -5 °C."),
    ("Keep it at 5 to 10 bar.", "Keep it at 5-10 bar."),
    ("Keep it at 5-10 bar.", "Keep it at 5 to 10 bar."),
    # identifiers and versions
    ("Order HP-200.", "Order the filter HP 200 at once."),
    ("Order hp-200.", "Order HP-200."),
    ("Rated IP67.", "Rated IP 67."),
    ("Use version 2.3.1.", "Use v2.3.1."),
    ("Use version 2.3.1.", "Use version 2.3.1 only."),
    # addresses and quotations
    ("See https://a.example/x.", "It is at https://a.example/x, always."),
    ("Write to x@a.example.", "Write to x@a.example, please."),
    ('It says "close the red valve".', "Close the red valve first."),
    ("It says “Close the red valve!”", "close the\nred valve first"),
    # what is no literal
    ("1. Close it.", "Close it."),
    ("Step 3: Close it.", "Close it."),
    ('It says "not this".', "Something else."),
    ("The valve is red.", "Something else."),
    ("It may be opened or march off.", "Something else."),
    ("Use the one above.", "Something else."),
]
UNSUPPORTED = [
    ("It runs 1,200 hours.", "It runs 120 hours."),
    ("It is 1.200 bar.", "It is 1,200 bar."),
    ("It is 25 bar.", "It is 25.5 bar."),
    ("It is 0.6 bar.", "It is .5 bar."),
    ("It is .6 bar.", "It is .5 bar."),
    ("Turn it thirteen times.", "Turn it 12 times."),
    ("There are zero bolts.", "There are five bolts."),
    ("It starts at 2:30 am.", "It starts at 14:30."),
    ("It starts at 14:31.", "It starts at 14:30."),
    ("Since 4 March 2024.", "Since 3 March 2024."),
    ("Since 3 April 2024.", "Since 3 March 2024."),
    ("Since 3 March 2023.", "Since 3 March 2024."),
    ("Since 2023.", "Since 3 March 2024."),
    # the number is there, its unit is another
    ("It is 5 bar.", "It is 5 psi."),
    ("It is 5 bar.", "It is 5 psi and 6 bar."),
    ("It weighs 5 g.", "It weighs 5 kg."),
    ("It weighs 5 kg.", "It weighs 5 g."),
    ("It draws 5 A.", "It draws 5 mA."),
    ("It draws 5 W.", "It draws 5 kW."),
    ("It is 5 m long.", "It is 5 mm long."),
    ("It is 45 N.", "It is 45 Nm."),
    ("It takes 12 days.", "It takes 12 hours."),
    ("It is 5 %.", "It is 5 bar."),
    ("It costs €5.", "It costs $5."),
    ("It is 50 Hz.", "It is 50 kHz."),
    # the number is there, its sign is another
    ("Keep it at -5 °C.", "Keep it at 5 °C."),
    ("Keep it at 5 °C.", "Keep it at −5 °C."),
    # identifiers and versions
    ("Order HP-201.", "Order HP-200."),
    ("Order HP-20.", "Order HP-200."),
    ("Order HP-200.", "Order HP-20."),
    ("Order FW2.1.", "Order FW2.10."),
    ("Use version 2.3.2.", "Use version 2.3.1."),
    ("Ask 10.0.0.7.", "Ask 10.0.0.8."),
    ("Rated IP68.", "Rated IP67."),
    ("Use M8 bolts.", "Use M10 bolts."),
    ("Read part 12-34-57.", "Read part 12-34-56."),
    # addresses and quotations
    ("See https://a.example/y.", "It is at https://a.example/x."),
    ("Write to y@a.example.", "Write to x@a.example."),
    ('It says "close the blue valve".', "Close the red valve first."),
    ("It says “close the blue valve”.", "Close the red valve first."),
    ('It says "close red valve".', "Close the red valve first."),
    ("1. Close 4 valves.", "Close 3 valves."),
    ("It is 1 x 10^99999999999999999999 bar.", "It is 1 bar."),
]


def _findings(answer: str, evidence: str) -> list[LiteralFinding]:
    return check_literals(answer, 0, (read_evidence("C0", evidence),))


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(("answer", "evidence"), SUPPORTED)
def test_a_literal_that_only_looks_different_is_supported(answer: str, evidence: str) -> None:
    assert [finding.text for finding in _findings(answer, evidence) if not finding.supported] == []


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(("answer", "evidence"), UNSUPPORTED)
def test_another_literal_is_unsupported(answer: str, evidence: str) -> None:
    assert [finding.text for finding in _findings(answer, evidence) if not finding.supported]


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        ("It is 5 bar.", LiteralKind.NUMBER, "5 bar"),
        ("Since 3 March 2024.", LiteralKind.DATE, "3 March 2024"),
        ("It starts at 14:30.", LiteralKind.TIME, "14:30"),
        ("Order HP-200 now.", LiteralKind.IDENTIFIER, "HP-200"),
        ("See https://a.example/x.", LiteralKind.ADDRESS, "https://a.example/x"),
        ('It says "close the red valve".', LiteralKind.QUOTATION, '"close the red valve"'),
    ],
)
def test_each_sort_of_literal_is_found(answer: str, kind: LiteralKind, text: str) -> None:
    assert [(finding.kind, finding.text) for finding in _findings(answer, "")] == [(kind, text)]


@pytest.mark.contract("R5-8")
def test_a_finding_names_the_cited_chunks_that_hold_it() -> None:
    cited = tuple(read_evidence(f"C{index}", text) for index, text in enumerate(["5 bar", "6 bar", "5 bar or 6 bar"]))
    findings = check_literals("It is 5 bar, then 6 bar.", 4, cited)
    assert [(finding.text, finding.found_in, finding.segment) for finding in findings] == [
        ("5 bar", ("C0", "C2"), 4),
        ("6 bar", ("C1", "C2"), 4),
    ]


@pytest.mark.contract("R5-8")
def test_without_a_cited_chunk_no_literal_is_supported() -> None:
    assert [finding.found_in for finding in check_literals("It is 5 bar since 2024.", 0, ())] == [(), ()]


@pytest.mark.contract("R5-8")
@given(st.text(max_size=120))
def test_a_text_supports_every_literal_of_its_own(text: str) -> None:
    assert [finding.text for finding in _findings(text, text) if not finding.supported] == []


@pytest.mark.contract("R5-8")
@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_number_is_supported_by_the_same_number_alone(one: int, other: int) -> None:
    grouped = _findings(f"It holds {one:,} parts.", f"It holds {other} parts.")
    assert all(finding.supported for finding in grouped) == (one == other)
    assert len(grouped) == 1
