"""R5-17: a statement that says in other words the contrary of its chunks is not supported."""

import pytest

from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.support.polarity.turned import turns

POLICY = load_shipped_policy("SOURCEBOUND_V2")
OIL = "The lighter oil of the old pump must not be mixed with the new one."
VALVE = "The operator opens the drain valve by hand before each test."


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("statement", "chunks", "expected"),
    [
        # a denial that the statement lacks
        ("You may mix in the lighter oil of the old pump.", [OIL], True),
        ("The lighter oil of the old pump should never be mixed in.", [OIL], False),
        ("Mixing in the lighter oil is to be avoided.", [OIL], False),
        ("Smoking in the warehouse is allowed.", ["Smoking in the warehouse is forbidden."], True),
        ("Gloves and goggles are worn at the saw.", ["Wear goggles at the saw, but no gloves."], True),
        (
            "Mix in the lighter oil of the old pump.",
            [f"{OIL} At first, mix in the lighter oil of the old pump."],
            False,
        ),
        # a denial that only the statement has
        ("The drain valve is never opened by hand.", [VALVE], True),
        ("No, the operator opens the drain valve.", [VALVE], False),
        ("Do not open the drain valve.", [f"{VALVE} The drain valve is not opened during a test."], False),
        ("The valve is not painted blue.", [VALVE], False),
        # limits, conditions and descriptions deny nothing
        ("The tank pressure may reach 5 bar.", ["The tank pressure must not be more than 5 bar."], False),
        (
            "The third seal is fitted once the cause is known.",
            ["No third seal is fitted until its cause is known."],
            False,
        ),
        (
            "The server runs as root if it has an account.",
            ["Without an account the server does not run as root."],
            False,
        ),
        ("Snapshots of folders that are not shared are kept.", ["Snapshots of shared folders are kept."], False),
        ("The index is not stored.", ["Store the index: false"], False),
        ("The pump is not only quiet.", ["The pump is quiet."], False),
        ("The net ratio is at most 3.5.", ["The net ratio is not above 3.5."], False),
        ("The injured guard left.", ["She did not name the suspect, nor the injured guard."], False),
        ("There is a guard at the gate.", ["No guard at the gate was injured."], False),
        ("The lamp is less bright.", ["The lamp is not as bright as the old lamp."], False),
        ("One pump runs on Sunday.", ["No one runs the pump on Sunday."], False),
        # other languages
        ("Les sacs sont autorisés dans la salle.", ["Les sacs ne sont pas autorisés dans la salle."], True),
        ("En la parcela se puede encender fuego.", ["Está prohibido encender fuego en la parcela."], True),
        ("Der Beutel wird im Lesesaal benutzt.", ["Im Lesesaal wird der Beutel nicht benutzt."], True),
        ("Il tubo va collegato al camino.", ["Il tubo non va mai collegato al camino."], True),
        (
            "Les boulons de la pompe sont serrés selon le plan.",
            ["Les boulons de la pompe sont serrés à 195 N·m selon le plan."],
            False,
        ),
        ("La réunion du comité a lieu le 4 mai.", ["La réunion du comité a lieu en mai."], False),
    ],
)
def test_the_contrary_in_other_words_is_found(statement: str, chunks: list[str], expected: bool) -> None:
    assert turns(statement, chunks) is expected


@pytest.mark.contract("R5-17")
def test_the_firewall_rejects_it() -> None:
    verdicts = [
        validate(f"You {modal} mix in the lighter oil of the old pump [C0].", bundle_of_texts([OIL], ""), POLICY)
        for modal in ("must not", "may")
    ]
    assert [verdict.failure_reason for verdict in verdicts] == [None, "UNSUPPORTED_STATEMENT"]
    assert verdicts[1].support is not None
    assert verdicts[1].support.lowest == 0


def test_a_sentence_that_is_quoted_whole_is_not_compared() -> None:
    chunk = "The lamp is lit. The lamp is not lit at night."
    verdict = validate("The lamp is not lit at night. [C0]", bundle_of_texts([chunk], ""), POLICY)
    assert verdict.support is not None
    assert verdict.support.lowest == 1000
