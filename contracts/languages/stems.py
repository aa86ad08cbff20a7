"""The stems of words of other languages: `Hunden` is `hund` in German.

The stemmers are those in Python, of one version, because a library in C may stem otherwise and a replay would differ.
"""

import unicodedata
from functools import lru_cache
from typing import Final

from snowballstemmer.dutch_stemmer import DutchStemmer
from snowballstemmer.french_stemmer import FrenchStemmer
from snowballstemmer.german_stemmer import GermanStemmer
from snowballstemmer.italian_stemmer import ItalianStemmer
from snowballstemmer.portuguese_stemmer import PortugueseStemmer
from snowballstemmer.spanish_stemmer import SpanishStemmer

STEMMERS: Final = {
    "de": GermanStemmer,
    "fr": FrenchStemmer,
    "es": SpanishStemmer,
    "it": ItalianStemmer,
    "nl": DutchStemmer,
    "pt": PortugueseStemmer,
}
CONFIGURATIONS: Final = {
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "it": "italian",
    "nl": "dutch",
    "pt": "portuguese",
}
"""The text search configuration of PostgreSQL for each language."""
CACHED_STEMS: Final = 1 << 15
SHORTEST, LONGEST = 4, 60
"""The fewest and the most letters of a word that is stemmed."""


@lru_cache(maxsize=CACHED_STEMS)
def stem_in(language: str, word: str) -> str:
    """Return the stem of a word. A stemmer keeps the word that it works on, so threads must not share one.

    Args:
        language: One of `STEMMERS`.
        word: A word in lower case.
    """
    if not SHORTEST <= len(word) <= LONGEST or not word.isalpha():
        return word
    stemmed: str = STEMMERS[language]().stemWord(word)
    return stemmed


def fold(text: str) -> str:
    """Return a text in lower case without accents."""
    return "".join(each for each in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(each))
