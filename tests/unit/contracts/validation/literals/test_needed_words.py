"""R5-8: a text without any word that a reader needs is not searched, and nothing is missed for that."""

import pytest

from sourcebound.contracts.validation.literals.amounts.languages import WORDS, read_counted_words
from sourcebound.contracts.validation.literals.amounts.scales import find_scales
from sourcebound.contracts.validation.literals.times.named_times import (
    AMBIGUOUS_MONTHS,
    DAY_NAMES,
    FREQUENCIES,
    MONTHS,
    SHORT,
    named_time_forms,
    read_named_times,
)

SCALES = (
    "hundred hundreds thousand thousands million millions billion billions mio Mio. mrd Mrd. mn bn miles milliers "
    "migliaia tausend tsd Tsd. millones milioni Millionen milliards miliardi Milliarden"
).split()
NOUNS = {"de": "Stunden", "fr": "heures", "es": "horas", "it": "ore"}
DAYS = [name.replace("?", "") for name in " ".join(DAY_NAMES).split()]


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize("scale", [*(f"Sales (in {scale})" for scale in SCALES), "[000]", "[000,000]", "T€", "in kEUR"])
def test_every_scale_is_found(scale: str) -> None:
    assert len(find_scales(scale)) == 1


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize("language", NOUNS)
def test_every_number_word_before_a_time_is_found(language: str) -> None:
    words = [word for word in WORDS[language] if word not in ("un", "uno", "eins")]
    assert [word for word in words if not read_counted_words(f"Nach {word} {NOUNS[language]}.")] == []


@pytest.mark.contract("R5-8")
def test_every_named_time_is_found() -> None:
    named = [day for day in DAYS if day not in SHORT] + sorted(MONTHS - AMBIGUOUS_MONTHS) + list(FREQUENCIES)
    assert [name for name in named if len(read_named_times(f"Closed {name.upper()}.")) != 1] == []
    assert [
        day for day in DAYS if not any(form[0] == "w" for form, _ in named_time_forms(f"12{chr(10)}{day}", []))
    ] == []
    assert dict(named_time_forms("once per week", [])) == {"f": None, "fweek": None}
