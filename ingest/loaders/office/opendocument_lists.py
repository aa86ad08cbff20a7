"""The numbers and bullets of the lists of an OpenDocument text, which a list style describes for each level."""

from typing import Final, NamedTuple

from sourcebound.ingest.loaders.archive import Element
from sourcebound.ingest.loaders.office.word_numbering import BULLET, read_number, show_number

_TEXT: Final = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_STYLE: Final = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_XML_ID: Final = "{http://www.w3.org/XML/1998/namespace}id"
_FORMS: Final = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman", "": "none"}


class _Level(NamedTuple):
    form: str
    prefix: str
    suffix: str
    start: int
    shown: int
    """How many levels its number shows: 2 for `1.3`."""


class OpenList(NamedTuple):
    """A list that is being read."""

    style: str
    level: int
    counts: dict[int, int]
    """The number of the last item of each level."""


class ListReader:
    """The reading of the lists of a text, in order."""

    def __init__(self, *roots: Element) -> None:
        """Read the list styles.

        Args:
            roots: The roots of the parts that have styles.
        """
        self._styles: dict[str, dict[int, _Level]] = {
            str(each.get(f"{_STYLE}name")): {
                read_number(level.get(f"{_TEXT}level"), 1): _read_level(level) for level in each.iterchildren("*")
            }
            for root in roots
            for each in root.iter(f"{_TEXT}list-style")
        }
        self._counts: dict[str | None, dict[int, int]] = {}
        """The numbers of the last list of each style and of each id."""

    def open(self, element: Element, outer: OpenList | None) -> OpenList:
        """Begin a list, or one within another.

        Args:
            element: The `text:list`.
            outer: The list that it is in.
        """
        style = element.get(f"{_TEXT}style-name") or (outer.style if outer else "")
        if outer:
            return OpenList(style, outer.level + 1, outer.counts)
        continued = element.get(f"{_TEXT}continue-list")
        if not continued and element.get(f"{_TEXT}continue-numbering") == "true":
            continued = style
        counts = self._counts.get(continued, {}) if continued else {}
        self._counts |= {style: counts, element.get(_XML_ID): counts}
        return OpenList(style, 1, counts)

    def read_marker(self, here: OpenList, item: Element) -> str:
        """Count an item of a list, and return its marker with a space; an empty text if it shows none."""
        levels = self._styles.get(here.style, {})
        own = levels.get(here.level)
        if own is None or own.form == "bullet":
            return BULLET
        start = item.get(f"{_TEXT}start-value")
        here.counts[here.level] = read_number(start, here.counts.get(here.level, own.start - 1) + 1)
        for deeper in [each for each in here.counts if each > here.level]:
            del here.counts[deeper]
        shown = range(max(here.level - own.shown, 0) + 1, here.level + 1)
        numbers = [show_number(here.counts.get(each, 1), levels[each].form) for each in shown if each in levels]
        number = ".".join(filter(None, numbers)) if own.form != "none" else ""
        marker = f"{own.prefix}{number}{own.suffix}".strip()
        return f"{marker} " if marker else ""


def _read_level(level: Element) -> _Level:
    is_number = level.tag == f"{_TEXT}list-level-style-number"
    return _Level(
        form=_FORMS.get(level.get(f"{_STYLE}num-format", ""), "decimal") if is_number else "bullet",
        prefix=level.get(f"{_STYLE}num-prefix", ""),
        suffix=level.get(f"{_STYLE}num-suffix", ""),
        start=read_number(level.get(f"{_TEXT}start-value"), 1),
        shown=read_number(level.get(f"{_TEXT}display-levels"), 1),
    )
