"""R3-9: phase A reads facts from the evidence; phase B without a model filters them by frozen rules.

A fact is a quotation with its place; nothing is synthesized. Each evidence chunk is one fact: the quote is the chunk's
text as the prompt would show it, so that a selected fact is selected evidence, with its own anchor and offsets.

The filter is deliberately coarse. It removes facts that cannot answer the question. The generator chooses the answer
from the rest, and the firewall checks it.
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
    """The key of a fact."""

    document: str
    page: int | None
    chunk_id: str


class Fact(Contract):
    """A quotation of the evidence and its place."""

    quote: str
    document: str
    """The document's name for readers, without the page."""
    page: int | None
    """None if the document has no pages."""
    chunk_id: str
    score: float
    """The chunk's similarity to the question."""
    heading: str
    """The document's title and the headings above the quote; empty if there are none."""

    @property
    def key(self) -> FactKey:
        """Return document, page and chunk."""
        return FactKey(self.document, self.page, self.chunk_id)


def read_facts(bundle: AnswerBundle) -> tuple[Fact, ...]:
    """Return the facts of the evidence, in its order."""
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
    """Render facts as text for readers of a run: one line for each fact, with texts quoted as in JSON.

    Args:
        facts: The facts; `page` is `null` if a document has no pages.
    """
    return "\n".join(["FACTS:", *map(_line, facts)])


def _line(fact: Fact) -> str:
    quote, name, chunk_id = (json.dumps(one_line(text), ensure_ascii=False) for text in (fact.quote, *fact.key[::2]))
    return f"- {quote} (pdf={name}, page={json.dumps(fact.page)}, chunk_id={chunk_id}, score={fact.score})"


LEAST_WORDS: Final = 3
"""The minimum words of a quote without page furniture; a statement has no fewer."""
WORD: Final = re.compile(r"\w*[^\W\d_]\w*")
FURNITURE: Final = re.compile(
    r"^.*?(?<!\.)(?<!\.[ \t])(?:\.[ \t]?){4,}+[ \t]*+[\divxlc]++[ \t]*+$"  # an entry of a table of contents
    r"|^[^\w\n]*+(?:page|p\.)[ \t]*+\d++(?:[ \t]*+(?:of|/)[ \t]*+\d++)?[^\w\n]*+$"  # a page number
    r"|\(cid:\d+\)|\ufffd+",  # the text of a PDF without a character map
    re.IGNORECASE | re.MULTILINE,
)
SPACELESS: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Scripts without blanks between words, and Hangul, which joins particles to words."""


def filter_facts(
    facts: Sequence[Fact], searches: Sequence[str], min_overlap: float, max_facts: int
) -> tuple[RowOutcome, ...]:
    """Filter facts by the words of the question.

    Args:
        facts: The facts of phase A, best first.
        searches: The search queries: the question and its variants (R1-4).
        min_overlap: The share of a query's content words that a fact must hold, with its headings.
        max_facts: The most facts to keep.

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
    """Return a key that ignores case, white space, marks and typographic forms of a quote.

    Every word stays in its place: "must be opened" is not "must not be opened".
    """
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", quote).casefold()))


def overlap_words(text: str) -> frozenset[str]:
    """Return the content words of a text; in scripts without blanks, each pair of neighbouring characters."""
    return content_words(SPACELESS.sub(" ", text)) | frozenset(_pairs(text))


def _pairs(text: str) -> Iterator[str]:
    for run in SPACELESS.findall(text):
        yield from (run[start : start + 2] for start in range(max(1, len(run) - 1)))


def _overlap(wanted: Sequence[frozenset[str]], text: str) -> float:
    text_words = overlap_words(text)
    return max(len(words & text_words) / len(words) for words in wanted)
