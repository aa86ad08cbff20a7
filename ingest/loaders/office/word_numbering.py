"""The numbers and bullets of the lists of a Word document: Word computes them from a part of its own.

A paragraph names a list (`numId`) and a level in it. The list names its levels, each with a kind of number and a text
such as `%1.%2)`. Lists of the same levels go on with the same numbers, unless one restarts.
"""

import re
from itertools import islice
from typing import Final, NamedTuple

from sourcebound.contracts.text.blocks import LIST_MARKER
from sourcebound.ingest.loaders.archive import Element

W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PLACE: Final = re.compile(r"%([1-9])")
_MAX_DIGITS: Final = 6
_MAX_LEVELS: Final = 9
_MAX_LETTERS: Final = 3
_OFF: Final = ("0", "false", "off")
BULLET: Final = "- "
_ROMAN: Final = tuple(
    zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("m", "cm", "d", "cd", "c", "xc", "l", "xl", "x", "ix", "v", "iv", "i"),
        strict=True,
    )
)


class Level(NamedTuple):
    """A level of a list."""

    form: str
    """The kind of its numbers, such as `decimal`, or `bullet` or `none`."""
    text: str
    """Its text, with `%1` for the number of the first level."""
    start: int
    style: str
    """The id of the paragraph style that has this level; empty without one."""
    restart: int
    """The first levels whose items start its numbers again: 1 for the highest level alone, 0 for none."""
    is_legal: bool
    """Whether it shows the numbers of all levels as `decimal`."""


class Numbering:
    """The lists of a document, and how far each is counted."""

    def __init__(self, root: Element | None) -> None:
        """Read the lists.

        Args:
            root: The root of the numbering part; None if the document has none.
        """
        self._levels: dict[str, dict[int, Level]] = {}
        self._series: dict[str, str] = {}
        self._restarts: dict[str, dict[int, int]] = {}
        self._counts: dict[str, dict[int, int]] = {}
        if root is None:
            return
        series = {str(each.get(f"{W}abstractNumId")): each for each in root.iterchildren(f"{W}abstractNum")}
        linked = {link: key for key, each in series.items() if (link := read_value(each, "styleLink"))}
        levels = {key: _read_levels(each) for key, each in series.items()}
        for number in root.iterchildren(f"{W}num"):
            key, list_id = read_value(number, "abstractNumId") or "", str(number.get(f"{W}numId"))
            if key in series:
                key = linked.get(read_value(series[key], "numStyleLink") or "", key)
            self._series[list_id] = key
            self._levels[list_id] = dict(levels.get(key, {}))
            self._override(list_id, number)

    def read_marker(self, list_id: str, level: int) -> str:
        """Count one item.

        Args:
            list_id: The list of the item.
            level: Its level, from 0.

        Returns:
            Its marker with a space, such as `- `, `3. ` or `2.1 `; an empty text if it shows none.
        """
        own = self._levels.get(list_id, {}).get(level)
        if own is None or own.form == "bullet":
            return BULLET
        self._count(list_id, level)
        marker = _PLACE.sub(lambda place: self._show(list_id, int(place[1]) - 1, own.is_legal), own.text).strip()
        return f"{marker} " if marker else ""

    def find_level(self, list_id: str, style: str) -> int:
        """Return the level that a paragraph style has in a list; 0 if none names the style."""
        return next((level for level, each in self._levels.get(list_id, {}).items() if each.style == style), 0)

    def _override(self, list_id: str, number: Element) -> None:
        for override in number.iterchildren(f"{W}lvlOverride"):
            level = read_number(override.get(f"{W}ilvl"), 0)
            if (start := read_value(override, "startOverride")) is not None:
                self._restarts.setdefault(list_id, {})[level] = read_number(start, 1)
            self._levels[list_id] |= _read_levels(override)

    def _count(self, list_id: str, level: int) -> None:
        counts = self._counts.setdefault(self._series[list_id], {})
        restarts = self._restarts.get(list_id, {})
        if level in restarts:
            counts[level] = restarts.pop(level)
        elif level in counts:
            counts[level] += 1
        else:
            counts[level] = self._levels[list_id][level].start
        levels = self._levels[list_id]
        for deeper in [each for each in counts if each > level]:
            if deeper not in levels or level < levels[deeper].restart:
                del counts[deeper]

    def _show(self, list_id: str, level: int, is_legal: bool) -> str:
        each = self._levels[list_id].get(level)
        if each is None:
            return ""
        form = "decimal" if is_legal and each.form != "none" else each.form
        return show_number(self._counts[self._series[list_id]].get(level, each.start), form)


def is_list_marker(marker: str) -> bool:
    """Check whether an answer reads the marker as that of a list item; `2.1 ` is the number of a clause."""
    return LIST_MARKER.match(f"{marker}x") is not None


def show_number(number: int, form: str) -> str:
    """Return a number in the form of a list: `decimal`, `lowerLetter`, `upperRoman` and so on."""
    if form == "none":
        return ""
    if form.endswith("Letter"):
        letter = chr(ord("a") + (number - 1) % 26) * min((number - 1) // 26 + 1, _MAX_LETTERS)
        return letter.upper() if form.startswith("upper") else letter
    if form.endswith("Roman"):
        roman = _to_roman(number)
        return roman.upper() if form.startswith("upper") else roman
    return f"{number:02}" if form == "decimalZero" else str(number)


def read_value(element: Element, *names: str) -> str | None:
    """Return the `w:val` attribute of the descendant at a path of child names; None if there is none."""
    for name in names:
        element = element.find(f"{W}{name}")
        if element is None:
            return None
    value: str | None = element.get(f"{W}val")
    return value


def read_number(text: str | None, default: int) -> int:
    """Return the number that an attribute says; the default if it says none, or one of too many digits."""
    return int(text) if text and text.isdecimal() and len(text) <= _MAX_DIGITS else default


def _read_levels(parent: Element) -> dict[int, Level]:
    return {
        read_number(level.get(f"{W}ilvl"), 0): Level(
            form=read_value(level, "numFmt") or "decimal",
            text=read_value(level, "lvlText") or "",
            start=read_number(read_value(level, "start"), 1),
            style=read_value(level, "pStyle") or "",
            restart=read_number(read_value(level, "lvlRestart"), _MAX_LEVELS),
            is_legal=any(each.get(f"{W}val", "1") not in _OFF for each in level.iterchildren(f"{W}isLgl")),
        )
        for level in islice(parent.iterchildren(f"{W}lvl"), _MAX_LEVELS)
    }


def _to_roman(number: int) -> str:
    if not 0 < number < 4000:
        return str(number)
    pieces = []
    for value, letters in _ROMAN:
        pieces.append(letters * (number // value))
        number %= value
    return "".join(pieces)
