"""R5-17: a new name in the place of another one is not supported."""

import pytest

from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.validation.binding.names import replaces_name
from sourcebound.contracts.validation.firewall import validate

POLICY = load_shipped_policy("SOURCEBOUND_V2")
FIELDS = "The order was to seize the oilfields in Saudi Arabia and Kuwait, and possibly Abu Dhabi. Troops were ready."
FALL = "The country fell to a strict government under the Ayatollah Ruhollah Khomeini in the wake of a war."


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("statement", "chunk", "replaces"),
    [
        ("It names oilfields in Saudi Arabia and Iraq, and possibly Abu Dhabi.", FIELDS, True),
        ("It names oilfields in Saudi Arabia and Kuwait, and possibly Abu Dhabi.", FIELDS, False),
        ("It fell to a government under the Ayatollah Ali Khamenei in the wake of a war.", FALL, True),
        ("It fell to a government under the Ayatollah Khomeini in the wake of a war.", FALL, False),
        # the end of both sentences
        ("It was drawn by architect Okafor.", "In 1999 it was drawn by architect Verhey.", True),
        ("It was drawn by architect Okafor early.", "In 1999 it was drawn by architect Verhey.", False),
        # another word of the family, and a part of a name
        ("It names oilfields in Saudi Arabia and Kuwaiti, and possibly Abu Dhabi.", FIELDS, False),
        ("It lies in the hills near Lake Geneva in the west.", "It lies in the hills near Geneva in the west.", False),
        # the first word of a sentence is no part of a name
        ("In Iraq, the oil was sold to all.", "In Kuwait, the oil was sold to all.", True),
        # too few words around it, and too few that say something
        ("Some oil of Iraq sold well.", "Much oil of Kuwait sold badly.", False),
        ("He was then in Iraq and was there with her.", "She was then in Kuwait and was there with him.", False),
        ("He was in Iraq, and left.", "She was in Kuwait, and stayed.", False),
        # the source has the name elsewhere, and what it says of it is unknown
        ("It names oilfields in Saudi Arabia and Iraq, and possibly Abu Dhabi.", f"{FIELDS} Iraq was near.", False),
        # every sentence begins with a capital letter
        ("Troops came. Iraq and possibly Abu Dhabi.", "Troops came. Kuwait and possibly Abu Dhabi.", False),
        # an acronym, and in English a rare word, alone or next to a name
        ("Ordeal is a three part ITV drama.", "Ordeal is a three part BBC drama with five actors.", True),
        ("Ordeal is a three part BBC drama.", "Ordeal is a three part BBC drama with five actors.", False),
        ("Ordeal is a three part US drama.", "Ordeal is a three part British drama with five actors.", False),
        ("Ordeal is a three part Scottish drama.", "Ordeal is a three part BBC drama with five actors.", False),
        ("It escapes with the help of streptolysin O.", "It escapes with the help of listeriolysin O.", True),
        ("It escapes with the help of xqzr O.", "It escapes with the help of vqzt O.", False),
        ("It escapes with the help of motor O.", "It escapes with the help of valve O.", False),
        ("Si scioglie con l'aiuto della streptolisina.", "Si scioglie con l'aiuto della listeriolisina.", False),
        ("It names oilfields in arid Saudi Arabia and Iraq, and possibly Abu Dhabi.", FIELDS, True),
        # German writes each noun so
        ("Der Koch kauft das Brot und den Käse im Dorf.", "Der Koch kauft das Brot und den Fisch im Dorf.", False),
    ],
)
def test_a_new_name_in_the_place_of_another_is_found(statement: str, chunk: str, replaces: bool) -> None:
    assert replaces_name(statement, [chunk], []) is replaces


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize("known", ["Was Iraq named?", "Oil of Iraq"])
def test_a_name_of_the_question_or_of_a_title_is_not_new(known: str) -> None:
    statement = "It names oilfields in Saudi Arabia and Iraq, and possibly Abu Dhabi."
    assert not replaces_name(statement, [FIELDS], [known])


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(("name", "reason"), [("Kuwait", None), ("Iraq", "UNSUPPORTED_STATEMENT")])
def test_the_firewall_rejects_it(name: str, reason: str | None) -> None:
    answer = f"The order was to seize the oilfields in Saudi Arabia and {name}, and possibly Abu Dhabi [C0]."
    assert validate(answer, bundle_of_texts([FIELDS], "Which oilfields?"), POLICY).failure_reason == reason
