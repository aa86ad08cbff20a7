"""How the firewall reads an answer.

Its statements, citations, look-alikes, literals and forbidden words, in one pass (R5).

How the firewall reads an answer of the JSON profile: each row by itself, so that no row vouches for another (R5-10).

A row is read as a text of its own. Cut into two statements, it shows the uncited one, and its literals are looked up
in the chunks of its own anchors, even where the joined text would read two rows as one sentence.
"""

import re
from typing import Final, NamedTuple

from sourcebound.contracts.base import Contract
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.prompt.answer_sentences import AnswerSentences, join, join_row
from sourcebound.contracts.text.citations import (
    CITATION,
    Citation,
    LookAlike,
    find_citations,
    find_look_alikes,
    first_use_order,
)
from sourcebound.contracts.text.segments import Segment, SegmentKind, segment
from sourcebound.contracts.validation.leaks import Forbidden, find_forbidden
from sourcebound.contracts.validation.literals.check import (
    EvidenceReading,
    LiteralFinding,
    check_literals,
    read_evidence,
)
from sourcebound.contracts.validation.refusals import is_exact_refusal, refusal_pattern

CONNECTIVES: Final = frozenset(
    {
        "in summary", "in short", "to summarize", "to summarise", "in conclusion", "additionally", "furthermore",
        "moreover", "however", "therefore", "for example", "for instance", "that is", "as follows", "in detail",
        "in addition", "specifically", "finally", "note", "summary", "answer",
    }
)  # fmt: skip
"""Segments that state nothing (R5-6); frozen with `segment_v1`."""


class Statement(Contract):
    """One segment of an answer and what it rests on."""

    kind: SegmentKind
    start: int
    end: int
    text: str
    anchors: tuple[str, ...]
    needs_citation: bool


class AnswerReading(NamedTuple):
    """Everything that the checks look at."""

    text: str
    is_refusal: bool
    refusal_words: str | None
    citations: tuple[Citation, ...]
    cited_anchors: tuple[str, ...]
    allowed: frozenset[str]
    invented: tuple[str, ...]
    look_alikes: tuple[LookAlike, ...]
    statements: tuple[Statement, ...]
    literals: tuple[LiteralFinding, ...]
    forbidden: tuple[Forbidden, ...]
    evidence_characters: int


def read_answer(text: str, bundle: AnswerBundle) -> AnswerReading:
    """Reads an answer against the evidence of its prompt.

    Args:
        text: The raw model text.
        bundle: The answer bundle.

    Returns:
        The reading; nothing in it is a verdict yet.
    """
    citations = tuple(find_citations(text))
    allowed = frozenset(bundle.anchor_map)
    cited = first_use_order(citation.anchor for citation in citations)
    statements = tuple(read_statements(text))
    sources = read_sources(cited, bundle)
    return AnswerReading(
        text=text,
        is_refusal=is_exact_refusal(text),
        refusal_words=None if is_exact_refusal(text) else refusal_pattern(CITATION.sub("", text)),
        citations=citations,
        cited_anchors=cited,
        allowed=allowed,
        invented=tuple(anchor for anchor in cited if anchor not in allowed),
        look_alikes=tuple(find_look_alikes(text)),
        statements=statements,
        literals=tuple(read_literal_findings(statements, sources, bundle.user_question)),
        forbidden=tuple(find_forbidden(text, bundle)),
        evidence_characters=sum(len(chunk.sanitized_text) for chunk in bundle.selected_evidence),
    )


def read_sources(cited: tuple[str, ...], bundle: AnswerBundle) -> dict[str, EvidenceReading]:
    """The literals of the cited chunks, by anchor."""
    return {
        chunk.anchor: read_evidence(chunk.anchor, chunk.sanitized_text)
        for chunk in bundle.selected_evidence
        if chunk.anchor in cited
    }


def read_statements(text: str) -> list[Statement]:
    """The segments of an answer, with their citations and whether each needs one (R5-6)."""
    segments = segment(text)
    anchors = [first_use_order(citation.anchor for citation in find_citations(part.text)) for part in segments]
    return [
        Statement(
            kind=part.kind,
            start=part.start,
            end=part.end,
            text=part.text,
            anchors=anchors[index],
            needs_citation=not _exempt(segments, anchors, index),
        )
        for index, part in enumerate(segments)
    ]


def _exempt(segments: list[Segment], anchors: list[tuple[str, ...]], index: int) -> bool:
    part = segments[index]
    words = re.sub(r"[\W_]+", " ", part.text).strip().casefold()
    if part.kind is SegmentKind.HEADING or not words or words in CONNECTIVES:
        return True
    if not part.text.rstrip().endswith((":", "：")):
        return False
    items = []
    for following, cited in zip(segments[index + 1 :], anchors[index + 1 :], strict=True):
        if following.kind not in (SegmentKind.LIST_ITEM, SegmentKind.TABLE_ROW, SegmentKind.CODE):
            if following.kind is SegmentKind.HEADING:
                continue
            break
        items.append(bool(cited) or following.text.rstrip().endswith(":"))
    return bool(items) and all(items)


def read_literal_findings(
    statements: tuple[Statement, ...], sources: dict[str, EvidenceReading], question: str
) -> list[LiteralFinding]:
    """Every literal of every statement, looked up in the chunks that the statement cites (R5-8)."""
    findings: list[LiteralFinding] = []
    for index, statement in enumerate(statements):
        cited = tuple(sources[anchor] for anchor in statement.anchors if anchor in sources)
        findings.extend(check_literals(CITATION.sub(" ", statement.text), index, cited, question))
    return findings


def read_rows(answer: AnswerSentences, bundle: AnswerBundle) -> tuple[AnswerReading, AnswerReading]:
    """Reads an answer by rows, and as the prose that readers will see.

    Args:
        answer: The parsed answer.
        bundle: The answer bundle of its prompt.

    Returns:
        Two readings of the joined text; their statements and literals differ, and both must pass.
    """
    joined = read_answer(join(answer), bundle)
    statements: list[Statement] = []
    start = 0
    for row in answer.answer_sentences:
        text = join_row(row)
        for part in read_statements(text):
            statements.append(part.model_copy(update={"start": part.start + start, "end": part.end + start}))
        start += len(text) + 1
    sources = read_sources(joined.cited_anchors, bundle)
    literals = read_literal_findings(tuple(statements), sources, bundle.user_question)
    return joined._replace(statements=tuple(statements), literals=tuple(literals)), joined
