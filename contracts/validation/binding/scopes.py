"""Sentences and rows of a text, with the words that say what each is about (R5-17)."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.validation.binding.tokens import Kind, Token, read_word, with_bounds, words_of
from sourcebound.contracts.validation.literals.literal import CODE, LABELLED, Literal, LiteralIndex

TOKEN: Final = re.compile(r"n['’]t\b|(?:(?!n['’]t\b)[^\W_])+(?:[-'][^\W_]+)*|[.,;:!?|()\n–—<>≤≥]", re.IGNORECASE)
"""A mark, or a word; `isn't` is two."""
HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s+")
ITEM: Final = re.compile(r"\s*(?:[-•*+]|\(?\d{1,2}[.)])\s+")
FIELD: Final = re.compile(r"[^:;\n]{1,80}: \S")
RULE: Final = re.compile(r"[\s|:-]+")
SENTENCE_END: Final = re.compile(
    r"(?<=[.!?])\s+(?=[^\W_a-zà-ÿ]|[\"“(*`])(?!(?<=\d\.\s)(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September"
    r"|Oktober|November|Dezember)\b)"
)
"""No sentence ends within a date: `15. Juni`."""
HEADING_WORDS: Final = 10
NUMBER: Final = re.compile(r"\d+")
P_VALUE: Final = re.compile(r"\b[pP]\s?[=<>≤]\s?$")
"""What stands before the probability of a result, which is no value of a thing: `(p = 0.02)`."""
LONGEST_P: Final = 5
INLINE_ITEM: Final = re.compile(r"\s*\(?\d{1,2}[.)]\s")
WHOLE_YEAR: Final = re.compile(r"(?:19|20)\d\d")


class Scope(NamedTuple):
    """A sentence, or a cell of a row, and what it is about besides its own words."""

    tokens: tuple[Token, ...]
    block: int
    """The number of its paragraph, list or table."""
    row: int
    """The number of its row; -1 outside tables."""
    column: int
    about: tuple[Token, ...]
    """For a cell, the words of its head and of the row's first cell."""
    around: frozenset[str]
    """The words of headings and other cells of the row, which may say what it is about."""
    items: int = 0
    """The number of the list that it is an item of; 0 outside lists, and for an item of several sentences."""


def read_scopes(index: LiteralIndex) -> tuple[Scope, ...]:
    """Cut a text into sentences and cells."""
    return tuple(_Reader(index).read())


def class_of(literal: Literal) -> str | None:
    """Return the class within which one value may be taken for another; None for a literal that is no value."""
    if literal.kind in ("time", "date"):
        shape = NUMBER.sub("0", min(literal.forms))
        return f"{literal.kind} {shape}" if literal.unit is None else None
    if literal.kind != "number":
        return None
    if literal.unit is None:
        return "year" if WHOLE_YEAR.fullmatch(literal.text) else "count"
    return None if literal.unit.startswith("free") or literal.unit in ("century", "quarter") else literal.unit


class _Reader:
    def __init__(self, index: LiteralIndex) -> None:
        self.plain = _without(index.plain, [each for each in index.literals if each.kind == "address"])
        # a piece of code with blanks is looked up as it stands (R5-8), and its numbers are said of nothing
        code = [range(each.start, each.start + len(each.text)) for each in index.literals if _is_phrase_of_code(each)]
        self.literals = [
            literal
            for literal in index.literals
            if literal.kind not in ("quotation", "address")
            and literal.unit != CODE
            and not any(literal.start in span for span in code)
        ]
        self.starts = [literal.start for literal in self.literals]
        self.block = 0
        self.list = 1
        self.headings: dict[int, tuple[Token, ...]] = {}

    def read(self) -> Iterator[Scope]:
        lines = self._lines()
        position = 0
        while position < len(lines):
            start, end, text = lines[position]
            rows = self._table_rows(lines, position)
            if rows:
                yield from self._table(lines[position : position + rows])
                self.list += 1
                position += rows
                continue
            if not text.strip():
                position += 1
                continue
            level = self._heading_level(lines, position)
            if level:
                self.headings = {at: words for at, words in self.headings.items() if at < level}
                self.headings[level] = self.tokens(start, end)
                self.list += 1
                position += 1
                continue
            last = position + 1
            while last < len(lines) and self._continues(lines, last):
                last += 1
            self.block += 1
            sentences = list(self._sentences(start, lines[last - 1][1]))
            if not ITEM.match(text):
                self.list += 1
            elif len(sentences) == 1:
                sentences = [sentences[0]._replace(items=self.list)]
            yield from sentences
            position = last

    def _lines(self) -> list[tuple[int, int, str]]:
        lines, start = [], 0
        for line in self.plain.split("\n"):
            lines.append((start, start + len(line), line))
            start += len(line) + 1
        return lines

    def _heading_level(self, lines: Sequence[tuple[int, int, str]], position: int) -> int:
        text = lines[position][2]
        mark = HEADING.match(text)
        if mark:
            return mark[0].count("#")
        is_last = position + 1 == len(lines) or bool(lines[position + 1][2].strip())
        if is_last or (position and lines[position - 1][2].strip()) or text.rstrip()[-1] in ".:;,!?":
            return 0
        return 7 if len(text.split()) <= HEADING_WORDS and not ITEM.match(text) else 0

    def _continues(self, lines: Sequence[tuple[int, int, str]], position: int) -> bool:
        text = lines[position][2]
        return not (not text.strip() or HEADING.match(text) or ITEM.match(text) or self._table_rows(lines, position))

    def _table_rows(self, lines: Sequence[tuple[int, int, str]], position: int) -> int:
        """Return the number of lines of a table that begins at a line; 0 if none does."""
        end = position
        while end < len(lines) and "|" in lines[end][2]:
            end += 1
        if end - position > 1:
            return end - position
        heads = _field_heads(lines[position][2])
        end = position
        while len(heads) > 1 and end < len(lines) and _field_heads(lines[end][2])[: len(heads)] == heads:
            end += 1
        return end - position if end - position > 1 or len(heads) > 2 else 0

    def _table(self, lines: Sequence[tuple[int, int, str]]) -> Iterator[Scope]:
        self.block += 1
        block, number = self.block, 0
        heads: list[tuple[Token, ...]] | None = None
        around = self._around()
        for start, _, text in lines:
            if "|" not in text:
                cells = [(start + at, start + to) for at, to in _fields(text)]
                parts = [self.plain[at:to].partition(": ") for at, to in cells]
                names = [self.tokens(at, at + len(head)) for (at, _), (head, _, _) in zip(cells, parts, strict=True)]
                bodies = [
                    self.tokens(at + len(head) + 2, to) for (at, to), (head, _, _) in zip(cells, parts, strict=True)
                ]
            else:
                if RULE.fullmatch(text):
                    continue
                bodies = [self.tokens(start + at, start + to) for at, to in _cells(text)]
                if heads is None:
                    heads = bodies
                    continue
                names = [*heads, *[()] * len(bodies)][: len(bodies)]
            number += 1
            near = [body for body in bodies[1:] if not any(token.kind is Kind.VALUE for token in body)]
            words = around | words_of(bodies[0]) | words_of(names[0]) | frozenset().union(*map(words_of, near))
            for column, (name, body) in enumerate(zip(names, bodies, strict=True)):
                about = (*name, *(bodies[0] if column else ()), *(names[0] if column else ()))
                yield Scope(body, block, number, column, about, words | words_of(name))

    def _sentences(self, start: int, end: int) -> Iterator[Scope]:
        around = self._around()
        position = start
        for match in SENTENCE_END.finditer(self.plain, start, end):
            yield Scope(self.tokens(position, match.start()), self.block, -1, -1, (), around)
            position = match.end()
        yield Scope(self.tokens(position, end), self.block, -1, -1, (), around)

    def _around(self) -> frozenset[str]:
        return frozenset().union(*map(words_of, self.headings.values()))

    def tokens(self, start: int, end: int) -> tuple[Token, ...]:
        tokens: list[Token] = []
        item = INLINE_ITEM.match(self.plain, start, end)
        start = item.end() if item else start
        place = bisect_left(self.starts, start)
        for match in TOKEN.finditer(self.plain, start, end):
            while place < len(self.starts) and self.starts[place] + len(self.literals[place].text) <= match.start():
                place += 1
            if place < len(self.starts) and self.starts[place] < match.end():
                literal = self.literals[place]
                if tokens and tokens[-1].literal is literal:
                    continue
                if literal.unit == LABELLED or literal.kind == "identifier":
                    tokens.append(Token(min(literal.forms), Kind.KEY, literal))
                    continue
                if P_VALUE.search(self.plain, max(0, literal.start - LONGEST_P), literal.start):
                    tokens.append(Token("p", Kind.CLOSED, literal))
                    continue
                if class_of(literal) is not None:
                    tokens.append(Token(min(literal.forms), Kind.VALUE, literal))
                    continue
            tokens.append(read_word(match[0]))
        return tuple(with_bounds(tokens))


def _without(plain: str, addresses: Sequence[Literal]) -> str:
    """Return a text with blanks for its addresses, whose parts name nothing."""
    parts, position = [], 0
    for address in addresses:
        end = address.start + len(address.text)
        parts += [plain[position : address.start], " " * (end - address.start)]
        position = end
    return "".join([*parts, plain[position:]])


def _is_phrase_of_code(literal: Literal) -> bool:
    return literal.unit == CODE and " " in literal.text.strip("` ")


def _field_heads(text: str) -> list[str]:
    return [text[at:to].partition(": ")[0] for at, to in _fields(text)]


def _fields(text: str) -> list[tuple[int, int]]:
    """Return the fields of a line such as `Public: Adulte; Entrée: 5,20 €`; none if it has no such form."""
    fields, start = [], 0
    if ": " not in text or not FIELD.match(text):
        return []
    for part in text.split("; "):
        if FIELD.match(part):
            fields.append((start, start + len(part)))
        elif fields:
            fields[-1] = (fields[-1][0], start + len(part))
        start += len(part) + 2
    return fields


def _cells(text: str) -> list[tuple[int, int]]:
    start, end = 0, len(text.rstrip())
    if text[:end].lstrip().startswith("|") and text[:end].endswith("|") and end > 1:
        start, end = len(text) - len(text.lstrip()) + 1, end - 1
    cells = []
    for part in text[start:end].split("|"):
        cells.append((start, start + len(part)))
        start += len(part) + 1
    return cells
