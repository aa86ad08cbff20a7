"""A page of a kept file as a reader sees it: its image, and the rectangles of words on it (§13).

Positions are points (1/72 inch) from the top left corner of the page as it is shown.
"""

from typing import Annotated, Final

from pydantic import Field

from sourcebound.contracts.base import Contract

MAX_SPANS: Final = 100
MIN_WIDTH: Final = 200
MAX_WIDTH: Final = 2400
"""The limits of an image's width, in pixels."""
Offsets = tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]


class PageRequest(Contract):
    """A request for one page of a file: for its image, or for the rectangles of words."""

    number: int = Field(ge=1)
    """The page, from 1."""
    width: int | None = Field(default=None, ge=MIN_WIDTH, le=MAX_WIDTH)
    """The width of the image, in pixels; None for rectangles."""
    text: str = ""
    """The text of the page, as ingest stored it."""
    spans: tuple[Offsets, ...] = Field(default=(), max_length=MAX_SPANS)
    """Ranges of the text, in characters."""


class Rectangle(Contract):
    """A rectangle, in points."""

    left: float
    top: float
    width: float
    height: float


class MarkedSpan(Contract):
    """A range of the text of a page, and its place."""

    start: int
    end: int
    rectangles: tuple[Rectangle, ...]
    """One for each line. Empty if the words were not found on the page."""


class PageMarks(Contract):
    """The size of a page, and the places of ranges of its text."""

    width: float
    height: float
    spans: tuple[MarkedSpan, ...]
