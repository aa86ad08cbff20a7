"""An acronym of the question, written out in the words of the evidence (R4-9).

Three words of a long text often begin with any three letters. So only a term counts: words with capital letters, a
whole cell, heading, item or bracket, or words that two different sentences have.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from sourcebound.contracts.extractive.sentences import Sentence, read_evidence
from sourcebound.contracts.prompt.build import EvidencePart
from sourcebound.contracts.text.content_words import STOP_WORDS
from sourcebound.contracts.validation.support.words import Word

ACRONYM: Final = re.compile(r"(?<![\w/.-])[A-Z]{3,6}(?![\w/-]|\.\w)")
"""Fewer letters fit too many words, and more are a word in capitals."""
LETTERS: Final = re.compile(r"[^\W\d_]+")
UNBROKEN: Final = re.compile(rf"{LETTERS.pattern}(?:[ -]{LETTERS.pattern})*")


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
    held: dict[str, set[str]] = {}
    terms, is_known = set[str](), False
    for sentence in sentences:
        has_it = any(word.form == letters for word in sentence.words)
        is_known = is_known or has_it
        for run, is_term in _runs(letters, sentence):
            if has_it:
                return acronym
            held.setdefault(run, set()).add(sentence.text)
            if is_term or len(held[run]) > 1:
                terms.add(run)
    if len(terms) != 1:
        return acronym
    return f"{terms.pop()} ({acronym})" if is_known else terms.pop()


def _runs(letters: str, sentence: Sentence) -> Iterator[tuple[str, bool]]:
    """Yield the runs of words that begin with these letters without a mark between them, and whether each is a term."""
    content = [word for word in sentence.words if word.weight]
    for place in range(len(content) - len(letters) + 1):
        words = content[place : place + len(letters)]
        if all(word.form.startswith(letter) for word, letter in zip(words, letters, strict=True)):
            start, end = words[0].start, _end_of(sentence.text, words[-1])
            run = sentence.text[start:end]
            if UNBROKEN.fullmatch(run):
                yield run.casefold(), _is_name(run, words, sentence) or _is_whole(start, end, words, sentence)


def _end_of(text: str, word: Word) -> int:
    """Return where a word ends in its text, where it may be shorter than its folded form."""
    match = LETTERS.match(text, word.start)
    return match.end() if match else word.start


def _is_name(run: str, words: Sequence[Word], sentence: Sentence) -> bool:
    """Whether each word has a capital letter, in a text that is not all in capitals."""
    return not run.isupper() and all(sentence.text[word.start].isupper() for word in words)


def _is_whole(start: int, end: int, words: Sequence[Word], sentence: Sentence) -> bool:
    """Whether a run is all that a bracket, the name or the value of a field, a heading or an item holds.

    A sentence ends with a mark.
    """
    text, first, last = sentence.text, words[0], words[-1]
    if start and text[start - 1] in "([":
        return text[end : end + 1] in (")", "]")
    parts = [sentence.words] if end == len(text) else []
    for field in sentence.fields if len(sentence.fields) > 1 else ():
        parts += [sentence.words[field.first : field.value], sentence.words[field.value : field.end]]
    return any(part and part[0] is first and part[-1] is last for part in parts)
