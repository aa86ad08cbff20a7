"""The words of a text as what tells one thing from another: names, values and bounds of numbers (R5-17)."""

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from sourcebound.contracts.text.content_words import STOP_WORDS, stem
from sourcebound.contracts.validation.literals.amounts.languages import FUNCTION_WORDS
from sourcebound.contracts.validation.literals.literal import Literal
from sourcebound.contracts.validation.support.reversals import EXCEPTIONS, NEGATIONS

SHORT_NOT: Final = frozenset({"n't", "n’t"})
LOWER, HIGHER = "<", ">"
BOUNDS: Final = {
    **dict.fromkeys("< ≤ under below less fewer younger unter weniger moins menos meno minder".split(), LOWER),
    **dict.fromkeys("> ≥ over above more older exceeding über mehr plus más più meer".split(), HIGHER),
}
"""Words and marks before a number that make it a bound, which is then told from the opposite one."""
AFTER_BOUND: Final = frozenset("than als que di dan of".split())
BOUNDS_AFTER: Final = {
    **dict.fromkeys("less under below younger smaller weniger moins menos meno".split(), LOWER),
    **dict.fromkeys("more over above older larger greater up mehr plus más più".split(), HIGHER),
}
"""Words after a number and `and` or `or` that make it a bound: `32 sq ft and larger`."""
JOINING: Final = frozenset("and or und oder et ou y o e ed".split())
FILLERS: Final = """
    least most up down about approximately nearly almost roughly around exactly minimum maximum total per cent
    percent one two each every all any both while whereas however although though thus hence respectively
    versus against
    um bis nach vor aus seit durch einer eines einem einen auch noch sowie oder aber nur mehr als dem ihr ihre sein
    seine celui celle ceux celles jusqu'à à de d'un d'une l' ce cette ces son sa ses leur leurs plus moins que qui dont
    puis entre après avant tandis mais et aquel aquella desde hasta sobre entre este esta estos estas su sus más menos
    tras lo quello quella quelli quelle alla allo ai alle nel nella nelle tra fra dopo prima più meno suo sua
"""
DENIALS: Final = NEGATIONS.union(EXCEPTIONS, ["cannot"])
CLOSED: Final = STOP_WORDS.union(*FUNCTION_WORDS.values(), FILLERS.split(), DENIALS)
"""Words that name nothing, in the languages whose literals are read."""


class Kind(Enum):
    """The kinds of tokens."""

    WORD = "word"
    KEY = "an identifier or a label"
    VALUE = "a number, a date or a time"
    CLOSED = "a word that names nothing"
    MARK = "a mark"


NAMING: Final = frozenset({Kind.WORD, Kind.KEY, Kind.VALUE})


class Token(NamedTuple):
    """A word, a mark or a literal of a text."""

    form: str
    """Its normal form: a stem, a literal's form, a function word, a mark."""
    kind: Kind
    literal: Literal | None = None

    @property
    def names(self) -> bool:
        """Whether it may tell one thing from another."""
        return self.kind in NAMING


def with_bounds(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens with each bound of a number as one that tells it from others: `under 30 kg`."""
    kinds = [token.kind for token in tokens]
    for place, token in enumerate(tokens):
        after = place + 1 + (place + 1 < len(tokens) and tokens[place + 1].form in AFTER_BOUND)
        joins = place > 1 and tokens[place - 1].form in JOINING and kinds[place - 2] is Kind.VALUE
        if token.form in BOUNDS and kinds[after : after + 1] == [Kind.VALUE]:
            yield Token(BOUNDS[token.form], Kind.KEY)
        elif joins and token.form in BOUNDS_AFTER:
            yield Token(BOUNDS_AFTER[token.form], Kind.KEY)
        else:
            yield token


@lru_cache(1 << 15)
def read_word(text: str) -> Token:
    """Return a word or a mark that is no literal."""
    form = text.casefold()
    if form in SHORT_NOT:
        return Token("not", Kind.CLOSED)
    if not text[0].isalnum():
        return Token("\n" if text == "\n" else text, Kind.MARK)
    if form in CLOSED or (len(form) < 3 and not text[0].isupper()):
        return Token(form, Kind.CLOSED)
    return Token(stem(form.replace("-", "")), Kind.WORD)


def words_of(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the forms of all words that name something, and of all values."""
    return frozenset(token.form for token in tokens if token.kind in NAMING)
