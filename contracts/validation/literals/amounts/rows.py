"""Numbers next to each other in a row of a table: `969 977 7` are three, and `1 245 300` is one (R5-8)."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from sourcebound.contracts.validation.literals.literal import Literal

BLANK: Final = re.compile("[ \u00a0\u202f]")
JOINED: Final = re.compile(r"\d{1,3}(?:[, \u00a0\u202f]\d{3})+")
NUMBER_BEFORE: Final = re.compile(r"\d[)%]*[ \t]+\(?$")
NUMBER_AFTER: Final = re.compile(r"[ \t]+\(?[-–—$€£]?[ \t]?\d")
KINDS: Final = frozenset({"number", "identifier"})
"""The second is that of numbers without a value."""
NEAR: Final = 8
"""The characters before a number in which another one ends."""


def numbers_of_rows(text: str, literals: Sequence[Literal]) -> Iterator[Literal]:
    """Yield the single numbers of those that were read as one with blanks, although other numbers are next to them.

    No number has commas and blanks.

    Args:
        text: The plain text of a source.
        literals: Its literals.
    """
    for literal in literals:
        found = JOINED.search(literal.text) if literal.kind in KINDS and BLANK.search(literal.text) else None
        if not found:
            continue
        start, end = literal.start + found.start(), literal.start + found.end()
        parts = BLANK.split(found[0])
        is_row = NUMBER_BEFORE.search(text[max(0, start - NEAR) : start]) or NUMBER_AFTER.match(text, end)
        if len(parts) > 1 and ("," in found[0] or is_row):
            for part in parts:
                yield Literal("number", part, start, frozenset([f"n{int(part.replace(',', ''))}"]))
                start += len(part) + 1
