"""The firewall's reading of an answer: statements, citations, look-alikes, literals and leaks, in one pass (R5).

Each row of the JSON profile is read as a separate text, so that no row supports another (R5-10). If a row has two
statements, an uncited one is found. Literals are looked up in the chunks of the row's own anchors, even where the
joined text would read two rows as one sentence.
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
from sourcebound.contracts.validation.leaks import Leak, find_leaks
from sourcebound.contracts.validation.literals.check import (
    CitedChunk,
    LiteralFinding,
    check_literals,
    read_evidence,
)
from sourcebound.contracts.validation.refusals import find_refusal, is_exact_refusal
from sourcebound.contracts.validation.versions import VERSION

CONNECTIVES: Final = frozenset(
    {
        "in summary", "in short", "to summarize", "to summarise", "in conclusion", "additionally", "furthermore",
        "moreover", "however", "therefore", "for example", "for instance", "that is", "as follows", "in detail",
        "in addition", "specifically", "finally", "note", "summary", "answer",
    }
)  # fmt: skip
"""Segments that state nothing (R5-6). The list is frozen with `segment_v1`."""


class Statement(Contract):
    """One segment of an answer and the sources that it cites."""

    kind: SegmentKind
    start: int
    end: int
    text: str
    anchors: tuple[str, ...]
    needs_citation: bool


class AnswerReading(NamedTuple):
    """The input of the checks."""

    text: str
    is_refusal: bool
    refusal_words: str | None
    citations: tuple[Citation, ...]
    cited_anchors: tuple[str, ...]
    known_anchors: frozenset[str]
    unknown_anchors: tuple[str, ...]
    look_alikes: tuple[LookAlike, ...]
    statements: tuple[Statement, ...]
    literals: tuple[LiteralFinding, ...]
    leaks: tuple[Leak, ...]
    evidence_characters: int


def read_answer(text: str, bundle: AnswerBundle, version: int = VERSION) -> AnswerReading:
    """Read an answer against the evidence of its prompt.

    Args:
        text: The raw model text.
        bundle: The answer bundle.
        version: The number of the validation contract.

    Returns:
        The reading, without any verdict.
    """
    citations = tuple(find_citations(text))
    known_anchors = frozenset(bundle.anchor_map)
    cited = first_use_order(citation.anchor for citation in citations)
    statements = tuple(read_statements(text))
    sources = read_sources(cited, bundle)
    return AnswerReading(
        text=text,
        is_refusal=is_exact_refusal(text),
        refusal_words=None if is_exact_refusal(text) else find_refusal(CITATION.sub("", text)),
        citations=citations,
        cited_anchors=cited,
        known_anchors=known_anchors,
        unknown_anchors=tuple(anchor for anchor in cited if anchor not in known_anchors),
        look_alikes=tuple(find_look_alikes(text)),
        statements=statements,
        literals=tuple(read_literal_findings(statements, sources, bundle.user_question, version)),
        leaks=tuple(find_leaks(text, bundle)),
        evidence_characters=sum(len(chunk.sanitized_text) for chunk in bundle.selected_evidence),
    )


def read_sources(cited: tuple[str, ...], bundle: AnswerBundle) -> dict[str, CitedChunk]:
    """Return the cited chunks by anchor; their literals are read on first use."""
    return {
        chunk.anchor: read_evidence(chunk.anchor, chunk.sanitized_text)
        for chunk in bundle.selected_evidence
        if chunk.anchor in cited
    }


def read_statements(text: str) -> list[Statement]:
    """Split an answer into statements, with their citations and whether each needs one (R5-6)."""
    segments = segment(text)
    anchors = [first_use_order(citation.anchor for citation in find_citations(part.text)) for part in segments]
    return [
        Statement(
            kind=part.kind,
            start=part.start,
            end=part.end,
            text=part.text,
            anchors=anchors[index],
            needs_citation=not _is_exempt(segments, anchors, index),
        )
        for index, part in enumerate(segments)
    ]


def _is_exempt(segments: list[Segment], anchors: list[tuple[str, ...]], index: int) -> bool:
    """Return whether a segment needs no citation: a heading, a connective, or the line before a list that is cited."""
    part = segments[index]
    words = re.sub(r"[\W_]+", " ", part.text).strip().casefold()
    if part.kind is SegmentKind.HEADING or not words or words in CONNECTIVES:
        return True
    if not part.text.rstrip().endswith((":", "：")):
        return False
    is_cited = []
    for following, cited in zip(segments[index + 1 :], anchors[index + 1 :], strict=True):
        if following.kind not in (SegmentKind.LIST_ITEM, SegmentKind.TABLE_ROW, SegmentKind.CODE):
            if following.kind is SegmentKind.HEADING:
                continue
            break
        is_cited.append(bool(cited) or following.text.rstrip().endswith(":"))
    return bool(is_cited) and all(is_cited)


def read_literal_findings(
    statements: tuple[Statement, ...], sources: dict[str, CitedChunk], question: str, version: int
) -> list[LiteralFinding]:
    """Look up every literal of every statement in the chunks that the statement cites (R5-8)."""
    findings: list[LiteralFinding] = []
    for index, statement in enumerate(statements):
        cited = tuple(sources[anchor] for anchor in statement.anchors if anchor in sources)
        findings.extend(check_literals(CITATION.sub(" ", statement.text), index, cited, question, version))
    return findings


def read_rows(
    answer: AnswerSentences, bundle: AnswerBundle, version: int = VERSION
) -> tuple[AnswerReading, AnswerReading]:
    """Read an answer by rows, and as the prose that readers will see.

    Args:
        answer: The parsed answer.
        bundle: The answer bundle of its prompt.
        version: The number of the validation contract.

    Returns:
        Two readings of the joined text. Their statements and literals differ, and both must pass.
    """
    joined = read_answer(join(answer), bundle, version)
    statements: list[Statement] = []
    start = 0
    for row in answer.answer_sentences:
        text = join_row(row)
        for part in read_statements(text):
            statements.append(part.model_copy(update={"start": part.start + start, "end": part.end + start}))
        start += len(text) + 1
    sources = read_sources(joined.cited_anchors, bundle)
    literals = read_literal_findings(tuple(statements), sources, bundle.user_question, version)
    return joined._replace(statements=tuple(statements), literals=tuple(literals)), joined
