r"""The headings of a Rich Text file: paragraphs with an outline level, and short ones that are bold throughout. Pure.

A Rich Text file has no headings, only paragraphs. Word gives those in a heading style an outline level
(`\outlinelevel0` is the highest); other programs only print them bold. A bold item of a list is no heading, unless it
is alone between other paragraphs, as a numbered heading is.
"""

import re
from itertools import compress
from typing import Final, NamedTuple

TITLE: Final = "\ue000"
SECTION: Final = "\ue001"
_PATTERN: Final = re.compile(
    r"\\([a-z]{1,32})(-?\d{1,10})? ?|\\'[0-9a-f]{2}|\\([^a-z])|([{}])|([^\\{}\s]+)", re.IGNORECASE
)
_PARAGRAPH_ENDS: Final = frozenset({"par", "sect"})
_LINE_ENDS: Final = ("\n", "\r")
"""After a backslash they are `\\par`, as the programs of Apple write it."""
_CELL_ENDS: Final = frozenset({"cell", "row", "nestcell", "nestrow"})
_BODY_TEXT_LEVEL: Final = 9
_ITEM_MARKS: Final = frozenset({"listtext", "pntext"})
"""The groups that hold the number or bullet of a list item, for programs that know no lists."""
_BINARY: Final = re.compile(r"\\(?:bin(\d{1,10}) ?|[\s\S])")
_DEFAULT_SIZE: Final = 24
"""The size of text without `\\fs`, in half points."""


class _Group(NamedTuple):
    """The state that the end of a group restores."""

    is_bold: bool = False
    size: int = _DEFAULT_SIZE
    is_skipped: bool = False


class _Paragraph(NamedTuple):
    has_text: bool = False
    is_bold: bool = True
    size: int = 0
    level: int = 0
    is_cell: bool = False
    is_item: bool = False


def remove_binary(rtf: str) -> str:
    r"""Remove the data after each `\binN`: N bytes of a picture, which may look like control words and groups.

    Args:
        rtf: The text of the file, one character for each byte.
    """
    parts, start, match = [], 0, _BINARY.search(rtf)
    while match:
        end = match.end()
        if match[1] is not None:
            parts.append(rtf[start : match.start()])
            start = end = end + int(match[1])
        match = _BINARY.search(rtf, end)
    return "".join([*parts, rtf[start:]])


def mark_headings(rtf: str, skipped: frozenset[str]) -> str:
    r"""Add a mark at the end of each paragraph that may be a heading: `TITLE` or `SECTION`, as `striprtf` reads it.

    Bold paragraphs are headings unless most paragraphs are bold. One is a title if no bold paragraph has larger letters
    and some have smaller ones.

    Args:
        rtf: The text of the file.
        skipped: The control words whose groups have no text of the document, such as `fonttbl`.
    """
    reader = _ParagraphReader(skipped | _ITEM_MARKS)
    for match in _PATTERN.finditer(rtf):
        reader.read(match)
    return _insert_marks(rtf, reader.found)


class _ParagraphReader:
    """The reading of the paragraphs of a file, one token at a time."""

    def __init__(self, skipped: frozenset[str]) -> None:
        self.found: list[tuple[int, _Paragraph]] = []
        """The place of each paragraph's end, with the paragraph."""
        self._skipped = skipped
        self._group = _Group()
        self._outer: list[_Group] = []
        self._paragraph = _Paragraph()

    def read(self, match: re.Match[str]) -> None:
        word, number, symbol, brace, characters = match.groups()
        if brace == "{":
            self._outer.append(self._group)
        elif brace:
            self._group = self._outer.pop() if self._outer else self._group
        elif word in self._skipped or symbol == "*":
            self._read_item(word)
            self._group = self._group._replace(is_skipped=True)
        elif self._group.is_skipped:
            return
        elif word in _PARAGRAPH_ENDS or symbol in _LINE_ENDS:
            self.found.append((match.start(), self._paragraph))
            self._paragraph = self._paragraph._replace(has_text=False, is_bold=True, size=0)
        elif characters or word == "u" or match[0].startswith("\\'"):
            self._read_text()
        else:
            self._read_control(word, number)

    def _read_item(self, word: str | None) -> None:
        if word in _ITEM_MARKS and not self._group.is_skipped:
            self._paragraph = self._paragraph._replace(is_item=True)

    def _read_text(self) -> None:
        is_bold = self._paragraph.is_bold and self._group.is_bold
        size = max(self._paragraph.size, self._group.size)
        self._paragraph = self._paragraph._replace(has_text=True, is_bold=is_bold, size=size)

    def _read_control(self, word: str | None, number: str | None) -> None:
        if word in _CELL_ENDS:
            self._paragraph = _Paragraph(is_cell=word.endswith("cell"))
        elif word == "pard":
            self._paragraph = self._paragraph._replace(level=0, is_cell=False, is_item=False)
        elif word == "ls":
            self._paragraph = self._paragraph._replace(is_item=number != "0")
        elif word == "intbl":
            self._paragraph = self._paragraph._replace(is_cell=True)
        elif word == "outlinelevel":
            self._paragraph = self._paragraph._replace(level=int(number or 0) + 1)
        elif word in ("b", "plain", "fs"):
            self._group = _format(self._group, word, number)


def _format(group: _Group, word: str, number: str | None) -> _Group:
    if word == "plain":
        return group._replace(is_bold=False, size=_DEFAULT_SIZE)
    if word == "b":
        return group._replace(is_bold=number != "0")
    return group._replace(size=int(number or _DEFAULT_SIZE))


def _leave_out_items(found: list[tuple[int, _Paragraph]]) -> list[tuple[int, _Paragraph]]:
    """Return the paragraphs without items of a list: those with another item before or after them."""
    is_item = [False, *(each.is_item and not each.level for _, each in found), False]
    alone = [
        not (here and (before or after)) for before, here, after in zip(is_item, is_item[1:], is_item[2:], strict=False)
    ]
    return list(compress(found, alone))


def _insert_marks(rtf: str, found: list[tuple[int, _Paragraph]]) -> str:
    found = _leave_out_items([(end, each) for end, each in found if each.has_text and not each.is_cell])
    sizes = {each.size for _, each in found if each.is_bold}
    is_all_bold = 2 * sum(each.is_bold for _, each in found) > len(found)
    parts, start = [], 0
    for end, each in found:
        is_leveled = 0 < each.level <= _BODY_TEXT_LEVEL
        if not is_leveled and (is_all_bold or not each.is_bold):
            continue
        is_title = each.level == 1 if is_leveled else len(sizes) > 1 and each.size == max(sizes)
        parts += [rtf[start:end], f"{{\\uc0\\u{ord(TITLE if is_title else SECTION)}}}"]
        start = end
    return "".join([*parts, rtf[start:]])
