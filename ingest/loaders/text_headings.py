"""The headings of plain text: numbered lines, lines in capitals, and titles with a line below or around them."""

import re
from typing import NamedTuple

_NUMBERED = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,3})*)\.?[ \t]+[A-Z][^\n]{1,78}")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9 ,&/()'–-]{3,78}")
_UNDERLINED = re.compile(r"(?P<title>[^\n]{2,100})\n(?P<line>=+|-+|~+)[ \t]*")
_LINED = re.compile(
    r"(?:(?P<over>(?P<mark>[=~^*+#\"'-])(?P=mark){3,})[ \t]*\n)?"
    r"[ \t]*(?P<title>[\w(`\"':][^\n]{0,98}[^\s.,;:!?])[ \t]*\n"
    r"(?P<line>(?(over)(?P=over)|(?P<under>[\^*+#\"'`])(?P=under){3,}))[ \t]*"
)
"""A title of reStructuredText with further marks below it, or with a line above it too."""
_SHORT_LINES = {"=": 1, "-": 2}
"""The levels of lines of one mark, by which the loader of Rich Text says the level of a heading."""


class Heading(NamedTuple):
    """A heading."""

    title: str
    level: int


class HeadingReader:
    """The headings of one text, in reading order.

    As in reStructuredText, each new style is one level below the styles before it. A style is a mark, and whether a
    line of it is above the title too. Capitals are a style. A numbered heading has the level of its number.
    """

    def __init__(self) -> None:
        self._levels: dict[str, int] = {}

    def read(self, paragraph: str) -> Heading | None:
        """Return the heading that a paragraph is.

        Args:
            paragraph: The paragraph without surrounding white space.
        """
        lined = _match_lines(paragraph)
        if lined:
            line = lined["line"]
            style = f"{line[0]} above" if paragraph.startswith(line) else line[0]
            return Heading(lined["title"], _SHORT_LINES.get(line) or self._level_of(style))
        if paragraph.endswith((".", ",", ";", ":", "!", "?")):
            return None
        numbered = _NUMBERED.fullmatch(paragraph)
        if numbered:
            return Heading(paragraph, numbered["number"].count(".") + 1)
        return Heading(paragraph, self._level_of("capitals")) if _CAPITALS.fullmatch(paragraph) else None

    def _level_of(self, style: str) -> int:
        return self._levels.setdefault(style, len(self._levels) + 1)


def _match_lines(text: str) -> re.Match[str] | None:
    lined = _LINED.fullmatch(text)
    return lined if lined and len(lined["title"]) <= len(lined["line"]) else _UNDERLINED.fullmatch(text)
