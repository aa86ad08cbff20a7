"""The firewall's reading of an answer: statements, citations, look-alikes, literals and leaks, in one pass (R5).

Each row of the JSON profile is read as a separate text, so that no row supports another (R5-10). If a row has two
statements, an uncited one is found. Literals are looked up in the chunks of the row's own anchors, even where the
joined text would read two rows as one sentence.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.base import Contract
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.prompt.answer_sentences import AnswerSentences, join, join_row
from sourcebound.contracts.text.blocks import LIST_MARKER
from sourcebound.contracts.text.citations import (
    CITATION,
    Citation,
    LookAlike,
    find_citations,
    find_look_alikes,
    first_use_order,
)
from sourcebound.contracts.text.hidden import blank_brackets, find_visible_citations
from sourcebound.contracts.text.questions import asks_yes_or_no
from sourcebound.contracts.text.segments import Segment, SegmentKind, segment
from sourcebound.contracts.validation.exemptions import CONNECTIVES as CONNECTIVES
from sourcebound.contracts.validation.exemptions import read_parts
from sourcebound.contracts.validation.leaks import Leak, find_leaks
from sourcebound.contracts.validation.literals.check import (
    AnswerContext,
    CitedChunk,
    LiteralFinding,
    check_literals,
    read_evidence,
)
from sourcebound.contracts.validation.literals.continued import scale_above
from sourcebound.contracts.validation.refusals import FINDING, find_refusal, is_exact_refusal
from sourcebound.contracts.validation.versions import SECOND, VERSION

BELOW_HEADS: Final = frozenset({SegmentKind.LIST_ITEM, SegmentKind.TABLE_ROW})
"""The kinds of segments that stand under a head or a lead-in."""
HEADING_MARK: Final = re.compile(r"^\s*#{1,6}\s+")
NAME_IN_CODE: Final = re.compile(r"`([^`\s]{2,80})`")


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
    every_citation = find_citations(text)
    citations = tuple(every_citation if version < SECOND else find_visible_citations(text))
    known_anchors = frozenset(bundle.anchor_map)
    cited = first_use_order(citation.anchor for citation in citations)
    parts = _read_parts(text, bundle, version)
    sources = read_sources(cited, bundle)
    return AnswerReading(
        text=text,
        is_refusal=is_exact_refusal(text),
        refusal_words=None if is_exact_refusal(text) else _find_refusal(text, sources, version),
        citations=citations,
        cited_anchors=cited,
        known_anchors=known_anchors,
        unknown_anchors=tuple(
            anchor
            for anchor in first_use_order(citation.anchor for citation in every_citation)
            if anchor not in known_anchors
        ),
        look_alikes=tuple(find_look_alikes(text, version)),
        statements=tuple(statement for statement, _ in parts),
        literals=tuple(read_literal_findings(parts, sources, bundle.user_question, version)),
        leaks=tuple(find_leaks(text, bundle, cited, version)),
        evidence_characters=sum(len(chunk.sanitized_text) for chunk in bundle.selected_evidence),
    )


def _find_refusal(text: str, sources: Mapping[str, CitedChunk], version: int) -> str | None:
    """Find a refusal outside what a cited chunk says itself.

    That is a name in code, as `NO_EVIDENCE` in a text about this product, or a lack of evidence for a thing.
    """
    plain = CITATION.sub("", text)
    words = find_refusal(plain)
    if words is None or version < SECOND:
        return words
    named = NAME_IN_CODE.sub(lambda name: " " if _is_held(name[1], sources) else name[0], plain)
    if any(FINDING.search(source.text) for source in sources.values()):
        named = FINDING.sub(" ", named)
    return words if named == plain else find_refusal(named)


def _is_held(name: str, sources: Mapping[str, CitedChunk]) -> bool:
    return any(name in source.text for source in sources.values())


def read_sources(cited: tuple[str, ...], bundle: AnswerBundle) -> dict[str, CitedChunk]:
    """Return the cited chunks by anchor; their literals are read on first use."""
    return {
        chunk.anchor: read_evidence(
            chunk.anchor,
            chunk.sanitized_text,
            f"{chunk.title or ''}\n{chunk.section or ''}",
            scale_above(chunk, bundle.selected_evidence),
        )
        for chunk in bundle.selected_evidence
        if chunk.anchor in cited
    }


def read_statements(text: str, bundle: AnswerBundle | None = None, version: int = VERSION) -> list[Statement]:
    """Split an answer into statements, with their citations and whether each needs one (R5-6).

    Args:
        text: An answer.
        bundle: Its evidence and its question. Without them, no heading needs a citation.
        version: The number of the validation contract.
    """
    return [statement for statement, _ in _read_parts(text, bundle, version)]


def cited_segments(text: str, question: str = "", version: int = VERSION) -> list[tuple[Segment, tuple[str, ...]]]:
    """Split an answer into segments, each with the anchors that it cites (R5-4).

    Args:
        text: An answer.
        question: Its question. Without it, `Yes` at the beginning is a part of its sentence.
        version: The number of the validation contract.
    """
    visible = text if version < SECOND else blank_brackets(text)
    segments = segment(text, version, says_yes_or_no=version >= SECOND and asks_yes_or_no(question))
    return [(p, first_use_order(cited.anchor for cited in find_citations(visible[p.start : p.end]))) for p in segments]


def _read_parts(text: str, bundle: AnswerBundle | None, version: int) -> list[tuple[Statement, tuple[str, ...]]]:
    """Split an answer into statements, each with the anchors of the items or of the section that it heads."""
    question = bundle.user_question if bundle else ""
    cited = cited_segments(text, question, version)
    chunks = {chunk.anchor: chunk.sanitized_text for chunk in bundle.selected_evidence} if bundle else None
    parts = read_parts([piece for piece, _ in cited], [anchors for _, anchors in cited], chunks, question, version)
    return [
        (
            Statement(
                kind=piece.kind,
                start=piece.start,
                end=piece.end,
                text=piece.text,
                anchors=anchors,
                needs_citation=part.needs_citation,
            ),
            part.heads,
        )
        for (piece, anchors), part in zip(cited, parts, strict=True)
    ]


def read_literal_findings(
    parts: Sequence[tuple[Statement, tuple[str, ...]]],
    sources: dict[str, CitedChunk],
    question: str,
    version: int,
) -> list[LiteralFinding]:
    """Look up every literal of every statement in the chunks that the statement cites (R5-8).

    Those of an exempt segment are looked up in the question and in the chunks that its items cite.
    """
    findings: list[LiteralFinding] = []
    contexts = read_contexts([statement for statement, _ in parts])
    for index, ((statement, heads), context) in enumerate(zip(parts, contexts, strict=True)):
        is_exempt = version >= SECOND and not statement.needs_citation
        anchors = (*statement.anchors, *heads) if is_exempt else statement.anchors
        cited = tuple(sources[anchor] for anchor in dict.fromkeys(anchors) if anchor in sources)
        text = CITATION.sub(" ", statement.text)
        text = HEADING_MARK.sub("", text) if is_exempt else text
        findings.extend(
            check_literals(text, index, cited, question, version, repeats_question=is_exempt, context=context)
        )
    return findings


def read_contexts(statements: Sequence[Statement]) -> list[AnswerContext]:
    """Return for each statement what is above it, and how many list items or rows it leads in."""
    contexts, head, previous = [], "", ""
    for statement in statements:
        contexts.append(AnswerContext(head=head if statement.kind in BELOW_HEADS else "", previous=previous))
        previous = statement.text
        if statement.kind not in BELOW_HEADS or statement.text.rstrip().endswith(":"):
            head = statement.text
    items = 0
    for index in range(len(statements) - 1, -1, -1):
        kind, text = statements[index].kind, statements[index].text
        if kind in (SegmentKind.LIST_ITEM, SegmentKind.TABLE_ROW) or (items and text.startswith("|")):
            items += kind is SegmentKind.TABLE_ROW or (kind is SegmentKind.LIST_ITEM and bool(LIST_MARKER.match(text)))
            continue
        if CITATION.sub("", text).rstrip().endswith(":"):
            contexts[index] = contexts[index]._replace(items=items)
        items = 0
    return contexts


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
    parts: list[tuple[Statement, tuple[str, ...]]] = []
    start = 0
    for row in answer.answer_sentences:
        text = join_row(row)
        for part, heads in _read_parts(text, bundle, version):
            parts.append((part.model_copy(update={"start": part.start + start, "end": part.end + start}), heads))
        start += len(text) + 1
    sources = read_sources(joined.cited_anchors, bundle)
    literals = read_literal_findings(parts, sources, bundle.user_question, version)
    return joined._replace(statements=tuple(statement for statement, _ in parts), literals=tuple(literals)), joined
