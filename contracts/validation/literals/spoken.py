"""Numbers that one text writes in words or marks and another in digits: `twice`, `two thirds`, `Phase III` (R5-8).

A source supports more forms than it writes. A bare number of the statement finds them, a number with a unit does not,
unless the source gives the unit too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Final

from sourcebound.contracts.validation.literals.amounts.fractions import parts_of_a_source, read_fraction_words
from sourcebound.contracts.validation.literals.amounts.kelvins import kelvin_form
from sourcebound.contracts.validation.literals.amounts.number_words import NUMBER_WORDS
from sourcebound.contracts.validation.literals.amounts.units import ALL_UNITS, UNITS
from sourcebound.contracts.validation.literals.literal import PART, Literal, lower_case
from sourcebound.contracts.validation.literals.times.spoken_times import minutes_in_words, pointed_times

Form = tuple[str, str | None]

FOLDS: Final = "two three four five six seven eight nine ten".split()
TIMES_WORDS: Final = {"twice": 2, "double": 2, "doubles": 2, "doubled": 2, "thrice": 3, "triple": 3, "tripled": 3} | {
    f"{word}fold": value for value, word in enumerate(FOLDS, start=2)
}
TIMES: Final = re.compile(r"[\s-]?(?:(?:times|fold|mal|fois|veces|volte|keer|vezes)\b|x\b(?!\s?\d))")
"""What follows a number of times; applies to text in lower case."""
DOZEN: Final = re.compile(r"\b(?P<half>half[\s-]{1,3})?(?P<one>(?:a|the|one|per|1)[\s-]{1,3})?dozen\b", re.IGNORECASE)
"""`a dozen` and `half a dozen`. In `two dozen` and `some dozen` it counts neither."""
AGE: Final = re.compile(
    r"\b(?:age\sof|aged?|alter|âge|edad|età|(?:when|since|until)\s(?:[^\W\d_]+\s){1,3}(?:was|turned))"
    r"\s?[:=]?\s?(?P<years>\d{1,3})(?![\w%]|[.,]\d)"
    r"(?:\s?(?:-|–|to|bis|à|a)\s?\d{1,3}(?!\d))?[\s(-]{0,3}(?P<unit>[^\W\d_]+)?",
    re.IGNORECASE,
)
"""An age (`aged 6`, `when she was 6`), which is one of years where no other unit follows (`aged 6-18 months`)."""
AGE_IN_WORDS: Final = re.compile(
    rf"\b(?:age of|aged) (?P<years>(?:{'|'.join(NUMBER_WORDS)})(?:-(?:{'|'.join(NUMBER_WORDS)}))?)\b"
)
"""The same in words: `at the age of seven`; applies to text in lower case."""
PREPOSITIONS: Final = frozenset("in a um".split())
"""Words after an age that also spell units."""
AGE_WORDS: Final = frozenset("age aged alter âge edad età when since until".split())
ROMAN: Final = {name: value for value, name in enumerate("I II III IV V VI VII VIII IX X XI XII".split(), start=1)}
NUMBERED: Final = frozenset(
    "class type phase stage grade part chapter category level appendix annex title tier article section volume".split()
)
WITH_ROMAN: Final = re.compile(
    rf"\b(?i:{'|'.join(NUMBERED)})[\s-](?P<roman>{'|'.join(sorted(ROMAN, key=len, reverse=True))})\b"
)
ROMAN_NAMES: Final = {number: name.casefold() for name, number in ROMAN.items()}
WITH_DIGIT: Final = re.compile(rf"\b(?P<noun>{'|'.join(NUMBERED)})s?[\s-](?P<digit>[1-9]|1[0-2])(?![\w%]|[.,:/]\d)")
"""Applies to text in lower case."""
FALL: Final = (
    r"\b(?:falls?|fell|fallen|falling|drop(?:s|ped|ping)?|declin(?:es?|ed|ing)|decreas(?:es?|ed|ing)"
    r"|shr(?:[aiu]nk|inks|inking)|contracted|reduced|slid|slipped|lost)"
)
FALLS: Final = re.compile(
    rf"{FALL}\s(?:(?!(?:not|never|no|and|but|rose|grew|up|increased|gained)\b)[a-z]+\s){{0,2}}by\s"
    r"(?:[$€£]?\d[\d.,]*\s?%?(?:\s\w+){0,3}\sand\sby\s)?$"
    r"|\b(?:fall|drop|decline|decrease|reduction|loss|difference)\sof\s$|\b(?:is|are|was|were)\sdown\s$"
    r"|\b(?:fell|dropped|declined|decreased|shrank)\s$"
    r"|\b(?:Verlust|Fehlbetrag|Minus|Rückgang)\s(?:von|um)\s$|\b(?:perte|baisse|recul|déficit)\s(?:nette\s)?de\s$"
    r"|\b(?:pérdidas?|caída|descenso|déficit)\sde\s$|\b(?:perdita|calo|diminuzione)\s(?:di|del)\s$",
    re.IGNORECASE,
)
"""What turns the sign of a number after it: `shrank by 0.3%` is `-0.3%`."""
DENIED: Final = re.compile(r"(?:\b(?:not|never|no)|n['’]t)\s$", re.IGNORECASE)
OF_CHANGE: Final = frozenset({None, UNITS["%"], UNITS["$"], UNITS["€"], UNITS["£"]})
"""The units of values that a fall may give without their sign: not of temperatures, which are levels too."""
CLAUSE: Final = 80
LEADING_ZEROS: Final = re.compile(r"n0+([1-9]\d?)")
VERSION_NAME: Final = re.compile(r"[vV]?(?P<number>\d{1,6}(?:\.\d{1,6})+)")
"""The name of a version, or a number that may be one. Its digits are compared as they stand: 1.20 is not 1.2."""


def spoken_forms(plain: str, words: Set[str], literals: Iterable[Literal]) -> Iterator[Form]:
    """Yield the forms that a source supports and does not write.

    Args:
        plain: The source.
        words: Its words, case folded.
        literals: Its literals.
    """
    yield from ((f"k{TIMES_WORDS[word]}", None) for word in words & TIMES_WORDS.keys())
    if "dozen" in words:
        dozens = DOZEN.finditer(plain)
        yield from (("n6" if match["half"] else "n12", PART) for match in dozens if match["half"] or match["one"])
    yield from ((form, None) for literal in read_fraction_words(plain) for form in literal.forms)
    yield from ((form, None) for form in parts_of_a_source(plain))
    if not words.isdisjoint(AGE_WORDS):
        ages = (match for match in AGE.finditer(plain) if not _is_in_other_units(match))
        yield from ((f"n{int(match['years'])}", UNITS["year"]) for match in ages)
        for match in AGE_IN_WORDS.finditer(lower_case(plain)):
            yield f"n{sum(NUMBER_WORDS[word] for word in match['years'].split('-'))}", UNITS["year"]
    if not words.isdisjoint(NUMBERED):
        yield from ((f"n{ROMAN[match['roman']]}", PART) for match in WITH_ROMAN.finditer(plain))
        for match in WITH_DIGIT.finditer(lower_case(plain)):
            yield f"l{match['noun'].removesuffix('s')} {ROMAN_NAMES[int(match['digit'])]}", PART
    yield from ((form, UNITS["minute"]) for form in minutes_in_words(plain))
    pointed = pointed_times(plain)
    for literal in literals:
        yield from ((form, None) for form in _pointed_forms(literal, pointed))
        for form in literal.forms:
            if literal.kind == "number" and (zeros := LEADING_ZEROS.fullmatch(form)):
                yield f"n{zeros[1]}", literal.unit or PART
        if literal.kind == "number" and literal.unit is None and TIMES.match(_after(plain, literal)):
            yield from (("k" + form[1:], None) for form in literal.forms if form.startswith("n"))
        yield from ((form, PART) for form in _version_forms(literal))


def with_spoken_forms(literals: Iterable[Literal], plain: str) -> list[Literal]:
    """Let a number of times and the name of a version also be found in their other forms.

    Args:
        literals: The literals of a statement.
        plain: The statement.
    """
    pointed = pointed_times(plain)
    return [
        literal._replace(forms=literal.forms.union(_more_forms(literal, plain), _pointed_forms(literal, pointed)))
        for literal in literals
    ]


def _more_forms(literal: Literal, plain: str) -> set[str]:
    if literal.kind == "number" and literal.unit is None and TIMES.match(_after(plain, literal)):
        return {"k" + form[1:] for form in literal.forms if form.startswith("n")}
    if kelvin := kelvin_form(literal):
        return {kelvin}
    forms = {f"n-{form[1:]}" for form in literal.forms if form[1:2].isdigit()} if _falls(literal, plain) else set()
    return forms | _version_forms(literal)


def _falls(literal: Literal, plain: str) -> bool:
    """Return whether a number says by how much something fell."""
    if literal.kind != "number" or literal.unit not in OF_CHANGE:
        return False
    before = plain[max(0, literal.start - CLAUSE) : literal.start]
    found = FALLS.search(before)
    return found is not None and not DENIED.search(before, 0, found.start())


def _pointed_forms(literal: Literal, pointed: Mapping[int, frozenset[str]]) -> frozenset[str]:
    """Return the forms of a bare number that is also a time of day: `8.05`."""
    is_bare = literal.kind == "number" and literal.unit is None
    return pointed.get(literal.start, frozenset()) if is_bare else frozenset()


def _after(plain: str, literal: Literal) -> str:
    end = literal.start + len(literal.text)
    return plain[end : end + 7].casefold()


def _version_forms(literal: Literal) -> set[str]:
    """Return the form of a version, by which its name and a bare number agree: `v3.2`, `Version 3.2`."""
    may_be_one = literal.kind == "identifier" or (literal.kind == "number" and literal.unit is None)
    version = VERSION_NAME.fullmatch(literal.text.strip()) if may_be_one else None
    return {f"v{version['number']}"} if version else set()


def _is_in_other_units(age: re.Match[str]) -> bool:
    word = (age["unit"] or "").casefold()
    return word not in PREPOSITIONS and ALL_UNITS.get(word, UNITS["year"]) != UNITS["year"]
