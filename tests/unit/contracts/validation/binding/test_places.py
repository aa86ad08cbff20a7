"""R5-17: the words that a value is said of, and the limits within which they are read."""

import pytest

from sourcebound.contracts.validation.binding import check, places
from sourcebound.contracts.validation.binding.check import misplaces
from sourcebound.contracts.validation.binding.places import Place, Places
from sourcebound.contracts.validation.literals.reading import read_literals

POOLS = "The large pool has 27 °C and the small pool 31 °C."
FALSE = "The large pool has 31 °C."


def places_of(text: str) -> dict[str, Place]:
    return {place.literal.text: place for place in Places(read_literals(text)).places}


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("The dose was 5 mg with placebo and 7 mg with aspirin.", {"5 mg": {"placebo"}, "7 mg": {"aspirin"}}),
        ("Placebo had 5 mg and aspirin 7 mg.", {"5 mg": {"placebo"}, "7 mg": {"aspirin"}}),
        ("Aspirin rose from 5 mg to 7 mg.", {"5 mg": {"aspirin", "ros"}, "7 mg": {"aspirin", "ros"}}),
        ("Aspirin: 5 mg (placebo: 7 mg).", {"5 mg": {"aspirin"}, "7 mg": {"placebo"}}),
        ("| Drug | Dose |\n|---|---|\n| Aspirin | 5 mg |", {"5 mg": {"aspirin", "drug", "dos"}}),
        ("Drug: Aspirin; Dose: 5 mg\nDrug: Placebo; Dose: 7 mg", {"7 mg": {"placebo", "drug", "dos"}}),
    ],
)
def test_the_words_between_two_values_belong_to_one_of_them(text: str, own: dict[str, set[str]]) -> None:
    found = places_of(text)
    assert {value: set(found[value].own) for value in own} == own


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("line", "is_heading"),
    [
        ("## Aspirin", True),
        ("Aspirin", True),
        ("Aspirin is given.", False),
        (f"Aspirin {'and others ' * 5}", False),
    ],
)
def test_a_heading_is_around_the_values_below_it(line: str, is_heading: bool) -> None:
    assert ("aspirin" in places_of(f"{line}\n\nThe dose is 5 mg.")["5 mg"].scope.around) == is_heading


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("module", "name", "limit"),
    [(places, "MAX_VALUES", 1), (places, "MAX_PLACES", 0), (check, "MAX_SAID", 0), (check, "MAX_OWN", 0)],
)
def test_beyond_a_limit_nothing_is_rejected(
    module: object, name: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert misplaces(read_literals(FALSE, is_source=False), [read_literals(POOLS)])
    monkeypatch.setattr(module, name, limit)
    assert not misplaces(read_literals(FALSE, is_source=False), [read_literals(POOLS)])
