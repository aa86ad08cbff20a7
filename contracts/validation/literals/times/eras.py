"""Decades and centuries as literals. A year supports the decade and the century that it lies in (R5-8)."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from sourcebound.contracts.validation.literals.literal import CENTURY, Literal

DECADE: Final = re.compile(r"(?<![\w.,'])(?P<year>1\d\d0|20\d0)(?:\s?')?s\b|(?<![\w.,])'?(?P<short>[2-9]0)'?s\b")
DECADE_END: Final = re.compile(r"0(?:\s?')?s\b")
"""A text without this has no decade."""
CENTURY_WORDS: Final = {
    name: number
    for number, name in enumerate(
        "sixteenth seventeenth eighteenth nineteenth twentieth twenty-first".split(), start=16
    )
}
ERA_WORDS: Final = frozenset({"century", "centuries"})
CENTURIES: Final = re.compile(
    rf"\b(?:(?P<digits>\d{{1,2}})(?:st|nd|rd|th)|(?P<word>{'|'.join(CENTURY_WORDS)}))[\s-]centur(?:y|ies)\b",
    re.IGNORECASE,
)
YEAR: Final = re.compile(r"n(1\d{3}|20\d{2})")
DATE_YEAR: Final = re.compile(r"d(1\d{3}|20\d{2})-")

Form = tuple[str, str | None]


def read_eras(text: str) -> list[Literal]:
    """Read every decade (`1990s`, `'90s`) and century (`19th century`).

    A decade with two zeros may mean its century. A century in a source also counts as an ordinal, because of "the 19th
    and 20th centuries".
    """
    literals = []
    for match in DECADE.finditer(text) if DECADE_END.search(text) else ():
        forms = {f"e{match['year']}" if match["year"] else f"x{match['short']}"}
        if match["year"] and match["year"].endswith("00"):
            forms.add(f"c{int(match['year']) // 100 + 1}")
        literals.append(Literal("date", match[0], match.start(), frozenset(forms)))
    for match in CENTURIES.finditer(text) if "centur" in text.casefold() else ():
        number = int(match["digits"]) if match["digits"] else CENTURY_WORDS[match["word"].casefold()]
        forms = {f"c{number}", f"o{number}"}
        literals.append(Literal("date", match[0], match.start(), frozenset(forms), CENTURY))
    return sorted(literals, key=lambda literal: literal.start)


def era_forms(literals: Iterable[Literal]) -> Iterator[Form]:
    """Yield the decade and the century of every year of a source, and the century of its decades."""
    for literal in literals:
        if literal.kind == "number" and literal.unit is not None:
            continue
        for form in literal.forms:
            if year := (YEAR.fullmatch(form) or DATE_YEAR.match(form)):
                yield from _forms_of(int(year[1]))
            elif form[0] == "e" and literal.kind == "date":
                yield from _forms_of(int(form[1:]))


def _forms_of(year: int) -> tuple[Form, ...]:
    decade = year // 10 * 10
    return (f"e{decade}", None), (f"x{decade % 100}", None), (f"c{year // 100 + 1}", CENTURY)
