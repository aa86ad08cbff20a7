"""R5-8: eras, ranges, named times, ratings, code, labels, the answer's own counts, and values in another's place."""

from typing import Any

import pytest

from sourcebound.contracts.validation.answer_reading import read_answer
from sourcebound.contracts.validation.literals.check import (
    ANSWER,
    QUESTION,
    AnswerContext,
    LiteralFinding,
    check_literals,
    read_evidence,
)
from sourcebound.contracts.validation.literals.reading import read_literals
from sourcebound.contracts.validation.versions import SECOND
from support.builders import answer_bundle


def findings(
    answer: str, *evidence: str, version: int = SECOND, context: AnswerContext | None = None, question: str = ""
) -> list[LiteralFinding]:
    cited = tuple(read_evidence(f"C{number}", text) for number, text in enumerate(evidence))
    return check_literals(answer, 0, cited, question, version, context=context or AnswerContext())


def unsupported(answer: str, *evidence: str) -> list[str]:
    return [finding.text for finding in findings(answer, *evidence) if not finding.supported]


SUPPORTED = [
    # decades and centuries of a year
    ("It opened in the 1960s.", "It opened in 1963."),
    ("It opened in the late 1960's.", "opened on 3 May 1968"),
    ("It opened in the mid-20th century.", "opened in 1947"),
    ("A novel of the nineteenth century.", "published in 1850"),
    ("It spans the 18th and 19th centuries.", "the 18th century and the 19th century"),
    # ranges of days
    ("It ran on October 20-21, 2023.", "on October 20th and 21st, 2023"),
    ("It ran from 4 to 6 May 2024.", "4 May 2024, 5 May 2024 and 6 May 2024"),
    # days, months and frequencies
    ("It is closed on Monday.", "geschlossen am Montag"),
    ("It is closed on Mondays.", "Tuesday 9-5, Wednesday 9-5, Thursday 9-5, Friday 9-5"),
    ("It begins in March.", "begins on 2024-03-05"),
    ("It is cleaned weekly.", "clean it once a week"),
    ("It is cleaned each month.", "clean it monthly and check it every year"),
    ("It is cleaned once a month.", "clean it monthly and check it every year"),
    ("Take it twice a day.", "take it every day"),
    ("Sie wird zweimal pro Woche gereinigt.", "clean it twice a week"),
    ("It is cleaned once a week.", "cleaning helps"),
    ("Sie wird jeden Monat gereinigt.", "clean it once a month, and check it every year"),
    ("Sie wird vierteljährlich geprüft.", "alle drei Monate prüfen: jedes Quartal"),
    ("Elle est nettoyée chaque semaine.", "une fois par semaine"),
    ("Se limpia cada mes.", "clean it monthly"),
    ("Si pulisce ogni giorno.", "una volta al giorno"),
    ("It is watched every day and night.", "checked once a week"),
    ("Geöffnet von 10 bis 15 Uhr.", "open 10:00 to 15:00"),
    ("Der Schalter ist von 10 bis 15 Uhr geöffnet.", "Der Schalter ist geöffnet 10–15 Uhr."),
    ("Bitte räumen Sie Zimmer 10 bis 15 Uhr.", "Zimmer 10 muss bis 15 Uhr geräumt sein."),
    ("It is read each hour.", "It is read every 60 minutes, and a report is sent daily."),
    ("It is open every day.", "It is open Monday to Sunday. It offers three concerts per week."),
    ("El agua de la marea lo inunda dos veces al día.", "it is flooded twice a day"),
    ("Es entstand ein Verlust von 6,4 Mio. €.", "| € million | 2022 |\n|---|---|\n| Net result | −6.4 |"),
    ("Une perte de 6,4 % est attendue.", "a change of -6.4 % is expected"),
    ("It helps in daily life.", "it helps people"),
    # names
    ("The rating is BBB+.", "rated BBB+"),
    ("Give them their P60s.", "give each a P60"),
    ("Set `max_conn = 50`.", "max_conn is 50 by default"),
    ("Call `fetch(<name>)`.", "fetch(name) returns a record"),
    ("Run `git clone https://example.org/fans.git`.", "git clone https://example.org/fans.git"),
    ("It is at **https://example.org/fans**.", "at https://example.org/fans, since May"),
    ("Run git clone https://example.org/fans.git first.", "Run ``git clone https://example.org/fans.git`` first."),
    ("It is at https://example.org/fans.", "« https://example.org/fans »"),
    ("It is at https://example.org/fans.", "“https://example.org/fans”"),
    ("Zone B is closed.", "Zones A and B are closed"),
    ("Vitamin D helps.", "it helps"),
    # units
    ("Take 3 kg per day.", "3 kg daily"),
    ("Give 50 mg per kg.", "up to 50 mg/kg"),
    ("It lasts 48 hours.", "dure 48 heures"),
    ("Il y a 42 euros par m².", "42 euros par mètre carré"),
    ("He died in 1994 in Seattle.", "On 8 April 1994 he died in Seattle"),
    ("It takes six and a half months.", "6 1/2 months"),
    # numbers of other languages
    ("Son 87,45 millones de euros.", "La cifra de negocios fue de 87.450 miles de euros."),
    ("Es sind 9,085 Mio. EUR.", "Ertragslage (in TEUR)\nDer Überschuss ist 9.085 und der Umsatz 287.640"),
    ("Es sind 412.000 Stück in der Halle und im Lager.", "412000 Stück"),
    ("Der Umsatz stieg auf 27,4 Mio. EUR nach 25,9.", "27,4 Mio. EUR nach 25,9 Mio. EUR"),
    ("Le pH est entre 6,9 et 7,7, sinon le bassin est fermé.", "Le pH reste entre 6,9 et 7,7."),
    ("Es sind 1 245,3, nicht mehr.", "1245,3"),
    ("See steps 1,2, and 3.", "steps 1, 2 and 3"),
    # times of day, quarters and fiscal years in short
    ("It crashed at 13:08 central standard time.", "crashed at 1308 central standard time"),
    ("It crashed at 1:08 p.m.", "1308 CST"),
    ("Seen at 09:00.", "The weather at 0900 was fine."),
    ("Seen at 14:40.", "seen at 1440 hours"),
    ("It grew in Q4 2022.", "Fourth Quarter 2022: growth"),
    ("It grew in the fourth quarter of 2022.", "4Q22 earnings of 2022: growth"),
    ("It grew in the fourth quarter.", "Q4'22: growth"),
    ("It grew in FY2022.", "fiscal year 2022: growth"),
    ("Le bureau ouvre 9h-12h et 13h-17h.", "de 9h à 12h et de 13h à 17h"),
    ("It grew in FY22.", "fiscal 2022: growth"),
    ("The first thing is the price.", "Q4: the price"),
    ("It grew in H1 2022.", "first half of 2022: growth"),
    # numbers in words, marks and names
    ("It is cut two times per year.", "cut twice a year"),
    ("It rose 5-fold.", "a fivefold rise"),
    ("2/3 of the area is let.", "two thirds of the area"),
    ("Two-thirds of the area is let.", "2/3 of the area"),
    ("⅓ of the area is let.", "one third of the area"),
    ("There are 12 items.", "a dozen items"),
    ("There are 6 items.", "half a dozen items"),
    ("He is sixty-one years old.", "Age: 61, Male"),
    ("He is sixty-one years old.", "aged 61 in May"),
    ("It left runway 4.", "on runway 04"),
    ("It came from 90 degrees.", "wind from 090 degrees"),
    ("It is a phase 3 trial of type 2 diabetes.", "a Phase III trial of type II diabetes"),
    ("v3.2 is faster.", "3.2 (2024): faster"),
    ("Version 3.2 is faster.", "v3.2: faster"),
    ("v3.20 is faster.", "3.20 (2024): faster"),
    ("v3.2.1 is faster.", "3.2.1: faster"),
    ("It holds +/-0.5 °C.", "within ± 0.5 °C"),
    ("It earned $3.6B.", "$3.6 billion"),
    ("It earned $20-30 million.", "$20 million to $30 million"),
    # raised digits of reStructuredText, and dates in code
    ("It has 3 * 10^9 bytes.", "of 3 * 10 :sup:`9` bytes"),
    ("It has 10⁹ bytes.", "of 10 :sup:`9` bytes"),
    ("It gives 29 February 2024.", "datetime.datetime(2024, 2, 29, 0, 0)"),
    ("It gives the first day of February 2024.", ">>> date(2024, 02, 01)"),
    # halves
    ("It covers half of the cost.", "It covers 50 % of the cost."),
    ("It covers half the cost.", "It covers 50 of the 100 euros."),
    ("It is half its size.", "the size is halved"),
    ("It is cut by half.", "it is ½ of it"),
    ("Die Hälfte der Kosten wird bezahlt.", "it pays half of it"),
    ("It grew in the first half of the year.", "it grew in H1"),
    ("The second half of the year was better.", "The second of both, H2, was better."),
    # scales
    ("It was 5,100 (in thousands).", "(In thousands)\nIncome: 5,100"),
    ("It was 5,100 (in millions).", "Income: 5,100"),
    # a label some words after its noun
    ("It is point A.", "point de rassemblement A ou point B"),
    # ordinals of the answer's own points
    ("A third theory is older.", "in the 19th century there was a theory"),
    ("The second is older.", "a theory"),
]
NOT_SUPPORTED = [
    ("It covers half of the cost.", "It covers 40 % of the cost."),
    ("It has 109 bytes.", "of 10 :sup:`9` bytes"),
    ("It gives 2 March 2024.", "datetime(2024, 2, 3) and update(2024, 3, 2)"),
    ("Nearly half the deaths were here.", "a high proportion of the deaths"),
    ("La moitié des frais est payée.", "on paie 40 % des frais"),
    ("It was 5,100 (in millions).", "(In thousands)\nIncome: 5,100"),
    ("It was 5,100 (in thousands).", "Income (in $ millions): 5,100"),
    ("It opened in the 1950s.", "It opened in 1963."),
    ("It opened in the 18th century.", "It opened in 1963."),
    ("It has 20 floors.", "It opened in 1963."),
    ("It ran on October 20-22, 2023.", "on October 20th and 21st, 2023"),
    ("It is closed on Monday.", "closed on Sunday"),
    ("It begins in March.", "begins on 2024-04-05"),
    ("It is cleaned monthly.", "it is cleaned weekly"),
    ("It is cleaned each month.", "it is cleaned every week"),
    ("Elle est nettoyée chaque trimestre.", "it is cleaned on the first Monday of each month"),
    ("Sie wird jede Woche gereinigt.", "sie wird jeden Monat gereinigt"),
    ("Geöffnet von 11 bis 15 Uhr.", "open 10:00 to 15:00"),
    ("It is cleaned once a week.", "clean it once a month"),
    ("Take it three times a day.", "take it three times a week"),
    ("Sie wird zweimal pro Woche gereinigt.", "clean it twice a month"),
    ("El agua de la marea lo inunda tres veces al día.", "it is flooded twice a day"),
    ("The rating is A+.", "rated BBB+"),
    ("The rating is BBB.", "rated BBB+"),
    ("Set `min_conn`.", "max_conn is 50 by default"),
    ("Zone C is closed.", "Zones A and B are closed"),
    ("Vitamin D helps.", "vitamin C helps"),
    ("Take 3 kg per week.", "3 kg daily"),
    ("Give 50 mg/lb.", "up to 50 mg/kg"),
    ("Il dure 48 jours.", "dure 48 heures"),
    ("Dura 7 años.", "Dura 7 meses."),
    ("Le rate sono quattro e non di più.", "Le rate sono cinque e non di più."),
    ("Der Umsatz ist 25,9 und der Gewinn nicht.", "Der Umsatz ist 25,9 Mio. EUR und der Gewinn nicht."),
    ("A third theory is older.", "the first theory and the second theory"),
    ("Le pH est entre 6,9 et 7,8, sinon le bassin est fermé.", "Le pH reste entre 6,9 et 7,7."),
    ("It crashed at 13:09 central standard time.", "crashed at 1308 central standard time"),
    ("It crashed at 13:08.", "It weighs 1308 kg."),
    ("It crashed at 13:08.", "after 1308 hours of flight"),
    ("It crashed at 13:08.", "registered as A-1308 EST"),
    ("It grew in Q3 2022.", "Fourth Quarter 2022: growth"),
    ("It grew in the third quarter.", "Q4'22: growth"),
    ("It grew in FY2021.", "fiscal year 2022: growth"),
    ("It grew in H2 2022.", "first half of 2022: growth"),
    ("It is cut three times per year.", "cut twice a year"),
    ("It has two blades.", "cut twice a year"),
    ("It runs at 2 bar.", "cut twice a year, in bar"),
    ("It rose 6-fold.", "a fivefold rise"),
    ("2/3 of the area is let.", "one third of the area"),
    ("Two-thirds of the area is let.", "one third of the area, for two"),
    ("Three quarters of it is let.", "a quarter of it, for three"),
    ("There are 13 items.", "a dozen items"),
    ("It weighs 12 kg.", "a dozen items of some kg"),
    ("There are 12 items.", "half a dozen items"),
    ("There are 12 items.", "two dozen items"),
    ("He is sixty-two years old.", "Age: 61, Male"),
    ("He is 6 years old.", "Age: 6 months"),
    ("They are 18 years old.", "aged 12 to 18 months"),
    ("Er ist 6 Jahre alt.", "Alter: 6 Wochen"),
    ("Il a 18 ans.", "âge : 18 mois"),
    ("It left runway 40.", "on runway 04"),
    ("It is a phase 2 trial.", "a Phase III trial"),
    ("v3.3 is faster.", "3.2 (2024): faster"),
    ("Version 3.3 is faster.", "v3.2: faster"),
    ("v3.20 is faster.", "v3.2: faster"),
    ("v3.2 is faster.", "v3.20: faster"),
    ("v3.20 is faster.", "3.2 (2024): faster"),
    ("Version 3.20 is faster.", "v3.2: faster"),
    ("It runs at 3.2 bar.", "v3.2, in bar"),
    ("v3.2.2 is faster.", "3.2.1: faster"),
    ("It earned $3.7B.", "$3.6 billion"),
    ("It earned $3.6M.", "$3.6 billion"),
    ("It earned $21-30 million.", "$20 million to $30 million"),
]


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(("answer", "evidence"), SUPPORTED)
def test_the_same_value_otherwise_is_supported(answer: str, evidence: str) -> None:
    assert unsupported(answer, evidence) == []


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(("answer", "evidence"), NOT_SUPPORTED)
def test_another_value_is_not(answer: str, evidence: str) -> None:
    assert unsupported(answer, evidence)


PUMP = "The main pump runs at 60 bar in winter. The relief valve opens at 40 bar."


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("answer", "evidence", "found"),
    [
        ("The main pump runs at 40 bar in winter.", PUMP, ["40 bar"]),
        ("The main pump runs at 60 bar in winter.", PUMP, []),
        ("In winter, 40 bar is where the valve opens.", PUMP, []),
        ("The main pump runs at 40 bar in winter.", f"{PUMP} In Turin the main pump runs at 40 bar in winter.", []),
        # a template that a source fills many times says nothing of one value
        (
            "The high was 7 with a light wind.",
            "The high was 5 with a light wind. The high was 6 with a light wind. 7.",
            [],
        ),
        # words of quantity
        ("Add all a cup of white wine.", "Add half a cup of white wine.", ["all"]),
        ("He recorded his last solo album there.", "He recorded his first solo album there.", ["last"]),
        ("The test takes several working minutes.", "The test takes several working hours.", ["minutes"]),
        ("It is one of the oldest bridges.", "It is one of the oldest bridges.", []),
        # words of place and order
        ("It fell 26 miles southwest of Arteaga.", "It fell 26 miles southeast of Arteaga.", ["southwest"]),
        ("It fell southwest of Arteaga, 26 miles off.", "It fell 26 miles southeast of Arteaga.", []),
        ("Press the Volume up key briefly.", "Press the Volume down key briefly.", ["up"]),
        ("It struck the ground with its right wing.", "It struck the ground with its left wing.", ["right"]),
        ("Close the valve before the pump stops.", "Close the valve after the pump stops.", ["before"]),
        ("The oil of it is checked twice a week.", "The oil of it is checked once a week.", ["twice"]),
        ("It does not work with the rear camera of it.", "It does not work with the front camera of it.", ["rear"]),
        ("The outer ring of the seal is worn.", "The inner ring of the seal is worn.", ["outer"]),
        ("The key hangs inside the boiler house.", "The key hangs outside the boiler house.", ["inside"]),
        ("The tank is drained in the autumn before it snows.", "The tank is drained in the fall before it snows.", []),
        ("The tank is drained in the spring of the year.", "The tank is drained in the fall of the year.", ["spring"]),
        ("The tank is drained in the evening of a day.", "The tank is drained in the morning of a day.", ["evening"]),
        ("Nine runners left the study early.", "Nine runners left the study early, and some right after it.", []),
    ],
)
def test_a_value_in_the_place_of_another_is_not_supported(answer: str, evidence: str, found: list[str]) -> None:
    assert unsupported(answer, evidence) == found


@pytest.mark.contract("R5-8", "CP-10")
def test_a_run_of_the_first_version_is_judged_without_these_rules() -> None:
    answer, evidence = "The main pump runs at 40 bar in winter.", PUMP
    assert all(finding.supported for finding in findings(answer, evidence, version=1))
    assert findings("It is closed on Monday, in zone C, see `x`.", "closed on Sunday, zones A and B", version=1) == []


SAMPLES = "| Sample | Germs |\n|---|---|\n| kitchen | no |\n| hall | no |\n| cellar | no |"


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("answer", "evidence", "items", "counted"),
    [
        ("There are two kinds of seals (soft and hard).", "Seals are soft or hard.", 0, True),
        ("There are three kinds of seals (soft and hard).", "Seals are soft or hard.", 0, False),
        ("There are two kinds of seals (soft and hard).", "There are five kinds of seals.", 0, False),
        ("It takes three steps:", "Open it, turn it, close it.", 3, True),
        ("It takes three steps:", "Open it, turn it, close it.", 4, False),
        ("It forbids storing the two together.", "The PIN and the card are not stored together.", 0, True),
        ("It names three:", "Open it, turn it, close it.", 3, True),
        ("It names three:", "Open it, turn it, close it.", 4, False),
        ("All three of these must hold:", "Open it, turn it, close it.", 3, True),
        ("All three of these must hold:", "Open it, turn it, close it.", 2, False),
        ("Of the three, only one holds.", "Open it, turn it, close it.", 0, True),
        ("It takes three hours:", "Open it, turn it, close it.", 3, False),
        ("All three samples are clean.", f"{SAMPLES}\n", 0, True),
        ("All two samples are clean.", f"{SAMPLES}\n", 0, False),
        ("Three samples are clean.", f"{SAMPLES}\n", 0, False),
        ("These two parts are red.", "- a seal\n  of rubber\n- a nut\n\nBoth are red.", 0, True),
        ("These three parts are red.", "- a seal\n  of rubber\n- a nut\n\nBoth are red.", 0, False),
        ("Only a test separates the two reliably.", "A test separates them.", 0, True),
        ("Only a test separates the two stones.", "A test separates them.", 0, False),
        ("It is paid in two halves.", "Half is paid now.", 0, True),
    ],
)
def test_the_count_of_a_list_of_the_answer_needs_no_source(
    answer: str, evidence: str, items: int, counted: bool
) -> None:
    (number,) = findings(answer, evidence, context=AnswerContext(items=items))
    assert number.found_in == ((ANSWER,) if counted else ())


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("answer", "evidence", "previous", "counted"),
    [
        ("The two actors are married.", "They are married.", "Ann plays Doug and Eve plays Julie.", True),
        ("Les deux acteurs sont mariés.", "Ils sont mariés.", "Ann joue Doug et Eve joue Julie.", True),
        # no pair is named
        ("The two actors are married.", "They are married.", "Ann plays Doug.", False),
        ("The two actors are married.", "They are married.", "", False),
        # nothing points to it
        ("Two actors are married.", "They are married.", "Ann plays Doug and Eve plays Julie.", False),
        # another number
        ("The three actors are married.", "They are married.", "Ann plays Doug and Eve plays Julie.", False),
        ("The two actors are married.", "All three actors are.", "Ann plays Doug and Eve plays Julie.", False),
    ],
)
def test_the_two_are_those_that_the_sentence_before_names(
    answer: str, evidence: str, previous: str, counted: bool
) -> None:
    (number,) = findings(answer, evidence, context=AnswerContext(previous=previous))
    assert number.found_in == ((ANSWER,) if counted else ())


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(("number", "counted"), [("two", True), ("three", False)])
def test_a_lead_in_counts_the_rows_of_its_table(number: str, counted: bool) -> None:
    table = "| Syrup | Signs |\n|---|---|\n| Tussilan | confusion [C0] |\n| Tossilen | agitation [C0] |"
    bundle = answer_bundle("Tussilan: confusion. Tossilen: agitation.", question="What are the signs of each syrup?")
    (found,) = read_answer(f"It depends on which of {number} syrups it is:\n\n{table}", bundle).literals
    assert found.found_in == ((ANSWER,) if counted else ())


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("literal", "changes", "named"),
    [
        ("HX-14", {"title": "Norvik HX-14 heat pump"}, True),
        ("HX-14", {"section": "Heat pumps > HX-14 > Night"}, True),
        ("HX-14", {"title": "Norvik HX-15 heat pump"}, False),
        # a time or a version may be another one in the document
        ("FY2022", {"title": "Report FY2022"}, False),
        ("4Q22", {"title": "Report 4Q22"}, False),
        ("v3.2", {"title": "Manual v3.2"}, False),
        # only names of things, not their values
        ("40 bar", {"title": "Pumps for 40 bar"}, False),
        ("forty", {"title": "A pump of forty parts"}, False),
    ],
)
def test_the_title_of_a_cited_chunk_names_its_thing(literal: str, changes: dict[str, Any], named: bool) -> None:
    bundle = answer_bundle("In night mode the sound level drops.", question="How loud is it?", **changes)
    (found,) = read_answer(f"At night the sound of the {literal} drops [C0].", bundle).literals
    assert found.supported is named


@pytest.mark.contract("R5-8", "CP-10")
def test_in_a_run_of_the_first_version_it_does_not() -> None:
    bundle = answer_bundle("In night mode the sound level drops.", question="How loud is it?", title="HX-14 manual")
    (found,) = read_answer("At night the sound of the HX-14 drops [C0].", bundle, 1).literals
    assert not found.supported


@pytest.mark.contract("R5-8", "CP-10")
@pytest.mark.parametrize(
    ("text", "dates", "first"),
    [("1.26-3.11", 0, 1), ("26.3.2011", 1, 1), ("2011-03-26", 1, 1), ("3/26/11", 1, 1), ("2011-03/26", 0, 1)],
)
def test_a_date_in_digits_has_one_mark_since_the_second_version(text: str, dates: int, first: int) -> None:
    found = [sum(each.kind == "date" for each in read_literals(f"It was {text} then.", n).literals) for n in (2, 1)]
    assert found == [dates, first]


@pytest.mark.contract("R5-8", "CP-10")
def test_the_first_version_reads_hundreds_up_to_their_and() -> None:
    assert [each.text for each in read_literals("one hundred and two men", 1).literals] == ["one hundred", "two"]


@pytest.mark.contract("R5-8")
def test_a_head_gives_the_scale_of_the_numbers_under_it() -> None:
    row, chunk = "Cifra de negocios 87,4", "La cifra de negocios fue de 87,4 miles de euros."
    (without,) = findings(row, chunk)
    (below,) = findings(row, chunk, context=AnswerContext(head="Importe (miles de euros)"))
    assert (without.supported, below.supported) == (False, True)


DOSES = "| Weight | Dose | When |\n|---|---|---|\n| 5–9 kg | 2.5 ml | each hour |\n| 10–19 kg | 5 ml | each hour |"


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("answer", "given"),
    [
        ("At 14 kg he is in the 10–19 kg group, so the dose is 5 ml each hour.", True),
        ("At 14 kg he is in the 5–9 kg group, so the dose is 2.5 ml each hour.", False),
        ("At 15 kg he is in the 10–19 kg group, so the dose is 5 ml each hour.", False),
    ],
)
def test_a_value_of_the_question_may_lie_in_a_range_of_the_source(answer: str, given: bool) -> None:
    found = findings(answer, DOSES, question="My son weighs 14 kg. How much does he get?")
    assert found[0].found_in == ((QUESTION,) if given else ())


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(("degrees", "given"), [("-5", True), ("-9", False)])
def test_a_range_of_the_source_need_not_be_named(degrees: str, given: bool) -> None:
    source = "| Air | Snow |\n|---|---|\n| below -3 to -8 °C | 45 min |\n| -14 °C in snow | 35 min |"
    answer, question = f"At {degrees} °C in snow it holds 45 min.", f"How long does it hold in snow at {degrees} °C?"
    assert findings(answer, source, question=question)[0].found_in == ((QUESTION,) if given else ())


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("answer", "question", "source", "given"),
    [
        # a range of another thing
        (
            "The pump runs at 50 bar.",
            "Can the pump run at 50 bar?",
            "The pump runs at 10 bar. Benches: 45-60 bar.",
            False,
        ),
        # a range of a bare number, which the statement does not name
        (
            "It needs Windows 10 and 30 files.",
            "Does it need Windows 10?",
            "It needs Windows 7. Pages 5-20 of 30 say so.",
            False,
        ),
        # a range that begins with nothing
        ("A parcel of 3 kg is in the class 0-5 kg.", "What is a parcel of 3 kg?", "A parcel of 0-5 kg, or 9 kg.", True),
        (
            "A parcel of 7 kg is in the class 0-5 kg.",
            "What is a parcel of 7 kg?",
            "A parcel of 0-5 kg, or 9 kg.",
            False,
        ),
    ],
)
def test_only_a_range_of_the_same_thing_counts(answer: str, question: str, source: str, given: bool) -> None:
    assert (findings(answer, source, question=question)[0].found_in == (QUESTION,)) is given


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(("question", "given"), [("What is a category B pathogen?", True), ("What is it?", False)])
def test_the_question_gives_only_a_letter_that_it_has(question: str, given: bool) -> None:
    (found,) = findings("It is a category B pathogen.", "It is a category C pathogen.", question=question)
    assert found.found_in == ((QUESTION,) if given else ())


@pytest.mark.contract("R5-8")
def test_a_half_that_replaces_another_quantity_is_told_by_its_word() -> None:
    source = "The committee set the bonus to zero for the chair and halved it for the treasurer, who had 110 % before."
    assert unsupported("It cut the bonus to zero for the chair and by half for the treasurer.", source) == []
    source = "He mixed all of the milk with the flour of the day. Then he baked half a loaf."
    assert unsupported("He mixed half of the milk with the flour of the day.", source) == ["half"]
    source = "1 lb of rice. Heat 2 teaspoons of sesame oil and 1/2 tablespoon of vegetable oil in the skillet."
    assert unsupported("Heat sesame oil and 1 tablespoon of vegetable oil in the skillet.", source) == ["1"]
