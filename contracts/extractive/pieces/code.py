"""The code of a chunk, and the pieces around it (R4-9).

Code is fenced, announced by `::`, typed at a prompt, or indented and no prose. It is no sentence, and no sentence goes
on in it. A chunk may begin within a fenced block, so that its first fence closes one.
"""

import re
from collections.abc import Iterator
from typing import Final

from sourcebound.contracts.text.segments import Segment, SegmentKind, segment
from sourcebound.contracts.validation.versions import VERSION

FENCE: Final = re.compile(r"^[ \t]{0,3}(?:`{3,}|~{3,})(?P<language>[^\n`]*)$", re.MULTILINE)
UNDERLINE: Final = re.compile(
    r"^(?P<title>[^\n]*\S)[ \t]*\n(?P<line>(?P<mark>[`~+^\"*#=-])(?P=mark){2,})[ \t]*$", re.MULTILINE
)
"""A heading of reStructuredText. The line below it may look like a fence."""
SHORTEST_UNDERLINE: Final = 4
PARAGRAPH: Final = re.compile(r"^[^\n]*\S[^\n]*(?:\n[^\n]*\S[^\n]*)*", re.MULTILINE)
INDENTED: Final = re.compile(r"(?:(?: {2}|\t)[^\n]*(?:\n|\Z))+")
PROMPT: Final = re.compile(
    r"[ \t]*(?:>>>|[$%](?![ \t]+(?:and|in|of|per|change|share|thousands?|millions?|billions?)\b)|C:\\>|PS>)[ \t]+(?=\S)"
)
"""A prompt at which code is typed. `$ in millions` is the head of a table."""
ANNOUNCES: Final = re.compile(r"(?:^|\n)(?![ \t]*\.\. )[^\n]*::[ \t]*\Z|^\.\. (?:code|code-block|sourcecode)::")
READS_AS_CODE: Final = re.compile(r"[=(){}<>\[\]\\]|^[ \t]*(?:import|from|def|class|return)\b|[ \t]--?\w", re.MULTILINE)
PROSE_END: Final = re.compile(r"(?:[.!?:][\"'”’)\]]*|\s[:;]-?\))\s*\Z")
PLAIN_WORD: Final = re.compile(r"[\"'“‘(]*[^\W\d_]+(?:['’/-][^\W\d_]+)*[\"'”’)]*[-,.;:!?]*")
NO_PROSE: Final = re.compile(r"^[ \t]*(?:#|//|--|/\*|%|\[)", re.MULTILINE)
"""The beginning of a comment, or of a line of a log: `[INFO] started`."""
PROSE_WORDS: Final = 4
PROSE_SHARE: Final = 0.6
"""The least share of plain words in a paragraph of prose."""
MOST_LINES: Final = 2
"""The most lines of code that are quoted with the sentence that leads to them."""
LONGEST_LINE: Final = 120


def read_pieces(text: str) -> list[Segment]:
    """Cut a chunk into segments, with its code as segments of their own.

    Args:
        text: The text of a chunk.
    """
    masked = UNDERLINE.sub(_mask_underline, text)
    code = _join_blocks(text, _find_code(masked))
    for start, end in code:
        masked = masked[:start] + re.sub(r"[^\n]", " ", masked[start:end]) + masked[end:]
    pieces = [
        piece._replace(text=text[piece.start : piece.end]) for piece in segment(masked, VERSION) if piece.text.strip()
    ]
    pieces.extend(Segment(SegmentKind.CODE, start, end, text[start:end]) for start, end in code)
    return sorted(pieces, key=lambda piece: piece.start)


def _mask_underline(heading: re.Match[str]) -> str:
    """Return a heading with a line of hyphens below it, if the line is long enough for its title, and for no fence."""
    if len(heading["line"]) < max(len(heading["title"]) - 1, SHORTEST_UNDERLINE):
        return heading[0]
    return heading[0].replace(heading["line"], "-" * len(heading["line"]))


def _join_blocks(text: str, blocks: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join the pieces of code between which there are only blank lines."""
    joined: list[tuple[int, int]] = []
    for start, end in blocks:
        if joined and not text[joined[-1][1] : start].strip():
            start = joined.pop()[0]
        joined.append((start, end))
    return joined


def _find_code(text: str) -> Iterator[tuple[int, int]]:
    """Return the places of code that no pair of fences encloses."""
    fences = list(FENCE.finditer(text))
    start = 0
    if len(fences) % 2 and not fences[0]["language"].strip():
        start = fences[0].end()
        yield 0, start
        del fences[0]
    fenced = [(opening.start(), closing.end()) for opening, closing in zip(fences[::2], fences[1::2], strict=False)]
    is_code = is_announced = False
    for match in PARAGRAPH.finditer(text, start):
        if any(first < match.end() and match.start() < last for first, last in fenced):
            is_code = is_announced = False
            continue
        is_indented = INDENTED.fullmatch(match[0]) is not None
        goes_on = is_code or (match[0][:4].isspace() and READS_AS_CODE.search(match[0]))
        is_code = bool(
            PROMPT.match(match[0]) or (is_indented and (is_announced or (goes_on and not _reads_as_prose(match[0]))))
        )
        if is_code:
            yield match.span()
        is_announced = ANNOUNCES.search(match[0]) is not None


def _reads_as_prose(paragraph: str) -> bool:
    """Whether an indented paragraph is made of words and ends as a sentence does: some manuals indent all text."""
    if NO_PROSE.search(paragraph) or not PROSE_END.search(paragraph):
        return False
    words = paragraph.split()
    plain = sum(PLAIN_WORD.fullmatch(word) is not None for word in words)
    return plain >= max(PROSE_WORDS, PROSE_SHARE * len(words))


def read_lines(code: str) -> list[str]:
    """Return what a user types of a piece of code: without fences, comments, and the output below a prompt.

    Args:
        code: The text of the piece.
    """
    lines = [line.strip() for line in code.split("\n") if line.strip() and not FENCE.fullmatch(line)]
    typed = [PROMPT.sub("", line) for line in lines if PROMPT.match(line)] or lines
    return [line for line in typed if not line.startswith(("#", "//"))]


def write_code(code: str) -> str:
    """Return a short piece of code in one line, each of its lines in backticks; empty if it is long.

    A line that ends with an address has none, because they would be read as a part of it.
    """
    lines = read_lines(code)
    if not 1 <= len(lines) <= MOST_LINES or any("`" in line or len(line) > LONGEST_LINE for line in lines):
        return ""
    return " ".join(line if "://" in line else f"`{line}`" for line in lines)
