"""Quotes the pieces of a chunk, and says which of them may be quoted (R4-9).

A row of a Markdown table is quoted with the heads of its columns: `Limit: 2.4 bar`. A badge or a fragment is never
quoted.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Final

from sourcebound.contracts.extractive.pieces.code import write_code
from sourcebound.contracts.text.blocks import LIST_MARKER, STATEMENT_END
from sourcebound.contracts.text.citations import find_citations, find_look_alikes
from sourcebound.contracts.text.segments import Segment, SegmentKind, segment
from sourcebound.contracts.text.sentences import STOP_WITHIN
from sourcebound.contracts.validation.answer_reading import cited_segments
from sourcebound.contracts.validation.leaks import SECOND_PATTERNS
from sourcebound.contracts.validation.refusals import FINDING, find_refusal
from sourcebound.contracts.validation.versions import VERSION

LEAST_WORDS: Final = 3
LEAST_CAPITALS: Final = 8
"""The least words of a sentence in capitals. Fewer are a title."""
LEAST_CASELESS: Final = 8
"""The least letters of a sentence in a script without cases, such as the Japanese ones."""
MARKUP: Final = re.compile(
    r"!\[|\]\(\S+\.(?:svg|png|gif)|^\W*https?://\S+\W*$|\bimg\.shields\.io\b|^\W*(?:doi|sha|issn|isbn)\b"
    r"|^\s*\.\. [\w|_]|^_[^\s:]?[^:]*: https?://"
    r"|</[a-z]|<!|<[a-z][\w-]*\s[^<>]*?[\w-]=[\"']?\S|<(?:abbr|br|center|dd|del|details|div|dl|dt|em|figure|font|h[1-6]|hr|"
    r"iframe|img|ins|kbd|li|ol|picture|pre|script|small|span|strong|su[bp]|summary|svg|table|tbody|t[dhrt]|thead|ul|video|"
    r"[abipsu])\s*/?>|<\w+\s*/>",
    re.IGNORECASE,
)
"""Badges, images, lone links, directives, identifiers of a publication, and tags. `<address>` is a placeholder."""
LINK: Final = re.compile(r"\s*<?https?://\S+\s*")
CONTENTS: Final = re.compile(r"\.{4,}|(?:\. ){4,}")
"""The dots of a table of contents."""
LEFT_OUT: Final = re.compile(r"^(?:\.{3}|…)|(?<![,\]>])\s(?!(?<=\d\s)\S+\s[-+−±]?\d)(?:\.{3}|…)[\"')\]]*(?:\s|$)")
"""An ellipsis where words are left out, as in a search result: the rest may say something else than the whole.

A series (`1, 2, ... and 9`), a range (`4 ... 20 mA`) and a repeated argument (`[FILE] ...`) leave nothing out.
"""
DRAWN: Final = re.compile(r"^\|\s|\s\|$")
"""The lines of a drawing in characters. Rows of tables are quoted without them."""
DIRECTIVE: Final = re.compile(r"\.\. [\w-]+::")
SAYS_HOW: Final = re.compile(
    r"^(?!.*\b(?:here|below|follows|following|example)\b).*(?:`[^`]+`|(?<!\w)--?\w)", re.IGNORECASE
)
"""What a lead-in has that needs nothing below it: ``Use `strict=True` to enable validation:``."""


def quote(text: str, pieces: Sequence[Segment], index: int, head: str) -> str:
    """Return a segment as it is quoted: with single blanks, and a row of a table as its cells with their heads.

    What leads to a short piece of code is quoted with it.
    """
    piece = pieces[index]
    if piece.kind is not SegmentKind.TABLE_ROW:
        return _with_code(pieces, index, " ".join(piece.text.split()))
    named = zip_longest(_cells(head), _cells(piece.text), fillvalue="")
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)


def _with_code(pieces: Sequence[Segment], index: int, quote: str) -> str:
    """Return a lead-in or a caption with the short code below it; a lead-in to none that says something, as it is.

    `Or from the command line::` becomes ``Or from the command line: `python -m certifi```. So does one with a link.
    """
    is_lead = quote.endswith(":")
    if pieces[index].kind not in (SegmentKind.SENTENCE, SegmentKind.LIST_ITEM) or not (
        is_lead or not STATEMENT_END.search(quote)
    ):
        return quote
    below = next((piece for piece in pieces[index + 1 :] if not DIRECTIVE.match(piece.text)), None)
    if is_lead and below is not None and LINK.fullmatch(below.text):
        return f"{quote} {below.text.strip()}"
    if below is not None and below.kind is SegmentKind.CODE:
        code = write_code(below.text)
        if code:
            return f"{quote.rstrip(' :')}: {code}"
    is_last = below is None or below.kind is SegmentKind.CODE or below.text.rstrip().endswith(":")
    if is_lead and is_last and SAYS_HOW.search(quote):
        return quote.rstrip(" :")
    return quote


def _cells(row: str) -> list[str]:
    return [" ".join(cell.split()) for cell in row.strip().strip("|").split("|")]


def cut_statements(pieces: Sequence[Segment]) -> list[Segment]:
    """Cut the pieces that are several statements without what surrounds them, and so could not be quoted.

    Args:
        pieces: The pieces of a chunk, in order.
    """
    return [part for piece in pieces for part in _cut_statement(piece)]


def _cut_statement(piece: Segment) -> Sequence[Segment]:
    text = piece.text.rstrip().replace("\n", " ")
    if piece.kind not in (SegmentKind.SENTENCE, SegmentKind.LIST_ITEM) or not STOP_WITHIN.search(text):
        return (piece,)
    parts = segment(text, VERSION)
    if len(parts) < 2:
        return (piece,)
    places = [(piece.start + part.start, piece.start + part.end, part.text) for part in parts]
    return [piece._replace(start=start, end=end, text=text) for start, end, text in places]


@lru_cache(maxsize=2048)
def is_quotable(sentence: str, *, is_item: bool = False) -> bool:
    """Whether a sentence of the evidence, with its citation, is exactly one cited statement that may be released.

    Args:
        sentence: The sentence.
        is_item: Whether it is quoted as an item of its list, which may be a word, or a question among others.
    """
    if sentence.startswith("\\") or sentence.rstrip().endswith(":" if is_item else (":", "?")):
        return False
    if not is_item and not _has_words(sentence):
        return False
    if find_citations(sentence) or find_look_alikes(sentence, VERSION) or find_refusal(FINDING.sub(" ", sentence)):
        return False
    if any(pattern.search(sentence) for pattern in (MARKUP, CONTENTS, LEFT_OUT, DRAWN)):
        return False
    if any(pattern.search(sentence) for _, _, pattern in SECOND_PATTERNS):
        return False
    cited = cited_segments(f"{sentence} [C0]")
    return len(cited) == 1 and bool(cited[0][1])


def _has_words(sentence: str) -> bool:
    """Whether a sentence has words that are no title in capitals. Scripts without cases may have no blanks either."""
    caseless = sum(letter.isalpha() and letter.lower() == letter.upper() for letter in sentence)
    words = len(sentence.split())
    is_statement = words >= LEAST_CAPITALS and STATEMENT_END.search(sentence) is not None
    is_cased = any(map(str.islower, sentence)) or is_statement
    return caseless >= LEAST_CASELESS or (words >= LEAST_WORDS and (is_cased or caseless > 0))


def strip_list_marker(text: str) -> str:
    """Return a list item without its marker."""
    marker = LIST_MARKER.match(text)
    return text[marker.end() :] if marker else text
