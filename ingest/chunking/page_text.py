"""The composition of a page's text together with its blocks, so that the offsets of the blocks are always correct.

Loaders compute no offsets. They add stretches of text in reading order, and the composer writes the separators between
the blocks.
"""

import re

from sourcebound.contracts.corpus.document import Block, BlockKind, Page

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_LINE_END = re.compile("\r\n?|\f")
_BULLET = re.compile(
    r"^([ \t]*)(?:(?:(?P<hollow>[○□\uf06f])|[●■♦➢➤►❖\uf0b7\uf0a7\uf0d8])(?=[ \t]*[^\W_])"
    r"|[−∗](?=[ \t]+(?!(?:log|ln|exp|sin|cos|tan|min|max)\b)(?:[aA][ \t]+)?[^\W\d_]{2})"
    r"|[\x80-\x84\x86-\x9f](?=[ \t]+[^\W_]))",
    re.MULTILINE,
)
"""A mark of a list item. A minus is one before a word that is no function. A control character is the mark of a font
without a table of characters."""
_TIGHT = frozenset({BlockKind.LIST_ITEM, BlockKind.TABLE_ROW})


def clean_text(text: str) -> str:
    """Return text that PostgreSQL can store: line ends are newlines, and NULs and lone surrogates are removed.

    A form feed, which text files for printers have between pages, is a line end too. Marks of list items in other
    shapes or fonts are bullets, hollow if they are, because a form or a legend tells both apart. Nothing else changes.
    """
    return _BULLET.sub(_show_bullet, _LINE_END.sub("\n", _UNSTORABLE.sub("", text)))


def _show_bullet(mark: re.Match[str]) -> str:
    return f"{mark[1]}{'◦' if mark['hollow'] else '•'}"


def collapse(text: str) -> str:
    """Return text on one line. Each run of white space, including no-break spaces, becomes a single space."""
    return " ".join(text.split())


class PageComposer:
    """The composition of one page from its blocks, in reading order."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._blocks: list[Block] = []
        self._length = 0

    def add(self, kind: BlockKind, text: str, level: int = 0, prefix: str = "", is_apart: bool = False) -> None:
        """Append one block. A block without a visible character is omitted.

        Args:
            kind: The kind of the block.
            text: Its text; outer blank lines and trailing space are removed.
            level: The heading level from 1; 0 for every other block.
            prefix: Text of the page before the block on its line, such as Markdown's `## `.
            is_apart: Whether a blank line precedes it also if it is a list item after another, or a row after another.
        """
        body = clean_text(text).strip("\n").rstrip()
        if not body.strip():
            return
        if kind is not BlockKind.CODE:
            body = body.lstrip()
        self._write(self._separator(kind, is_apart) + prefix)
        start = self._length
        self._write(body)
        self._blocks.append(Block(kind=kind, char_start=start, char_end=self._length, level=level))

    def page(self, index: int = 0, number: int | None = None) -> Page:
        """Return the page composed so far.

        Args:
            index: The position of the page in the document, from 0.
            number: The page number for the reader; None if the format has no pages.
        """
        return Page(index=index, number=number, text="".join(self._pieces), blocks=tuple(self._blocks))

    def _separator(self, kind: BlockKind, is_apart: bool) -> str:
        if not self._blocks:
            return ""
        is_tight = not is_apart and kind in _TIGHT and self._blocks[-1].kind is kind
        return "\n" if is_tight else "\n\n"

    def _write(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)
