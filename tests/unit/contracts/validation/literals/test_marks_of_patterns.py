"""R5-8: a slow pattern is tried only on texts with a mark of what it matches, and each of its matches has that mark."""

import pytest

from sourcebound.contracts.validation.literals.reading import read_literals

FORMS = {
    "in the '90s": "x90",
    "the Eighteenth and 19th CENTURIES": "c19",
    "closed at 8 Uhr": "t8:00",
    "chiude alle 8.05": "t8:05",
    "at negative 5 bar": "n-5",
    "at Minus 5 bar": "n-5",
    "a 3 / 4 inch hose": "n0.75",
    "about 1½ days": "n1.5",
    "10⁶ cells": "n1000000",
    "issued 2024-03": "m3",
    "at (–6 °C)": "n-6",
    "at 60°-75°F": "n75",
    "at 75 º": "n75",
    "Mayıs: 5 mai 2024": "d2024-5-5",
}


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(("text", "form"), FORMS.items())
def test_a_text_with_the_mark_is_read(text: str, form: str) -> None:
    assert form in read_literals(text).forms


@pytest.mark.contract("R5-8")
def test_a_decade_may_stand_apart_from_its_ending() -> None:
    assert [(each.kind, each.text) for each in read_literals("in the 1990 's").literals] == [("date", "1990 's")]


@pytest.mark.contract("R5-8")
def test_the_dash_of_a_range_is_no_sign() -> None:
    index = read_literals("from 4 –6 mA")
    assert {form for each in index.literals for form in each.forms} == {"n4", "n6"}
    assert index.forms.keys() == {"n4", "n6", "n0.004", "n0.006"}
