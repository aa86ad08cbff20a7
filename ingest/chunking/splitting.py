"""The cutting of a page into pieces that fit a token budget: blocks, else sentences, else words, else characters. Pure.

The cost of chunking is the counting of tokens. So each piece is counted once and carries its count; only a stretch
without a sentence end is counted several times while the place to cut is searched. No step reads more text than a chunk
or a window holds, however large a block is, because a document may be one line of fifty megabytes.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from sourcebound.contracts.corpus.document import Block, BlockKind, Page
from sourcebound.contracts.ports import TokenCounter
from sourcebound.contracts.text.sentences import split_sentences
from sourcebound.contracts.validation.versions import VERSION

MAX_CHARACTERS_PER_TOKEN: Final = 16
"""The most characters that count as one token."""
SENTENCE_WINDOW: Final = 8_000
"""The characters in which sentences are searched at a time. For some scripts the search takes quadratic time."""
_PARAGRAPH = re.compile(r"\S(?:.*?)(?=\n[ \t]*\n|\Z)", re.DOTALL)
_TYPICAL_CHARACTERS_PER_TOKEN = 5
_LINE = re.compile(r"[^\n]+")
_VISIBLE = re.compile(r"\S")
_LETTER = re.compile(r"\w")


class Piece(NamedTuple):
    """A stretch of a page that is not cut again: `page.text[start:end]`, without surrounding white space.

    Code begins with the indentation of its first line.
    """

    start: int
    end: int
    tokens: int
    kind: BlockKind
    level: int = 0


def blocks_of(page: Page) -> Iterator[Block]:
    """Yield blocks that cover all indexable text of the page, in order and without overlap.

    Text between two blocks is added as paragraphs if it has a letter or digit. A page without blocks is cut into
    paragraphs at its blank lines.
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
    """Yield a block as pieces of at most `limit` tokens: one piece if it fits, else sentences, words or characters.

    Args:
        text: The page's text.
        block: The block to cut.
        counter: Counts tokens.
        limit: The most tokens of a piece. A single character with more tokens is still a piece.
    """
    for start, end, tokens in _fit_block(text, block, counter, limit):
        yield Piece(start, end, tokens, block.kind, block.level)


def sentences_of(text: str, piece: Piece, counter: TokenCounter) -> list[Piece]:
    """Cut a piece into its sentences, each with its count. A single sentence is returned unchanged."""
    spans = list(_sentences(text, piece.start, piece.end))
    if len(spans) < 2:
        return [piece]
    return [Piece(start, end, counter.count_tokens(text[start:end]), piece.kind, piece.level) for start, end in spans]


def cut_piece(text: str, piece: Piece, counter: TokenCounter, limit: int) -> list[Piece]:
    """Cut a piece into one of at most `limit` tokens and, if text is left, the rest: between sentences if one fits."""
    longest = largest_prefix(text, piece.start, piece.end, counter, limit)
    is_code = piece.kind is BlockKind.CODE
    starts = () if is_code else (start for start, _ in _sentences(text, piece.start, piece.end))
    cut = max((start for start in starts if piece.start < start <= longest), default=longest)
    halves = (trim(text, piece.start, cut, is_code=is_code), trim(text, cut, piece.end, is_code=is_code))
    spans = [span for span in halves if span[0] < span[1]]
    return [Piece(start, end, counter.count_tokens(text[start:end]), piece.kind, piece.level) for start, end in spans]


def is_too_long(start: int, end: int, limit: int) -> bool:
    """Whether a stretch has more than `limit` tokens by its length alone, so that they need not be counted."""
    return end - start >= MAX_CHARACTERS_PER_TOKEN * (limit + 1)


def trim(text: str, start: int, end: int, *, is_code: bool = False) -> tuple[int, int]:
    """Return the span without surrounding white space; an empty span if there is only white space.

    Args:
        text: The page's text.
        start: The start of the span.
        end: The end of the span.
        is_code: Keep the indentation of the first line with text, as far as it is in the span.
    """
    stretch = text[start:end]
    first = start + len(stretch) - len(stretch.lstrip())
    if is_code and first < end:
        line = text.rfind("\n", start, first) + 1
        first = line or (start if not start or text[start - 1] == "\n" else first)
    return first, start + len(stretch.rstrip())


def largest_prefix(text: str, start: int, end: int, counter: TokenCounter, limit: int) -> int:
    """Find the place to cut a stretch that is too long: the last word start, else the last character, within `limit`.

    Args:
        text: The page's text.
        start: The start of the stretch.
        end: The end of the stretch.
        counter: Counts tokens, at least one for every `MAX_CHARACTERS_PER_TOKEN` characters.
        limit: The most tokens of `text[start:cut]`.

    Returns:
        The offset of the cut, after `start` and at most `end`.
    """
    longest = _find_longest_fit(text, start, end, counter, limit)
    if longest == end:
        return end
    cut = _word_start_before(text, start, longest)
    while cut > start and counter.count_tokens(text[start:cut].rstrip()) > limit:
        cut = _word_start_before(text, start, cut - 1)
    return cut if cut > start else longest


def _find_longest_fit(text: str, start: int, end: int, counter: TokenCounter, limit: int) -> int:
    """Find the longest prefix within `limit`, by interpolation and bisection in turn.

    The search stops when it may be a word or two short of the longest prefix.
    """
    low, high = start + 1, min(end, start + MAX_CHARACTERS_PER_TOKEN * (limit + 1))
    guess, bisects = start + limit * _TYPICAL_CHARACTERS_PER_TOKEN, False
    while high - low >= max(1, limit // 16):
        middle = min(max(guess, low + 1), high)
        tokens = counter.count_tokens(text[start:middle].rstrip())
        if tokens > limit:
            high = middle - 1
        else:
            low = middle
        interpolated = start + (middle - start) * limit // max(tokens, 1)
        guess = (low + high + 1) // 2 if bisects else interpolated
        bisects = not bisects
    return low


def _skip_space(text: str, start: int, end: int) -> int:
    match = _VISIBLE.search(text, start, end)
    return match.start() if match else end


def _word_start_before(text: str, start: int, position: int) -> int:
    """Return the last start of a word in `text[start + 1 : position + 1]`, or `start` if there is none."""
    for cut in range(min(position, len(text) - 1), start, -1):
        if text[cut - 1].isspace() and not text[cut].isspace():
            return cut
    return start


def _paragraphs(text: str, start: int, end: int) -> Iterator[Block]:
    for match in _PARAGRAPH.finditer(text, start, end):
        first, last = trim(text, *match.span())
        if _LETTER.search(text, first, last):
            yield Block(kind=BlockKind.PARAGRAPH, char_start=first, char_end=last)


def _fit_block(text: str, block: Block, counter: TokenCounter, limit: int) -> Iterator[tuple[int, int, int]]:
    is_code = block.kind is BlockKind.CODE
    start, end = trim(text, block.char_start, block.char_end, is_code=is_code)
    if start >= end:
        return
    if not is_too_long(start, end, limit):
        tokens = counter.count_tokens(text[start:end])
        if tokens <= limit:
            yield start, end, tokens
            return
    spans = _lines(text, start, end) if is_code else _sentences(text, start, end)
    for first, last in spans:
        yield from _fit_words(text, first, last, counter, limit, is_code=is_code)


def _fit_words(
    text: str, start: int, end: int, counter: TokenCounter, limit: int, *, is_code: bool
) -> Iterator[tuple[int, int, int]]:
    while start < end:
        tokens = counter.count_tokens(text[start:end]) if end - start <= limit * 8 else limit + 1
        cut = end if tokens <= limit else largest_prefix(text, start, end, counter, limit)
        first, last = trim(text, start, cut, is_code=is_code)
        if first < last:
            yield first, last, counter.count_tokens(text[first:last])
        start = cut


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _LINE.finditer(text, start, end):
        first, last = trim(text, *match.span(), is_code=True)
        if first < last:
            yield first, last


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences of `text[start:end]`, trimmed. A sentence longer than the window is cut."""
    while end - (start := _skip_space(text, start, end)) > SENTENCE_WINDOW:
        spans = split_sentences(text[start : start + SENTENCE_WINDOW], VERSION)
        for first, last in spans[:-1]:
            yield start + first, start + last
        if len(spans) > 1:  # the last one may continue after the window
            start += spans[-1][0]
            continue
        cut = _word_start_before(text, start, start + SENTENCE_WINDOW)
        cut = cut if cut > start else start + SENTENCE_WINDOW
        yield trim(text, start, cut)
        start = cut
    for first, last in split_sentences(text[start:end], VERSION):
        yield start + first, start + last
