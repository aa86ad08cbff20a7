"""Statements that repeat the words of a chunk with or without its negation (R5-17).

`Bed rails are used to prevent falls` is not supported by a chunk that says `Bed rails are not used to prevent falls`.
The rule needs the same words on both sides of the negation, and that no cited chunk has them as the statement does.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Final

from sourcebound.contracts.text.content_words import STOP_WORDS
from sourcebound.contracts.validation.support.polarity.bounds import Bound, bounds_of

TOKEN: Final = re.compile(r"[^\W_]+|[.!?;:|\n](?=\s|$)|\n")
CONTRACTION: Final = re.compile(r"(?<=[a-z])n['’]t\b|(?<=\bcan)not\b")
NEGATIONS: Final = frozenset(
    "not never no neither nor without nicht kein keine keinen keinem keiner nie niemals ohne ne pas jamais sans nunca "
    "sin jamás non mai senza".split()
)
COMPARATIVES: Final = frozenset(
    "more less fewer later earlier longer higher lower mehr weniger länger später plus moins más menos più meno".split()
)
"""Words before which a denial makes a bound: `no more than 4` is `not … more than 4`."""
PARTICLE: Final = re.compile(r"\s*[*_]*(?:yes|no|ja|nein|oui|non|sí|sì|nee|sim|não)\b[*_]*[.,;:!–—-]", re.IGNORECASE)
"""The answer to a question for yes or no, which denies the question and not the sentence after it."""
EXCEPTIONS: Final = frozenset(
    "except excepted excluding unless none außer ausgenommen sofern sauf excepté excepto salvo eccetto tranne".split()
)
"""Words by which a sentence takes back a part of what it says."""
END: Final = "."
REACH: Final = 5
"""The most words on each side that are compared."""
MAX_PLACES: Final = 20
"""The most places of one pair of words that are compared."""
MAX_WORDS: Final = 40
"""The most words of a sentence, before and after a place, in which an exception is looked for."""
MIN_SHARED: Final = 5
"""The least number of shared words."""
MIN_CONTENT: Final = 2
"""The least number of content words among them."""
MIN_LEAD: Final = 3
"""By how many words they must exceed those of a place with the polarity of the statement."""


def without_particle(text: str) -> str:
    """Return a statement without the answer to a question for yes or no at its beginning."""
    return PARTICLE.sub(" ", text, count=1) if PARTICLE.match(text) else text


class Polarity:
    """The words of a text without its negations, and where those were.

    Args:
        text: A statement without citations, or a chunk.
    """

    def __init__(self, text: str) -> None:
        self.words, self.negated = [END], [False]
        is_negated = False
        for match in TOKEN.finditer(CONTRACTION.sub(" not", without_particle(text).casefold())):
            word = match[0] if match[0][0].isalnum() else END
            if word in NEGATIONS:
                is_negated = True
                continue
            self.words.append(word)
            self.negated.append(is_negated)
            is_negated = False
        self.words.append(END)
        self.negated.append(is_negated)
        self.by_neighbours: dict[tuple[str, str], list[int]] = {}
        for position in range(1, len(self.words)):
            pair = (self.words[position - 1], self.words[position])
            places = self.by_neighbours.setdefault(pair, [])
            if len(places) < MAX_PLACES:
                places.append(position)

    def limits(self, place: int) -> bool:
        """Return whether the sentence around a place makes an exception."""
        before, after = self.words[max(0, place - MAX_WORDS) : place][::-1], self.words[place : place + MAX_WORDS]
        within = (*takewhile(END.__ne__, before), *takewhile(END.__ne__, after))
        return not EXCEPTIONS.isdisjoint(within)

    def shared(self, position: int, other: "Polarity", place: int) -> tuple[list[str], list[str]]:
        """Return the words before and after a position that another text has around a place."""
        own, others = self.words[max(0, position - REACH) : position], other.words[max(0, place - REACH) : place]
        after = _run(self.words[position : position + REACH], other.words[place : place + REACH])
        return _run(own[::-1], others[::-1]), after

    def denied(self, start: int, end: int) -> set[str]:
        """Return the words of a part of the text before which a denial stands."""
        return {word for word, negated in zip(self.words[start:end], self.negated[start:end], strict=True) if negated}


@lru_cache(maxsize=512)
def polarity_of(text: str) -> Polarity:
    """Return the words of a chunk, from a cache if it was read recently."""
    return Polarity(text)


def reverses(statement: str, chunks: Iterable[str]) -> bool:
    """Return whether a statement has a negation that its chunks lack in the same words, or lacks one that they have.

    Args:
        statement: A statement without citations.
        chunks: The texts of the chunks that it cites.
    """
    texts = list(chunks)
    said, sources = Polarity(statement), [polarity_of(chunk) for chunk in texts]
    for position in range(1, len(said.words)):
        pair = (said.words[position - 1], said.words[position])
        if said.negated[position] and _is_their_bound(said.words[position : position + REACH], texts):
            continue
        same, reversed_ = 0, 0
        for source in sources:
            for place in source.by_neighbours.get(pair, ()):
                before, after = said.shared(position, source, place)
                words = before + after
                own = said.denied(position - len(before), position + len(after))
                other = source.denied(place - len(before), place + len(after))
                if source.negated[place] is said.negated[position] or _is_one_bound(own, other):
                    same = max(same, len(words))
                elif sum(word not in STOP_WORDS for word in words) >= MIN_CONTENT and not source.limits(place):
                    reversed_ = max(reversed_, len(words))
        if reversed_ >= MIN_SHARED and reversed_ - same >= MIN_LEAD:
            return True
    return False


def _is_their_bound(words: Sequence[str], chunks: Iterable[str]) -> bool:
    """Return whether words after a denial are a bound that chunks have: `longer than 10` of `10 minutes or less`."""
    number = words[2] if len(words) > 2 and words[0] in COMPARATIVES and words[1] == "than" else ""
    return any(not {Bound.LEAST, Bound.MOST}.isdisjoint(bounds_of(chunk).get(number, ())) for chunk in chunks)


def _is_one_bound(own: set[str], other: set[str]) -> bool:
    """Return whether two texts deny the same bound, one of them at its comparison: `no more than`."""
    return bool(own and other) and own.isdisjoint(COMPARATIVES) is not other.isdisjoint(COMPARATIVES)


def _run(one: Sequence[str], other: Sequence[str]) -> list[str]:
    words = []
    for word, same in zip(one, other, strict=False):
        if word != same or word == END:
            break
        words.append(word)
    return words
