"""An acronym of the question, written out in the words of the evidence (R4-9)."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from sourcebound.contracts.extractive.sentences import Sentence, read_evidence
from sourcebound.contracts.prompt.build import EvidencePart
from sourcebound.contracts.text.content_words import STOP_WORDS

ACRONYM: Final = re.compile(r"(?<![\w/.-])[A-Z]{3,6}(?![\w/-]|\.\w)")
"""Fewer letters fit too many words, and more are a word in capitals."""
UNBROKEN: Final = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+)*")


def write_acronyms_out(evidence: Sequence[EvidencePart], question: str) -> str:
    """Return a question with its acronyms written out, where the evidence has the words without the acronym.

    They are the only words of the evidence that begin with the letters, one after the other and without a mark.
    Function words between them need no letter. A function word in capitals is an emphasis. `TOC` is read as `total
    organic carbon`, and as `total organic carbon (TOC)` if the evidence also has the acronym. If a sentence has both,
    the evidence says what the acronym means.

    Args:
        evidence: The evidence of the prompt.
        question: The question or the search query.
    """
    if question.isupper() or not ACRONYM.search(question):
        return question
    sentences = read_evidence(evidence)
    return ACRONYM.sub(lambda match: _write_out(match[0], sentences), question)


def _write_out(acronym: str, sentences: Sequence[Sentence]) -> str:
    letters = acronym.casefold()
    if letters in STOP_WORDS:
        return acronym
    runs, is_known = set[str](), False
    for sentence in sentences:
        found, has_it = {*_runs(letters, sentence)}, any(word.form == letters for word in sentence.words)
        if found and has_it:
            return acronym
        runs, is_known = runs | found, is_known or has_it
    if len(runs) != 1:
        return acronym
    return f"{runs.pop()} ({acronym})" if is_known else runs.pop()


def _runs(letters: str, sentence: Sentence) -> Iterator[str]:
    """Yield the runs of words that begin with these letters, without a mark between them."""
    content = [word for word in sentence.words if word.weight]
    for start in range(len(content) - len(letters) + 1):
        words = content[start : start + len(letters)]
        run = sentence.text[words[0].start : words[-1].start + len(words[-1].form)]
        starts_alike = all(word.form.startswith(letter) for word, letter in zip(words, letters, strict=True))
        if starts_alike and UNBROKEN.fullmatch(run):
            yield run.casefold()
