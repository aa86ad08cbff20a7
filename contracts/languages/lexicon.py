"""The frozen lexicon: the English words of a word or phrase in another language (R1-4).

Each line of `lexicon_v1/de.tsv` is an English word, by frequency, and its German words, the usual ones first. It is
read in the other direction.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import takewhile
from typing import Final, NamedTuple

from sourcebound.contracts.languages.function_words import ALL
from sourcebound.contracts.languages.stems import fold, stem_in
from sourcebound.contracts.text.content_words import stem

LEXICON: Final = "lexicon_v1"
"""The version of the lexicon. A changed lexicon gets a new one."""
LANGUAGES: Final = ("de", "fr", "es", "it", "nl", "pt")
"""The languages of the lexicon."""
WORD: Final = re.compile(r"[^\W_]+")
LONGEST_PHRASE: Final = 5
"""The most words of a phrase."""
COMPOUNDING: Final = ("de", "nl")
"""The languages that write compounds as one word: `Ölfilter`."""
JOINTS: Final = ("", "s", "es", "n", "en", "er", "e")
"""What stands between the parts of a compound: `Schicht-s-leiter`."""
SHORTEST_PART: Final = 3
"""The fewest letters of a part of a compound, except these."""
SHORT_PARTS: Final = frozenset(["öl"])
MOST_PARTS: Final = 3
LONGEST_COMPOUND: Final = 40
"""The most letters of a compound."""
CACHED_COMPOUNDS: Final = 1 << 12
CACHED_WORDS: Final = 1 << 14
GERMAN_PREFIX: Final = (
    r"((?:ab|an|auf|aus|bei|durch|ein|fest|frei|her|hin|los|mit|nach|um|unter|vor|weg|weiter|zu|zurück|zusammen)?+)"
)
VERBS: Final = {
    "de": (
        (re.compile(rf"{GERMAN_PREFIX}ge(\w{{3,}}?)e?t"), r"\1\2en"),
        (re.compile(rf"{GERMAN_PREFIX}zu(\w{{3,}})en"), r"\1\2en"),
        (re.compile(r"(\w{3,}?)e?(?:t|st|te|ten)"), r"\1en"),
    ),
    "nl": (
        (re.compile(r"((?:aan|af|bij|door|in|mee|na|om|op|over|toe|uit|voor|weg)?+)ge(\w{3,}?)[td]"), r"\1\2en"),
        (re.compile(r"(\w{3,}?)(?:t|te|ten|de|den)"), r"\1en"),
    ),
    "fr": ((re.compile(r"(\w{3,}?)(?:e?nt|ons|ez|aient)"), r"\1er"), (re.compile(r"(\w{3,}?)(?:iss)?ent"), r"\1ir")),
}
"""The endings of verbs that the stemmers leave, with those of the infinitive."""
FUNCTION_MARK: Final = "="
"""What the key of a function word begins with."""
NEAR: Final = 2
"""How many letters a form may be from a word of the lexicon to tell a language."""
LETTERS: Final = 3
"""The letters by which entries are found. No stemmer changes them."""
ENDING: Final = 1
"""How many letters farther than the nearest form another may be."""
Phrase = tuple[str, ...]


class _Entry(NamedTuple):
    words: tuple[str, ...]
    """The foreign word or phrase in lower case."""
    is_capital: bool
    place: int
    """Its place in its line: 0 for the most usual one."""
    line: int
    english: str


@cache
def _read(language: str) -> dict[str, list[_Entry]]:
    """Return the entries by the first letters of their first word: to stem all of them takes half a second."""
    found: dict[str, list[_Entry]] = {}
    text = (files(__package__) / LEXICON / f"{language}.tsv").read_text("utf-8")
    for number, line in enumerate(text.splitlines()):
        english, phrases = line.split("\t")
        for place, phrase in enumerate(phrases.split(", ")):
            words = _lower(WORD.findall(phrase))
            found.setdefault(_beginning(words), []).append(_Entry(words, phrase[0].isupper(), place, number, english))
    return found


@cache
def _entries(language: str, beginning: str) -> dict[Phrase, list[_Entry]]:
    """Return the entries that begin with some letters, by their stems."""
    found: dict[Phrase, list[_Entry]] = {}
    for entry in _read(language).get(beginning, ()):
        found.setdefault(_stems(language, entry.words), []).append(entry)
    return found


def _lower(words: Sequence[str]) -> Phrase:
    return tuple(word.casefold() for word in words)


def _beginning(words: Phrase) -> str:
    return fold(words[0])[:LETTERS]


def _stems(language: str, words: Phrase) -> Phrase:
    """Return the stems of words without accents. A function word is its own: `para` is no form of `parar`."""
    listed = ALL[language]
    return tuple(FUNCTION_MARK + word if word in listed else fold(stem_in(language, word)) for word in words)


@lru_cache(CACHED_WORDS)
def _distances(language: str, words: Phrase) -> dict[_Entry, int]:
    """Return the entries of which a word or phrase is a form, with the number of letters in which they differ."""
    far: dict[_Entry, int] = {}
    for forms in (words, *_verbs(language, words)):
        beginning = _beginning(forms)
        if beginning in _read(language):
            for entry in _entries(language, beginning).get(_stems(language, forms), ()):
                far.setdefault(entry, sum(map(_distance, forms, entry.words)))
    return far


def _verbs(language: str, words: Phrase) -> list[Phrase]:
    """Return the infinitives of which a word may be a form: `einstellen` for `eingestellt` and `einzustellen`."""
    if len(words) > 1:
        return []
    found = [(pattern.fullmatch(words[0]), infinitive) for pattern, infinitive in VERBS.get(language, ())]
    return [(match.expand(infinitive),) for match, infinitive in found if match]


def _distance(first: str, second: str) -> int:
    """Return how many letters the longer of two words has after those that both begin with."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
    return max(len(first), len(second)) - shared


def look_up(language: str, words: Sequence[str]) -> tuple[str, ...]:
    """Return the English words of a word or phrase, the likeliest first; none if the lexicon does not have it.

    Another form of the word is found as well, and the nearest forms come first: `formats` is of `format`, not of
    `formation`.

    Args:
        language: One of `LANGUAGES`.
        words: Its words.
    """
    far, is_capital = _distances(language, _lower(words)), words[0][0].isupper()
    near = [entry for entry in far if far[entry] <= min(far.values()) + ENDING]
    near.sort(key=lambda entry: (entry.is_capital != is_capital, far[entry], entry.place, entry.line))
    return tuple(dict.fromkeys(entry.english for entry in near))


def has_word(language: str, word: str) -> bool:
    """Return whether the lexicon has a word in some form, or all parts of it if it is a compound and no English word.

    Args:
        language: One of `LANGUAGES`.
        word: A word in lower case.
    """
    far = _distances(language, (word,))
    is_near = bool(far) and min(far.values()) <= NEAR
    return is_near or (not is_english_word(word) and bool(split_compound(language, word)))


def is_english_word(word: str) -> bool:
    """Return whether the lexicon has an English word in some form."""
    return stem(word) in _english_stems()


@cache
def _english_stems() -> frozenset[str]:
    text = (files(__package__) / LEXICON / f"{LANGUAGES[0]}.tsv").read_text("utf-8")
    return frozenset(stem(word) for line in text.splitlines() for word in line.split("\t")[0].split())


@lru_cache(CACHED_COMPOUNDS)
def split_compound(language: str, word: str) -> tuple[str, ...]:
    """Return the parts of a compound that the lexicon has, as they are found there; none if it is no such word.

    Args:
        language: One of `LANGUAGES`.
        word: A word.
    """
    if language not in COMPOUNDING or not word.isalpha() or len(word) > LONGEST_COMPOUND:
        return ()
    found = sorted(_split(language, word.casefold(), MOST_PARTS), key=lambda parts: (len(parts), -min(map(len, parts))))
    return found[0] if found else ()


def _split(language: str, word: str, parts: int) -> Iterator[tuple[str, ...]]:
    if _is_part(language, word):
        yield (word,)
    if parts == 1:
        return
    for end in range(1, len(word)):
        head = next((part for part in _without_joint(word[:end]) if _is_part(language, part)), None)
        if head is not None:
            for rest in _split(language, word[end:], parts - 1):
                yield (head, *rest)


def _without_joint(part: str) -> Iterator[str]:
    return (part.removesuffix(joint) for joint in JOINTS if part.endswith(joint))


def _is_part(language: str, word: str) -> bool:
    """Return whether the lexicon has a word of which this is a form, and no form of few of its letters."""
    if len(word) < SHORTEST_PART and word not in SHORT_PARTS:
        return False
    far = _distances(language, (word,))
    return bool(far) and 2 * min(far.values()) <= len(word)
