"""R5-17: a statement that says of all what its chunks say of some is not supported."""

import pytest

from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.support.polarity.universals import widens

POLICY = load_shipped_policy("SOURCEBOUND_V2")
NEWBORNS = "About 50% of newborns that were delivered while the mother was infected contracted the disease."
PROXY = "The socks extra brings in support for SOCKS proxies, so that the client can be used behind one of them."


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("statement", "chunk"),
    [
        ("All newborns of infected mothers contracted the disease.", NEWBORNS),
        ("Newborns of infected mothers always contracted the disease.", NEWBORNS),
        ("Newborns in the entire country contracted the disease.", NEWBORNS),
        ("The disease was contracted throughout the country by newborns.", NEWBORNS),
        ("The socks extra brings in support for every proxy.", PROXY),
        ("The socks extra is for proxies of any kind.", PROXY),
        ("In all cases the client can be used behind a proxy.", PROXY),
        ("The client can be used behind a proxy without exception.", PROXY),
        ("All pumps are tested in the spring.", "In the spring the service tests fourteen pumps of the works."),
        ("All visitors have to sign.", "The visitor must sign, and a nurse of the ward waits for him."),
        # the plural has a word or a number before it that does not mean all
        ("All pumps are tested in the spring.", "Some pumps are tested in the spring by the service."),
        ("All pumps are tested in the spring.", "In the spring the service tests 12 pumps of the works."),
    ],
)
def test_a_word_for_all_is_found(statement: str, chunk: str) -> None:
    assert widens(statement, [chunk], "What is said of it?")


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("statement", "chunk"),
    [
        # the chunk says so of all, in any word
        ("All newborns contracted it.", "Each of the newborns in the ward contracted the disease."),
        ("It is always open to the public.", "It is never closed to the public in the summer."),
        # a plural without more is said of all of its kind
        ("Every migration has to be tested.", "Migrations must be tested against the previous release."),
        ("All visitors have to sign.", "A visitor must sign the register before he enters the works."),
        ("Every visitor has to sign.", "An external visitor must sign the register before he enters."),
        # words that count, order or say how often
        ("E. coli was absent in all three samples.", "E. coli was absent in the samples of the morning."),
        ("E. coli was absent in all fourteen samples.", "E. coli was absent in the samples of the morning."),
        ("It looks above all at the costs.", "It looks at the costs of the war in the first place."),
        ("Not all newborns contracted it.", NEWBORNS),
        ("It is emptied every 3 weeks.", "It is emptied after 3 weeks by the service of the works."),
        ("| Reading logged every | 5 minutes |", "A reading is logged after 5 minutes, and then it is sent."),
        ("These are all examples of a disease.", NEWBORNS),
        ("It is the worst disease of all, for newborns.", NEWBORNS),
        ("It is an all-terrain vehicle for the works.", "It is a vehicle for rough terrain and for the works."),
        # no English
        ("All alarms of the pump are red.", "Die Alarme der Pumpe sind rot, und die der Anlage sind gelb."),
        ("Alle Alarme sind immer rot.", "The alarms of the pump are red, and those of the plant are yellow."),
    ],
)
def test_no_word_for_all_is_found(statement: str, chunk: str) -> None:
    assert not widens(statement, [chunk], "What is said of it?")


@pytest.mark.contract("R5-17")
def test_another_cited_chunk_or_the_question_may_have_one() -> None:
    statement = "All newborns contracted the disease."
    assert not widens(statement, [NEWBORNS, "It was found in all the wards."], "")
    assert not widens(statement, [NEWBORNS], "Did all newborns contract it?")


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(("subject", "reason"), [("All", "UNSUPPORTED_STATEMENT"), ("About 50% of", None)])
def test_the_firewall_rejects_it(subject: str, reason: str | None) -> None:
    answer = f"{subject} newborns that were delivered while the mother was infected contracted the disease [C0]."
    assert validate(answer, bundle_of_texts([NEWBORNS], "Is it passed on?"), POLICY).failure_reason == reason
