"""R5-8: superscripts, fractions, signs, units of several words, scales in heads, and dates of other languages."""

import pytest

from sourcebound.contracts.validation.literals.check import check_literals, read_evidence

SUPPORTED = [
    # equal measures, also in the words around the other one
    ("The disk of 2 TB costs 86 EUR.", "The disk of 2000 GB costs 86 EUR."),
    ("The timeout is 0.5 seconds.", "The timeout is 500 ms."),
    (
        "The sample is stable for two days at room temperature.",
        "The sample is stable for 48 hours at room temperature.",
    ),
    # numbers of a row, of which none has a mark
    ("The number built fell from 50 to 45 and rose to 790.", "Number built 50 45 120 445 790 Memory cycle 8"),
    # an hour with its part of the day
    ("It is open from 7 in the morning until 9 in the evening.", "Open between 7 a.m. and 9 p.m."),
    # words that are no numbers
    ("The two differ in size.", "A is larger than B."),
    ("Set the minutes between two checks.", "Set the minutes between each check."),
    # superscripts and fractions are what they are
    ("It holds 1,000,000 cells.", "It holds 10⁶ cells."),
    ("It holds 5 x 10^6 cells.", "It holds 5×10⁶ cells."),
    ("It leaks 0.001 litres.", "It leaks 10⁻³ litres."),
    ("It holds 10⁶ cells.", "It holds 10<sup>6</sup> cells."),
    ("It has 27 parts.", "It has 27¹ parts."),
    ("It has 27 parts.", "It has 27① parts."),
    ("It was built in 2010.", "It was built in 2010²."),
    ("It is 5 cm² wide.", "It is 5 cm2 wide."),
    ("It takes 1.5 cups.", "It takes 1½ cups."),
    ("It takes 1½ cups.", "It takes 1 1/2 cups."),
    ("It takes ½ cup.", "It takes half a cup."),
    ("It takes 1⅓ cups.", "It takes 1 1/3 cups."),
    ("It takes 3/4 inch.", "It takes 0.75 in."),
    ("It is 10**6 cells.", "It is 1000000 cells."),
    ("It is **5** bar.", "It is 5 bar."),
    # a pattern that ignores case takes the letters ı and İ for an i
    ("It began on 3 April 2024 and 5 May.", "It began on 3 aprıl 2024 and 5 May."),
    ("It is checked daily.", "It is checked daıly, not hourly, and daily."),
    ("It began on 3 April 2024 and 5 May.", "It began on 3 APRİL 2024 and 5 May."),
    ("It is checked daily.", "It is checked DAİLY, not hourly."),
    # signs
    ("Keep it at –5 °C.", "Keep it at -5 °C."),
    ("Keep it at minus 5 °C.", "Keep it at −5 °C."),
    ("Keep it at 60°–75°F.", "Keep it at 60 to 75 degrees Fahrenheit."),
    ("Keep it at 60°-75°F.", "Keep it at 60 to 75 degrees Fahrenheit."),
    ("Keep it at 5–10 bar.", "Keep it at 5 to 10 bar."),
    ("Order HP‑200.", "Order HP-200."),
    # units
    ("It is 375°F.", "Bake at 375 degrees F."),
    ("It is 375 degrees Fahrenheit.", "Bake at 375 °f."),
    ("It is 250°F.", "Preheat to 250F, then wait."),
    ("It is 79 °F.", "A high of 79 degrees."),
    ("It is 79 degrees.", "A high of 79 °F."),
    ("It is 20 ºC.", "It is 20 degrees Celsius."),
    ("Torque it to 45 newton metres.", "Torque: 45 N·m"),
    ("Torque it to 45 Nm.", "Torque: 45 N m."),
    ("It pumps 12 litres per minute.", "Flow 12 l/min"),
    ("It pumps 12 lpm.", "Flow 12 liters/minute"),
    ("It pumps 12 l/min.", "Flow (litres per minute) | 12"),
    ("It turns at 900 rpm.", "900 revolutions per minute"),
    ("It runs 50 mph.", "50 miles per hour"),
    ("The floor has 30 square feet.", "30 sq. ft. of floor"),
    ("It grew by 3 percentage points.", "It grew by 3 pp."),
    # scales in heads
    ("Revenue was 5.2 million.", "Revenue (in thousands)\nSales 5,200 4,900"),
    ("Revenue was $5.2 million.", "($ in thousands)\nSales 5,200"),
    ("Revenue was $5.2 billion.", "In millions of dollars\nSales 5,200"),
    ("Revenue was €5.2 million.", "| Item | EUR in thousands |\n|---|---|\n| Sales | 5,200 |"),
    ("Revenue was 5200.", "Revenue (in thousands)\nSales 5,200"),
    ("It sold 7,000 bolts.", "| Item | Sold ('000) |\n|---|---|\n| Bolts | 7 |"),
    (
        "Revenue was £5.2 million.",
        "Amounts in this note are in £ million.\n\n| Item | 2023 |\n|---|---|\n| Sales | 5.2 |",
    ),
    ("Lending was £587 million.", "| | 2023 |\n|---|---|\n| Lending (£m) | 587 |\n| Branches | 37 |"),
    ("Lending was £587 million.", "Item: Lending (£m); 2023: 587; 2022: 790\nItem: Branches; 2023: 37; 2022: 36"),
    ("Sales were 587 million.", "Revenues (in millions); 2023: ; 2022: \nSales; 2023: 587; 2022: 590"),
    ("Sales were 587 thousand.", "Item: (in thousands); 2023: 0\nItem: Sales; 2023: 587; 2022: 590"),
    ("Costs were 450 thousand.", "In thousands\nShares (in millions); 2023: 12; 2022: 13\nCosts; 2023: 450; 2022: 460"),
    ("Lending was £587 million.", "| £ million | 2023 | 2022 |\n|---|---|---|\n| Lending | 587 | 540 |"),
    ("Lending was £540 million.", "| Item (£m) | FY 2023 | 31 March 2022 |\n|---|---|---|\n| Lending | 587 | 540 |"),
    ("Lending was £587 million.", "£ million: Lending; 2023: 587; 2022: 540"),
    ("It takes 3.5 hours.", "It takes 3 hours and 30 minutes."),
    ("It takes 3.5 hours.", "3 heures 30 au maximum"),
    ("It takes 210 minutes.", "3 heures 30 au maximum"),
    ("It is 1.2 m long.", "1 m 20 cm long"),
    ("The share was 80 %.", "a share of 80 per cent"),
    ("The share was 80 per cent.", "an 80-per-cent share"),
    ("It is a 12 per cent solution.", "12%w/w"),
    # dates of other languages
    ("Since 12 June 2024.", "seit dem 12. Juni 2024"),
    ("Since 12 June 2024.", "depuis le 12 juin 2024"),
    ("Since 12 June 2024.", "desde el 12 de junio de 2024"),
    ("Since 12 June 2024.", "dal 12 giugno 2024"),
    ("Since 12 June 2024.", "desde 12 de junho de 2024"),
    ("Seit dem 12. Juni 2024.", "since 2024-06-12"),
    ("Since 1 March 2024.", "depuis le 1er mars 2024"),
    ("Since March 2024.", "im März 2024"),
    ("Since 2024.", "seit dem 12. Juni 2024"),
    # it points to the sources of the prompt
    ("According to Passage 2, it is 5 bar.", "It is 5 bar."),
    ("All three passages say 5 bar (Passages 1, 2 & 3).", "It is 5 bar."),
]
UNSUPPORTED = [
    ("The disk of 3 TB costs 86 EUR.", "The disk of 2000 GB costs 86 EUR."),
    ("The sample is stable for three days.", "The sample is stable for 48 hours. Ship it within 4 days."),
    ("The budget was 790.", "The budget was 45 120 445 790 and not more."),
    ("The budget was 300.", "The budget was 1 245 300 400 500 and not more."),
    ("The bag of 2 g costs 86 EUR.", "The bag of 2000 g costs 86 EUR. A spoon holds 2 g."),
    ("The pump of 2 kg costs 86 EUR.", "The pump of 2000 W costs 86 EUR. It weighs 2 kg or 3 kg."),
    ("It is open from 8 in the morning.", "Open between 7 a.m. and 9 p.m."),
    ("The three pumps differ.", "Pump A is larger than pump B."),
    ("Wait between two and four hours.", "Wait between 3 and 4 hours."),
    ("It holds 106 cells.", "It holds 10⁶ cells."),
    ("It holds 10⁶ cells.", "It holds 106 cells."),
    ("It holds 10⁶ cells.", "It holds 10⁵ cells."),
    ("It has 2³³ states.", "It has 2³² states."),
    ("It has 271 parts.", "It has 27¹ parts."),
    ("It has 11 cups.", "It has 1½ cups."),
    ("It takes 1½ cups.", "It takes 11/2 cups."),
    ("It takes 2½ cups.", "It takes 1½ cups."),
    ("It takes 12 cups.", "It takes 1/2 cup."),
    ("It holds 510 cells.", "It holds 5*10 cells."),
    ("It holds 106 cells.", "It holds 10**6 cells."),
    ("Keep it at –5 °C.", "Keep it at 5 °C."),
    ("Keep it at minus 5 °C.", "Keep it at 5 °C."),
    ("It is 79 °C.", "A high of 79 degrees, 174 °F at most."),
    ("It is 375 degrees Celsius.", "Bake at 375 degrees F."),
    ("It is 375°C.", "Bake at 375F."),
    ("It grew by 3 percentage points.", "It grew by 3 %."),
    ("It grew by 3 %.", "It grew by 3 percentage points."),
    ("It pumps 12 litres per hour.", "Flow 12 l/min"),
    ("It pumps 12 l/min.", "It holds 12 litres."),
    ("Torque it to 45 newton metres.", "Torque: 45 lb-ft"),
    ("The floor has 30 square feet.", "30 square metres of floor"),
    ("Revenue was 5.2 million.", "Sales 5,200"),
    ("Revenue was 5.2 million.", "They have thousands of shops. Sales 5,200"),
    ("Revenue was 5.2 million.", "In thousands of homes it is used. Sales 5,200"),
    ("Revenue was 5.2 billion.", "Revenue (in thousands)\nSales 5,200"),
    ("The share was 5,200 %.", "Revenue (in thousands)\nSales 5,200"),
    ("There were 37 million branches.", "| | 2023 |\n|---|---|\n| Lending (£m) | 587 |\n| Branches | 37 |"),
    ("There were 37 million branches.", "Item: Lending (£m); 2023: 587; 2022: 790\nItem: Branches; 2023: 37; 2022: 36"),
    ("There were 7 million staff.", "Item: Sales; Revenue (£m): 587; Staff: 7"),
    ("Costs were 450 million.", "In thousands\nShares (in millions); 2023: 12; 2022: 13\nCosts; 2023: 450; 2022: 460"),
    ("It grew by 5 million.", "| Item (£m) | 2023 | Change |\n|---|---|---|\n| Lending | 587 | 5 |"),
    (
        "There were 37 million branches.",
        "| £ million | 2023 |\n|---|---|\n| Lending | 587 |\n\n| Item | 2023 |\n|---|---|\n| Branches | 37 |",
    ),
    ("It had 7 million in 2023.", "| Sales (£m) | 2023 |\n|---|---|\n| 5,200 | 7 |"),
    ("It had 7 thousand in 2023.", "| £ million | 2023 (£ thousand) | 2022 |\n|---|---|---|\n| Lending | 9 | 7 |"),
    ("There were 37 million branches.", "£ million: Lending; 2023: 587; 2022: 540\nItem: Branches; 2023: 37; 2022: 36"),
    ("He bought 37 thousand branches.", "Miles, his son, bought 37 branches."),
    ("It had 37 thousand in 2023.", "| Miles | 2023 |\n|---|---|\n| Car | 37 |"),
    ("It had 30 thousand visits.", "Miles: many; Visits: 30; Guests: 9"),
    ("It weighs 3.5 kg.", "It weighs 3 kg, 500 g of it water."),
    ("It takes 3.5 hours.", "After 3 hours 30 people were ill."),
    ("It takes 3.5 hours.", "It takes 3 hours, with 30 minutes for lunch."),
    ("It takes 33 hours.", "It takes 3 hours to 30 hours."),
    ("It takes 2.5 days.", "It takes 1 day, 36 hours or more."),
    ("The share was 80 per cent.", "a share of 80 kg"),
    ("The share was 80 per cent.", "it grew by 80 percentage points"),
    ("There were 7 million staff.", "| Sales ($ in millions) | Staff |\n|---|---|\n| 5,200 | 7 |"),
    ("Since 12 June 2024.", "seit dem 12. Juli 2024"),
    ("Since 12 June 2024.", "desde el 13 de junio de 2024"),
    ("Depuis le 12 mai 2024.", "since 12 March 2024"),
    ("One in 5 failed, 5 in all.", "4 failed"),
]


def _unsupported(answer: str, evidence: str) -> list[str]:
    found = check_literals(answer, 0, (read_evidence("C0", evidence),))
    assert found, f"no literal was read off {answer!r}"
    return [finding.text for finding in found if not finding.supported]


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(("answer", "evidence"), SUPPORTED)
def test_the_same_value_in_another_form_is_supported(answer: str, evidence: str) -> None:
    assert _unsupported(answer, evidence) == []


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(("answer", "evidence"), UNSUPPORTED)
def test_another_value_in_a_like_form_is_not(answer: str, evidence: str) -> None:
    assert _unsupported(answer, evidence)


@pytest.mark.parametrize(
    "answer",
    [
        "A culture is one in which safety counts.",
        "See passage 2 and excerpt 3.",
        "Het wordt ten minste een week vooraf aangekondigd.",
    ],
)
def test_what_only_looks_like_a_value_is_none(answer: str) -> None:
    assert check_literals(answer, 0, (read_evidence("C0", "nothing of the sort"),)) == []


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize("text", ["\n", "| EUR |", "| in thousands....", "2 to ", "May–", "half of the ", "a1-"])
def test_a_value_is_found_behind_a_long_hostile_text(text: str) -> None:
    evidence = read_evidence("C0", text * (100_000 // len(text)) + "\nIt takes 7 kg.")
    assert [finding.found_in for finding in check_literals("It takes 7 kg.", 0, (evidence,))] == [("C0",)]
