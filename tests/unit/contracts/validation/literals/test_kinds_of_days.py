"""R5-8: working days are no calendar days."""

import pytest

from sourcebound.contracts.validation.literals.check import check_literals, read_evidence


def unsupported(statement: str, *chunks: str) -> list[str]:
    cited = tuple(read_evidence(f"C{number}", text) for number, text in enumerate(chunks))
    return [each.text for each in check_literals(statement, 0, cited) if not each.supported]


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("statement", "chunk", "wrong"),
    [
        ("Pay within 15 business days.", "Pay within 15 calendar days.", "15 business days"),
        ("Pay within fifteen working days.", "Pay within fifteen (15) calendar days.", "fifteen working days"),
        ("Pay within 15 calendar days.", "Pay within 15 full working days.", "15 calendar days"),
        ("It is a 5-business-day period.", "It is a period of 5 calendar days.", "5-business-day"),
        # a source that knows no kinds of days
        ("Pay within 15 working days.", "Pay within 15 days.", "15 working days"),
        # another number of days is of that kind
        ("Pay within 15 working days.", "Pay within 15 calendar days and 3 working days.", "15 working days"),
        ("Pague en quince días hábiles.", "Se pagan en quince días naturales.", "quince días hábiles"),
        (
            "Zahlen Sie binnen zehn Werktagen.",
            "Die Rechnung ist binnen zehn Kalendertagen zu zahlen.",
            "zehn Werktagen",
        ),
        ("Payez sous 30 jours ouvrables.", "Payez sous 30 jours calendaires.", "30 jours ouvrables"),
        (
            "Si paga entro dieci giorni lavorativi.",
            "Pagare entro dieci giorni di calendario.",
            "dieci giorni lavorativi",
        ),
        ("Pay within ten working days.", "Pague en diez días naturales.", "ten working days"),
    ],
)
def test_the_other_kind_of_days_is_not_supported(statement: str, chunk: str, wrong: str) -> None:
    assert wrong in unsupported(statement, chunk)
    assert unsupported(chunk, chunk) == []


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("statement", "chunk"),
    [
        ("Pay within 15 business days.", "Pay within 15 working days."),
        ("Pay within 15 working days.", "Pay within 15 working days or 15 calendar days."),
        ("Pay within 15 days.", "Pay within 15 working days."),
        ("Pay within ten working days.", "Pague en diez días hábiles."),
        # the kind may be said elsewhere
        ("Pay within 15 working days.", "All times are in working days, from Monday to Friday. Pay within 15 days."),
        ("Pay within 15 working days.", "Rule 15 says when to pay."),
        # no number of days
        ("It has 15 natural sources.", "It has 15 sources, and it lasts 15 days."),
        ("Call on 2 May, or on the next working day.", "Call on 2 May, or the next calendar day."),
        ("The natural day of 24 hours counts.", "24 hours count."),
    ],
)
def test_the_same_kind_of_days_is_supported(statement: str, chunk: str) -> None:
    assert unsupported(statement, chunk) == []


@pytest.mark.contract("R5-8")
def test_one_chunk_that_has_it_is_enough() -> None:
    chunks = "Pay within 15 calendar days.", "Answer within 15 working days."
    assert unsupported("Answer within 15 working days.", *chunks) == []
