"""Evidence in other languages, sentence by sentence in English, because the reader of sentences knows no other (R4-9).

The lexicon gives the words, in the order of the evidence. Each English sentence belongs to one of the evidence, and
only that is quoted.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.extractive.sentences import Sentence, read_evidence
from sourcebound.contracts.languages.detection import foreign_language
from sourcebound.contracts.languages.english import (
    CELL_END,
    Find,
    find_in,
    foreign_language_of_chunk,
    read_wordings,
    write_english,
)
from sourcebound.contracts.languages.lexicon import WORD
from sourcebound.contracts.prompt.build import EvidencePart

MARK: Final = re.compile(r"\s*(?:#{1,6}\s+|(?:[-*+•]|\(?\d{1,2}[.)])\s+)?(?:\|\s*)?")
"""What begins a heading, an item or a row."""
EMPHASIS: Final = re.compile(r"[*_`]")
"""The marks that would hide the end of a sentence: `**Entretien.** …`."""


class ReadInEnglish(NamedTuple):
    """Evidence with its English."""

    evidence: tuple[EvidencePart, ...]
    """The chunks, those in other languages in English."""
    begins: tuple[tuple[int, ...], ...]
    """For each chunk where the English of each of its sentences begins; nothing for a chunk that is in English."""
    own: tuple[tuple[Sentence, ...], ...]
    """For each chunk its sentences as they are."""

    def quote(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Return the sentences of the evidence that English ones were made of, in their order."""
        return list(dict.fromkeys(map(self._quote, sentences)))

    def _quote(self, sentence: Sentence) -> Sentence:
        begins = self.begins[sentence.chunk]
        return self.own[sentence.chunk][max(0, bisect_right(begins, sentence.start) - 1)] if begins else sentence


def in_language_of(question: str, evidence: Sequence[EvidencePart]) -> tuple[EvidencePart, ...]:
    """Return the evidence in the language of a question, or all of it if there is none or the question is in English.

    A reader who asks in German of `the tower` means the one of the German documents.
    """
    language = foreign_language(question)
    own = tuple(part for part in evidence if language and foreign_language_of_chunk(part.text) == language)
    return own or tuple(evidence)


def read_in_english(evidence: Sequence[EvidencePart], said: str) -> ReadInEnglish | None:
    """Return evidence with its chunks in other languages in English; None if all of it is in English.

    Args:
        evidence: The evidence of a prompt.
        said: The question. If it is in English, its words are taken where they are translations.
    """
    sentences, find = read_evidence(evidence), find_in((said,))
    parts: list[EvidencePart] = []
    begins: list[tuple[int, ...]] = []
    own = tuple(tuple(each for each in sentences if each.chunk == chunk) for chunk in range(len(evidence)))
    for part, of_part in zip(evidence, own, strict=True):
        language = foreign_language_of_chunk(part.text)
        if language is None:
            parts.append(part)
            begins.append(())
            continue
        text, starts = _write(part.text, of_part, language, find)
        parts.append(part._replace(text=text))
        begins.append(starts)
    return ReadInEnglish(tuple(parts), tuple(begins), own) if any(begins) else None


def _write(text: str, sentences: Sequence[Sentence], language: str, find: Find) -> tuple[str, tuple[int, ...]]:
    """Return a chunk in English, with what is between its sentences, and where each of them begins."""
    written, starts, last = "", list[int](), 0
    for each in sentences:
        written += text[last : each.start]
        starts.append(len(written))
        written += _write_sentence(text[each.start : each.end], language, find)
        last = each.end
    return written + text[last:], tuple(starts)


def _write_sentence(text: str, language: str, find: Find) -> str:
    match = MARK.match(text)
    mark = match[0] if match else ""
    cells = (_write_cell(cell, language, find) for cell in text[len(mark) :].split(CELL_END))
    return mark + f" {CELL_END} ".join(cells).rstrip()


def _write_cell(text: str, language: str, find: Find) -> str:
    if not WORD.search(text):
        return text
    english = write_english(read_wordings(language, EMPHASIS.sub("", text), is_whole=True), find)
    return english[:1].upper() + english[1:]
