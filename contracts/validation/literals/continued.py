"""Tables that go on in another chunk, whose scale stands above them (R5-8).

A page of a report says `($ in millions)` once, and its table is cut into chunks. A chunk that begins with rows has the
scale of an earlier chunk of the evidence, if both are of one section of one page and their rows have the same columns.
"""

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from sourcebound.contracts.evidence.answer_bundle import EvidenceChunk
from sourcebound.contracts.validation.literals.amounts.scales import HEAD, MAX_HEADS, find_scales
from sourcebound.contracts.validation.literals.plain_text import plain_text
from sourcebound.contracts.validation.versions import VERSION

NAMED: Final = re.compile(r"; (?P<column>[^:;\n]{1,80}): ")
"""A value of a row after the first cell, with the name of its column."""


def scale_above(chunk: EvidenceChunk, chunks: Sequence[EvidenceChunk]) -> str:
    """Return the scale that stands above the rows with which a chunk begins, in brackets; empty if none is known.

    Args:
        chunk: A chunk of the evidence.
        chunks: All chunks of the evidence.
    """
    columns = _columns(chunk.sanitized_text.partition("\n")[0])
    if not columns:
        return ""
    above = sorted((other for other in chunks if _is_above(other, chunk)), key=_start, reverse=True)
    return next((scale for other in above if (scale := _open_scale(other.sanitized_text, columns))), "")


def _start(chunk: EvidenceChunk) -> int:
    return chunk.char_start or 0


def _is_above(other: EvidenceChunk, chunk: EvidenceChunk) -> bool:
    """Return whether another chunk stands above a chunk on the same page, and in the same section to its end.

    A document without pages is one page.
    """
    is_placed = None not in (chunk.char_start, other.char_start)
    same_page = (other.knowledge_id, other.page_number) == (chunk.knowledge_id, chunk.page_number)
    return (
        is_placed
        and same_page
        and not other.later_sections
        and other.section == chunk.section
        and (_start(other) < _start(chunk))
    )


def _columns(row: str) -> tuple[str, ...]:
    return tuple(match["column"] for match in NAMED.finditer(row))


def _open_scale(text: str, columns: tuple[str, ...]) -> str:
    """Return the last scale of a text that holds to its end, if its last row has the columns."""
    plain = f"{plain_text(text, VERSION)}\n"  # so that the scale of its last row ends before the text
    rows = [found for line in text.split("\n") if (found := _columns(line))]
    scales = [scale for scale in find_scales(plain) if scale.column is None and scale.end == len(plain)]
    if not scales or not rows or rows[-1] != columns:
        return ""
    named = [f"({head[0].strip('([|,;: ')})" for head in islice(HEAD.finditer(plain), MAX_HEADS)]
    last = scales[-1].factor
    return next((head for head in reversed(named) if [each.factor for each in find_scales(head)] == [last]), "")
