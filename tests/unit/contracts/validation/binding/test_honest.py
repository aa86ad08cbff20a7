"""R5-17: honest statements that name another thing than the one that has the value, and the limits that they need."""

import json
from collections.abc import Iterator

import pytest

from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.validation import support_check
from sourcebound.contracts.validation.binding import check, scopes
from sourcebound.contracts.validation.binding.check import misplaces
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.literals.reading import read_literals
from support.places import ROOT

POLICY = load_shipped_policy("SOURCEBOUND_V2")
YEARS = "| Figure | 2024 | 2023 |\n|---|---|---|\n| {} | 512 | 487 |"
DAYS = "| {} | {} | {} |\n|---|---|---|\n| {} | 9:00 | 17:00 |\n| {} | 10:00 | 14:00 |"
COSTS = "| Item | {} | {} |\n|---|---|---|\n| {} | 120 € | 131 € |"
PRICES = "| {} | {} |\n|---|---|\n| {} | 8 € |\n| {} | 14 € |"
DATES = "| Process | Start | End |\n|---|---|---|\n| Registration | 1 March 2025 | 15 April 2025 |"
MEMBERS = PRICES.format("Visitor", "Price", "Members", "Guests")
TARIFF = "| Tarif | Preis |\n|---|---|\n| Erwachsene | 12 € |\n| Kinder bis 14 | 5 € |\n| Familienkarte | 25 € |"
AGAINST = (
    "| Metric | 2023 | 2022 |\n|---|---|---|\n| Net sales | 1,284.6 | 1,190.2 |\n| Operating income | 143.1 | 151.7 |"
)
SALES = "Net sales were $ 52.4 million in 2024. Net sales were $ 48.1 million in 2023."
PASSES = (
    "A first-time visitor gets a day pass for 12 € at the gate. "
    "A returning member with a card of the club, a student or a pensioner gets a day pass for 8 € at the gate."
)
STARTS = "No more than four starts per hour are permitted for the HP-200."
TIMES = "The HP-200 may be started 4 times an hour. The HP-300 may be started 2 times an hour."


def is_misplaced(statement: str, chunks: list[str]) -> bool:
    return misplaces(read_literals(statement, is_source=False), [read_literals(chunk) for chunk in chunks])


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("statement", "chunk"),
    [
        # both values, and only the new year
        ("The number of employees grew during 2024 from 487 to 512.", YEARS.format("Employees")),
        ("Die Zahl der Mitarbeiter wuchs 2024 von 487 auf 512.", YEARS.format("Mitarbeiter")),
        ("L'effectif est passé en 2024 de 487 à 512 personnes.", YEARS.format("Effectif")),
        ("En 2024 la plantilla subió de 487 a 512.", YEARS.format("Plantilla")),
        ("Nel 2024 i dipendenti sono saliti da 487 a 512.", YEARS.format("Dipendenti")),
        ("In 2024 net sales grew from $ 48.1 million to $ 52.4 million.", SALES),
        # a word after a value that compares it
        (
            "Net sales increased to 1,284.6; operating income was 143.1 against 151.7 in the prior year.",
            AGAINST,
        ),
        # the head of a column is a common word
        (
            "On Monday the shop is open until 17:00.",
            DAYS.format("Day", "Opens", "Closes", "Monday", "Saturday"),
        ),
        (
            "Am Montag ist der Laden, der früh öffnet, bis 17:00 zu erreichen.",
            DAYS.format("Tag", "Öffnet", "Schließt", "Montag", "Samstag"),
        ),
        (
            "Le samedi, le magasin ouvre jusqu'à 14:00.",
            DAYS.format("Jour", "Ouvre", "Ferme", "Lundi", "Samedi"),
        ),
        ("El lunes la tienda abre hasta las 17:00.", DAYS.format("Día", "Abre", "Cierra", "Lunes", "Sábado")),
        ("Il lunedì il negozio apre fino alle 17:00.", DAYS.format("Giorno", "Apre", "Chiude", "Lunedì", "Sabato")),
        ("Staff went over budget at 131 €.", COSTS.format("Budget", "Actual", "Staff")),
        ("El presupuesto de personal se superó: se gastaron 131 €.", COSTS.format("Presupuesto", "Real", "Personal")),
        ("The lamp is for sale at 131 €, usually.", COSTS.format("Sale", "Regular", "Lamp")),
        ("You can start your registration up to 15 April 2025.", DATES),
        # the statement denies what it names
        ("Anyone who isn't a member pays 14 €.", MEMBERS),
        ("Anyone who isn’t a member pays 14 €.", MEMBERS),
        ("Who cannot show that they are members pays 14 €.", MEMBERS),
        ("Unless they are members, people pay 14 €.", MEMBERS),
        ("Wer kein Mitglied ist, zahlt 14 €.", PRICES.format("Besucher", "Preis", "Mitglied", "Gäste")),
        ("Der Preis ohne Mitglied in der Gruppe ist 14 €.", PRICES.format("Besucher", "Preis", "Mitglied", "Gäste")),
        ("Ceux qui ne sont pas membres paient 14 €.", PRICES.format("Visiteur", "Prix", "Membres", "Invités")),
        ("Sans carte de membres, on paie 14 €.", PRICES.format("Visiteur", "Prix", "Membres", "Invités")),
        ("Los que no son miembros pagan 14 €.", PRICES.format("Visitante", "Precio", "Miembros", "Invitados")),
        ("Quienes entran sin miembros pagan 14 €.", PRICES.format("Visitante", "Precio", "Miembros", "Invitados")),
        ("Chi non è fra i membri paga 14 €.", PRICES.format("Visitatore", "Prezzo", "Membri", "Ospiti")),
        ("Chi entra senza membri paga 14 €.", PRICES.format("Visitatore", "Prezzo", "Membri", "Ospiti")),
    ],
)
def test_an_honest_statement_is_not_rejected(statement: str, chunk: str) -> None:
    assert not is_misplaced(statement, [chunk])


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("name", "value", "statement", "chunks", "expected"),
    [
        (
            "MIN_PART",
            0,
            "A newcomer gets a day pass for 12 € at the gate, even a student or a pensioner.",
            [PASSES],
            False,
        ),
        (
            "MIN_NAMES",
            1,
            "The pump raises the inlet pressure to 9 bar.",
            ["The inlet pressure of the pump is 3 bar. The outlet pressure of the pump is 9 bar."],
            False,
        ),
        (
            "MIN_SHARED",
            0,
            "Before the garden terrace opens, the morning meal ends at 10:30.",
            ["Breakfast is served until 10:30. The garden terrace opens at 11:00."],
            False,
        ),
        (
            "MIN_DIGITS",
            1,
            "Services has 12 million customers.",
            ["| Segment | Customers |\n|---|---|\n| Labels | 12 |\n| Services | 45 |"],
            False,
        ),
        (
            "FAMILY",
            99,
            "Für zwei Erwachsene mit Kindern gibt es die Karte für die Familie zu 25 €.",
            [TARIFF],
            False,
        ),
        (
            "TIMES",
            frozenset(),
            "The HP-300 may be started four times an hour at most.",
            [STARTS, STARTS.replace("four", "three").replace("200", "300")],
            True,
        ),
        ("COUNT", "any", "Of the two pumps, the HP-200 may be started more often in an hour.", [TIMES], False),
        ("CONTRASTS", frozenset(), "Anyone who isn't a member pays 14 €.", [MEMBERS], False),
        ("CONTRAST_STEMS", frozenset(), "In comparison with members, others pay 14 €.", [MEMBERS], False),
    ],
)
def test_each_limit_decides_a_case(
    name: str, value: object, statement: str, chunks: list[str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_misplaced(statement, chunks) is expected
    monkeypatch.setattr(check, name, value)
    assert is_misplaced(statement, chunks) is not expected


@pytest.mark.contract("R5-17")
def test_a_word_with_the_stem_of_a_denial_denies_nothing() -> None:
    assert is_misplaced(
        "Guests get the pass for 8 €.", [PRICES.format("Visitor", "Price of the pass", "Members", "Guests")]
    )


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(("towns", "expected"), [(1, True), (check.MAX_OWN, True), (check.MAX_OWN + 1, False)])
def test_a_value_at_many_places_is_given_up_by_places_and_not_by_readings(towns: int, expected: bool) -> None:
    rows = "".join(f"| Town{chr(65 + number)} | 8:15 |\n" for number in range(towns))
    chunk = f"| Shop | Opens |\n|---|---|\n{rows}| Village | 9:30 |"
    assert is_misplaced("The shop in the Village opens at 8:15.", [chunk]) is expected


def sentences() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "tests" / "assets" / "honest").rglob("evidence.jsonl")):
        for row in path.read_text(encoding="utf-8").splitlines():
            for chunk in json.loads(row)["evidence"]:
                for line in chunk.split("\n"):
                    yield from ((sentence, chunk) for sentence in scopes.SENTENCE_END.split(line))


@pytest.mark.contract("R5-17")
def test_a_number_names_nothing_in_a_row_without_its_head() -> None:
    people = ["line manager", "Head of IT", "director"]
    times = ["2 working days", "4 hours", "1 hour"]
    numbered = [f"| {number} | {who} | {time} |" for number, who, time in zip("123", people, times, strict=True)]
    named = [f"| {who} | {time} |" for who, time in zip(people, times, strict=True)]
    chunk = "\n".join(["| Level | Informed | Within |", "|---|---|---|", *numbered])
    assert not any(is_misplaced(row, [chunk]) for row in numbered)
    chunk = "\n".join(["| Informed | Within |", "|---|---|", *named])
    assert not any(is_misplaced(row, [chunk]) for row in named)
    assert is_misplaced("| Head of IT | 1 hour |", [chunk])


@pytest.mark.contract("R5-17")
def test_a_date_ends_no_sentence() -> None:
    assert scopes.SENTENCE_END.split("Vom 5. Juni an. Danach 7. Ruhe.") == ["Vom 5. Juni an.", "Danach 7.", "Ruhe."]


@pytest.mark.contract("R5-17")
def test_no_sentence_of_a_chunk_is_about_another_thing_than_the_chunk_says() -> None:
    cases = list(sentences())[::3]
    assert len(cases) > 2_000
    assert [sentence for sentence, chunk in cases if is_misplaced(sentence, [chunk])] == []


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("The visitors' terrace is open to members until 22:00 [C0].", None),
        ("Until 22:00 the visitors' terrace is open to members [C0].", "UNSUPPORTED_STATEMENT"),
        ("| Segment | 2023 | 2024 |\n|---|---|---|\n| Labels | 402.7 | 377.9 | [C1]", "UNSUPPORTED_STATEMENT"),
    ],
)
def test_a_whole_sentence_that_is_quoted_is_not_compared(
    answer: str, reason: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [
        "The visitors' terrace is open to members until 22:00.",
        "| Segment | 2024 | 2023 |\n|---|---|---|\n| Labels | 402.7 | 377.9 |",
    ]
    monkeypatch.setattr(support_check, "misplaces", lambda statement, chunks: True)
    assert validate(answer, bundle_of_texts(texts, ""), POLICY).failure_reason == reason
