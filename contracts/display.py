"""Text of others on a person's screen: what a document or a question holds may not steer the terminal or the page."""

import re
from typing import Final

from sourcebound.contracts.sanitize import OTHER_LINE_BREAK

PLANES: Final = range(0, 0x110000, 0x10000)
UNSHOWABLE: Final = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\ud800-\udfff"
    "\ufdd0-\ufdef\U000e0000-\U000e007f"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in PLANES)
    + "]"
)
"""Control characters, those that turn the direction of writing, tags, and what is no character at all. Joiners and
variation selectors stay: Persian and emoji are written with them."""
INSTEAD: Final = "\ufffd"


def visible(text: str) -> str:
    """A text with its lines, in which whatever cannot be shown has a mark in its place."""
    return UNSHOWABLE.sub(INSTEAD, OTHER_LINE_BREAK.sub("\n", text))


def one_line(text: str) -> str:
    """The same on one line."""
    return " ".join(visible(text).split())
