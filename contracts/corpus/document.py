"""Documents as the index stores them: pages of text, blocks within a page, chunks within a page.

A chunk never crosses a page, and `page.text[chunk.char_start:chunk.char_end] == chunk.text` always holds, so that a
citation can be opened at its exact place (contract §13).
"""

from collections.abc import Sequence
from datetime import date
from enum import StrEnum

from pydantic import Field

from sourcebound.contracts.base import Contract


class BlockKind(StrEnum):
    """The kind of a block; chunking cuts between blocks before it cuts inside one."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE_ROW = "table_row"
    CODE = "code"
    FURNITURE = "furniture"
    """A page number, or a header or footer that is repeated. It is at the beginning or the end of its page, and in no
    chunk."""


class Block(Contract):
    """A stretch of one page's text: `page.text[char_start:char_end]`."""

    kind: BlockKind
    char_start: int = Field(ge=0)
    char_end: int = Field(ge=0)
    level: int = Field(default=0, ge=0)
    """The depth of a heading, from 1 for a title; 0 for every other block."""


class Page(Contract):
    """A page of a document. A format without pages has a single page, whose number is None."""

    index: int = Field(ge=0)
    number: int | None = Field(default=None, ge=1)
    """The page as a reader counts it, from 1; None if the format has no pages."""
    text: str
    blocks: tuple[Block, ...] = ()


class DocumentMetadata(Contract):
    """The metadata of a document. Everything except the title may be unknown."""

    title: str
    revision: str | None = None
    event_date: date | None = None
    equipment_id: str | None = None
    knowledge_type: str = "document"
    authority: str | None = None


class ParsedDocument(Contract):
    """A parsed document before chunking."""

    media_type: str
    metadata: DocumentMetadata
    pages: tuple[Page, ...]
    recognized_pages: tuple[int, ...] = ()
    """The numbers of the pages whose text was recognized in a picture (OCR), so that words of it can be wrong."""


class SectionStart(Contract):
    """The place in a chunk's text at which a section begins."""

    char_start: int = Field(ge=1)
    """The offset of its heading in the text of the chunk."""
    heading_path: tuple[str, ...]


class Chunk(Contract):
    """A stretch of one page, small enough for the embedder's window, with the headings above it."""

    chunk_id: str
    ordinal: int = Field(ge=0)
    page_index: int = Field(ge=0)
    page_number: int | None
    heading_path: tuple[str, ...]
    """The headings of the section in which the chunk begins, the highest first."""
    char_start: int = Field(ge=0)
    char_end: int = Field(ge=0)
    text: str
    later_sections: tuple[SectionStart, ...] = ()
    """The sections that begin after the beginning of the text, in order."""

    @property
    def section_starts(self) -> list[int]:
        """The offsets of the later sections, as they are stored."""
        return [later.char_start for later in self.later_sections]

    @property
    def section_names(self) -> list[str]:
        """The names of the later sections, as they are stored."""
        return [section_name(later.heading_path) for later in self.later_sections]


def section_name(heading_path: Sequence[str]) -> str:
    """Return a heading path as readers see it; empty if there is no heading."""
    return " > ".join(heading_path)
