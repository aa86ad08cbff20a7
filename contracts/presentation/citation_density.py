"""Citation density: the number of citations in each paragraph of a released answer.

This metric is not among those of R5-14, because their list is frozen. It passes and rejects nothing, because the rule
is one citation for each statement (R5-6). It is computed from what the firewall recorded.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from sourcebound.contracts.validation.answer_reading import Statement

BLANK_LINE: Final = re.compile(r"\n[^\S\n]*\n")


class Paragraph(NamedTuple):
    """The counts of a paragraph."""

    statements: int
    """The number of statements that need a citation."""
    citations: int
    """The number of anchors of all statements; each counts once for each statement."""

    @property
    def density(self) -> float | None:
        """The citations for each statement; None if no statement needs one."""
        return self.citations / self.statements if self.statements else None


def citation_density(text: str, statements: Sequence[Statement]) -> tuple[Paragraph, ...]:
    """Count the citations of each paragraph.

    Args:
        text: A validated answer.
        statements: Its statements as the firewall cut them, with their offsets into the text.

    Returns:
        The paragraphs in order. A blank line between two statements separates paragraphs. Headings and lead-ins belong
        to the paragraph that contains them and need no citation.
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
