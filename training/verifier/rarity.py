"""Writes the frozen table of how rare each stem is: `python training/verifier/rarity.py DATA`.

The texts are those of the training part of the sets that may be in shipped weights, in pieces of about a hundred words.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from math import log
from pathlib import Path
from typing import Final

from data import SHIPPABLE, TRAIN, read_examples, read_lines

from sourcebound.contracts.text.content_words import content_words

TARGET: Final = Path(__file__).parents[2] / "contracts" / "validation" / "support" / "rarity_v1.json"
PIECE: Final = 100
LEAST: Final = 2
"""The number of pieces that hold a stem of the table. A stem of fewer is as rare as an unknown one."""


def main(folder: Path) -> None:
    """Count the stems and write the table."""
    pieces = [content_words(piece) for text in sorted(set(read_texts(folder))) for piece in cut(text)]
    counts = Counter(word for words in pieces for word in words)
    table: dict[int, list[str]] = {}
    for word, count in sorted(counts.items()):
        if count >= LEAST and word.isascii() and not word.isdigit():
            table.setdefault(weigh(len(pieces), count), []).append(word)
    unknown = weigh(len(pieces), 1)
    form = {"pieces": len(pieces), "unknown": unknown, "stems": {str(w): " ".join(table[w]) for w in sorted(table)}}
    TARGET.write_text(json.dumps(form, indent=1) + "\n", "utf-8")
    print(f"{sum(map(len, table.values()))} stems of {len(pieces)} pieces, unknown {unknown}")


def weigh(pieces: int, count: int) -> int:
    """Return the weight of a stem, in tenths of a natural logarithm."""
    return max(1, round(10 * log(pieces / count)))


def cut(text: str) -> Iterator[str]:
    """Yield a text in pieces."""
    words = text.split()
    for start in range(0, len(words), PIECE):
        yield " ".join(words[start : start + PIECE])


def read_texts(folder: Path) -> Iterator[str]:
    """Yield the texts that may be in the table, statements and evidence."""
    examples = [example for example in read_examples(folder) if example.ships and example.part == TRAIN]
    for example in examples:
        yield from example.texts
        if example.source in SHIPPABLE:
            yield example.statement
    groups = {name.split(":", 1)[-1] for example in examples for name in [example.group]}
    for row in read_lines(folder / "answerability" / "covidqa_long" / "documents.jsonl"):
        if row["_id"] in groups:
            yield row["text"]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
