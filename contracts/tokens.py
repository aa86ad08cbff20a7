"""Token estimate: deterministic, with no vocabulary to download, and an upper bound on purpose.

Budgets must hold for tokenizers that we cannot see, so the estimate counts as byte-pair tokenizers split (words with
their leading space, digits in threes, punctuation, line breaks) and rounds each piece up.
"""

import re
from functools import lru_cache
from math import ceil
from typing import Final

PIECE: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[ \t]*\d+|[\r\n]+|[ \t]+|[^\W\d_]|[^\w\s]|_|.", re.DOTALL)
CACHED_PIECES: Final = 1 << 16
WORD_COST: Final = (0, 1, 1, 1.05, 1.1, 1.15, 1.25, 1.4, 1.55, 1.75, 2.0, 2.25, 2.5, 2.8, 3.1, 3.4)
"""Mean tokens of a lower-case word by its length, rounded up; longer words cost a token for every three letters."""
NAME_COST: Final = 0.5
"""What a capitalised word costs more: names are rarer than other words."""


def estimate_tokens(text: str) -> int:
    """An upper estimate of the tokens of `text` for the byte-pair tokenizers in use (contract R2-S7, R3-6).

    Args:
        text: Any text.

    Returns:
        A whole number of tokens; 0 for the empty text.
    """
    return ceil(sum(map(_piece_cost, PIECE.findall(text))))


@lru_cache(CACHED_PIECES)
def _piece_cost(piece: str) -> float:
    """Tokens of one piece; a single space before a word belongs to the word, before a number it does not."""
    size = len(piece)
    last = piece[-1]
    if "a" <= last <= "z":
        name = NAME_COST if size > 3 and piece[0] < "a" else 0
        return name + (WORD_COST[size] if size < len(WORD_COST) else WORD_COST[-1] + (size - len(WORD_COST) + 1) / 2.5)
    if "A" <= last <= "Z":
        return 1 if size == 1 else 0.6 + 0.45 * size
    if last.isdecimal():
        numerals = len(piece.lstrip(" \t"))
        return (numerals + 2) // 3 + min(size - numerals, 2)
    if last in " \t":
        return 0.02 if size == 1 else 1
    return 1.0 if last.isalpha() or last.isspace() or not last.isprintable() else 0.95
