"""`segment_v1`: cuts an answer into statements, each of which needs a citation (R5-5).

It first finds Markdown blocks (headings, list items, table rows, code), and then the sentences within a block with
`sentencex`. Citations are hidden while a block is cut and restored afterwards: a citation right after a full stop
belongs to the sentence before it. Every segment keeps its offsets into the answer.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from sourcebound.contracts.text.blocks import TextBlock, TextBlockKind, split_blocks
from sourcebound.contracts.text.citations import CITATION
from sourcebound.contracts.text.sentences import FIRST_VERSION, Span, cut_merged, split_sentences

SEGMENTER: Final = "segment_v1"
"""The version of these rules. A policy names the version that applies."""

PARTICLE: Final = re.compile(
    r"[*_]*(?:"
    r"(?:yes|no|ja|nein|oui|non|sí|sì|nee|sim|não)[*_]*"
    r"(?:, (?:it|they|he|she|you|we|i|this|that|there)(?: still| also)?"
    r" (?:is|are|was|were|does|do|did|has|have|had|can|could|may|must|should|will|would|need)(?:n?['’]t|\s?not)?"
    r"(?: (?:one|it|that|so|to))?"
    r"|, (?:but )?not (?:(?:on|in|by|under) (?:that|this|its|their) (?:own|basis|case|ground)(?: alone)?|at all|quite"
    r"|yet|always|necessarily|entirely|really|exactly|automatically|directly))?"
    r"|(?:no, )?not (?:necessarily|always|quite|entirely|exactly|really|yet|automatically|directly"
    r"|in (?:all|every) cases?)"
    r"|(?:yes, )?(?:but )?(?:only )?(?:partly|partially|in part|sometimes)|(?:it|that) depends"
    r"|(?:nein, )?nicht (?:unbedingt|immer|ganz|automatisch|zwingend)|(?:das|es) kommt darauf an|teilweise"
    r"|(?:non, )?pas (?:forcément|toujours|nécessairement|tout à fait)|(?:cela|ça) dépend|en partie"
    r"|(?:no, )?no (?:necesariamente|siempre|del todo)|depende|en parte"
    r"|(?:no, )?non (?:necessariamente|sempre|del tutto)|dipende|in parte"
    r"|(?:nee, )?niet (?:altijd|per se|noodzakelijk|helemaal)|dat hangt ervan af"
    r"|(?:não, )?não (?:necessariamente|sempre|totalmente)|em parte"
    r")[*_]*[.!][*_]*",
    re.IGNORECASE,
)
"""A sentence that only agrees or denies: `Yes.`, `No, they don't.`, `Not necessarily.`"""


class SegmentKind(StrEnum):
    """The kind of a segment."""

    SENTENCE = "sentence"
    HEADING = "heading"
    LIST_ITEM = "list_item"
    TABLE_ROW = "table_row"
    CODE = "code"


class Segment(NamedTuple):
    """`answer[start:end]`, the citations that belong to it included."""

    kind: SegmentKind
    start: int
    end: int
    text: str


class _Visible(NamedTuple):
    """A block's text without citations, a map to the original offsets, and the citations."""

    text: str
    origin: Sequence[int]
    citations: list[tuple[int, int, int]]
    """For each citation its position in the visible text, and its start and end in the answer."""


def segment(answer: str, version: int = FIRST_VERSION, *, says_yes_or_no: bool = False) -> list[Segment]:
    """Cut an answer into segments.

    Args:
        answer: The raw text of an answer.
        version: The number of the validation contract. From the second on, sentences are cut that the first merged
            (after an abbreviation that ends one, and around a parenthesis that is a statement of its own), and kept
            whole at abbreviations of other languages.
        says_yes_or_no: Whether the answer is to a question for yes or no, so that a bare `Yes.` belongs to the sentence
            after it, as `Yes,` does.

    Returns:
        The segments in order. They do not overlap, and only white space and Markdown marks lie between them.
    """
    segments: list[Segment] = []
    for block in split_blocks(answer):
        pieces = list(_split_block(answer, block, version, says_yes_or_no=says_yes_or_no))
        if segments and pieces and _is_only_citations(pieces[0].text):
            last = segments.pop()
            end = pieces.pop(0).end
            segments.append(Segment(last.kind, last.start, end, answer[last.start : end]))
        segments.extend(pieces)
    return segments


def sentence_ends(text: str) -> list[int]:
    """Return the offsets at which a segment of `text` ends, in ascending order."""
    return [piece.end for piece in segment(text)]


def _is_only_citations(text: str) -> bool:
    return not CITATION.sub("", text).strip(" .;,")


def _split_block(answer: str, block: TextBlock, version: int, *, says_yes_or_no: bool) -> Iterator[Segment]:
    kind = SegmentKind(block.kind.value) if block.kind is not TextBlockKind.PARAGRAPH else SegmentKind.SENTENCE
    if block.kind in (TextBlockKind.CODE, TextBlockKind.TABLE_ROW, TextBlockKind.HEADING):
        yield Segment(kind, block.start, block.end, answer[block.start : block.end])
        return
    visible = _hide_citations(answer, block)
    spans = split_sentences(visible.text, version)
    if version > FIRST_VERSION:
        cited = [position for position, _, _ in visible.citations]
        spans = cut_merged(visible.text, spans, cited)
        spans = _join_particles(visible.text, spans, cited) if says_yes_or_no else spans
    if not spans:
        yield Segment(kind, block.start, block.end, answer[block.start : block.end])
        return
    starts = [visible.origin[start] for start, _ in spans]
    ends = [visible.origin[end - 1] + 1 for _, end in spans]
    for position, start, end in visible.citations:
        owner = max(0, bisect_left([span_start for span_start, _ in spans], position) - 1)
        starts[owner] = min(starts[owner], start)
        ends[owner] = max(ends[owner], end)
    for start, end in zip(starts, ends, strict=True):
        yield Segment(kind, start, end, answer[start:end])


def _hide_citations(answer: str, block: TextBlock) -> _Visible:
    if not CITATION.search(answer, block.start, block.end):
        return _Visible(answer[block.start : block.end].replace("\n", " "), range(block.start, block.end), [])
    characters: list[str] = []
    origin: list[int] = []
    citations: list[tuple[int, int, int]] = []
    position = block.start
    for match in CITATION.finditer(answer, block.start, block.end):
        before = answer[position : match.start()].rstrip()
        characters.extend(before)
        origin.extend(range(position, position + len(before)))
        citations.append((len(characters), match.start(), match.end()))
        position = match.end()
        if position < block.end and answer[position].isalnum() and characters and not characters[-1].isspace():
            characters.append(" ")
            origin.append(position)
    characters.extend(answer[position : block.end])
    origin.extend(range(position, block.end))
    return _Visible("".join(characters).replace("\n", " "), origin, citations)


def _join_particles(text: str, spans: list[Span], cited: Sequence[int]) -> list[Span]:
    """Join a bare `Yes.` or `No.` with the statement after it, as if a comma stood between them.

    A particle with a citation of its own, and one that ends the block, stay as they are.
    """
    joined: list[Span] = []
    for start, end in spans:
        previous = joined[-1] if joined else None
        is_cited = previous is not None and bisect_left(cited, previous[0]) < bisect_right(cited, start)
        if previous and PARTICLE.fullmatch(text, *previous) and not is_cited:
            joined[-1] = (previous[0], end)
        else:
            joined.append((start, end))
    return joined
