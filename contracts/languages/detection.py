"""The language of a question or a statement, by its function words and by the words of the lexicon (R1-4)."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.languages.function_words import ALL
from sourcebound.contracts.languages.lexicon import LANGUAGES, has_word, is_english_word
from sourcebound.contracts.text.content_words import STOP_WORDS

PART: Final = re.compile(r"[-'’]")
EDGES: Final = "\"'()[]{}<>.,;:!?¿¡…*“”„«»|"
ENDS: Final = (".", "?", "!", ":", "|")
NO_WORD: Final = re.compile(r"[^\W\d_]*[\d_@/\\.:=+#]|-")
"""The beginning of an id, an address, a path, an option or a number."""
MOST_WORDS: Final = 200
"""The words by which the language of a longer text is known."""
FEWEST: Final = 2
"""The fewest words of a language that tell it, in a text of several words."""


class _Word(NamedTuple):
    form: str
    is_capital: bool
    """Whether it begins with a capital letter within a sentence: a name, or a German noun."""


def foreign_language(text: str, otherwise: str | None = None) -> str | None:
    """Return the language of a text; None for English and for a language that the lexicon does not have.

    A language counts with its function words and with the other words that the lexicon has. Ids, abbreviations and
    single letters are of no language, and a name only of German.

    Args:
        text: A question, or a statement of an answer.
        otherwise: The language of a text that could be of several.
    """
    words = [word for _, word in zip(range(MOST_WORDS), _read(text), strict=False)]
    plain = [word.form for word in words if not word.is_capital]
    small = {language: sum(form in ALL[language] for form in plain) for language in LANGUAGES}
    english, most = sum(form in STOP_WORDS for form in plain), max(small.values())
    if english > most:
        return None
    english += sum(form not in STOP_WORDS and is_english_word(form) for form in plain)
    if most == 0 and 2 * english >= len(plain) > 0:
        return otherwise
    scores = {
        language: count + _count_content(language, words) for language, count in small.items() if count >= most - 1
    }
    best = max(scores, key=scores.__getitem__)
    if scores[best] == english or (scores[best] < FEWEST and len(words) > 1):
        return otherwise
    return best if scores[best] > english else None


def _count_content(language: str, words: Sequence[_Word]) -> int:
    own = [word.form for word in words if language == "de" or not word.is_capital]
    return sum(form not in ALL[language] and has_word(language, form) for form in own)


def _read(text: str) -> Iterator[_Word]:
    """Yield the words of a text that may be of a language."""
    begins = True
    for token in text.split():
        core = token.strip(EDGES)
        if not NO_WORD.match(core):
            for number, part in enumerate(PART.split(core)):
                if part.isalpha() and (len(part) > 1 or not part.isascii()) and not (part.isupper() and part[1:]):
                    yield _Word(part.casefold(), part[0].isupper() and not (begins and not number))
        begins = token.endswith(ENDS) or (begins and not core)
