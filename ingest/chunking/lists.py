"""The joining of the items of a list, so that a chunk holds a list whole. Pure.

A part of a list reads as the whole list. So the items stay together with the line that leads to them, as far as they
fit a chunk with the headings above them.
"""

from collections.abc import Iterator
from typing import NamedTuple

from sourcebound.contracts.corpus.document import Block, BlockKind, Page
from sourcebound.contracts.ports import TokenCounter
from sourcebound.ingest.chunking.splitting import Piece, blocks_of, pieces_of


class PiecedBlock(NamedTuple):
    """A block with its pieces."""

    block: Block
    pieces: list[Piece]

    @property
    def tokens(self) -> int:
        """The tokens of its pieces."""
        return sum(piece.tokens for piece in self.pieces)


def join_lists(page: Page, counter: TokenCounter, limit: int) -> Iterator[list[PiecedBlock]]:
    """Yield the blocks of a page without its furniture: the blocks of a list together, each other block alone.

    Args:
        page: The page.
        counter: Counts tokens.
        limit: The most tokens of a chunk. A list with more is several.
    """
    group: list[PiecedBlock] = []
    tokens = above = 0
    for block in blocks_of(page):
        if block.kind is BlockKind.FURNITURE:
            continue
        pieced = PiecedBlock(block, list(pieces_of(page.text, block, counter, limit)))
        if group and _leads_to(page.text, group[-1].block, block) and above + tokens + pieced.tokens <= limit:
            group.append(pieced)
            tokens += pieced.tokens
            continue
        if group:
            yield group
            above = above + tokens if group[0].block.kind is BlockKind.HEADING else 0
        group, tokens = [pieced], pieced.tokens
    if group:
        yield group


def _leads_to(text: str, block: Block, item: Block) -> bool:
    """Return whether a block is an item before another one of its list, or the line that leads to it."""
    is_lead = block.kind is BlockKind.PARAGRAPH and text.endswith((":", "："), block.char_start, block.char_end)
    return item.kind is BlockKind.LIST_ITEM and (is_lead or block.kind is BlockKind.LIST_ITEM)
