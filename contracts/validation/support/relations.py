"""Relations between the words of a statement that its evidence must have too: neighbours, order, place (R5-17)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from sourcebound.contracts.validation.support.claims import Claim, Window, share
from sourcebound.contracts.validation.support.passages import Passage, negated_places
from sourcebound.contracts.validation.support.words import Word

NEAR: Final = 6
"""The most words between two words that still belong together."""
AROUND: Final = 12
"""The number of words around an occurrence in which its neighbours are looked for."""
NEIGHBOURS: Final = 2
"""The number of content words on each side of a word that must be around it in the evidence too."""
BESIDE: Final = 4
"""The number of words around an occurrence in which the word next to it is looked for."""
MOST_WORDS: Final = 200
"""The most content words of a statement whose relations are looked for."""
RARE: Final = 45
"""The weight from which a word is rare, in tenths of a natural logarithm."""


class _Pairs(NamedTuple):
    """The weights of neighbouring words by how the evidence holds them."""

    whole: int
    ordered: int
    reversed: int


def relation_features(claim: Claim, passages: Sequence[Passage], window: Window) -> dict[str, int]:
    """Return how far the evidence holds the statement's words in the statement's relations.

    Args:
        claim: The statement.
        passages: The cited chunks.
        window: The closest sentences.

    Returns:
        Shares in thousandths, and counts.
    """
    pairs = _weigh_pairs(claim, passages)
    agreements = list(_agreements(claim, passages, NEIGHBOURS, AROUND))
    beside = list(_agreements(claim, passages, 1, BESIDE))
    rare = [share for word, share in agreements if word.weight >= RARE and not word.is_number]
    numbers = [share for word, share in agreements if word.is_number]
    names = [share for word, share in agreements if word.is_name]
    everything = [share for _, share in agreements]
    return {
        "pairs_ordered": share(pairs.ordered, pairs.whole),
        "pairs_reversed": share(pairs.reversed, pairs.whole),
        "agreement_mean": sum(everything) // len(everything) if everything else 0,
        "agreement_least": min(everything, default=1000),
        "agreement_rare": min(rare, default=1000),
        "agreement_numbers": min(numbers, default=1000),
        "agreement_names": min(names, default=1000),
        "beside_mean": sum(held for _, held in beside) // len(beside) if beside else 0,
        "beside_numbers": min((held for word, held in beside if word.is_number), default=1000),
        "beside_names": min((held for word, held in beside if word.is_name), default=1000),
        **_negations(claim, passages, window),
        "names_inverted": _inversions(claim, window),
    }


def _negations(claim: Claim, passages: Sequence[Passage], window: Window) -> dict[str, int]:
    """Count the words that only the statement negates, and those that only the evidence negates."""
    places = negated_places(claim.words)
    here = {claim.words[place].stem for place in places}
    bare = {word.stem for place, word in enumerate(claim.words) if word.weight and place not in places}
    there = {stem for passage in passages for stem in passage.negated}
    plain = {stem for passage in passages for stem in passage.plain}
    near = {window.words[place].stem for place in negated_places(window.words)}
    return {
        "negated_only_here": min(len((here & plain) - there), 3),
        "negated_only_there": min(len(bare & near - plain), 3),
    }


def _weigh_pairs(claim: Claim, passages: Sequence[Passage]) -> _Pairs:
    whole = ordered = reversed_ = 0
    for first, second in pairwise(claim.content[:MOST_WORDS]):
        if first.stem == second.stem:
            continue
        weight = first.weight + second.weight
        whole += weight
        if any(_follows(passage, first.stem, second.stem) for passage in passages):
            ordered += weight
        elif any(_follows(passage, second.stem, first.stem) for passage in passages):
            reversed_ += weight
    return _Pairs(whole, ordered, reversed_)


def _follows(passage: Passage, first: str, second: str) -> bool:
    """Whether `second` follows `first` within `NEAR` words."""
    after = passage.positions.get(second, ())
    return bool(after) and any(0 < there - here <= NEAR for here in passage.positions.get(first, ()) for there in after)


def _agreements(claim: Claim, passages: Sequence[Passage], neighbours: int, reach: int) -> Iterator[tuple[Word, int]]:
    """Yield each content word that the evidence holds, with the share of its neighbours around its best occurrence."""
    content = claim.content[:MOST_WORDS]
    for index, word in enumerate(content):
        around = {w.stem: w.weight for w in content[max(0, index - neighbours) : index + neighbours + 1]}
        around.pop(word.stem)
        whole = sum(around.values())
        held = [
            sum(weight for stem, weight in around.items() if _is_near(passage.positions.get(stem, ()), place, reach))
            for passage in passages
            for place in passage.positions.get(word.stem, ())
        ]
        if held and whole:
            yield word, share(max(held), whole)


def _is_near(places: Sequence[int], place: int, reach: int) -> bool:
    return any(-reach <= other - place <= reach for other in places)


def _inversions(claim: Claim, window: Window) -> int:
    """Count neighbouring names of the statement that the closest sentences hold in the other order."""
    places: dict[str, int] = {}
    repeated: set[str] = set()
    for index, word in enumerate(window.words):
        if word.weight:
            repeated |= {word.stem} & places.keys()
            places.setdefault(word.stem, index)
    names = [word.stem for word in claim.content if word.is_name and word.stem in places.keys() - repeated]
    return min(sum(places[first] > places[second] for first, second in pairwise(names)), 3)
