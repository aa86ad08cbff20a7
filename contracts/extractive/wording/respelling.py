"""A mistyped question in the spelling of the evidence, so that its words are found there (R4-9)."""

from collections import Counter
from collections.abc import Iterable, Sequence

from sourcebound.contracts.extractive.labels import spell_source
from sourcebound.contracts.extractive.sentences import read_evidence
from sourcebound.contracts.prompt.build import EvidencePart
from sourcebound.contracts.text.content_words import STOP_WORDS
from sourcebound.contracts.text.spelling import best_spelling, doubtful_words, respell
from sourcebound.contracts.validation.support.words import Word, is_common_word, read_words


def in_the_spelling_of(evidence: Sequence[EvidencePart], question: str) -> str:
    """Return a question with the words that neither the evidence nor English knows in the spelling of the evidence.

    Args:
        evidence: The evidence of the prompt.
        question: The question or the search query.
    """
    doubtful = [word for word in doubtful_words(question) if word not in STOP_WORDS and not is_common_word(word)]
    if not doubtful:
        return question
    words = list(_words_of(evidence))
    known = Counter(word.form for word in words) | Counter(dict.fromkeys(STOP_WORDS, len(words)))
    stems = {word.stem for word in words}
    spellings = {
        word: spelling
        for word in doubtful
        if known[word] == 0
        and stems.isdisjoint(each.stem for each in read_words(word))
        and (spelling := best_spelling(word, known))
    }
    return respell(question, spellings)


def _words_of(evidence: Sequence[EvidencePart]) -> Iterable[Word]:
    for part in evidence:
        yield from read_words(spell_source(part.source))
    for sentence in read_evidence(evidence):
        yield from sentence.words
