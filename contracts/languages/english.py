"""A question in another language, word by word in English: the words by which English evidence is found (R1-4, R4-9).

A word has several translations. Which one the documents use, only their words tell.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Final, NamedTuple

from sourcebound.contracts.languages.detection import foreign_language
from sourcebound.contracts.languages.function_words import ALL, ENGLISH, FUNCTION_WORDS, IN_SENTENCES, language_of
from sourcebound.contracts.languages.lexicon import LONGEST_PHRASE, WORD, look_up, split_compound
from sourcebound.contracts.text.content_words import STOP_WORDS, content_words, stem
from sourcebound.contracts.text.spelling import QUOTED

TOKEN: Final = re.compile(
    rf"{QUOTED.pattern}|[^\s@]{{1,99}}@[^\s@]{{1,255}}\.\w+|(?:https?://|www\.)\S*[^\s.,;:?!)]|(?<!\S)--[A-Za-z][\w-]*|(?<!\S)-[A-Za-z]\b"
    r"|(?<!\w)[+−-]?\d+(?:[.,:]\d+)*(?:\s?[%‰€$£°][CFK]?)?(?!\w)|[A-Za-z](?:\+\+|#)"
    r"|\.?[^\W_]+(?:[-./·_][^\W_]+)*|[,;:.?!](?=\s|$)"
)
"""A quotation, an address, an option, a number with its sign, a word, or a mark."""
BEFORE_MARK: Final = re.compile(r" (?=[,;:.?!](?:\s|$))")
WHICH_IS: Final = re.compile(r"\bwhich (?=is\b|are\b)")
HYPHEN: Final = re.compile("-")
MEANING: Final = frozenset(
    """
    after all and any before between both can cannot could does during each few first how is are last many may more most
    much must never no not one only or per same should until what when where which while who whom whose why without
    """.split()
)
"""The function words of English that a question needs. Others are left out: `of`, `the`, `it`."""
WHOLE: Final = MEANING | STOP_WORDS
"""Those that a whole sentence keeps."""
LEFT_OUT: Final = STOP_WORDS | frozenset("himself herself themselves myself yourself oneself upon thereby".split())
MARKS: Final = frozenset(",;:.?!")
SEPARABLE: Final = {
    "de": frozenset(
        "ab an auf aus bei durch ein fest frei her hin los mit nach um unter vor weg weiter zu zurück".split()
    ),
    "nl": frozenset("aan af bij door in mee na om op over toe uit voor weg".split()),
}
"""The prefixes of verbs that stand alone at the end of a clause."""
CONCORD: Final = ("fr", "es", "it", "pt")
"""The languages in which two words of a clause deny it once."""
DENIALS: Final = frozenset(["not", "no", "never", "cannot", "must not", "none", "nobody", "nothing", "no one"])
UNITS: Final = frozenset("bar mbar mm cm km kg mg ml dl cl min kw hz khz mhz nm pa kpa mpa db ppm rpm".split())
"""Units that are written alike in all languages."""
NOUNS_IN_CAPITALS: Final = ("de",)
"""The languages that write every noun with a capital letter."""
CELL_END: Final = "|"
"""The mark between the cells of a row."""
LEAST_OWN: Final = 100
"""The least share of function words of its language in a chunk, in thousandths."""
LEAST_KNOWN: Final = 600
"""The least share of its other words that the lexicon has, in thousandths."""
Find = Callable[[str], str | None]
"""Returns an English phrase as the documents write it; None if they have not all of its words."""
CACHED_TEXTS: Final = 1 << 8


class Wording(NamedTuple):
    """A word or phrase of a question."""

    text: str
    """As it is in the question, or in lower case."""
    english: tuple[str, ...]
    """Its translations, the likeliest first. None for a name, which in German only its absence from the lexicon tells,
    for a value, and for a word that the lexicon does not have."""


def read_wordings(language: str, text: str, *, is_whole: bool = False) -> list[Wording]:
    """Return the words and phrases of a question with their translations. Function words without one are left out.

    Args:
        language: A language of the lexicon.
        text: The question or search query.
        is_whole: Whether to keep every function word that has a translation, and the case of unknown words.
    """
    tokens = _with_prefixes(language, list(_tokens(language, text)))
    found: list[Wording] = []
    place = 0
    while place < len(tokens):
        is_first = not place or tokens[place - 1] in MARKS
        wording, length = _longest(
            language, tokens[place : place + LONGEST_PHRASE], is_first=is_first, is_whole=is_whole
        )
        found += wording
        place += length
    return _deny_once(found) if language in CONCORD else found


def _deny_once(wordings: Sequence[Wording]) -> list[Wording]:
    """Return wordings with the first denial of each clause: `ne peut pas` and `non può mai` deny once."""
    found: list[Wording] = []
    is_denied = False
    for each in wordings:
        denies = bool(each.english) and each.english[0] in DENIALS
        if not (denies and is_denied):
            found.append(each)
        is_denied = each.text not in MARKS and (denies or is_denied)
    return found


def write_english(wordings: Sequence[Wording], find: Find, choice: int = 0) -> str:
    """Return a question in English, with translations that the documents have where there are any.

    Args:
        wordings: Those of `read_wordings`.
        find: Finds a phrase in the documents.
        choice: Which of the known translations of each word to take; the last if there are fewer.
    """
    words = []
    for each in wordings:
        found = [phrase for english in each.english if (phrase := find(english))]
        best = list(dict.fromkeys(found)) or [*each.english[:1], each.text]
        words.append(best[min(choice, len(best) - 1)] if found else best[0])
    return WHICH_IS.sub("what ", BEFORE_MARK.sub("", " ".join(words)))


def _tokens(language: str, text: str) -> Iterator[str]:
    """Yield the words of a text: `est-ce` as two, `HP-200-Pumpe` as `HP-200` and `Pumpe`, and what is quoted as one."""
    for match in TOKEN.finditer(text):
        is_whole = QUOTED.fullmatch(match[0]) or match[0][0] == "-"
        parts = [match[0]] if is_whole else HYPHEN.split(match[0])
        words = list(takewhile(lambda part: _is_listed(language, part), reversed(parts)))
        if len(words) < len(parts):
            yield "-".join(parts[: len(parts) - len(words)])
        yield from reversed(words)


def _with_prefixes(language: str, tokens: Sequence[str]) -> list[str]:
    """Return words with each prefix at the end of a clause before its verb: `schalte … ab?` as `abschalte …?`."""
    found: list[str] = []
    start = 0
    for place, token in enumerate(tokens):
        if token in SEPARABLE.get(language, ()) and (place + 1 == len(tokens) or tokens[place + 1] in MARKS):
            verbs = [
                at for at in range(start, len(found)) if found[at].islower() and look_up(language, [token + found[at]])
            ]
            if verbs:
                found[verbs[0]] = token + found[verbs[0]]
                continue
        found.append(token)
        start = len(found) if token in MARKS else start
    return found


def _longest(language: str, tokens: Sequence[str], *, is_first: bool, is_whole: bool) -> tuple[list[Wording], int]:
    """Return what the longest phrase at the beginning of some words means, and how many words it has."""
    for length in range(len(tokens), 1, -1):
        phrase = tokens[:length]
        if all(map(WORD.fullmatch, phrase)) and (english := look_up(language, phrase)):
            return [Wording(" ".join(phrase), english)], length
    token = tokens[0]
    form = token.casefold()
    is_name = token[0].isupper() and not is_first and (language not in NOUNS_IN_CAPITALS or len(token) == 1)
    if is_name or form in UNITS or not WORD.fullmatch(token) or any(map(str.isdigit, token)):
        return [Wording(token, ())], 1
    english = look_up(language, [token])
    if english or form in ALL[language] or len(form) == 1:
        is_content = form not in ALL[language]
        if is_whole and not is_content:
            needed = IN_SENTENCES[language].get(form) or tuple(
                each for each in english if WHOLE.issuperset(each.split())
            )
        else:
            needed = tuple(each for each in english if each in MEANING or (is_content and each not in LEFT_OUT))
        return [Wording(form, needed)] if needed else [], 1
    if parts := read_meanings(language, token):
        return [Wording(form, part) for part in parts], 1
    return [Wording(token if token.isupper() or is_whole else form, ())], 1


def _is_listed(language: str, word: str) -> bool:
    """Return whether a part of a word with hyphens is a word of the language."""
    is_word = WORD.fullmatch(word) is not None and word.isalpha()
    listed = word.casefold() in ALL[language]
    return is_word and (listed or bool(read_meanings(language, word)))


def read_meanings(language: str, word: str) -> list[tuple[str, ...]]:
    """Return the translations of a word, or those of each part of a compound; none if the lexicon does not have it.

    Args:
        language: A language of the lexicon.
        word: A word.
    """
    if found := look_up(language, [word]):
        return [found]
    return [look_up(language, [part.title()]) for part in split_compound(language, word)]


def translate(text: str, texts: Sequence[str], otherwise: str | None = None, *, is_whole: bool = False) -> str | None:
    """Return a text in the English of the evidence; None if it is in English, or some evidence is in its language.

    Args:
        text: A question, or a statement of an answer.
        texts: The evidence.
        otherwise: The language of a text that could be of several.
        is_whole: As for `read_wordings`.
    """
    language = foreign_language(text, otherwise)
    if language is None or any(language_of_text(each) == language for each in texts):
        return None
    english = write_english(read_wordings(language, text, is_whole=is_whole), find_in(tuple(texts)))
    return english if content_words(english) else None


def translate_evidence(text: str, language: str | None, said: str = "") -> str | None:
    """Return a chunk line by line in English; None if it is in another language.

    Args:
        text: The chunk.
        language: A language of the lexicon. None: that of the chunk, unless it is English.
        said: A text in English, whose words are taken where they are translations. Otherwise the usual ones are.
    """
    own = language_of_text(text)
    if own == ENGLISH or own != (language or own):
        return None
    find = find_in((said,))
    return "\n".join(
        f" {CELL_END} ".join(write_english(cell, find) if isinstance(cell, list) else cell for cell in row).strip()
        for row in _read_rows(text, own)
    )


def read_translations(text: str) -> list[tuple[str, ...]]:
    """Return the translations of each word of a chunk in another language, the likeliest first.

    Args:
        text: The chunk.

    Returns:
        Nothing for a chunk that is not surely in a language of the lexicon (`foreign_language_of_chunk`).
    """
    language = foreign_language_of_chunk(text)
    return [each.english for each in _read_words(text, language) if each.english] if language else []


@lru_cache(CACHED_TEXTS)
def foreign_language_of_chunk(text: str) -> str | None:
    """Return the language of a chunk that is surely in one of the lexicon; None for English, and for code and lists.

    It has enough function words, more than of English, and the lexicon has most of its other words.
    """
    forms, language = _forms(text), language_of_text(text)
    if language == ENGLISH:
        return None
    own, english = (sum(form in words for form in forms) for words in (FUNCTION_WORDS[language], STOP_WORDS))
    if own < 2 * english or 1000 * own < LEAST_OWN * len(forms):
        return None
    words = _read_words(text, language)
    known = sum(bool(each.english) for each in words)
    return language if 1000 * known >= LEAST_KNOWN * len(words) else None


def _read_words(text: str, language: str) -> list[Wording]:
    rows = _read_rows(text, language)
    return [each for row in rows for cell in row if isinstance(cell, list) for each in cell if each.text.isalpha()]


@lru_cache(CACHED_TEXTS)
def _read_rows(text: str, language: str) -> list[list[list[Wording] | str]]:
    """Return the words of each cell of each line of a chunk, and a cell without words as it is."""
    rows = (line.split(CELL_END) for line in text.split("\n"))
    return [[read_wordings(language, cell) if WORD.search(cell) else cell.strip() for cell in row] for row in rows]


@lru_cache(CACHED_TEXTS)
def find_in(texts: tuple[str, ...]) -> Find:
    """Return what finds an English phrase in texts: in the form that they have it, or None."""
    counts = Counter(form for text in texts for form in _forms(text))
    spelled = {stem(form): form for form, _ in reversed(counts.most_common()) if form not in STOP_WORDS}

    def find(phrase: str) -> str | None:
        words = [word if word in STOP_WORDS else spelled.get(stem(word)) for word in phrase.split()]
        return None if None in words else " ".join(filter(None, words))

    return find


@lru_cache(CACHED_TEXTS)
def language_of_text(text: str) -> str:
    """Return the language of a chunk by its function words."""
    return language_of(_forms(text))


def _forms(text: str) -> list[str]:
    return WORD.findall(text.casefold())
