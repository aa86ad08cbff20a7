"""Documents as the index keeps them: pages of text, blocks within a page, chunks within a page.

A chunk never crosses a page, and `page.text[chunk.char_start:chunk.char_end] == chunk.text` always holds, so that a
citation can be opened at its exact place (contract §13).
"""

from datetime import date
from enum import StrEnum

from pydantic import Field

from sourcebound.contracts.base import Contract


class BlockKind(StrEnum):
    """What a stretch of a page is; chunking cuts between blocks before it cuts inside one."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE_ROW = "table_row"
    CODE = "code"


class Block(Contract):
    """A stretch of one page's text: `page.text[char_start:char_end]`."""

    kind: BlockKind
    char_start: int = Field(ge=0)
    char_end: int = Field(ge=0)
    level: int = Field(default=0, ge=0)
    """Heading depth from 1 (a title) downwards; 0 for everything that is not a heading."""


class Page(Contract):
    """One page of a document; a format without pages is a single page whose number is None."""

    index: int = Field(ge=0)
    number: int | None = Field(default=None, ge=1)
    """The page as a reader counts it, from 1; None where the format has no pages."""
    text: str
    blocks: tuple[Block, ...] = ()


class DocumentMetadata(Contract):
    """What is known of a document besides its text; everything but the title may be unknown."""

    title: str
    revision: str | None = None
    event_date: date | None = None
    equipment_id: str | None = None
    knowledge_type: str = "document"
    authority: str | None = None


class ParsedDocument(Contract):
    """A document as a loader read it, before chunking."""

    media_type: str
    metadata: DocumentMetadata
    pages: tuple[Page, ...]


class Chunk(Contract):
    """A stretch of one page, small enough for the embedder's window, with the headings that it stands under."""

    chunk_id: str
    ordinal: int = Field(ge=0)
    page_index: int = Field(ge=0)
    page_number: int | None
    heading_path: tuple[str, ...]
    char_start: int = Field(ge=0)
    char_end: int = Field(ge=0)
    text: str
