"""The roles of the pieces of a chunk: wrapped lines, headings, heads of tables, lead-ins and fragments (R4-9)."""

import re
from collections.abc import Sequence
from typing import Final

from sourcebound.contracts.text.blocks import LIST_MARKER, MAX_HEADING_WORDS, STATEMENT_END
from sourcebound.contracts.text.segments import Segment, SegmentKind
from sourcebound.contracts.text.sentences import STARTER
from sourcebound.contracts.validation.literals.amounts.number_words import repeats_count

HEADING_LINE: Final = re.compile(
    r"(?P<number>\d+(?P<parts>(?:\.\d+)+)? )?[^\W\d_a-z][^\d:;|=\n]*|\d+(?:\.\d+)+\. [^\W\d_a-z][^;|=\n]*"
)
"""A line in plain text that may be a heading, with the number of its section; never a table row, which contains
headers or values. Below `5.3.`, with a full stop, it may have figures."""
VALUE: Final = re.compile(r"[|;=]|:\s*\S*\d")
"""What a row or a value has, and a title has not."""
WRAP: Final = re.compile(r"[ \t]*\n[ \t]*")
DANGLES: Final = re.compile(
    r"\s(?:an?|the|of|to|with|by|for|from|and|or|in|on|at|as|is|are|be|that|than|its|their|your|using|into|via|like)\s*$"
)
"""The end of a line that cannot end a sentence."""
RESUMES: Final = re.compile(r"(?:and|or|to|into|with|for|from|as|which|where|instead|by|on|at|of|is|are|will|should)\s")
"""The beginning of a line that cannot begin one."""
BEGINS: Final = re.compile(rf"{STARTER}\b")
WIDE: Final = 45
"""The least width of a line that the page has cut."""
LEAST_CELLS: Final = 3
NAMED_ROW: Final = (
    r"[\w(][^:;\n]{0,150}(?:(?:; [^:;\n]{1,80}: [^;\n]+){2}|; [^:;\n]{1,80}: [(<>~+$€£¥]*[-–—]?\d[^\n;]{0,30}$)"
)
"""A row whose first column has no name: `Sales; 2023: 46; 2022: 51`, or `Sales; 2023: 46`."""
FIRST_NAME: Final = r"(?:[^\W\d_][^:;\n]{0,60}|[#№%])"
ROW: Final = re.compile(rf"{FIRST_NAME}: [^;\n]+;|{NAMED_ROW}")
"""The beginning of a row that names its values. It continues no line."""
ROW_OF_FIELDS: Final = re.compile(rf"{FIRST_NAME}: [^;\n]+; [^:;\n]{{1,60}}: |{NAMED_ROW}")
"""The beginning of one that names two of its values, or one below an unnamed column. It ends with its line."""
LEAD_END: Final = re.compile(r":[*_]*\s*$")
"""The end of what leads in a list: a colon, in bold letters too."""
LEAST_LEAD: Final = 4
CANNOT_END: Final = frozenset(
    """
    a an the of to with by for from and or in on at as is are be than its their your into via if when that which who
    until unless whether where because while before after under within between without not shall must may should can
    either any include includes including
    von vom für mit bei aus an auf durch über zu zum zur und oder als wenn die der das den dem des ein eine einen einem
    de du des le la les à au aux pour par avec dans sur et ou si que qui un une el los las del al para por con en y o
    di del della dei il lo gli per da su e se che van voor met om het een en of bij als do da dos das para com ou
    """.split()
)
"""The last words of a sentence that its list goes on with, in six languages."""
FRAGMENT_START: Final = re.compile(r"^[a-zà-ÿ,;)\]]")


def join_wrapped(text: str, pieces: Sequence[Segment]) -> list[Segment]:
    """Join the pieces of a sentence that the width of a page has cut, or that has a command in a line of its own.

    The line before has no end. It is long, or its last word or the first one of the next line is within a sentence.
    """
    joined: list[Segment] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if (
            last
            and _may_go_on(last, piece)
            and not STATEMENT_END.search(last.text)
            and not ROW.match(piece.text)
            and not _are_rows(last.text, piece.text)
            and not (ROW_OF_FIELDS.match(last.text) and piece.text[:1].isupper())
            and (_is_wrapped(text, last, piece) or _is_within(text, last, piece))
        ):
            joined[-1] = Segment(last.kind, last.start, piece.end, text[last.start : piece.end])
        else:
            joined.append(piece)
    return joined


def _is_wrapped(text: str, last: Segment, piece: Segment) -> bool:
    is_wide = last.end - text.rfind("\n", 0, last.end) > WIDE
    return is_wide and WRAP.fullmatch(text[last.end : piece.start]) is not None


def _is_within(text: str, last: Segment, piece: Segment) -> bool:
    """Whether a break is within a sentence: `Start it with`, and below it `syslogd -r`.

    A function word with a capital begins a new one: `Who this guide is for` is a heading above `The operator`.
    """
    is_sentence = piece.kind is last.kind is SegmentKind.SENTENCE and not text[last.end : piece.start].strip()
    is_new = BEGINS.match(piece.text)
    return is_sentence and bool((DANGLES.search(last.text) and not is_new) or RESUMES.match(piece.text))


def _are_rows(above: str, below: str) -> bool:
    """Whether two lines have as many cells, three or more: `Ifill; journalist; 61` above `Glenn; astronaut; 95`."""
    cells = below.count("; ")
    return cells >= LEAST_CELLS - 1 and above.count("; ") == cells


def cut_rows(text: str, pieces: Sequence[Segment]) -> list[Segment]:
    """Cut pieces where a row of two named values begins in a line below another: `name: Norway; income: 64304`.

    A row whose first name is in lower case looks like the rest of the line above it.
    """
    cut: list[Segment] = []
    for piece in pieces:
        starts = [piece.start]
        if piece.kind is SegmentKind.SENTENCE and ROW_OF_FIELDS.match(piece.text):
            lines = (piece.start + match.end() for match in WRAP.finditer(piece.text))
            starts += [start for start in lines if ROW_OF_FIELDS.match(text, start, piece.end)]
        for start, following in zip(starts, [*starts[1:], piece.end], strict=True):
            row = text[start:following].rstrip()
            cut.append(piece._replace(start=start, end=start + len(row), text=row))
    return cut


def _may_go_on(last: Segment, piece: Segment) -> bool:
    """Whether a piece may be the rest of the one before it: a sentence, or the next line of the same list item."""
    if repeats_count(last.text, piece.text):
        return True
    is_same_item = piece.kind is last.kind is SegmentKind.LIST_ITEM and not LIST_MARKER.match(piece.text)
    is_sentence = piece.kind is SegmentKind.SENTENCE
    return is_same_item or (is_sentence and last.kind in (SegmentKind.SENTENCE, SegmentKind.LIST_ITEM))


def find_table_head(pieces: Sequence[Segment], index: int) -> tuple[int, int]:
    """Return the place of the head of a row's table."""
    above = index
    while above and pieces[above].kind is SegmentKind.TABLE_ROW:
        above -= 1
    is_head = above < index and pieces[above].kind is SegmentKind.HEADING and "|" in pieces[above].text
    return (pieces[above].start, pieces[above].end) if is_head else (0, 0)


def leads_in(pieces: Sequence[Segment], index: int) -> bool:
    """Whether a segment ends with a colon or within a sentence (`to buy a`), and a list of two items follows."""
    following = pieces[index + 1 : index + 3]
    is_list = len(following) > 1 and all(piece.kind is SegmentKind.LIST_ITEM for piece in following)
    if not is_list or pieces[index].kind is not SegmentKind.SENTENCE:
        return False
    text = pieces[index].text
    return LEAD_END.search(text) is not None or (len(text.split()) >= LEAST_LEAD and _last_word(text) in CANNOT_END)


def _last_word(text: str) -> str:
    return text.split()[-1].strip("*_").casefold() if text.split() else ""


def find_leads(text: str, pieces: Sequence[Segment], indents: Sequence[int]) -> list[int | None]:
    """Return for each item the place of what it stands below: the item it is nested in, or what is above its list.

    A sentence above a list belongs to it if it ends with a colon, or no blank line is between them.
    """
    leads: list[int | None] = []
    nested: list[int] = []
    above: int | None = None
    for index, piece in enumerate(pieces):
        if piece.kind is not SegmentKind.LIST_ITEM:
            leads.append(None)
            following = pieces[index + 1 : index + 2]
            is_near = piece.text.rstrip().endswith(":") or not (
                following and "\n\n" in text[piece.end : following[0].start]
            )
            is_lead = is_heading_piece(text, pieces, index) or (piece.kind is SegmentKind.SENTENCE and is_near)
            nested, above = [], index if is_lead else None
            continue
        while nested and indents[nested[-1]] >= indents[index] and LIST_MARKER.match(piece.text):
            nested.pop()
        leads.append(nested[-1] if nested else above)
        if LIST_MARKER.match(piece.text):
            nested.append(index)
    return leads


def is_heading_piece(text: str, pieces: Sequence[Segment], index: int) -> bool:
    """Whether a segment is a heading, marked or unmarked: `10.2 Oil level`."""
    piece, following = pieces[index], pieces[index + 1 : index + 2]
    if piece.kind is SegmentKind.HEADING or _is_title(text, pieces, index):
        return True
    line = HEADING_LINE.fullmatch(piece.text)
    if not (line and following) or piece.kind is not SegmentKind.SENTENCE or STATEMENT_END.search(piece.text):
        return False
    if len(piece.text.split()) > MAX_HEADING_WORDS:
        return False
    if line["parts"] or (not line["number"] and line[0][:1].isdigit()):
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


def is_cut(text: str, pieces: Sequence[Segment], index: int) -> bool:
    """Whether a segment is a piece of a sentence that a line break, code, or the end of the chunk has cut."""
    piece = pieces[index]
    if piece.kind is not SegmentKind.SENTENCE:
        return False
    before = pieces[index - 1] if index else None
    goes_on = before and before.kind is not SegmentKind.HEADING and "\n\n" not in text[before.end : piece.start]
    begins_within = FRAGMENT_START.match(piece.text) and not ROW.match(piece.text)
    if before and goes_on and begins_within and not STATEMENT_END.search(before.text):
        return True
    above = pieces[index - 2] if index > 1 and before and before.kind is SegmentKind.CODE else None
    if above and begins_within and not STATEMENT_END.search(above.text):
        return True
    if STATEMENT_END.search(piece.text):
        return False
    after = text[piece.end :]
    return not (after.startswith("\n") or not after.strip()) or piece.text.rstrip().endswith((",", "-", "–", "(", "/"))
