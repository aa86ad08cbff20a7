"""The parts of a statement with a citation each (R5-8).

In `Plan A promises 99.5 % [C0] and plan B 99.9 % [C1]` each citation is for what is before it. A value that only the
chunk of the other part holds is that of the other part.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from sourcebound.contracts.text.citations import CITATION
from sourcebound.contracts.validation.literals.check import read_evidence
from sourcebound.contracts.validation.literals.reading import read_literals
from sourcebound.contracts.validation.versions import VERSION

CITATIONS: Final = re.compile(rf"(?:{CITATION.pattern}\s*)+")


def cites_another(statement: str, chunks: Mapping[str, str]) -> bool:
    """Return whether a part of a statement has a literal that only a chunk cited for another part holds.

    Args:
        statement: A statement with its citations.
        chunks: The text of each chunk that it cites, by its anchor.
    """
    parts = list(_read_parts(statement))
    if len(parts) < 2:
        return False
    indexes = {anchor: read_evidence(anchor, text).literal_index(VERSION) for anchor, text in chunks.items()}
    for text, anchors in parts:
        for literal in read_literals(text, is_source=False).literals:
            holders = {anchor for anchor, index in indexes.items() if index.supports(literal)}
            if holders and holders.isdisjoint(anchors):
                return True
    return False


def _read_parts(statement: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the text before each group of citations, and its anchors."""
    groups = list(CITATIONS.finditer(statement))
    starts = [0, *(group.end() for group in groups)]
    for start, group in zip(starts, groups, strict=False):
        yield statement[start : group.start()], tuple(f"C{match[1]}" for match in CITATION.finditer(group[0]))
