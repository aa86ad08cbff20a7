"""The sentences of a prompt's evidence that an answer may quote, with their surroundings (R4-9).

A title, the head of a table, a lead-in, a badge or a fragment is read for its words, and never quoted. A row of a
Markdown table is quoted with the heads of its columns: `Limit: 2.4 bar`.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Final, NamedTuple

from sourcebound.contracts.extractive.labels import spell_source
from sourcebound.contracts.prompt.build import EvidencePart
from sourcebound.contracts.text.blocks import LIST_MARKER, MAX_HEADING_WORDS, STATEMENT_END
from sourcebound.contracts.text.citations import find_citations, find_look_alikes
from sourcebound.contracts.text.segments import Segment, SegmentKind, segment
from sourcebound.contracts.validation.answer_reading import read_statements
from sourcebound.contracts.validation.leaks import SECOND_PATTERNS
from sourcebound.contracts.validation.refusals import find_refusal
from sourcebound.contracts.validation.support.words import Word, read_words
from sourcebound.contracts.validation.versions import VERSION

LEAST_WORDS: Final = 3
HEADING_LINE: Final = re.compile(r"(?P<number>\d+(?P<parts>(?:\.\d+)+)? )?[^\W\d_a-z][^\d:;|=\n]*")
"""A line in plain text that may be a heading, with the number of its section; never a table row, which contains
headers or values."""
MARKUP: Final = re.compile(
    r"!\[|\]\(\S+\.(?:svg|png|gif)|^\W*https?://\S+\W*$|<[a-z/!]|\bimg\.shields\.io\b|^\W*(?:doi|sha|issn|isbn)\b"
    r"|^\s*\.\. [\w|_]",
    re.IGNORECASE,
)
"""Badges, images, lone links, directives, and identifiers of a publication."""
VALUE: Final = re.compile(r"[|;=]|:\s*\S*\d")
"""What a row or a value has, and a title has not."""
CONTENTS: Final = re.compile(r"\.{4,}|(?:\. ){4,}")
"""The dots of a table of contents."""
LEFT_OUT: Final = re.compile(r"^(?:\.{3}|…)|(?<![,\]>])\s(?!(?<=\d\s)\S+\s[-+−±]?\d)(?:\.{3}|…)[\"')\]]*(?:\s|$)")
"""An ellipsis where words are left out, as in a search result: the rest may say something else than the whole.

A series (`1, 2, ... and 9`), a range (`4 ... 20 mA`) and a repeated argument (`[FILE] ...`) leave nothing out.
"""
WRAP: Final = re.compile(r"[ \t]*\n[ \t]*")
WIDE: Final = 45
"""The least width of a line that the page has cut."""
ROW: Final = re.compile(r"[^\W\d_][^:;\n]{0,60}: [^;\n]+;")
"""The beginning of a row that names each of its values. It continues no line."""
MAIL_PARTY: Final = re.compile(
    r"(?:From|Sender): (?:[^\n]*\w@\w"
    r"|[^\n]*[^\W\d_]{2}[^\n]*(?:\n(?:To|Cc|Reply-To): [^\n]+)*\n(?:Date|Sent|Subject): )"
)
"""The line of a mail that says whose words all others are: it has an address, or it is among the headers of a mail."""
FIELD: Final = re.compile(r"(?:^|; )(?P<head>[^:;]{1,60}): [^;]+")
"""A value with its name."""
FRAGMENT_START: Final = re.compile(r"^[a-zà-ÿ,;)\]]")


class Field(NamedTuple):
    """A value with its name, in a row of a table or alone: `Interval: 6 months`."""

    head: frozenset[str]
    """The stems of its name."""
    first: int
    """The number of the first word of its name."""
    value: int
    """The number of the first word of its value."""
    end: int
    """The number of the word after it."""


class Sentence(NamedTuple):
    """A sentence of the evidence with its surroundings."""

    text: str
    start: int
    end: int
    """Its place in the text of its chunk."""
    head: tuple[int, int]
    """The place of the head of its table; empty if it is no row of a table with a head."""
    anchor: str
    chunk: int
    """The position of its chunk in the prompt."""
    place: int
    """Its position in the chunk."""
    kind: SegmentKind
    words: tuple[Word, ...]
    stems: frozenset[str]
    nearby: frozenset[str]
    """The content stems of the two sentences before it, and of the headings above it."""
    heading: frozenset[str]
    """Those of the heading directly above it."""
    title: frozenset[str]
    """Those of its document's name and of the first line of its chunk."""
    block: int
    """The number of its list or paragraph in the chunk."""
    is_heading: bool
    is_quotable: bool
    fields: tuple[Field, ...]
    source: str = ""
    """The name of its document."""

    @property
    def is_row(self) -> bool:
        """Whether it names each of its values, as a row of a table does: `Alarm: A-203; Limit: 17.5 bar`."""
        return ROW.match(self.text) is not None


def read_evidence(evidence: Sequence[EvidencePart]) -> list[Sentence]:
    """Return the sentences of the evidence in order, those that must not be quoted included."""
    return [
        sentence._replace(chunk=chunk, anchor=part.anchor)
        for chunk, part in enumerate(evidence)
        for sentence in _read_chunk(part.source, part.text)
    ]


@lru_cache(maxsize=128)
def _read_chunk(source: str, text: str) -> tuple[Sentence, ...]:
    pieces = _join_wrapped(text, [piece for piece in segment(text, VERSION) if piece.text.strip()])
    heads = [_head(pieces, index) for index in range(len(pieces))]
    quotes = [_quote(piece, text[slice(*head)]) for piece, head in zip(pieces, heads, strict=True)]
    words = [read_words(quote) for quote in quotes]
    stems = [frozenset(word.stem for word in each if word.weight) for each in words]
    named = frozenset(word.stem for word in read_words(spell_source(source)) if word.weight)
    title = named.union(*(stems[index] for index, piece in enumerate(pieces) if _names_chunk(text, piece, index)))
    headings: frozenset[str] = frozenset()
    sentences, block = list[Sentence](), 0
    for index, piece in enumerate(pieces):
        before = pieces[index - 1] if index else None
        is_heading = _is_heading(text, pieces, index)
        if before and (is_heading or "\n\n" in text[before.end : piece.start] or piece.kind is not before.kind):
            block += 1
        if is_heading:
            headings = stems[index]
        sentences.append(
            Sentence(
                text=quotes[index],
                start=piece.start,
                end=piece.end,
                head=heads[index],
                anchor="",
                chunk=0,
                place=index,
                kind=piece.kind,
                words=words[index],
                stems=stems[index],
                nearby=headings.union(*stems[max(0, index - 2) : index]),
                heading=headings if before and sentences[-1].is_heading else frozenset(),
                title=title,
                block=block,
                is_heading=is_heading,
                is_quotable=not is_heading and not _is_cut(text, pieces, index) and is_quotable(quotes[index]),
                fields=_read_fields(quotes[index], words[index]),
                source=source,
            )
        )
    return tuple(sentences)


def _names_chunk(text: str, piece: Segment, index: int) -> bool:
    """Whether a segment says what its chunk is about: the first line, unless it is a row, or the sender of a mail."""
    return (not index and not ROW.match(piece.text)) or bool(MAIL_PARTY.match(text, piece.start))


def _join_wrapped(text: str, pieces: Sequence[Segment]) -> list[Segment]:
    """Join the pieces of a sentence that the width of a page has cut: the line before is long and has no end."""
    joined: list[Segment] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if (
            last
            and piece.kind is SegmentKind.SENTENCE
            and last.kind in (SegmentKind.SENTENCE, SegmentKind.LIST_ITEM)
            and WRAP.fullmatch(text[last.end : piece.start])
            and not STATEMENT_END.search(last.text)
            and not ROW.match(piece.text)
            and last.end - text.rfind("\n", 0, last.end) > WIDE
        ):
            joined[-1] = Segment(last.kind, last.start, piece.end, text[last.start : piece.end])
        else:
            joined.append(piece)
    return joined


def _quote(piece: Segment, head: str) -> str:
    """Return a segment as it is quoted: with single blanks, and a row of a table as its cells with their heads."""
    if piece.kind is not SegmentKind.TABLE_ROW:
        return " ".join(piece.text.split())
    named = zip_longest(_cells(head), _cells(piece.text), fillvalue="")
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)


def _read_fields(quote: str, words: Sequence[Word]) -> tuple[Field, ...]:
    """Return the values of a row with their names."""
    starts = [word.start for word in words]
    fields = []
    for match in FIELD.finditer(quote):
        first, value, end = (bisect_left(starts, at) for at in (match.start("head"), match.end("head"), match.end()))
        fields.append(Field(frozenset(word.stem for word in words[first:value]), first, value, end))
    return tuple(fields)


def _head(pieces: Sequence[Segment], index: int) -> tuple[int, int]:
    """Return the place of the head of a row's table."""
    above = index
    while above and pieces[above].kind is SegmentKind.TABLE_ROW:
        above -= 1
    is_head = above < index and pieces[above].kind is SegmentKind.HEADING and "|" in pieces[above].text
    return (pieces[above].start, pieces[above].end) if is_head else (0, 0)


def _cells(row: str) -> list[str]:
    return [" ".join(cell.split()) for cell in row.strip().strip("|").split("|")]


def _is_heading(text: str, pieces: Sequence[Segment], index: int) -> bool:
    """Whether a segment is a heading, marked or unmarked: `10.2 Oil level`."""
    piece, following = pieces[index], pieces[index + 1 : index + 2]
    if piece.kind is SegmentKind.HEADING or _is_title(text, pieces, index):
        return True
    line = HEADING_LINE.fullmatch(piece.text)
    if not (line and following) or piece.kind is not SegmentKind.SENTENCE or STATEMENT_END.search(piece.text):
        return False
    if len(piece.text.split()) > MAX_HEADING_WORDS:
        return False
    if line["parts"]:
        return True
    is_separate = "\n\n" in text[piece.end : following[0].start]
    if line["number"]:
        below = HEADING_LINE.fullmatch(following[0].text)
        return is_separate or bool(below and below["parts"])
    return is_separate and not any(map(str.isalpha, text[: piece.start]))


def _is_title(text: str, pieces: Sequence[Segment], index: int) -> bool:
    """Whether the first line of a chunk, set apart and without an end, is a title and not a value: `Torque: 45 Nm`."""
    if index or len(pieces) < 2 or "\n\n" not in text[pieces[0].end : pieces[1].start]:
        return False
    line = pieces[0].text
    is_short = len(line.split()) <= MAX_HEADING_WORDS
    return is_short and not STATEMENT_END.search(line) and not VALUE.search(line)


def _is_cut(text: str, pieces: Sequence[Segment], index: int) -> bool:
    """Whether a segment is a piece of a sentence that a line break, or the end of the chunk, has cut."""
    piece = pieces[index]
    if piece.kind is not SegmentKind.SENTENCE:
        return False
    if index and FRAGMENT_START.match(piece.text) and not STATEMENT_END.search(pieces[index - 1].text):
        return True
    if STATEMENT_END.search(piece.text):
        return False
    after = text[piece.end :]
    return not (after.startswith("\n") or not after.strip()) or piece.text.rstrip().endswith((",", "-", "–", "(", "/"))


@lru_cache(maxsize=2048)
def is_quotable(sentence: str) -> bool:
    """Whether a sentence of the evidence, with its citation, is exactly one cited statement that may be released."""
    if sentence.startswith("\\") or sentence.rstrip().endswith((":", "?")) or len(sentence.split()) < LEAST_WORDS:
        return False
    if find_citations(sentence) or find_look_alikes(sentence) or find_refusal(sentence):
        return False
    if any(pattern.search(sentence) for pattern in (MARKUP, CONTENTS, LEFT_OUT)) or not any(map(str.islower, sentence)):
        return False
    if any(pattern.search(sentence) for _, _, pattern in SECOND_PATTERNS):
        return False
    statements = read_statements(f"{sentence} [C0]")
    return len(statements) == 1 and bool(statements[0].anchors)


def strip_list_marker(text: str) -> str:
    """Return a list item without its marker."""
    marker = LIST_MARKER.match(text)
    return text[marker.end() :] if marker else text
