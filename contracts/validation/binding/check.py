"""Values that a statement says of one thing and its chunks say of another (R5-17).

`Pump B delivers 40 l/min` is not supported by chunks in which 40 l/min is pump A's and pump B has another value. The
rule needs two places for each place of the value in the chunks: this one, where the value is said of something that the
statement does not name, and one where what the statement names has another value of the same kind. The two must be
cells of one row or column, words in the same position of one sentence, or sentences that share their other words.
"""

import re
from collections.abc import Sequence
from itertools import filterfalse
from typing import Final, NamedTuple

from sourcebound.contracts.text.content_words import stem
from sourcebound.contracts.validation.binding.places import COUNT, EDGE, Place, Places, Sides, read_places
from sourcebound.contracts.validation.binding.tokens import DENIALS, Kind, Token, words_of
from sourcebound.contracts.validation.literals.literal import LiteralIndex

CONTRASTING: Final = (
    "than unlike compared comparison versus vs instead rather differ difference respectively als statt contrairement "
    "respectivement respectivamente rispettivamente"
).split()
CONTRASTS: Final = DENIALS.union(CONTRASTING)
"""Words by which a statement names a thing that its value is not said of, as they are written."""
CONTRAST_STEMS: Final = frozenset(map(stem, CONTRASTING))
"""The stems of those that name something. `pass` has the stem of the French `pas`, so denials are not among them."""
TIMES: Final = frozenset(f"{COUNT} {stem(word)}" for word in "times mal fois veces volte".split())
"""The classes of `four times`, which counts what the rest of the sentence names."""
MIN_SHARED: Final = 2
"""The least number of words that two sentences and the statement share."""
MIN_NAMES: Final = 2
"""The least number of words that tell two sentences apart if none of them is a name."""
MIN_PART: Final = 600
"""The least part of these words that the statement has, in thousandths."""
MIN_FAR: Final = 4
"""The least number of words of a statement by which a sentence says its value otherwise, if the value's own sentence
shares no word with the statement."""
MIN_DIGITS: Final = 3
"""The least number of digits by which a value is found in a table that names its scale elsewhere."""
MAX_SCALED: Final = 500
"""The most values of a chunk that are compared with it by their digits."""
MAX_SAID: Final = 40
"""The most values of a statement that are looked up."""
MAX_OWN: Final = 10
"""The most places of one value in the chunks; one that is found more often may be about anything."""
FAMILY: Final = 5
"""The number of first letters that words of one family share."""
VALUE: Final = re.compile(r"n-?\d[\d.]*")
"""The form of a number, which in a row without its head names nothing."""
BARE_ROW: Final = re.compile(r"[ \t]*\|[^\n]*\|\s*")


class Said(NamedTuple):
    """A statement."""

    places: Sequence[Place]
    words: frozenset[str]
    """All its words that name something, and all its values."""
    is_bare_row: bool
    """Whether it is a row without its head, so that it does not name what its columns have."""

    def has_value(self, place: Place) -> bool:
        """Return whether it has the value of a place."""
        return any(_agree(said, place) or _is_scaled(said, place) for said in self.places)


class Held(NamedTuple):
    """A value of a cited chunk."""

    chunk: int
    place: Place


def misplaces(statement: LiteralIndex, chunks: Sequence[LiteralIndex]) -> bool:
    """Return whether a statement says a value of a thing that has another value in the cited chunks.

    Args:
        statement: The literals of the statement.
        chunks: The literals of the chunks that it cites.
    """
    places = Places(statement).places[:MAX_SAID]
    sources = [read_places(chunk) for chunk in chunks] if places else []
    words = frozenset[str]().union(*(words_of((*place.scope.tokens, *place.scope.about)) for place in places))
    said = Said(places, words, BARE_ROW.fullmatch(statement.plain) is not None)
    return any(
        _is_misplaced(said, _joined(place, places), chunks, sources)
        for place in places
        if not any(map(_contrasts, place.scope.tokens))
    )


def _contrasts(token: Token) -> bool:
    return token.form in (CONTRASTS if token.kind is Kind.CLOSED else CONTRAST_STEMS)


def _joined(place: Place, said: Sequence[Place]) -> Place:
    """Return a value that a statement repeats as one that is about the words of each of its places."""
    same = [other for other in said if not other.literal.forms.isdisjoint(place.literal.forms)]
    return place._replace(
        reach=frozenset().union(*(other.reach for other in same)), near=frozenset().union(*(o.near for o in same))
    )


def _is_misplaced(statement: Said, said: Place, chunks: Sequence[LiteralIndex], sources: Sequence[Places]) -> bool:
    """Return whether each place of a value in the chunks is about another thing."""
    own = [
        Held(number, place)
        for number, source in enumerate(sources)
        for place in source.with_form(said.literal.forms)
        if _agree(said, place)
    ]
    if not own:
        own = [
            Held(number, place)
            for number, source in enumerate(sources)
            for place in source.places[:MAX_SCALED]
            if _is_scaled(said, place)
        ]
    found = {item.chunk for item in own}
    if not 0 < len(own) <= MAX_OWN:
        return False
    if any(number not in found and _may_hold(chunk, said) for number, chunk in enumerate(chunks)):
        return False
    here = said.reach & said.near
    rivals = [Held(number, place) for number, source in enumerate(sources) for place in source.about(here)]
    return all(
        any(
            _is_exchanged(statement, said, item, other)
            for other in rivals
            if other.place.value_class == item.place.value_class
            and other.place.literal.forms.isdisjoint(item.place.literal.forms)
        )
        for item in own
    )


def _agree(said: Place, place: Place) -> bool:
    """Return whether two places have the same value, and count the same if they count."""
    one, other = said.literal, place.literal
    if one.forms.isdisjoint(other.forms) or (one.unit != other.unit and None not in (one.unit, other.unit)):
        return False
    counts = said.value_class.startswith(f"{COUNT} ") and said.value_class not in TIMES
    return not counts or place.value_class in (said.value_class, COUNT)


def _is_scaled(said: Place, place: Place) -> bool:
    """Return whether a place may have a value without its scale."""
    digits = _digits(said)
    return len(digits) >= MIN_DIGITS and place.literal.unit is None and digits == _digits(place)


def _digits(place: Place) -> str:
    """Return the digits by which a value is found in a table that names its scale elsewhere."""
    return min(place.literal.forms).strip("n-").replace(".", "").strip("0")


def _may_hold(chunk: LiteralIndex, said: Place) -> bool:
    """Return whether a chunk has a value in some form that is not one of its places."""
    return not chunk.forms.keys().isdisjoint(said.literal.forms)


def _is_exchanged(statement: Said, said: Place, item: Held, other: Held) -> bool:
    """Return whether a statement has the words by which another place differs, and none of the words of the value."""
    names, mine = _differences(said, item, other)
    names = frozenset(filterfalse(VALUE.fullmatch, names)) if statement.is_bare_row else names
    if not (names and mine and names <= said.reach & said.near) or _mentions_any(said.reach, mine):
        return False
    return not statement.has_value(other.place) or _mentions_any(statement.words, mine)


def _differences(said: Place, item: Held, other: Held) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words that only another place is about, and those that only the place of the value is about."""
    place, rival = item.place, other.place
    one, two = place.scope, rival.scope
    is_near = item.chunk == other.chunk and one.block == two.block
    mine, theirs = place.own - rival.own, rival.own - place.own - place.reach
    if is_near and one.row >= 0 and one.row == two.row:
        return (theirs if theirs & rival.keys else frozenset()), mine
    if is_near and one.row >= 0 and one.column == two.column:
        return theirs, mine
    if item.chunk == other.chunk and one is not two and one.items == two.items > 0 and theirs <= said.reach & said.near:
        return theirs, mine
    if is_near and one is two:
        return _in_same_slots(rival, theirs, place, mine), mine
    mine, theirs = place.told - rival.told, rival.told - place.told - place.reach
    if len((place.told & rival.told & said.reach) - place.keys) < MIN_SHARED:
        names = rival.told & said.reach & said.near
        is_told = len(names) >= MIN_FAR and 1000 * len(names) >= MIN_PART * len(said.reach)
        return (names if is_told else frozenset()), mine
    names = theirs & said.reach & said.near
    is_named = names & rival.keys and mine & place.keys
    is_told = len(names) >= MIN_NAMES and 1000 * len(names) >= MIN_PART * len(theirs)
    return (names if is_named or is_told else frozenset()), mine


def _in_same_slots(one: Place, words: frozenset[str], other: Place, others: frozenset[str]) -> frozenset[str]:
    """Return the words of a place that have the same words around them as a word of another place.

    If none has the same on both sides, those with the same on one side are returned.
    """
    shared = [
        (word, _same_sides(one.slots.get(word), other.slots.get(another))) for word in words for another in others
    ]
    most = max((sides for _, sides in shared), default=0)
    return frozenset(word for word, sides in shared if sides == most > 0)


def _same_sides(one: Sides | None, other: Sides | None) -> int:
    """Return on how many sides two words have the same word; the end of a part counts only before them."""
    return max(((a[0] == b[0]) + (a[1] == b[1] != EDGE) for a in one or () for b in other or ()), default=0)


def _mentions_any(words: frozenset[str], named: frozenset[str]) -> bool:
    """Return whether some words have one of others, or one of its family."""
    return any(
        word in words or (len(word) >= FAMILY and any(each.startswith(word[:FAMILY]) for each in words))
        for word in named
    )
