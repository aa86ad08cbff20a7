"""How the firewall reads an answer.

Its statements, citations, look-alikes, literals and forbidden words, in one pass (R5).
"""

import re
import unicodedata
from typing import Final, NamedTuple

from sourcebound.contracts.citations import (
    CITATION,
    Citation,
    LookAlike,
    find_citations,
    find_look_alikes,
    first_use_order,
)
from sourcebound.contracts.evidence import AnswerBundle
from sourcebound.contracts.literals import EvidenceReading, LiteralFinding, check_literals, read_evidence
from sourcebound.contracts.model import Contract
from sourcebound.contracts.refusal import is_exact_refusal, refusal_pattern
from sourcebound.contracts.sanitize import SECTION_TITLES
from sourcebound.contracts.segmentation import Segment, SegmentKind, segment

CONNECTIVES: Final = frozenset(
    {
        "in summary", "in short", "to summarize", "to summarise", "in conclusion", "additionally", "furthermore",
        "moreover", "however", "therefore", "for example", "for instance", "that is", "as follows", "in detail",
        "in addition", "specifically", "finally", "note", "summary", "answer",
    }
)  # fmt: skip
"""Segments that state nothing (R5-6); frozen with `segment_v1`."""
REASONING_TAG: Final = re.compile(
    r"</?\s*(?:think|thinking|thought|reasoning|scratchpad|analysis|reflection)\b[^>]*>", re.IGNORECASE
)
ANCHOR_HEADER: Final = re.compile(r"\[\s*C\d+\s*\|", re.IGNORECASE)
HEADER_FIELD: Final = re.compile(r"\b(?:chunk|knowledge)_id\s*=", re.IGNORECASE)
SECTION_SHAPE: Final = re.compile(
    r"^\W*={2,}\W*(?:"
    + "|".join(SECTION_TITLES)
    + r")\b|^\W*(?:SYSTEM INSTRUCTION|SAFETY AND GROUNDING RULES|OUTPUT REQUIREMENTS)\W*$",
    re.MULTILINE | re.IGNORECASE,
)
PROMPT_EVIDENCE: Final = re.compile(
    r"\b(?:provided|given|supplied|above|retrieved|cited|following)\s+Evidence\b"
    r"|\bthe\s+Evidence\s+(?:states?|says?|mentions?|contains?|provides?|specifies|lists?|does|do|above|below)\b"
    r"|\b(?:based\s+on|according\s+to|per|from|in)\s+(?:the\s+)?(?:provided\s+|given\s+)?Evidence\b"
    r"(?!\s+(?:of|for|that|from|against)\b)"
    r"|\bEvidence\s+(?:block|section|chunk|\[?C?\d+)|^\W*Evidence\s*:",
    re.IGNORECASE | re.MULTILINE,
)

FORBIDDEN_SHAPES: Final = (
    ("reasoning", "<", REASONING_TAG),
    ("an evidence header", "|", ANCHOR_HEADER),
    ("an evidence header", "_id", HEADER_FIELD),
    ("a section of the prompt", "", SECTION_SHAPE),
    ('the word "Evidence" of the prompt', "evidence", PROMPT_EVIDENCE),
)
"""What it is, a mark without which it cannot occur, and its pattern."""


class Forbidden(NamedTuple):
    """Something of the system's inside that has no place in an answer."""

    what: str
    text: str


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
    sources = {
        chunk.anchor: read_evidence(chunk.anchor, chunk.sanitized_text)
        for chunk in bundle.selected_evidence
        if chunk.anchor in cited
    }
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


def find_forbidden(text: str, bundle: AnswerBundle) -> list[Forbidden]:
    """What an answer must not show (R5-7).

    Internal ids, evidence headers, prompt sections, reasoning, and the word "Evidence" used of the prompt.
    """
    plain = unicodedata.normalize("NFKC", text)
    folded = plain.casefold()
    found = [
        Forbidden(what, match[0])
        for what, mark, pattern in FORBIDDEN_SHAPES
        if mark in folded
        for match in pattern.finditer(plain)
    ]
    for chunk in bundle.selected_evidence:
        for what, name in (("a chunk id", chunk.chunk_id), ("a knowledge id", chunk.knowledge_id)):
            if _shows(plain, name, chunk.sanitized_text):
                found.append(Forbidden(what, name))
    return found


def _shows(text: str, name: str, evidence: str) -> bool:
    """Whether an answer shows an internal id; one that the document itself contains is the document's own word."""
    shown = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE)
    return bool(shown.search(text)) and not shown.search(evidence)
