"""The sentences of a prompt's evidence that an answer may quote, with their surroundings (R4-9).

A title, the head of a table, a badge or a fragment is read for its words, and never quoted. What leads in a list is
quoted with the list.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from sourcebound.contracts.extractive.labels import spell_source
from sourcebound.contracts.extractive.pieces.code import read_pieces
from sourcebound.contracts.extractive.pieces.quotes import cut_statements, is_quotable, quote
from sourcebound.contracts.extractive.pieces.roles import (
    ROW,
    cut_rows,
    find_leads,
    find_table_head,
    is_cut,
    is_heading_piece,
    join_wrapped,
    leads_in,
)
from sourcebound.contracts.prompt.build import EvidencePart
from sourcebound.contracts.text.segments import Segment, SegmentKind
from sourcebound.contracts.validation.literals.times.dates import MONTH_NAMES
from sourcebound.contracts.validation.literals.times.named_times import ISO_MONTH
from sourcebound.contracts.validation.support.passages import CACHED_CHUNKS
from sourcebound.contracts.validation.support.word_lists import root_of
from sourcebound.contracts.validation.support.words import Word, read_words

MAIL_PARTY: Final = re.compile(
    r"(?:From|Sender): (?:[^\n]*\w@\w"
    r"|[^\n]*[^\W\d_]{2}[^\n]*(?:\n(?:To|Cc|Reply-To): [^\n]+)*\n(?:Date|Sent|Subject): )"
)
"""The line of a mail that says whose words all others are: it has an address, or it is among the headers of a mail."""
WARNING: Final = re.compile(
    r"\W*(?:warnings?|cautions?|dangers?|attention|important|notes?|notice|achtung|warnung|vorsicht|gefahr|hinweis|"
    r"avertissement|attenzione|avviso|pericolo|advertencia|peligro|precaución|atenção|aviso|waarschuwing|let op)\b",
    re.IGNORECASE,
)
MONTHS: Final = tuple(root_of(names.split()[0]) for names in MONTH_NAMES)
"""The stems of the months in their order."""
FIELD: Final = re.compile(r"(?:^|; )(?P<head>[^:;]{1,60}): [^;]+")
"""A value with its name."""


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
    is_whole: bool
    """Whether it is a statement of the text: no heading, code or fragment."""
    nests: bool
    """Whether it is an item before another one, which may be its own."""
    indent: int
    """The column of its beginning."""
    lead: int | None
    """The position of what an item of a list stands below: an item, a lead-in, or a heading."""
    leads: bool
    """Whether it leads in a list. It is quoted with the list only."""
    fields: tuple[Field, ...]
    source: str = ""
    """The name of its document."""

    @property
    def is_quotable(self) -> bool:
        """Whether it may be quoted. This takes long to find out, so it is asked of few."""
        return self.is_whole and is_quotable(self.text)

    @property
    def is_listable(self) -> bool:
        """Whether it is an item or a warning that may be quoted with its list or its steps: `- macOS`, `DANGER: HOT`.

        An item that leads to its own items is quoted with them.
        """
        is_listed = self.kind is SegmentKind.LIST_ITEM or self.is_warning
        text = self.text.rstrip(" :") if self.nests else self.text
        return self.is_whole and is_listed and is_quotable(text, is_item=True)

    @property
    def is_warning(self) -> bool:
        """Whether it says that it is a warning or a note: `Caution: the oil is hot`."""
        return WARNING.match(self.text) is not None

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


@lru_cache(maxsize=CACHED_CHUNKS)
def _read_chunk(source: str, text: str) -> tuple[Sentence, ...]:
    pieces = cut_statements(join_wrapped(text, cut_rows(text, read_pieces(text))))
    heads = [find_table_head(pieces, index) for index in range(len(pieces))]
    quotes = [quote(text, pieces, index, text[slice(*head)]) for index, head in enumerate(heads)]
    indents = [piece.start - text.rfind("\n", 0, piece.start) - 1 for piece in pieces]
    leads = find_leads(text, pieces, indents)
    words = [read_words(quote) for quote in quotes]
    stems = [
        frozenset(word.stem for word in each if word.weight) | _read_months(quote)
        for each, quote in zip(words, quotes, strict=True)
    ]
    named = frozenset(word.stem for word in read_words(spell_source(source)) if word.weight)
    title = named.union(*(stems[index] for index, piece in enumerate(pieces) if _names_chunk(text, piece, index)))
    headings: frozenset[str] = frozenset()
    lead: frozenset[str] = frozenset()
    sentences, block = list[Sentence](), 0
    for index, piece in enumerate(pieces):
        before = pieces[index - 1] if index else None
        is_heading = is_heading_piece(text, pieces, index)
        is_item = piece.kind is SegmentKind.LIST_ITEM
        is_apart = before and not is_item and "\n\n" in text[before.end : piece.start]
        if before and (is_heading or is_apart or piece.kind is not before.kind):
            block += 1
        if is_heading:
            headings = stems[index]
        is_lead = leads_in(pieces, index)
        if is_lead or not is_item:
            lead = stems[index] if is_lead else frozenset()
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
                nearby=headings.union(lead if is_item else (), *stems[max(0, index - 2) : index]),
                heading=headings if before and sentences[-1].is_heading else frozenset(),
                title=title,
                block=block,
                is_heading=is_heading,
                is_whole=not (is_heading or piece.kind is SegmentKind.CODE or is_cut(text, pieces, index)),
                nests=[each.kind for each in pieces[index : index + 2]] == [SegmentKind.LIST_ITEM] * 2,
                indent=indents[index],
                lead=leads[index],
                leads=is_lead,
                fields=_read_fields(quotes[index], words[index]),
                source=source,
            )
        )
    return tuple(sentences)


def _read_months(text: str) -> frozenset[str]:
    """Return the months of the dates in a text that are numbers: `2025-02-12` is in February."""
    return frozenset(MONTHS[int(month) - 1] for month in ISO_MONTH.findall(text))


def _names_chunk(text: str, piece: Segment, index: int) -> bool:
    """Whether a segment says what its chunk is about: the first line, unless it is a row, or the sender of a mail."""
    return (not index and not ROW.match(piece.text)) or bool(MAIL_PARTY.match(text, piece.start))


def _read_fields(quote: str, words: Sequence[Word]) -> tuple[Field, ...]:
    """Return the values of a row with their names."""
    starts = [word.start for word in words]
    fields = []
    for match in FIELD.finditer(quote):
        first, value, end = (bisect_left(starts, at) for at in (match.start("head"), match.end("head"), match.end()))
        fields.append(Field(frozenset(word.stem for word in words[first:value]), first, value, end))
    return tuple(fields)
