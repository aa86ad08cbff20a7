"""Statements with a name that neither their chunks nor the question have (R5-17).

`It was designed by Daniel Okoro` is not supported by a chunk that names Tomas Verhey. A name is here two words or more
with capital letters, of which one is no everyday word. German is not read, because it writes each noun so.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from sourcebound.contracts.languages.english import NOUNS_IN_CAPITALS, language_of_text
from sourcebound.contracts.languages.function_words import ALL, ENGLISH
from sourcebound.contracts.languages.lexicon import has_word, is_english_word
from sourcebound.contracts.text.content_words import STOP_WORDS
from sourcebound.contracts.validation.support.passages import FAMILY
from sourcebound.contracts.validation.support.words import is_common_word

NAME: Final = re.compile(r"(?<![\w'’-])[A-ZÀ-Ý][^\W\d_A-Z]+(?:[ -][A-ZÀ-Ý][^\W\d_A-Z]+){1,5}+(?![\w-])(?!\W{0,3}:)")
"""Words with capital letters. Those before a colon are a label."""
PART: Final = re.compile(r"[ -]")
WORD: Final = re.compile(r"[^\W_]+")
START: Final = re.compile(r"(?:^|[.!?:|…]\s|\n)[\W\d_]*$")
"""What is before the first word of a sentence, which has a capital letter anyway."""
BEFORE: Final = 8
"""The characters before a name in which its sentence may begin."""


def names_another(statement: str, chunks: Iterable[str], known: Iterable[str], language: str | None) -> bool:
    """Return whether a statement has a name of which no word is in its chunks, their titles or the question.

    Args:
        statement: A statement without citations.
        chunks: The texts of the chunks that it cites.
        known: The question, and the titles of the chunks.
        language: The language of the statement; None for English.
    """
    own, texts = language or ENGLISH, list(chunks)
    if own in NOUNS_IN_CAPITALS or not any(language_of_text(text) == own for text in texts):
        return False
    names = [words for words in _read_names(statement, own) if not all(_is_everyday(word, own) for word in words)]
    if not names:
        return False
    forms = {form for text in (*texts, *known) for form in WORD.findall(text.casefold())}
    beginnings = {form[:FAMILY] for form in forms}
    return any(
        "".join(word[0] for word in words) not in forms
        and not any(word in forms or (len(word) >= FAMILY and word[:FAMILY] in beginnings) for word in words)
        for words in names
    )


def _read_names(statement: str, language: str) -> Iterator[list[str]]:
    """Yield the words of each name in lower case, without function words and the first word of a sentence."""
    plain = statement.replace("*", "").replace("_", " ")
    for match in NAME.finditer(plain):
        words = PART.split(match[0].casefold())
        begins = START.search(plain, max(0, match.start() - BEFORE), match.start()) is not None
        words = [word for word in words[begins:] if word not in STOP_WORDS and word not in ALL.get(language, ())]
        if words:
            yield words


def _is_everyday(word: str, language: str) -> bool:
    if language != ENGLISH and has_word(language, word):
        return True
    return is_common_word(word) or is_english_word(word)
