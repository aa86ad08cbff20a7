"""Questions and sentences with the stems of their own language: `Hunden` is `Hund` in German (R4-9).

The verifier's stems are English, and other languages are compared there as they are written.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import snowballstemmer

from sourcebound.contracts.extractive.question import Question
from sourcebound.contracts.extractive.sentences import Sentence
from sourcebound.contracts.validation.support.words import Word

STEMMERS: Final = {
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "it": "italian",
    "nl": "dutch",
    "pt": "portuguese",
}
CACHED_STEMS: Final = 1 << 15
SHORTEST: Final = 4
"""The fewest letters of a word that is stemmed."""


def in_language(question: Question, sentences: Sequence[Sentence]) -> tuple[Question, Sequence[Sentence]]:
    """Return a question and the sentences of its prompt with the stems of the question's language.

    Args:
        question: The question.
        sentences: The sentences of the prompt.

    Returns:
        Both as they are, if there is no stemmer for the language.
    """
    if question.language not in STEMMERS:
        return question, sentences
    language = question.language
    words = _words(language, question.words)
    asked = question._replace(
        words=words,
        weights={word.stem: word.weight for word in words if word.weight},
        names=_stems(language, question.names),
    )
    return asked, [_sentence(language, each) for each in sentences]


def _sentence(language: str, sentence: Sentence) -> Sentence:
    return sentence._replace(
        words=_words(language, sentence.words),
        stems=_stems(language, sentence.stems),
        nearby=_stems(language, sentence.nearby),
        heading=_stems(language, sentence.heading),
        title=_stems(language, sentence.title),
        fields=tuple(field._replace(head=_stems(language, field.head)) for field in sentence.fields),
    )


def _words(language: str, words: Iterable[Word]) -> tuple[Word, ...]:
    return tuple(word._replace(stem=_stem(language, word.stem)) for word in words)


def _stems(language: str, stems: Iterable[str]) -> frozenset[str]:
    return frozenset(_stem(language, stem) for stem in stems)


@lru_cache(maxsize=CACHED_STEMS)
def _stem(language: str, stem: str) -> str:
    """Return the stem of a word. A stemmer keeps the word that it works on, so threads must not share one."""
    if len(stem) < SHORTEST or not stem.isalpha():
        return stem
    stemmed: str = snowballstemmer.stemmer(STEMMERS[language]).stemWord(stem)
    return stemmed
