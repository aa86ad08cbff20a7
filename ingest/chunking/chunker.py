"""The chunker: it cuts a document into chunks that fit the embedder's window and have exact offsets. Pure.

The rules, in order of precedence:

1. A chunk never crosses a page, and `page.text[char_start:char_end] == text`, so that a citation opens at its place.
2. A chunk never has more than `max_tokens`, because an embedder ignores the text beyond its window.
3. A heading stays with the text below it.
4. Cuts fall at headings, else between blocks, else between sentences. A cut falls inside a sentence or a table row only
   if that sentence or row alone exceeds the window.
5. Page furniture is in no chunk. It is at the beginning or the end of its page, so no chunk goes round it.
6. A chunk that runs on into another section knows where that section begins, so that a quote is named by its own.
7. Rows of a table form chunks half as large as others. Each row is found by its own words, not by those of its table.
8. A list stays in one chunk with the heading or the line that leads to it, if both fit. A longer list is cut between
   items. A list that nothing leads to is also cut if the text above it is too short for a chunk and both do not fit.

Ids depend on the text and not on its place, so an edit of one section keeps the ids and the vectors of all others.

Chunking takes linear time in the length of the text, and checks its deadline after each small, bounded step.
"""

import hashlib
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sourcebound.contracts.corpus.document import BlockKind, Chunk, Page, ParsedDocument, SectionStart
from sourcebound.contracts.ports import TokenCounter
from sourcebound.ingest.chunking.lists import PiecedBlock, join_lists
from sourcebound.ingest.chunking.page_text import collapse
from sourcebound.ingest.chunking.splitting import (
    MAX_CHARACTERS_PER_TOKEN,
    Piece,
    cut_piece,
    is_too_long,
    largest_prefix,
    sentences_of,
    trim,
)

_ENOUGH_DIVISOR = 3
_SMALL_DIVISOR = 5
_ROWS_DIVISOR = 2
_ID_DIGITS = 12
_DEEPEST_LEVEL = 9
"""The deepest heading level. Deeper headings count as this level, because no format distinguishes more levels."""
_LONGEST_TITLE = 200
"""The most characters of a heading in a heading path. Every chunk carries its path, so the path must stay short."""


_MOST_SECTIONS = 16
"""The most headings within a chunk. Each has its whole path, so a chunk of many headings would be mostly paths."""


class _Heading(NamedTuple):
    level: int
    title: str


class _Draft(NamedTuple):
    """The consecutive pieces of one page that will form one chunk."""

    pieces: tuple[Piece, ...]
    path: tuple[str, ...]
    starts: Mapping[int, tuple[str, ...]]
    """The heading path of each heading of the page, by its offset."""

    @property
    def tokens(self) -> int:
        return sum(piece.tokens for piece in self.pieces)

    @property
    def headings(self) -> int:
        return sum(piece.start in self.starts for piece in self.pieces)


class _Sections(NamedTuple):
    """The section in which a chunk begins, and those that begin further down."""

    path: tuple[str, ...]
    later: tuple[SectionStart, ...]


def chunk_document(
    document: ParsedDocument,
    knowledge_id: str,
    counter: TokenCounter,
    max_tokens: int,
    target_tokens: int | None = None,
    check: Callable[[], None] = lambda: None,
) -> list[Chunk]:
    """Cut a document into chunks.

    Args:
        document: The parsed document.
        knowledge_id: The id of the document; chunk ids start with it.
        counter: Counts tokens as the embedder does.
        max_tokens: The most tokens of a chunk. A chunk has at most sixteen characters for each token. A single
            character with more tokens is still a chunk.
        target_tokens: The size from which a chunk is full. Default: four fifths of `max_tokens`.
        check: Called between short steps. An exception that it raises ends the chunking.

    Returns:
        The chunks in reading order, without surrounding white space and without overlap. A chunk that begins with code
        begins with its indentation.

    Raises:
        ValueError: `max_tokens` is below 1, or `target_tokens` is not between 1 and `max_tokens`.
    """
    target = max(1, max_tokens * 4 // 5) if target_tokens is None else target_tokens
    if not 1 <= target <= max_tokens:
        raise ValueError(f"target_tokens must be between 1 and max_tokens={max_tokens}, not {target}")
    budget = _Budget(_BoundedCounter(counter, check), max_tokens, target)
    occurrences: Counter[str] = Counter()
    chunks: list[Chunk] = []
    headings: list[_Heading] = []
    for page in document.pages:
        for draft in _merge_small(_draft_page(page, budget, headings), budget):
            check()
            for start, end in _final_spans(page.text, draft, budget):
                sections = _find_sections(draft, start, end)
                chunk_id = _make_chunk_id(knowledge_id, sections.path, page.text[start:end], occurrences)
                chunks.append(_make_chunk(page, sections, start, end, chunk_id, len(chunks)))
    return chunks


class _BoundedCounter:
    """A counter of at least one token for every sixteen characters, which calls `check` before each count.

    A tokenizer may read a line of base64 as one unknown word. Without this bound the size of its chunk would be
    unlimited.
    """

    def __init__(self, counter: TokenCounter, check: Callable[[], None]) -> None:
        self._counter = counter
        self._check = check

    def count_tokens(self, text: str) -> int:
        self._check()
        return max(self._counter.count_tokens(text), len(text) // MAX_CHARACTERS_PER_TOKEN)


class _Budget(NamedTuple):
    counter: TokenCounter
    maximum: int
    target: int

    @property
    def enough(self) -> int:
        """The number of tokens from which a chunk may end at the next heading or block."""
        return max(1, self.target // _ENOUGH_DIVISOR)

    @property
    def small(self) -> int:
        """The number of tokens below which a chunk is joined to the previous one."""
        return max(1, self.target // _SMALL_DIVISOR)


def _draft_page(page: Page, budget: _Budget, headings: list[_Heading]) -> list[_Draft]:
    """Pack the blocks of a page into drafts, and update `headings`, the current path of headings."""
    packer = _Packer(budget, headings)
    for group in join_lists(page, budget.counter, budget.maximum):
        if len(group) > 1:
            packer.add_list(page.text, group)
        else:
            packer.add_block(page.text, group[0])
    return packer.finish()


class _Packer:
    """The packing of pieces into drafts, in reading order."""

    def __init__(self, budget: _Budget, headings: list[_Heading]) -> None:
        self._budget = budget
        self._headings = headings
        self._drafts: list[_Draft] = []
        self._pieces: list[Piece] = []
        self._tokens = self._body_tokens = 0
        self._has_body = False
        self._path = _titles(headings)
        self._starts: dict[int, tuple[str, ...]] = {}
        self._later = 0
        """The number of headings in the open chunk after its first text."""

    def add_list(self, text: str, items: Sequence[PiecedBlock]) -> None:
        """Add the blocks of a list: together, unless they neither fit into the open chunk nor may start a new one.

        A list below a heading or a line that leads to it may always start one.
        """
        pieces = [piece for item in items for piece in item.pieces]
        start, end = pieces[0].start, pieces[-1].end
        whole = Piece(start, end, self._budget.counter.count_tokens(text[start:end]), BlockKind.LIST_ITEM)
        may_start = items[0].block.kind is not BlockKind.LIST_ITEM or self._is_open_heading()
        may_start = may_start or self._body_tokens >= self._budget.enough
        is_cut = whole.tokens > self._budget.maximum - (0 if may_start else self._tokens)
        for piece in pieces if is_cut else [whole]:
            self._add(piece)

    def add_block(self, text: str, pieced: PiecedBlock) -> None:
        block, pieces = pieced
        if block.kind is BlockKind.HEADING:
            is_enough = not self._is_open_heading() and self._tokens >= self._budget.enough
            if is_enough or self._later >= _MOST_SECTIONS:
                self._close()
            title = collapse(text[block.char_start : block.char_end])[:_LONGEST_TITLE].rstrip()
            self._enter(_Heading(min(block.level, _DEEPEST_LEVEL), title))
            self._starts |= {piece.start: _titles(self._headings) for piece in pieces[:1]}
        elif len(pieces) == 1:
            pieces = self._divide(text, pieces[0])
        for piece in pieces:
            for part in self._keep_heading_with(text, piece):
                self._add(part)

    def finish(self) -> list[_Draft]:
        self._close(keep_headings=False)
        return self._drafts

    def _enter(self, heading: _Heading) -> None:
        while self._headings and self._headings[-1].level >= heading.level:
            self._headings.pop()
        self._headings.append(heading)
        if self._has_body:
            self._later += 1
        else:
            self._path = _titles(self._headings)

    def _divide(self, text: str, piece: Piece) -> list[Piece]:
        """Cut a block into sentences if it neither fits into the open chunk nor may start a new one."""
        fits = self._tokens + piece.tokens <= self._budget.maximum
        indivisible = piece.kind in (BlockKind.TABLE_ROW, BlockKind.LIST_ITEM, BlockKind.CODE)
        if indivisible or fits or self._body_tokens >= self._budget.enough or not self._tokens:
            return [piece]
        return sentences_of(text, piece, self._budget.counter)

    def _keep_heading_with(self, text: str, piece: Piece) -> list[Piece]:
        """Cut a piece that fills a chunk by itself, so that the heading above it stays with some of its text."""
        room = self._budget.maximum - self._tokens
        only_headings = self._is_open_heading() and not self._body_tokens
        indivisible = piece.kind in (BlockKind.TABLE_ROW, BlockKind.HEADING)
        if indivisible or not only_headings or piece.tokens <= room or room < self._budget.small:
            return [piece]
        return cut_piece(text, piece, self._budget.counter, room)

    def _add(self, piece: Piece) -> None:
        if self._pieces and self._is_full_before(piece):
            self._close()
            if self._tokens + piece.tokens > self._budget.maximum:
                self._close(keep_headings=False)
        self._pieces.append(piece)
        self._tokens += piece.tokens
        if piece.kind is not BlockKind.HEADING:
            self._body_tokens += piece.tokens
            self._has_body = True

    def _is_full_before(self, piece: Piece) -> bool:
        """Whether the open chunk must end before this piece."""
        total = self._tokens + piece.tokens
        in_table = piece.kind is self._pieces[-1].kind is BlockKind.TABLE_ROW
        target = self._budget.target // _ROWS_DIVISOR if in_table else self._budget.target
        return total > self._budget.maximum or (total > target and self._body_tokens >= self._budget.enough)

    def _is_open_heading(self) -> bool:
        return bool(self._pieces) and self._pieces[-1].kind is BlockKind.HEADING

    def _close(self, keep_headings: bool = True) -> None:
        """End the open chunk. Headings at its end move to the next chunk, with the text below them."""
        end = len(self._pieces)
        while keep_headings and end and self._pieces[end - 1].kind is BlockKind.HEADING:
            end -= 1
        if end:
            self._drafts.append(_Draft(tuple(self._pieces[:end]), self._path, self._starts))
            self._path = _titles(self._headings)
        self._pieces = self._pieces[end:]
        self._tokens = sum(piece.tokens for piece in self._pieces)
        if end:  # only headings are left
            self._body_tokens, self._has_body, self._later = 0, False, 0


def _merge_small(drafts: Iterable[_Draft], budget: _Budget) -> list[_Draft]:
    """Join each small draft to the previous one, if both together fit."""
    merged: list[_Draft] = []
    for draft in drafts:
        if merged and draft.tokens < budget.small and _fit_together(merged[-1], draft, budget):
            merged[-1] = merged[-1]._replace(pieces=merged[-1].pieces + draft.pieces)
        else:
            merged.append(draft)
    return merged


def _fit_together(first: _Draft, second: _Draft, budget: _Budget) -> bool:
    is_small = first.tokens + second.tokens <= budget.maximum
    return is_small and first.headings + second.headings <= _MOST_SECTIONS


def _find_sections(draft: _Draft, start: int, end: int) -> _Sections:
    """Return the sections of a span of a draft. The headings above its first text belong to the section it begins in.

    Headings with no text between them are one beginning if each is under the one before.
    """
    path, later = draft.path, list[SectionStart]()
    has_body, is_open = False, False  # whether the span has text yet; whether a heading was last
    for piece in draft.pieces:
        if piece.start >= end:
            break
        heading = draft.starts.get(piece.start)
        if heading is None:
            is_body = piece.kind is not BlockKind.HEADING
            has_body = has_body or (is_body and piece.end > start)
            is_open = is_open and not is_body
            continue
        current = later[-1].heading_path if later else path
        if not has_body:
            path = heading
        elif is_open and heading[: len(current)] == current:
            later[-1] = SectionStart(char_start=later[-1].char_start, heading_path=heading)
        elif heading != current:
            later.append(SectionStart(char_start=piece.start - start, heading_path=heading))
            is_open = True
    return _Sections(path, tuple(later))


def _final_spans(text: str, draft: _Draft, budget: _Budget) -> Iterator[tuple[int, int]]:
    """Yield the span of a draft, cut again if its pieces have more tokens together than separately."""
    start, end = draft.pieces[0].start, draft.pieces[-1].end
    code = [piece for piece in draft.pieces if piece.kind is BlockKind.CODE]
    while start < end:
        cut = end
        if len(draft.pieces) > 1 and not _fits(text, start, end, budget):
            cut = largest_prefix(text, start, end, budget.counter, budget.maximum)
        first, last = trim(text, start, cut, is_code=_is_in_code(code, trim(text, start, cut)[0]))
        if first < last:
            yield first, last
        start = cut


def _is_in_code(code: Sequence[Piece], position: int) -> bool:
    """Check whether one of the pieces, which are in order, contains a position."""
    index = bisect(code, position, key=lambda piece: piece.start) - 1
    return index >= 0 and position < code[index].end


def _fits(text: str, start: int, end: int, budget: _Budget) -> bool:
    too_long = is_too_long(start, end, budget.maximum)
    return not too_long and budget.counter.count_tokens(text[start:end]) <= budget.maximum


def _titles(headings: Iterable[_Heading]) -> tuple[str, ...]:
    return tuple(heading.title for heading in headings)


def _make_chunk_id(knowledge_id: str, path: tuple[str, ...], text: str, occurrences: Counter[str]) -> str:
    """Return the id of a chunk from its headings and text. A repetition in the document gets a number, from 2."""
    digest = hashlib.sha256("\n".join((*path, text)).encode("utf-8")).hexdigest()[:_ID_DIGITS]
    occurrences[digest] += 1
    repetition = f"-{occurrences[digest]}" if occurrences[digest] > 1 else ""
    return f"{knowledge_id}#{digest}{repetition}"


def _make_chunk(page: Page, sections: _Sections, start: int, end: int, chunk_id: str, ordinal: int) -> Chunk:
    return Chunk(
        chunk_id=chunk_id,
        ordinal=ordinal,
        page_index=page.index,
        page_number=page.number,
        heading_path=sections.path,
        char_start=start,
        char_end=end,
        text=page.text[start:end],
        later_sections=sections.later,
    )
