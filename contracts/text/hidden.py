"""The parts of an answer that a reader does not read as prose: code and HTML comments (R5-6)."""

import re
from collections.abc import Iterator
from typing import Final

from sourcebound.contracts.text.blocks import TextBlockKind, split_blocks
from sourcebound.contracts.text.citations import Citation, find_citations

COMMENT_START: Final = "<!--"
COMMENT_END: Final = "-->"
BACKTICKS: Final = re.compile(r"`+")
BLANK_LINE: Final = re.compile(r"\n[^\S\n]*\n")
ELEMENT: Final = re.compile(r"<(/?)(?:code|pre)\b[^<>]{0,200}>", re.IGNORECASE)
BRACKETS: Final = str.maketrans("[]", "  ")


def find_visible_citations(text: str) -> list[Citation]:
    """Find every well-formed citation outside code and HTML comments, in order."""
    return find_citations(blank_brackets(text)) if "`" in text or "~" in text or "<" in text else find_citations(text)


def blank_brackets(text: str) -> str:
    """Return a text of the same length without the brackets in its code and HTML comments.

    Args:
        text: An answer.

    Returns:
        The text, in which each other character keeps its place.
    """
    spans = sorted([*_comments(text), *_code_blocks(text), *_code_spans(text), *_elements(text)])
    parts, position = [], 0
    for start, end in spans:
        begin = max(start, position)
        if begin < end:
            parts += [text[position:begin], text[begin:end].translate(BRACKETS)]
            position = end
    return "".join([*parts, text[position:]])


def _comments(text: str) -> Iterator[tuple[int, int]]:
    """Yield the comments. One that does not end hides the rest of the text."""
    start = text.find(COMMENT_START)
    while start >= 0:
        end = text.find(COMMENT_END, start + len(COMMENT_START))
        yield start, end if end >= 0 else len(text)
        start = text.find(COMMENT_START, end) if end >= 0 else -1


def _code_blocks(text: str) -> Iterator[tuple[int, int]]:
    if "```" in text or "~~~" in text:
        yield from ((block.start, block.end) for block in split_blocks(text) if block.kind is TextBlockKind.CODE)


def _code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans between two equally long runs of backticks in one paragraph."""
    start = 0
    for end in [*(match.start() for match in BLANK_LINE.finditer(text)), len(text)]:
        runs = list(BACKTICKS.finditer(text, start, end))
        closing: dict[int, list[int]] = {}
        for number in reversed(range(len(runs))):
            closing.setdefault(len(runs[number][0]), []).append(number)
        number = 0
        for opening, run in enumerate(runs):
            later = closing[len(run[0])]
            while later and later[-1] <= opening:
                later.pop()
            if opening >= number and later:
                number = later[-1] + 1
                yield run.end(), runs[later[-1]].start()
        start = end


def _elements(text: str) -> Iterator[tuple[int, int]]:
    """Yield the content of the elements `code` and `pre`. One that does not end hides the rest of the text."""
    start: int | None = None
    for tag in ELEMENT.finditer(text) if "<" in text else ():
        if not tag[1] and start is None:
            start = tag.end()
        elif tag[1] and start is not None:
            yield start, tag.start()
            start = None
    if start is not None:
        yield start, len(text)
