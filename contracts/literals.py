"""R5-8, literal grounding: what can be checked to the letter is checked to the letter.

Numbers with their units, dates, times, identifiers, addresses and quotations of an answer must occur in a chunk that
the same statement cites. Both sides are brought to one normal form (`Literal.forms`), so that `1,200`, `1200` and
`1.2 thousand` agree; no form is ever guessed from a model.
"""

from enum import StrEnum
from typing import NamedTuple

from sourcebound.contracts.literal_forms import Reading, read_literals
from sourcebound.contracts.model import Contract


class LiteralKind(StrEnum):
    """What sort of literal it is."""

    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    IDENTIFIER = "identifier"
    ADDRESS = "address"
    QUOTATION = "quotation"


class LiteralFinding(Contract):
    """One literal of an answer and where it was found, or that it was not."""

    kind: LiteralKind
    text: str
    segment: int
    """Index of the segment that holds it."""
    found_in: tuple[str, ...]
    """Anchors, among those the segment cites, whose chunk holds it; empty when unsupported."""

    @property
    def supported(self) -> bool:
        """Whether a cited chunk holds it."""
        return bool(self.found_in)


class EvidenceReading(NamedTuple):
    """A chunk's text, read once for all checks against it."""

    anchor: str
    reading: Reading


def read_evidence(anchor: str, text: str) -> EvidenceReading:
    """Reads the literals of a chunk."""
    return EvidenceReading(anchor, read_literals(text))


def check_literals(text: str, segment: int, cited: tuple[EvidenceReading, ...]) -> list[LiteralFinding]:
    """Looks up every literal of one segment in the chunks that it cites.

    Args:
        text: The segment without its citations.
        segment: Its index.
        cited: The chunks it cites.

    Returns:
        A finding for each literal, in order of the text.
    """
    return [
        LiteralFinding(
            kind=LiteralKind(literal.kind),
            text=literal.text,
            segment=segment,
            found_in=tuple(source.anchor for source in cited if source.reading.supports(literal)),
        )
        for literal in read_literals(text).literals
    ]
