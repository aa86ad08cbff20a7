"""R3-9, phase B without a model: which facts bear on the question, by frozen rules over their words.

The rules are coarse on purpose. They take out what can be no answer to the question; which of the rest is the answer is
the generator's to say, and the firewall's to check.

R3-9, phase A: the evidence as facts. A fact is a quotation and where it stands; nothing is synthesised.

One fact an evidence chunk: its quote is the chunk's text as the prompt would show it, so that a fact that is kept is
evidence that is kept, under an anchor of its own and with the offsets of its chunk.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.base import Contract
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, RowOutcome, document_name
from sourcebound.contracts.text.content_words import content_words
from sourcebound.contracts.text.sanitize import one_line


class FactKey(NamedTuple):
    """What tells one fact from another."""

    document: str
    page: int | None
    chunk_id: str


class Fact(Contract):
    """A quotation of the evidence and its place."""

    quote: str
    document: str
    """What the reader knows the document by, without the page."""
    page: int | None
    """None where the document has no pages."""
    chunk_id: str
    score: float
    """The chunk's similarity to the question."""
    heading: str
    """The document's title and the headings over the quote; empty where there are none."""

    @property
    def key(self) -> FactKey:
        """Document, page and chunk."""
        return FactKey(self.document, self.page, self.chunk_id)


def read_facts(bundle: AnswerBundle) -> tuple[Fact, ...]:
    """The facts of the evidence, in its order."""
    return tuple(
        Fact(
            quote=chunk.sanitized_text,
            document=document_name(chunk),
            page=chunk.page_number,
            chunk_id=chunk.chunk_id,
            score=chunk.similarity_score,
            heading=" > ".join(filter(None, (chunk.title, chunk.section))),
        )
        for chunk in bundle.selected_evidence
    )


def render_facts(facts: Iterable[Fact]) -> str:
    """The facts as text for people who look into a run: a line a fact, its texts quoted as in JSON.

    Args:
        facts: Facts; `page` is `null` where a document has none.
    """
    return "\n".join(["FACTS:", *map(_line, facts)])


def _line(fact: Fact) -> str:
    quote, name, chunk_id = (json.dumps(one_line(text), ensure_ascii=False) for text in (fact.quote, *fact.key[::2]))
    return f"- {quote} (pdf={name}, page={json.dumps(fact.page)}, chunk_id={chunk_id}, score={fact.score})"


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
