"""Composes one page's text and its blocks together, so that a block's offsets are right by construction.

Loaders never compute offsets by hand: they add stretches of text in reading order, and what is between two blocks is
only the separator written here.
"""

import re

from sourcebound.contracts.corpus.document import Block, BlockKind, Page

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_LINE_END = re.compile("\r\n?|\f")
_TIGHT = frozenset({BlockKind.LIST_ITEM, BlockKind.TABLE_ROW})


def clean_text(text: str) -> str:
    """Text as PostgreSQL can store it: line ends are newlines; NULs and lone surrogates are gone; nothing else changes.

    A form feed, which printers' text files use between pages, is a line end too.
    """
    return _LINE_END.sub("\n", _UNSTORABLE.sub("", text))


def collapse(text: str) -> str:
    """Text on one line, with every run of white space (no-break spaces too) a single space."""
    return " ".join(text.split())


class PageComposer:
    """Builds one page from its blocks in reading order."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._blocks: list[Block] = []
        self._length = 0

    def add(self, kind: BlockKind, text: str, level: int = 0, prefix: str = "") -> None:
        """Append one block; a block without a visible character is left out.

        Args:
            kind: What the block is.
            text: Its text; outer blank lines and trailing space are dropped.
            level: Heading depth from 1; 0 for everything else.
            prefix: Text of the page that stands before the block on its line, such as Markdown's `## `.
        """
        body = clean_text(text).strip("\n").rstrip()
        if not body.strip():
            return
        if kind is not BlockKind.CODE:
            body = body.lstrip()
        self._write(self._separator(kind) + prefix)
        start = self._length
        self._write(body)
        self._blocks.append(Block(kind=kind, char_start=start, char_end=self._length, level=level))

    def page(self, index: int = 0, number: int | None = None) -> Page:
        """The page composed so far.

        Args:
            index: Position of the page in the document, from 0.
            number: The page as a reader counts it; None where the format has no pages.
        """
        return Page(index=index, number=number, text="".join(self._pieces), blocks=tuple(self._blocks))

    def _separator(self, kind: BlockKind) -> str:
        if not self._blocks:
            return ""
        together = kind in _TIGHT and self._blocks[-1].kind is kind
        return "\n" if together else "\n\n"

    def _write(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)
