"""An acronym of the question, written out in the words of the evidence (R4-9).

Three words of a long text often begin with any three letters. So only a term counts: words with capital letters, a
whole cell or item, or words that two sentences have.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.extractive.sentences import Sentence, read_evidence
from sourcebound.contracts.prompt.build import EvidencePart
from sourcebound.contracts.text.content_words import STOP_WORDS

ACRONYM: Final = re.compile(r"(?<![\w/.-])[A-Z]{3,6}(?![\w/-]|\.\w)")
"""Fewer letters fit too many words, and more are a word in capitals."""
UNBROKEN: Final = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+)*")
BEFORE: Final = re.compile(r"(?:^|[:;|(\[•*-]) *$")
AFTER: Final = re.compile(r" *(?:[:;|)\]]|\.?$)")
"""The marks around a term that is a cell, an item or in brackets. Any other three words may begin with the letters."""


def write_acronyms_out(evidence: Sequence[EvidencePart], question: str) -> str:
    """Return a question with its acronyms written out, where the evidence has the words without the acronym.

    They are the only term of the evidence whose words begin with the letters. Function words between them need no
    letter. A function word in capitals is an emphasis. `TOC` is read as `total organic carbon`, and as `total organic
    carbon (TOC)` if the evidence also has the acronym. If a sentence has both, the evidence says what it means.

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
    counts, terms, is_known = Counter[str](), set[str](), False
    for sentence in sentences:
        runs, has_it = {*_runs(letters, sentence)}, any(word.form == letters for word in sentence.words)
        if runs and has_it:
            return acronym
        counts.update(run.words for run in runs)
        terms |= {run.words for run in runs if run.is_term}
        is_known = is_known or has_it
    terms |= {words for words, count in counts.items() if count > 1}
    if len(terms) != 1:
        return acronym
    return f"{terms.pop()} ({acronym})" if is_known else terms.pop()


class _Run(NamedTuple):
    words: str
    is_term: bool
    """Whether it has capital letters, or is all that a cell, an item or a bracket holds."""


def _runs(letters: str, sentence: Sentence) -> Iterator[_Run]:
    """Yield the runs of words that begin with these letters, without a mark between them."""
    content = [word for word in sentence.words if word.weight]
    for place in range(len(content) - len(letters) + 1):
        words = content[place : place + len(letters)]
        start, end = words[0].start, words[-1].start + len(words[-1].form)
        run = sentence.text[start:end]
        starts_alike = all(word.form.startswith(letter) for word, letter in zip(words, letters, strict=True))
        if starts_alike and UNBROKEN.fullmatch(run):
            is_name = all(sentence.text[word.start].isupper() for word in words)
            is_whole = bool(BEFORE.search(sentence.text[:start]) and AFTER.match(sentence.text[end:]))
            yield _Run(run.casefold(), is_name or is_whole)
