"""Reads the passages that were written for the training, with their questions and statements.

A file of `written/` has passages of this form:

    ### Title > Heading
    # A heading of the text
    1. A sentence.
    2. The next one of its paragraph. A blank line begins a new paragraph.
    R3. Tag: PX-12; Limit: 40 mbar            (a row of a table)
    L4. - An item of a list.
    Q 3 What is the limit of PX-12?           (the lines that answer, or `-`)
    S 2 A statement that line 2 supports.     (the lines that support it, or `-`)
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

WRITTEN: Final = Path(__file__).with_name("written")
LINE: Final = re.compile(r"([RL]?)(\d+)\. +(.+)")
ASKED: Final = re.compile(r"([QS]) +(-|\d+(?: ?, ?\d+)*) +(.+)")
HELD: Final = 14, 5
"""Of so many passages of a file, the one with this number is only measured on."""


class Written(NamedTuple):
    """A passage."""

    digest: str
    """Its file and its number there: `med_1#0`."""
    package: str
    held: bool
    title: str
    text: str
    sentences: list[tuple[int, int]]
    questions: list[tuple[frozenset[int], str]]
    """The numbers of the sentences that answer, from 0, and the question."""
    statements: list[tuple[frozenset[int], str]]


def read_written(folder: Path = WRITTEN) -> Iterator[Written]:
    """Yield the passages of all files.

    Raises:
        ValueError: A line has none of the forms.
    """
    for path in sorted(folder.glob("*.txt")):
        for number, part in enumerate(path.read_text("utf-8").split("### ")[1:]):
            head, _, body = part.partition("\n")
            yield _read(f"{path.stem}#{number}", number % HELD[0] == HELD[1], head.split(" > ")[0].strip(), body)


def _read(digest: str, held: bool, title: str, body: str) -> Written:
    text, before, sentences = "", "heading", list[tuple[int, int]]()
    asked: dict[str, list[tuple[frozenset[int], str]]] = {"Q": [], "S": []}
    is_new = True
    for line in map(str.rstrip, body.split("\n")):
        if match := ASKED.fullmatch(line):
            numbers = frozenset(int(each) - 1 for each in match[2].split(",") if each != "-")
            asked[match[1]].append((numbers, match[3].strip()))
            continue
        if not line:
            is_new = True
            continue
        kind, said = ("heading", line[2:]) if line.startswith("# ") else _split(line)
        text += _gap(before, kind, is_new) if text else ""
        if kind != "heading":
            sentences.append((len(text), len(text) + len(said)))
        text, before, is_new = text + said, kind, kind == "heading"
    return Written(digest, digest.partition("#")[0], held, title, text, sentences, asked["Q"], asked["S"])


def _split(line: str) -> tuple[str, str]:
    if not (match := LINE.fullmatch(line)):
        raise ValueError(f"not a line of a passage: {line}")
    return ("line" if match[1] else "sentence"), match[3].strip()


def _gap(before: str, kind: str, is_new: bool) -> str:
    """Return what stands between two lines."""
    if kind == "heading" or (is_new and before == "sentence") or (kind == "sentence" and before == "line"):
        return "\n\n"
    return " " if kind == before == "sentence" else "\n"
