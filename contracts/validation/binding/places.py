"""The values of a sentence or a cell, each with the words that it is said of (R5-17).

`27 °C in the large pool and 31 °C in the small one`: the words between two values belong to the one before the `and` or
to the one after it. The words before the first value belong to each of them, unless each value has words of its own
before it.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from sourcebound.contracts.validation.binding.scopes import Scope, class_of, read_scopes
from sourcebound.contracts.validation.binding.tokens import Kind, Token, words_of
from sourcebound.contracts.validation.literals.literal import Literal, LiteralIndex

MARKS: Final = frozenset(",:\n–—(")
ENDS: Final = frozenset(",;:\n")
BREAKS: Final = frozenset(",;:\n–—") | frozenset(
    "and or but while whereas versus vs against und oder aber sowie während et ou mais tandis contre y e o u pero "
    "mientras ed ma mentre".split()
)
"""Marks and words between the parts of a list of values."""
RANGES: Final = frozenset("– — to bis à a".split())
"""What stands between the ends of a range besides a hyphen, which is no token."""
OUTER: Final = BREAKS | frozenset(".!?|()")
NAMED: Final = frozenset({Kind.KEY, Kind.VALUE})
EDGE: Final = "^"
NUMBER: Final = "#"
COUNT: Final = "count"

MAX_VALUES: Final = 40
"""The most values of a sentence or a cell; those of a longer list are about nothing that could be read."""
MAX_PLACES: Final = 100
"""The most places that one value is compared with in a chunk."""

Positions = Collection[int]
Groups = Sequence[Sequence[int]]
Sides = frozenset[tuple[str, str]]


class Place(NamedTuple):
    """A value of a text."""

    literal: Literal
    value_class: str
    scope: Scope
    own: frozenset[str]
    """The words that belong to it and to no other value of its class."""
    told: frozenset[str]
    """Its own words, and those before all values of its class that belong to none of them."""
    reach: frozenset[str]
    """All words around it except those that belong to other values of its class."""
    near: frozenset[str]
    """All words around it except other values and what belongs to them after the first."""
    slots: dict[str, Sides]
    """For each of its own words what is directly before and after it."""
    keys: frozenset[str]
    """Those of the words told of it that are names, identifiers, labels or values."""


class Places:
    """The values of a text, by their forms and by the words that they are said of.

    Args:
        index: The literals of the text. The first cells of rows are no values, because other values are said of them.
    """

    def __init__(self, index: LiteralIndex) -> None:
        self.places = tuple(place for scope in read_scopes(index) if scope.column for place in _places(scope))
        self._by_form: dict[str, list[int]] = {}
        self._by_word: dict[str, list[Place]] = {}
        for number, place in enumerate(self.places):
            for form in place.literal.forms:
                self._by_form.setdefault(form, []).append(number)
            for word in place.own | place.told:
                self._by_word.setdefault(word, []).append(place)

    def with_form(self, forms: frozenset[str]) -> list[Place]:
        """Return the places of a value in the order of the text, each once."""
        return [self.places[number] for number in sorted({at for form in forms for at in self._by_form.get(form, ())})]

    def about(self, words: frozenset[str]) -> list[Place]:
        """Return the places that are about one of some words, those of rare words first, up to a number."""
        found: list[Place] = []
        for word in sorted(words & self._by_word.keys(), key=lambda word: (len(self._by_word[word]), word)):
            found += self._by_word[word][: MAX_PLACES - len(found)]
        return found


@lru_cache(maxsize=32)
def read_places(index: LiteralIndex) -> Places:
    """Return the values of a chunk, from a cache for the few chunks of the statements that are being checked.

    The values of a chunk take a hundred times the memory of its text.
    """
    return Places(index)


def _places(scope: Scope) -> Iterator[Place]:
    tokens = scope.tokens
    values = [index for index, token in enumerate(tokens) if token.kind is Kind.VALUE]
    if not 0 < len(values) <= MAX_VALUES:
        return
    near = dict[int, frozenset[str]]()
    clauses = _clauses(tokens, values)
    for clause, others in zip(clauses, _of_others(clauses, _owned(tokens, clauses)), strict=True):
        near |= dict.fromkeys(clause, _words(tokens, set(range(len(tokens))) - others))
    for value_class in dict.fromkeys(_class_at(tokens, index) for index in values):
        if value_class:
            groups = _groups(tokens, [index for index in values if _class_at(tokens, index) == value_class])
            yield from _places_of_class(scope, value_class, groups, near)


def _places_of_class(
    scope: Scope, value_class: str, groups: Groups, near: dict[int, frozenset[str]]
) -> Iterator[Place]:
    tokens, about = scope.tokens, words_of(scope.about)
    owned = _owned(tokens, groups)
    for number, group in enumerate(groups):
        others = frozenset().union(*(owned[other] for other in range(len(groups)) if other != number))
        mine = sorted(owned[number].difference(group))
        told = sorted({*mine, *range(groups[0][0])} - others)
        rest = [index for index in range(len(tokens)) if index not in others and index not in group]
        named = (*(tokens[index] for index in told), *scope.about)
        for index in group:
            literal = tokens[index].literal
            assert literal is not None
            yield Place(
                literal,
                value_class,
                scope,
                _words(tokens, mine) | about,
                _words(tokens, told) | about,
                _words(tokens, rest) | about | scope.around,
                near[index] | about | scope.around,
                _slots(tokens, mine),
                frozenset(token.form for token in named if token.kind in NAMED),
            )


def _class_at(tokens: Sequence[Token], index: int) -> str | None:
    """Return the class of a value. A number without a unit is a count of the word after it, or begins a range."""
    literal = tokens[index].literal
    value_class = class_of(literal) if literal else None
    follows = tokens[index + 1 : index + 2]
    if value_class == COUNT and (end := _end_of_range(tokens, index)):
        return _class_at(tokens, end)
    if value_class != COUNT or not follows or follows[0].kind is not Kind.WORD or follows[0].form in BREAKS:
        return value_class
    return f"{COUNT} {follows[0].form}"


def _end_of_range(tokens: Sequence[Token], index: int) -> int:
    """Return the position of the end of a range, `14 days` of `10-14 days`; 0 if a number begins none."""
    for place, token in enumerate(tokens[index + 1 : index + 3], index + 1):
        if token.kind is Kind.VALUE:
            return place
        if token.form not in RANGES:
            break
    return 0


def _groups(tokens: Sequence[Token], values: Positions) -> list[list[int]]:
    """Join values without a naming word between them, such as the ends of a range."""
    groups: list[list[int]] = []
    for index in values:
        between = tokens[groups[-1][-1] + 1 : index] if groups else ()
        if groups and not words_of(between) and all(token.form not in ENDS for token in between):
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _clauses(tokens: Sequence[Token], values: Positions) -> list[list[int]]:
    """Join values that no mark and no conjunction parts."""
    clauses: list[list[int]] = []
    for index in values:
        if clauses and not _breaks(tokens, clauses[-1][-1] + 1, index):
            clauses[-1].append(index)
        else:
            clauses.append([index])
    return clauses


def _of_others(groups: Groups, owned: Sequence[frozenset[int]]) -> Iterator[frozenset[int]]:
    """Yield for each group the positions of the other groups and of their words, except those before all groups."""
    first = range(groups[0][0])
    for number in range(len(groups)):
        rest = [owned[other].union(groups[other]) for other in range(len(groups)) if other != number]
        yield frozenset().union(*rest).difference(first)


def _owned(tokens: Sequence[Token], groups: Groups) -> list[frozenset[int]]:
    """Return for each group the positions of the words that belong to it alone."""
    if len(groups) == 1:
        return [frozenset(range(len(tokens)))]
    owned: list[set[int]] = [set() for _ in groups]
    leads = trails = False
    for number in range(len(groups) - 1):
        left, right = _split(tokens, groups[number][-1] + 1, groups[number + 1][0])
        owned[number].update(left)
        owned[number + 1].update(right)
        trails |= bool(_words(tokens, left))
        leads |= bool(_words(tokens, right))
    first, last = groups[0][0], groups[-1][-1] + 1
    if leads or not trails:
        owned[0].update(_lead(tokens, first))
    if trails or not leads:
        owned[-1].update(
            range(last, next((at for at in range(last, len(tokens)) if tokens[at].form in ENDS), len(tokens)))
        )
    return [frozenset(each) for each in owned]


def _lead(tokens: Sequence[Token], first: int) -> range:
    """Return the words directly before a value, from the last mark that has a naming word after it."""
    has_name = False
    for at in range(first - 1, -1, -1):
        has_name |= tokens[at].names
        if has_name and tokens[at].form in ENDS:
            return range(at + 1, first)
    return range(first)


def _split(tokens: Sequence[Token], first: int, last: int) -> tuple[range, range]:
    """Return which words between two values belong to the first and which to the second."""
    breaks = _breaks(tokens, first, last)
    if not breaks:
        return range(0), range(0)
    final = [place for place in breaks if not _words(tokens, range(place + 1, last))]
    is_final = tokens[last - 1].form in BREAKS or any(tokens[place].form not in MARKS for place in final[-1:])
    if is_final and final and _words(tokens, range(first, final[0])):
        return range(first, final[0]), range(0)
    conjunctions = [place for place in breaks if tokens[place].form not in MARKS]
    if len(conjunctions) == 1:
        return range(first, conjunctions[0]), range(conjunctions[0] + 1, last)
    return range(first, breaks[0]), range(breaks[-1] + 1, last)


def _breaks(tokens: Sequence[Token], first: int, last: int) -> list[int]:
    """Return the marks and conjunctions of a stretch; a bracket counts only if it does not close there."""
    forms = [token.form for token in tokens[first:last]]
    marks = BREAKS if forms.count("(") <= forms.count(")") else BREAKS | {"("}
    breaks = [first + place for place, form in enumerate(forms) if form in marks]
    return [place for place in breaks if tokens[place].form != ":"] or breaks


def _slots(tokens: Sequence[Token], positions: Positions) -> dict[str, Sides]:
    slots: dict[str, set[tuple[str, str]]] = {}
    for index in positions:
        if tokens[index].names:
            slots.setdefault(tokens[index].form, set()).add((_side(tokens, index - 1), _side(tokens, index + 1)))
    return {form: frozenset(sides) for form, sides in slots.items()}


def _side(tokens: Sequence[Token], index: int) -> str:
    if not 0 <= index < len(tokens) or tokens[index].form in OUTER:
        return EDGE
    return NUMBER if tokens[index].kind is Kind.VALUE else tokens[index].form


def _words(tokens: Sequence[Token], positions: Positions) -> frozenset[str]:
    return words_of([tokens[index] for index in positions])
