"""Values of the question that lie in a range of a source, as 14 kg in `10–19 kg` (R5-8)."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Final, NamedTuple

from sourcebound.contracts.validation.literals.literal import Literal, LiteralIndex
from sourcebound.contracts.validation.literals.times.dates import UP_TO

NUMBER: Final = re.compile(r"n(-?\d{1,9}(?:\.\d{1,4})?)")
BETWEEN: Final = re.compile(r"\s*(?:-|–|to|and(?:\s+up\s+to)?|bis|à|a|al|tot|até)\s*")
"""What is between the ends of a range."""
UNDER: Final = re.compile(r"\b(?:under|below|beneath|lower than|less than|too low|outside|out of)\b", re.IGNORECASE)
OVER: Final = re.compile(
    r"\b(?:over|above|beyond|exceeds?|higher than|more than|too high|outside|out of)\b", re.IGNORECASE
)
MONTH: Final = re.compile(r"m(\d{1,2})")
DATED: Final = re.compile(r"(?:m|d\d*-)(\d{1,2})(?:-|$)")
UNTIL: Final = re.compile(rf"{UP_TO}(?:the\s|el\s|o\s)?")
BOTH_ENDS: Final = re.compile(r"\b(?:between|zwischen|entre|fra|tra|tussen)\s(?:the\s)?$", re.IGNORECASE)
"""What makes `and` the middle of a range: `between 1 May and 30 September`."""
ALSO: Final = re.compile(r"\s(?:and|or|und|et|y|e)\s")
SENTENCE_END: Final = re.compile(r"[.!?;]\s|\n")


class Range(NamedTuple):
    """A range of a text. The unit stands at its last end."""

    first: Literal
    last: Literal
    low: Decimal
    high: Decimal

    def holds(self, value: Decimal, unit: str | None) -> bool:
        """Return whether a value with its unit lies between the ends."""
        return self.last.unit == unit and self.low <= value <= self.high


def lies_in_range(literal: Literal, statement: LiteralIndex, cited: tuple[LiteralIndex, ...]) -> bool:
    """Return whether a value lies in a range that the statement takes from a cited chunk.

    It names the range, also to say that the value lies outside, or another value of the range's row or sentence: `At
    14 kg the dose is 5 ml` of the row `10–19 kg | 5 ml`.

    Args:
        literal: A literal of the statement that no cited chunk holds. A number without a unit lies only in a range that
            the statement names.
        statement: The literals of the statement.
        cited: The literals of the cited chunks.
    """
    value, unit = _value(literal), literal.unit
    if value is None:
        return False
    others = [each for each in statement.literals if each is not literal]
    if named := [each for each in _ranges(others, statement.plain) if each.last.unit == unit]:
        ends = [
            (each.first, each.last) for each in named if each.holds(value, unit) or _is_outside(value, each, statement)
        ]
        return any(all(map(source.supports, each)) for each in ends for source in cited)
    if unit is None:
        return False
    said = frozenset(form for other in others for form in other.forms)
    return any(
        each.holds(value, unit) and not said.isdisjoint(_forms_beside(each, source))
        for source in cited
        for each in _ranges(source.literals, source.plain)
    )


def _is_outside(value: Decimal, found: Range, statement: LiteralIndex) -> bool:
    """Return whether a value lies outside a range and the statement says so: `19.8 % is under the range`."""
    return (value < found.low and bool(UNDER.search(statement.plain))) or (
        value > found.high and bool(OVER.search(statement.plain))
    )


def lies_in_months(literal: Literal, cited: tuple[LiteralIndex, ...]) -> bool:
    """Return whether a month lies between two dates of a cited chunk: January in `from 1 October to 30 April`."""
    month = next((int(match[1]) for form in literal.forms if (match := MONTH.fullmatch(form))), 0)
    return month > 0 and any(_holds_month(source, month) for source in cited)


def _holds_month(source: LiteralIndex, month: int) -> bool:
    for first, last in pairwise(each for each in source.literals if each.kind == "date"):
        between = source.plain[first.start + len(first.text) : last.start]
        months = [int(match[1]) for each in (first, last) for form in each.forms if (match := DATED.match(form))]
        joins = ALSO.match(between) and not BOTH_ENDS.search(source.plain, 0, first.start)
        if len(months) == 2 and UNTIL.fullmatch(between) and not joins:
            start, end = months
            if start <= month <= end or (start > end and not end < month < start):
                return True
    return False


def sentence_bounds(text: str, position: int) -> tuple[int, int]:
    """Return the start and the end of the sentence or line around a position."""
    begin = max((match.end() for match in SENTENCE_END.finditer(text, 0, position)), default=0)
    end = SENTENCE_END.search(text, position)
    return begin, end.start() if end else len(text)


def _forms_beside(found: Range, source: LiteralIndex) -> frozenset[str]:
    """Return the forms of the other literals in the sentence or row of a range."""
    begin, end = sentence_bounds(source.plain, found.first.start)
    beside = (each for each in source.literals if begin <= each.start < end and each not in found[:2])
    return frozenset(form for each in beside for form in each.forms)


def _ranges(literals: Sequence[Literal], plain: str) -> Iterator[Range]:
    """Yield the ranges of a text."""
    for first, last in pairwise(literals):
        one, other = _value(first), _value(last)
        between = plain[first.start + len(first.text) : last.start]
        if one is not None and other is not None and BETWEEN.fullmatch(between):
            yield Range(first, last, min(one, other), max(one, other))


def _value(literal: Literal) -> Decimal | None:
    """Return the value of a number."""
    return next((Decimal(match[1]) for form in literal.forms if (match := NUMBER.fullmatch(form))), None)
