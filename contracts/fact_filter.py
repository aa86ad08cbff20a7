"""R3-9, phase B without a model: which facts bear on the question, by frozen rules over their words.

The rules are coarse on purpose. They take out what can be no answer to the question; which of the rest is the answer is
the generator's to say, and the firewall's to check.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from sourcebound.contracts.content_words import content_words
from sourcebound.contracts.evidence import RowOutcome
from sourcebound.contracts.facts import Fact

LEAST_WORDS: Final = 3
"""Words that a quote must hold beside page furniture: a statement has no fewer."""
WORD: Final = re.compile(r"\w*[^\W\d_]\w*")
FURNITURE: Final = re.compile(
    r"^.*?(?<!\.)(?<!\.[ \t])(?:\.[ \t]?){4,}+[ \t]*+[\divxlc]++[ \t]*+$"  # an entry of a table of contents
    r"|^[^\w\n]*+(?:page|p\.)[ \t]*+\d++(?:[ \t]*+(?:of|/)[ \t]*+\d++)?[^\w\n]*+$"  # a page number
    r"|\(cid:\d+\)|\ufffd+",  # what a PDF without a character map gives
    re.IGNORECASE | re.MULTILINE,
)
SPACELESS: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Scripts that set no blank between words, and Hangul, which joins particles to them."""


def filter_facts(
    facts: Sequence[Fact], searches: Sequence[str], min_overlap: float, max_facts: int
) -> tuple[RowOutcome, ...]:
    """What becomes of each fact.

    Args:
        facts: The facts of phase A, best first.
        searches: What was searched for: the question, and the variants by which the policy expands it (R1-4).
        min_overlap: Share of the content words of one of them that a fact must hold, its headings counted with it.
        max_facts: Facts that are kept at most.

    Returns:
        ADMITTED or a drop code for each fact, in their order.
    """
    wanted = [words for search in searches if (words := overlap_words(search))]
    known: set[str] = set()
    fates: list[RowOutcome] = []
    for fact in facts:
        said = FURNITURE.sub(" ", fact.quote)
        key = duplicate_key(said)
        if len(WORD.findall(said)) < LEAST_WORDS and not SPACELESS.search(said):
            fates.append(RowOutcome.DROP_FACT_NOISE)
        elif wanted and _overlap(wanted, f"{fact.heading} {said}") < min_overlap:
            fates.append(RowOutcome.DROP_FACT_IRRELEVANT)
        elif key in known:
            fates.append(RowOutcome.DROP_FACT_DUP)
        elif len(known) == max_facts:
            fates.append(RowOutcome.DROP_MAX_CHUNKS)
        else:
            known.add(key)
            fates.append(RowOutcome.ADMITTED)
    return tuple(fates)


def duplicate_key(quote: str) -> str:
    """What is the same for two quotes that differ in case, white space, marks and typographic forms alone.

    Every word stays, in its place: "must be opened" is not "must not be opened".
    """
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", quote).casefold()))


def overlap_words(text: str) -> frozenset[str]:
    """The content words of a text; where blanks do not part words, each pair of neighbouring characters."""
    return content_words(SPACELESS.sub(" ", text)) | frozenset(_pairs(text))


def _pairs(text: str) -> Iterator[str]:
    for run in SPACELESS.findall(text):
        yield from (run[start : start + 2] for start in range(max(1, len(run) - 1)))


def _overlap(wanted: Sequence[frozenset[str]], text: str) -> float:
    held = overlap_words(text)
    return max(len(words & held) / len(words) for words in wanted)
