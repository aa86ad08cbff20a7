"""R5-17: a statement that denies what its chunks say is not supported."""

import pytest

from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.support.polarity.denied import denies

POLICY = load_shipped_policy("SOURCEBOUND_V2")
VALVE = "The operator opens the drain valve by hand before each test."


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("statement", "chunk"),
    [
        ("The operator does not open the drain valve by hand.", VALVE),
        ("The drain valve is never opened by hand.", VALVE),
        ("No, the operator does not open the drain valve.", VALVE),
        ("The operator closes the inlet and does not open the drain valve.", VALVE),
        ("The drain valve is not opened by hand.", "The drain valve is\nopened by hand. It is blue."),
        ("Im Lesesaal wird der Beutel nicht benutzt.", "Der Beutel wird im Lesesaal benutzt."),
        ("Les sacs ne sont pas autorisés dans la salle.", "Les sacs sont autorisés dans la salle."),
        ("El examen se aprueba sin una nota mínima.", "El examen se aprueba con una nota mínima."),
        # one word after another clause
        ("The drain valve is opened, but not by hand.", VALVE),
        # a duty that is taken away
        ("Edit the note; you do not need to tap Save at the end.", "Edit the note. At the end, tap Save."),
        ("You do not have to hold the contact, just tap Remove.", "Hold the contact, and then tap Remove."),
    ],
)
def test_a_denial_of_what_a_chunk_says_is_found(statement: str, chunk: str) -> None:
    assert denies(statement, [chunk])
    assert not denies(chunk, [chunk])


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("statement", "chunk"),
    [
        # the chunk denies it somewhere, in a word or in a mark
        ("The drain valve is not opened.", f"{VALVE} On Sundays the drain valve is not opened."),
        ("The drain valve is not opened.", f"{VALVE} Nobody opens the drain valve on Sundays."),
        ("The drain valve is not opened.", "The drain valve is\nopened by the guard and\nnever in winter."),
        ("Pets are not allowed in the hall.", "Are pets allowed in the hall? No."),
        ("Basic has no offline mode.", "Feature: offline mode; Basic: ✗; Pro: ✓"),
        ("Basic has no offline mode.", "| Feature | Basic | Pro |\n|---|---|---|\n| offline mode | - | yes |"),
        (
            "Breakfast is not included in the price.",
            "The price does not include:\n- breakfast\nLunch is included in the price.",
        ),
        # until when
        (
            "Finché il Locatore non riceve la copia, il canone continua.",
            "Il canone continua fino a quando il Locatore riceve la copia.",
        ),
        # one word after a clause of another sentence, and after a denial
        ("The lamp is lit, but not by hand.", VALVE),
        ("The drain valve is not opened, but closed.", "The drain valve is closed."),
        # a duty that is not denied is a word like others
        ("The operator does not open the required drain valve.", VALVE),
        # the chunk says what is no duty
        ("You do not need to tap Save.", "Tap Edit and make changes. There is no need to tap Save."),
        ("You do not need a permit to tap Save.", "Tap Edit and make changes. Tap Save."),
        # a limit of what is said
        ("It does not just open the drain valve.", "It opens the drain valve."),
        ("The large drain valve is not opened.", "Only the small drain valve is opened."),
        ("The drain valve is not opened.", "If the lamp is lit, the drain valve is opened."),
        ("Items cannot be returned after the deadline.", "Items can be returned by the deadline."),
        ("No other operator opens the drain valve.", VALVE),
        # what is denied is not said
        ("The operator does not open the inlet valve.", VALVE),
        ("The lamp is not opened.", VALVE),
        ("The old pump behind the boiler house of the south tower is not opened.", "The pump is opened on Mondays."),
        # it is no denial
        (
            "To learn whether it was counted, and if not why, contact the elections office.",
            "Contact the elections office.",
        ),
        ("It is not blue.", "The lamp is blue."),
        ("The drain valve is not opened except by hand.", VALVE),
        ("The valve that is not opened by hand drips.", "The valve is opened by hand."),
        ("The operator opens the drain valve by hand.", VALVE),
    ],
)
def test_other_denials_are_not_compared(statement: str, chunk: str) -> None:
    assert not denies(statement, [chunk])


@pytest.mark.contract("R5-17")
def test_a_denial_in_another_cited_chunk_counts() -> None:
    statement = "The drain valve is not opened by hand."
    assert denies(statement, [VALVE, "The lamp is blue."])
    assert not denies(statement, [VALVE, "In winter the drain valve is not opened."])


@pytest.mark.contract("R5-17")
def test_the_firewall_rejects_it() -> None:
    bundle = bundle_of_texts([VALVE], "")
    assert validate("The operator opens the drain valve by hand [C0].", bundle, POLICY).failure_reason is None
    verdict = validate("The operator does not open the drain valve by hand [C0].", bundle, POLICY)
    assert verdict.failure_reason == "UNSUPPORTED_STATEMENT"
    assert verdict.support is not None
    assert verdict.support.lowest == 0
