"""Citation density: how many citations each paragraph of a released answer has.

A metric beside those of R5-14, whose list is frozen: it passes and rejects nothing, for one citation a statement is the
rule (R5-6), and it is computed from what the firewall recorded.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from sourcebound.contracts.validation.answer_reading import Statement

BLANK_LINE: Final = re.compile(r"\n[^\S\n]*\n")


class Paragraph(NamedTuple):
    """A paragraph by its counts."""

    statements: int
    """Those that need a citation."""
    citations: int
    """Anchors of all its statements, each once a statement."""

    @property
    def density(self) -> float | None:
        """Citations a statement; None where no statement needs any."""
        return self.citations / self.statements if self.statements else None


def citation_density(text: str, statements: Sequence[Statement]) -> tuple[Paragraph, ...]:
    """Counts the citations of each paragraph.

    Args:
        text: A validated answer.
        statements: Its statements as the firewall cut them; their offsets are into the text.

    Returns:
        The paragraphs in order. A blank line between two statements parts them; headings and lead-ins belong to the
        paragraph in which they stand and need no citation.
    """
    if not statements:
        return ()
    paragraphs = [[statements[0]]]
    for before, after in pairwise(statements):
        if BLANK_LINE.search(text, before.end, after.start):
            paragraphs.append([])
        paragraphs[-1].append(after)
    return tuple(
        Paragraph(sum(part.needs_citation for part in parts), sum(len(part.anchors) for part in parts))
        for parts in paragraphs
    )
