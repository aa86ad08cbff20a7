"""Values that replace another: the statement repeats a source's words around a different value (R5-8).

`The pump runs at 40 bar` is not supported by a chunk that says `The pump runs at 60 bar` and has a `40` elsewhere. The
rule needs the same words on both sides, nowhere near the value's own places in the chunks, and around one other value
only, because a table or a forecast repeats its words around many.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple, TypeVar

from sourcebound.contracts.text.content_words import STOP_WORDS
from sourcebound.contracts.validation.literals.amounts.equal import is_equal
from sourcebound.contracts.validation.literals.amounts.fractions import is_half_in_words
from sourcebound.contracts.validation.literals.amounts.units import UNITS
from sourcebound.contracts.validation.literals.literal import Literal, LiteralIndex, lower_case
from sourcebound.contracts.validation.literals.times.named_times import FREQUENCIES

WORDS: Final = 4
"""The most words on each side that are compared."""
MIN_SHARED: Final = 4
"""The least number of shared words and ends of sentences around another value."""
MIN_CONTENT: Final = 2
"""The least number of content words among them."""
MIN_LEAD: Final = 3
"""By how many of them it must exceed those around the value's own places."""
TOKEN: Final = re.compile(r"(\w+|[.!?;:|\n](?=\s|$)|\n)")
END: Final = "."
"""The token for the end of a sentence, of a line, of a cell and of the text."""
MAX_PLACES: Final = 20
"""The most places of one value, and of one pair of neighbours, that are compared."""
FAR: Final = 120
"""The most characters from the value before another in a list to that one."""
NEXT: Final = re.compile(r"[,;]\s(?:and\s|und\s|et\s|y\s|e\s)?$|\s(?:and|und|et|y|e)\s$")
"""What stands before the next value of a list."""
KINDS: Final = frozenset({"number", "date"})
QUANTITY_WORDS: Final = {
    "number": {"one": "n1", "last": "olast", "final": "olast"},
    "share": {"half": "half", "all": "all", "none": "none", "both": "both"},
    "time": {
        word: UNITS[word]
        for word in "second seconds minute minutes hour hours day days week weeks month months year years".split()
    }
    | {"decade": "decade", "decades": "decade", "century": "century", "centuries": "century"},
    "money": {word: UNITS[word] for word in "dollar dollars euro euros pound pounds yen".split()},
    "frequency": {word: time for word, time in FREQUENCIES.items()} | {"annual": "year"},
    "direction": {word: word for word in "north south east west northeast northwest southeast southwest".split()},
    "side": {"left": "left", "right": "right"},
    "height": {word: word for word in "up down upper lower upward downward upwards downwards above below".split()},
    "bound": {word: word for word in "minimum maximum least most".split()},
    "order": {word: word for word in "before after".split()},
    "times": {"once": "once", "twice": "twice", "thrice": "thrice"},
    "end": {"front": "front", "rear": "rear", "back": "rear"},
    "inside": {word: word for word in "inside outside".split()},
    "inner": {word: word for word in "inner outer internal external".split()},
    "part of the day": {word: word for word in "morning afternoon evening night".split()},
    "season": {"spring": "spring", "summer": "summer", "autumn": "autumn", "fall": "autumn", "winter": "winter"},
}
"""Words of quantity and of place that are not literals, by the kind within which one may replace another."""
QUANTITY: Final = {word: (kind, form) for kind, words in QUANTITY_WORDS.items() for word, form in words.items()}

Side = tuple[str, ...]
Key = TypeVar("Key")
Item = TypeVar("Item")


class Place(NamedTuple):
    """The words before a literal, the nearest first, and those after it."""

    before: Side
    after: Side


class Surroundings:
    """The places of all numbers and dates of a text.

    Args:
        index: The literals of the text.
    """

    def __init__(self, index: LiteralIndex) -> None:
        pieces = TOKEN.split(lower_case(index.plain))  # what is between the tokens, and the tokens, in turn
        tokens, borders = pieces[1::2], [*accumulate(map(len, pieces))]
        self._words = [token if token[0].isalnum() else END for token in tokens]
        self._starts, self._ends = borders[:-1:2], borders[1::2]
        # a half in words is one of the words of quantity
        others = [literal for literal in index.literals if not is_half_in_words(literal)]
        taken = [(literal.start, literal.start + len(literal.text)) for literal in others]
        ends = [end for _, end in taken]
        self.quantities = [
            Literal(QUANTITY[word][0], index.plain[start:end], start, frozenset([QUANTITY[word][1]]))
            for start, end, word in zip(self._starts, self._ends, tokens, strict=True)
            if word in QUANTITY and not _is_within(start, taken, ends)
        ]
        """The words of quantity outside all literals."""
        valued = [literal for literal in others if literal.kind in KINDS]
        self._by_neighbours: dict[tuple[str, str, str], list[tuple[Literal, Place]]] = {}
        self._by_form: dict[tuple[str, str], list[Place]] = {}
        for literal in (*valued, *self.quantities):
            place = self.place(literal)
            _add(self._by_neighbours, (literal.kind, place.before[0], place.after[0]), (literal, place))
            for form in literal.forms:
                _add(self._by_form, (literal.kind, form), place)

    def place(self, literal: Literal) -> Place:
        """Return the place of a literal of the text."""
        first = bisect_right(self._ends, literal.start)
        last = bisect_right(self._starts, literal.start + len(literal.text) - 1)
        before = (*reversed(self._words[max(0, first - WORDS) : first]), END)
        return Place(before, (*self._words[last : last + WORDS], END))

    def nearest_own(self, literal: Literal, place: Place) -> int:
        """Return how many words the value's best own place in the text shares with a place; 0 if it has none."""
        places = (place for form in literal.forms for place in self._by_form.get((literal.kind, form), ()))
        return max(
            (len(common_run(place.before, at.before)) + len(common_run(place.after, at.after)) for at in places),
            default=0,
        )

    def nearest_others(self, literal: Literal, place: Place) -> list[tuple[int, frozenset[str]]]:
        """Return how much of a place is shared by each other value with the same words next to it, and its forms."""
        others = self._by_neighbours.get((literal.kind, place.before[0], place.after[0]), ())
        return [
            (_shared(place, at), other.forms)
            for other, at in others
            if other.forms.isdisjoint(literal.forms) and not is_equal(literal, other)
        ]


@lru_cache(maxsize=512)
def surroundings_of(index: LiteralIndex) -> Surroundings:
    """Return the places of a text, from a cache if it was read recently."""
    return Surroundings(index)


def replaces_another(literal: Literal, statement: LiteralIndex, cited: Sequence[LiteralIndex]) -> bool:
    """Return whether the cited chunks have the words around a value only around another value.

    Args:
        literal: A literal of the statement that a cited chunk holds, or one of its words of quantity.
        statement: The literals of the statement.
        cited: The literals of the cited chunks.
    """
    place, sources = surroundings_of(statement).place(literal), [surroundings_of(source) for source in cited]
    own = max(source.nearest_own(literal, place) for source in sources)
    for source in sources:
        others = source.nearest_others(literal, place)
        best = max((shared for shared, _ in others), default=0)
        if best >= MIN_SHARED and best - own >= MIN_LEAD:
            replaced = {forms for shared, forms in others if shared >= best - 1}
            return len(replaced) == 1 and not _follows(literal, statement, *replaced)
    return False


def _follows(literal: Literal, statement: LiteralIndex, other: frozenset[str]) -> bool:
    """Return whether the words before a value are those after another: `2.34 for infarction, 2.50 for depression`."""
    before = statement.plain[max(0, literal.start - FAR) : literal.start]
    return NEXT.search(before) is not None and any(
        literal.start - FAR < each.start < literal.start and not each.forms.isdisjoint(other)
        for each in statement.literals
    )


def _add(places: dict[Key, list[Item]], key: Key, item: Item) -> None:
    """Add an item to those of a key, unless there are enough."""
    found = places.setdefault(key, [])
    if len(found) < MAX_PLACES:
        found.append(item)


def _is_within(position: int, spans: Sequence[tuple[int, int]], ends: Sequence[int]) -> bool:
    """Return whether a position is in one of the spans, which are in order."""
    index = bisect_right(ends, position)
    return index < len(spans) and spans[index][0] <= position


def _shared(one: Place, other: Place) -> int:
    """Return the number of shared words, 0 without two content words, because `in the … in` is around many values.

    Digits are no content, because two ranges can share an end and nothing else.
    """
    words = [*common_run(one.before, other.before), *common_run(one.after, other.after)]
    return len(words) if sum(word not in STOP_WORDS and not word.isdigit() for word in words) >= MIN_CONTENT else 0


def common_run(one: Side, other: Side) -> list[str]:
    """Return the words that two sides have in common, from the nearest on, up to the end of a sentence."""
    words = []
    for word, same in zip(one, other, strict=False):
        if word != same or word == END:
            break
        words.append(word)
    return words
