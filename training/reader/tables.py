"""Draws passages that are tables of like things, with questions and statements about their cells (`tables.toml`).

They teach to read the row and the column together: `PX-12` is not `PX-14`, and the torque is not the thread. All names
and numbers are drawn, so nothing of them is true.
"""

import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

WORDS: Final = tomllib.loads(Path(__file__).with_name("tables.toml").read_text("utf-8"))
IDENTIFIED: Final = "instrument", "part"
"""The kinds whose rows always have an identifier."""
OTHERS_IDENTIFIED: Final = 0.4
LEAD: Final = 0.5
"""The share of tables with a sentence before them."""
ASKED_ROWS: Final = 3
MONTHS: Final = ("January", "February", "March", "April", "May", "June", "July", "September", "October", "December")
LETTERS: Final = "ABCDEFGHKLMPRSTVWX"
NOTHING: Final = frozenset[int]()
Said = list[tuple[frozenset[int], str]]
"""Questions or statements, each with the number of the row that answers or supports (none if nothing does)."""


class Drawn(NamedTuple):
    """A passage."""

    title: str
    text: str
    sentences: list[tuple[int, int]]
    questions: Said
    statements: Said


def draw_tables(seed: int, count: int) -> Iterator[Drawn]:
    """Yield passages, the same for the same seed."""
    draw = random.Random(seed)
    for _ in range(count):
        yield _Table(draw).write()


class _Table:
    """A table of 3 to 9 rows and 2 to 4 columns. There is one more thing, and one more column, that it lacks."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._kind = draw.choice(list(WORDS["kinds"]))
        kind = WORDS["kinds"][self._kind]
        self._title = draw.choice(kind["titles"])
        self._things = draw.sample(kind["things"], draw.randint(4, 10))
        has_ids = self._kind in IDENTIFIED or draw.random() < OTHERS_IDENTIFIED
        self._ids = self._draw_ids(len(self._things)) if has_ids else []
        names = draw.sample(kind["columns"], min(draw.randint(3, 5), len(kind["columns"])))
        *self._columns, self._lacking = (WORDS["columns"][name] for name in names)
        self._cells = [[self._draw_cell(column) for column in self._columns] for _ in self._things[1:]]

    def write(self) -> Drawn:
        """Return the table with what is asked and said of it."""
        lines = [*self._lead(), *self._rows()]
        text, sentences = "", list[tuple[int, int]]()
        for line in lines:
            sentences.append((len(text), len(text) + len(line)))
            text += line + "\n"
        questions, statements = Said(), Said()
        first = len(lines) - len(self._cells)
        for row in self._draw.sample(range(len(self._cells)), min(ASKED_ROWS, len(self._cells))):
            number = self._draw.randrange(len(self._columns))
            column, cell = self._columns[number], self._cells[row][number]
            own = frozenset({first + row})
            questions.append((own, self._ask(column, row)))
            form = self._draw.choice(column["statements"])
            statements.append((own, self._fill(form, row, cell)))
            if others := [cells[number] for cells in self._cells if cells[number] != cell]:
                statements.append((NOTHING, self._fill(form, row, self._draw.choice(others))))
        outside = len(self._things) - 1
        questions.append((NOTHING, self._ask(self._columns[0], outside)))
        statements.append((NOTHING, self._fill(self._columns[0]["statements"][0], outside, self._cells[0][0])))
        questions.append((NOTHING, self._ask(self._lacking, self._draw.randrange(len(self._cells)))))
        return Drawn(self._title, text.rstrip(), sentences, questions, statements)

    def _lead(self) -> list[str]:
        if self._draw.random() >= LEAD:
            return []
        return [self._draw.choice(WORDS["leads"]).format(person=self._draw.choice(WORDS["people"]), date=self._date())]

    def _rows(self) -> Iterator[str]:
        labels = ("Name: ", "Item: ", f"{self._kind.capitalize()}: ", "Description: ")
        label = self._draw.choice(labels if self._ids else (*labels, ""))
        tag = self._draw.choice(("Tag", "No.", "Id", "Code"))
        heads = [self._draw.choice(column["heads"]) for column in self._columns]
        for row, cells in enumerate(self._cells):
            named = [f"{tag}: {self._ids[row]}"] if self._ids else []
            pairs = (f"{head}: {cell}" for head, cell in zip(heads, cells, strict=True))
            yield "; ".join([*named, f"{label}{self._things[row]}", *pairs])

    def _ask(self, column: dict[str, Any], row: int) -> str:
        return self._fill(self._draw.choice(column["questions"]), row)

    def _fill(self, form: str, row: int, cell: str = "") -> str:
        text = form.format(row=self._call(row), cell=cell)
        return text[0].upper() + text[1:]

    def _call(self, row: int) -> str:
        """Return one of the ways to call the thing of a row."""
        thing = self._things[row]
        name = thing if thing.endswith((" A", " B")) else f"the {thing.lower()}"
        if not self._ids:
            return name
        own = self._ids[row]
        return self._draw.choice((own, f"{name} {own}", name, own.replace("-", " "), f"{own} ({name})"))

    def _draw_cell(self, column: dict[str, Any]) -> str:
        match column["cells"]:
            case "dates":
                return self._date()
            case "roles":
                return str(self._draw.choice(WORDS["kinds"]["role"]["things"]).lower())
            case str(words):
                return str(self._draw.choice(WORDS[words]))
            case cells:
                return str(self._draw.choice(cells))

    def _date(self) -> str:
        return f"{self._draw.randint(1, 28)} {self._draw.choice(MONTHS)} {self._draw.randint(2019, 2027)}"

    def _draw_ids(self, count: int) -> list[str]:
        """Draw identifiers of one shape, some with the same letters and some with the same number."""
        letters = ["".join(self._draw.choices(LETTERS, k=self._draw.choice((1, 2, 2)))) for _ in range(3)]
        form = self._draw.choice(("{0}-{1}", "{0}{1}", "{0}-{1}", "{1}-{0}"))
        base, found = self._draw.randint(10, 890), dict[str, None]()
        while len(found) < count:
            found[form.format(self._draw.choice(letters), base + self._draw.randint(0, 2 * count))] = None
        return list(found)
