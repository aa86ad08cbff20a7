"""R3-9, phase A: the evidence as facts. A fact is a quotation and where it stands; nothing is synthesised.

One fact an evidence chunk: its quote is the chunk's text as the prompt would show it, so that a fact that is kept is
evidence that is kept, under an anchor of its own and with the offsets of its chunk.
"""

import json
from collections.abc import Iterable
from typing import NamedTuple

from sourcebound.contracts.display import one_line
from sourcebound.contracts.evidence import AnswerBundle, document_name
from sourcebound.contracts.model import Contract


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
