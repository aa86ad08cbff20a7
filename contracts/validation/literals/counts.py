"""Counts of what the answer itself or a source lists: `two kinds, essential and non-essential` (R5-8).

Such a number is not from a source. It is right if the list has as many items, and no cited chunk counts the same thing
otherwise. `All three samples` counts what a cited chunk lists, in a table or item by item. `The two differ` and
`between two checks` count nothing: they point to a pair named before, and to any two.
"""

import re
from collections.abc import Iterator
from typing import Final

from sourcebound.contracts.validation.literals.literal import REACH, Literal, LiteralIndex, noun_after

LIST_START: Final = re.compile(r"\s*[:(]\s*|\s[-–—]\s")
"""What comes between a count and the list of what it counts."""
CLAUSE_END: Final = re.compile(r"[.;:!?)](?:\s|$)|\s[-–—]\s|$")
SEPARATOR: Final = re.compile(r"\s*,\s*(?:(?:and|or|und|oder|et|ou|y|e|o)\s+)?|\s+(?:and|or|&|und|oder|et|ou|y|e|o)\s+")
PAIR: Final = re.compile(
    r"\b(?:the|these|those) two\s+(?:are|were|have|had|do|did|can|may|must|should|will|would|both|also|differ|agree"
    r"|share|[a-z]{2,12}ed)\b|\bthe two\b(?=\s*(?:[.,;:!?)]|$)|\s(?:apart|from|together|alike|[a-z]{2,12}ly)\b)"
    r"|\b(?:in|into) two halves\b"
    r"|\bbetween two\s+(?!and\b|or\b|to\b)[a-z]{2,20}s\b(?!\s+and\b)|\btwo by two\b"
    r"|\bof (?:the|these|those) (?:two|three|four|five|six)\b(?=\s*[.,;:!?)])"
    r"|\b(?:les deux|los dos|i due|os dois) (?:cas|casos|casi)\b",
    re.IGNORECASE,
)
"""A pair that is no count of a source, and a number of things that were named before."""
DEFINITE: Final = re.compile(
    r"\b(?:the|these|those) two\s+(?:[a-z-]{3,20}\s+){0,2}[a-z-]{3,20}s\b"
    r"|\b(?:(?:die|diese) zwei|(?:les|ces) deux|(?:los|las|estos|estas) dos|(?:i|gli|le|questi|queste) due)"
    r"\s+[^\W\d_]{3,20}",
    re.IGNORECASE,
)
"""A pair that the sentence before names: `the two techniques`."""
AND: Final = re.compile(r"\w\W+(?:and|or|und|oder|et|ou|y|e|o|ed|od)\W+\w", re.IGNORECASE)
ALL_OF: Final = re.compile(
    r"\b(?:all|the|these|those|alle|die|diese|tou(?:s|tes) les|les|ces|los|las|estos|estas|i|gli|le|questi|queste)\s$",
    re.IGNORECASE,
)
"""What comes before the number of things that a source lists: `all three samples`."""
THESE: Final = re.compile(r"\s+of\s+(?:these|those|them)\b|\s*:\s*$", re.IGNORECASE)
"""What stands after a count in place of a noun: `all three of these`, `it names three:`."""
ROW: Final = re.compile(r"^\s*\|(?!\s*:?-{2,}).*\|\s*$")
ITEM: Final = re.compile(r"^\s*(?:[-*+•]|\(?(?:\d{1,2}|[a-z])[.)])\s")
GOES_ON: Final = re.compile(r"\s+\S|\s*\|[\s|:-]+$")
"""A line within an item, or the rule below the head of a table."""
MAX_COUNT: Final = 12
FORM: Final = re.compile(r"n([2-9]|1[0-2])")


def counts_own_list(
    literal: Literal, text: str, items: int, cited: tuple[LiteralIndex, ...], previous: str = ""
) -> bool:
    """Return whether a number counts what is listed, and no cited chunk counts the same thing otherwise.

    Args:
        literal: A literal of the statement that no cited chunk holds. A pair that is named before is one too.
        text: The plain text of the statement.
        items: The number of list items or rows that the statement leads in, 0 if it leads in none.
        cited: The literals of the cited chunks.
        previous: The statement before it.
    """
    forms = [match for form in literal.forms if (match := FORM.fullmatch(form))]
    if literal.kind != "number" or literal.unit is not None or not forms:
        return False
    number = int(forms[0][1])
    end = literal.start + len(literal.text)
    if any(match.start() <= literal.start < match.end() for match in PAIR.finditer(text)):
        return True
    counts = {items, _length_of_list(text, end)}
    if literal.text.isalpha() and ALL_OF.search(text, 0, literal.start):
        counts.update(length for source in cited for length in _lengths_of_lists(source.plain))
    if any(match.start() <= literal.start < match.end() for match in DEFINITE.finditer(text)) and AND.search(previous):
        counts.add(2)
    if number not in counts:
        return False
    if THESE.match(text, end):
        return True
    counted = noun_after(text, end)
    return bool(counted) and not any(
        counted == noun_after(source.plain, other.start + len(other.text))
        for source in cited
        for other in source.literals
        if other.kind == "number" and other.unit is None and other.forms.isdisjoint(literal.forms)
    )


def _lengths_of_lists(text: str) -> Iterator[int]:
    """Yield the number of rows of each table of a source, without its head, and of the items of each list."""
    for pattern, heads in ((ROW, 1), (ITEM, 0)):
        length = 0
        for line in (*text.split("\n"), ""):
            if pattern.match(line):
                length += 1
            elif length and not GOES_ON.match(line):
                yield length - heads
                length = 0


def _length_of_list(text: str, position: int) -> int:
    """Return the number of items of the list that follows a count within its sentence; 0 if there is none."""
    start = LIST_START.search(text, position, position + REACH)
    if not start:
        return 0
    end = CLAUSE_END.search(text, start.end())
    items = [item for item in SEPARATOR.split(text[start.end() : end.start() if end else None]) if item.strip()]
    return len(items)
