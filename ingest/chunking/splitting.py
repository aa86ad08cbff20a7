"""Cuts a page into pieces that fit a token budget: whole blocks, else sentences, else words, else characters. Pure.

Counting tokens is the cost of chunking, so a piece is counted once and its count kept; only a stretch that has no place
to cut in it is measured again while the cut is sought. No step looks at more text than a chunk or a window
holds, however large a block is: a document may be one line of fifty megabytes.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from sourcebound.contracts.corpus.document import Block, BlockKind, Page
from sourcebound.contracts.ports import TokenCounter
from sourcebound.contracts.text.sentences import split_sentences

MOST_CHARACTERS_A_TOKEN: Final = 16
"""A token counts for at most as many characters."""
WINDOW: Final = 8_000
"""Characters in which sentences are sought at a time; for some scripts the search takes the square of it."""
_PARAGRAPH = re.compile(r"\S(?:.*?)(?=\n[ \t]*\n|\Z)", re.DOTALL)
_CHARACTERS_A_TOKEN = 5
_LINE = re.compile(r"[^\n]+")
_VISIBLE = re.compile(r"\S")
_LETTER = re.compile(r"\w")


class Piece(NamedTuple):
    """A stretch of a page that is not cut again: `page.text[start:end]`, without white space around it."""

    start: int
    end: int
    tokens: int
    kind: BlockKind
    level: int = 0


def blocks_of(page: Page) -> Iterator[Block]:
    """Blocks that cover everything on the page worth indexing, in order and without overlap.

    What lies between two blocks is added as paragraphs if it has a letter or digit in it; a page without blocks is cut
    into paragraphs at its blank lines.
    """
    position = 0
    for block in sorted(page.blocks, key=lambda found: found.char_start):
        start, end = max(block.char_start, position), min(block.char_end, len(page.text))
        if start >= end:
            continue
        yield from _paragraphs(page.text, position, start)
        yield block.model_copy(update={"char_start": start, "char_end": end})
        position = end
    yield from _paragraphs(page.text, position, len(page.text))


def pieces_of(text: str, block: Block, counter: TokenCounter, limit: int) -> Iterator[Piece]:
    """A block as pieces of at most `limit` tokens: one if it fits, else sentences, words or characters.

    Args:
        text: The page's text.
        block: The block to cut.
        counter: Counts tokens.
        limit: Most tokens of a piece; a single character over it is still a piece.
    """
    for start, end, tokens in _fit(text, block, counter, limit):
        yield Piece(start, end, tokens, block.kind, block.level)


def sentences_of(text: str, piece: Piece, counter: TokenCounter) -> list[Piece]:
    """A piece cut between its sentences, each counted; the piece itself when it is a single sentence."""
    spans = list(_sentences(text, piece.start, piece.end))
    if len(spans) < 2:
        return [piece]
    return [Piece(start, end, counter.count_tokens(text[start:end]), piece.kind, piece.level) for start, end in spans]


def cut_piece(text: str, piece: Piece, counter: TokenCounter, limit: int) -> list[Piece]:
    """A piece as one of at most `limit` tokens and, if anything is left, the rest."""
    cut = largest_prefix(text, piece.start, piece.end, counter, limit)
    spans = [span for span in (trim(text, piece.start, cut), trim(text, cut, piece.end)) if span[0] < span[1]]
    return [Piece(start, end, counter.count_tokens(text[start:end]), piece.kind, piece.level) for start, end in spans]


def is_too_long(start: int, end: int, limit: int) -> bool:
    """Whether a stretch has more than `limit` tokens, whatever they are, so that there is no need to count them."""
    return end - start >= MOST_CHARACTERS_A_TOKEN * (limit + 1)


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without the white space around it; empty when there is nothing else."""
    stretch = text[start:end]
    return start + len(stretch) - len(stretch.lstrip()), start + len(stretch.rstrip())


def largest_prefix(text: str, start: int, end: int, counter: TokenCounter, limit: int) -> int:
    """Find the cut of a stretch that is too long: the last word start, else the last character, within `limit`.

    Args:
        text: The page's text.
        start: Where the stretch starts.
        end: Where it ends.
        counter: Counts tokens, at least one for every `MOST_CHARACTERS_A_TOKEN` characters.
        limit: Most tokens of `text[start:cut]`.

    Returns:
        The cut, after `start` and not after `end`.
    """
    longest = _longest_that_fits(text, start, end, counter, limit)
    if longest == end:
        return end
    cut = _word_start_before(text, start, longest)
    while cut > start and counter.count_tokens(text[start:cut].rstrip()) > limit:
        cut = _word_start_before(text, start, cut - 1)
    return cut if cut > start else longest


def _longest_that_fits(text: str, start: int, end: int, counter: TokenCounter, limit: int) -> int:
    """By interpolation with halving between, near enough to lose no more than a word or two of a long chunk."""
    low, high = start + 1, min(end, start + MOST_CHARACTERS_A_TOKEN * (limit + 1))
    guess, halves = start + limit * _CHARACTERS_A_TOKEN, False
    while high - low >= max(1, limit // 16):
        middle = min(max(guess, low + 1), high)
        tokens = counter.count_tokens(text[start:middle].rstrip())
        if tokens > limit:
            high = middle - 1
        else:
            low = middle
        interpolated = start + (middle - start) * limit // max(tokens, 1)
        guess = (low + high + 1) // 2 if halves else interpolated
        halves = not halves
    return low


def _skip_space(text: str, start: int, end: int) -> int:
    match = _VISIBLE.search(text, start, end)
    return match.start() if match else end


def _word_start_before(text: str, start: int, position: int) -> int:
    """The last start of a word in `text[start + 1 : position + 1]`, or `start` when there is none."""
    for cut in range(min(position, len(text) - 1), start, -1):
        if text[cut - 1].isspace() and not text[cut].isspace():
            return cut
    return start


def _paragraphs(text: str, start: int, end: int) -> Iterator[Block]:
    for match in _PARAGRAPH.finditer(text, start, end):
        first, last = trim(text, *match.span())
        if _LETTER.search(text, first, last):
            yield Block(kind=BlockKind.PARAGRAPH, char_start=first, char_end=last)


def _fit(text: str, block: Block, counter: TokenCounter, limit: int) -> Iterator[tuple[int, int, int]]:
    start, end = trim(text, block.char_start, block.char_end)
    if start >= end:
        return
    if not is_too_long(start, end, limit):
        tokens = counter.count_tokens(text[start:end])
        if tokens <= limit:
            yield start, end, tokens
            return
    spans = _lines(text, start, end) if block.kind is BlockKind.CODE else _sentences(text, start, end)
    for first, last in spans:
        yield from _fit_words(text, first, last, counter, limit)


def _fit_words(text: str, start: int, end: int, counter: TokenCounter, limit: int) -> Iterator[tuple[int, int, int]]:
    while start < end:
        tokens = counter.count_tokens(text[start:end]) if end - start <= limit * 8 else limit + 1
        cut = end if tokens <= limit else largest_prefix(text, start, end, counter, limit)
        first, last = trim(text, start, cut)
        if first < last:
            yield first, last, counter.count_tokens(text[first:last])
        start = cut


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _LINE.finditer(text, start, end):
        first, last = trim(text, *match.span())
        if first < last:
            yield first, last


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of `text[start:end]`, without white space around them; one over the window is cut."""
    while end - (start := _skip_space(text, start, end)) > WINDOW:
        spans = split_sentences(text[start : start + WINDOW])
        for first, last in spans[:-1]:
            yield start + first, start + last
        if len(spans) > 1:  # the last one may go on after the window
            start += spans[-1][0]
            continue
        cut = _word_start_before(text, start, start + WINDOW)
        cut = cut if cut > start else start + WINDOW
        yield trim(text, start, cut)
        start = cut
    for first, last in split_sentences(text[start:end]):
        yield start + first, start + last
