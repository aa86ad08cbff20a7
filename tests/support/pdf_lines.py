"""Helpers that the tests of PDF tables share: constructed lines of a page, and a table of figures."""

from sourcebound.ingest.loaders.pdf.layout import Cell, Line
from sourcebound.ingest.loaders.pdf.table import replace_tables

SIZE = 10.0
GLYPH = 5.0
STEP = 14.0

Placed = tuple[float, str]


def line(number: float, *placed: Placed, bold: bool = False, size: float = SIZE) -> Line:
    """Build a line, `number` steps from the top, with cells that begin at given places. A glyph is 5 points wide."""
    bottom = 700 - number * STEP
    cells = tuple(Cell(text, left, left + GLYPH * len(text), bottom, size, bold) for left, text in placed)
    text = " ".join(cell.text for cell in cells)
    return Line(0, 0, text, size, bold, cells[0].left, cells[-1].right, bottom, cells)


def right(edge: float, text: str) -> Placed:
    """Place a cell so that it ends at an edge."""
    return edge - GLYPH * len(text), text


def middle(centre: float, text: str) -> Placed:
    """Place a cell so that it is centred on a position."""
    return centre - GLYPH * len(text) / 2, text


def texts(*lines: Line) -> list[str]:
    return [line.text for line in replace_tables(lines)]


def unchanged(*lines: Line) -> bool:
    return replace_tables(lines) == list(lines)


YEARS = line(0, right(300, "2023"), right(400, "2022"))
SALES = line(1, (50, "Sales"), right(300, "46,298"), right(400, "51,761"))
COSTS = line(2, (50, "Cost of sales"), right(300, "(36)"), right(400, "-"))
