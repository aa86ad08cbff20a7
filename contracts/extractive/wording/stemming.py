"""Questions and sentences with the stems of their own language: `Hunden` is `Hund` in German (R4-9).

The verifier's stems are English, and other languages are compared there as they are written.
"""

from collections.abc import Iterable, Sequence

from sourcebound.contracts.extractive.question import Question
from sourcebound.contracts.extractive.sentences import Sentence
from sourcebound.contracts.languages.stems import STEMMERS, stem_in
from sourcebound.contracts.validation.support.words import Word


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
    return tuple(word._replace(stem=stem_in(language, word.stem)) for word in words)


def _stems(language: str, stems: Iterable[str]) -> frozenset[str]:
    return frozenset(stem_in(language, stem) for stem in stems)
