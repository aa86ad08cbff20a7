"""Token estimate: deterministic, with no vocabulary to download, and an upper bound on purpose.

Budgets must hold for tokenizers that we cannot see, so the estimate counts as byte-pair tokenizers split (words with
their leading space, digits in threes, punctuation, line breaks) and rounds each piece up.
"""

import re
from math import ceil
from typing import Final

PIECE: Final = re.compile(
    r"(?P<word>[A-Z]?[a-z]+)|(?P<capitals>[A-Z]+)|(?P<digits>[ \t]*\d+)|(?P<breaks>[\r\n]+)|(?P<space>[ \t]+)"
    r"|(?P<letters>[^\W\d_])|(?P<symbol>[^\w\s]|_)|(?P<rest>.)",
    re.DOTALL,
)
WORD_COST: Final = (0, 1, 1, 1.05, 1.1, 1.15, 1.25, 1.4, 1.55, 1.75, 2.0, 2.25, 2.5, 2.8, 3.1, 3.4)
"""Mean tokens of a lower-case word by its length, rounded up; longer words cost a token for every three letters."""


def estimate_tokens(text: str) -> int:
    """An upper estimate of the tokens of `text` for the byte-pair tokenizers in use (contract R2-S7, R3-6).

    Args:
        text: Any text.

    Returns:
        A whole number of tokens; 0 for the empty text.
    """
    return ceil(sum(_piece_cost(match.lastgroup or "rest", match.group()) for match in PIECE.finditer(text)))


def _piece_cost(kind: str, piece: str) -> float:
    """Tokens of one piece; a single space before a word belongs to the word, before a number it does not."""
    size = len(piece)
    match kind:
        case "word":
            return WORD_COST[size] if size < len(WORD_COST) else WORD_COST[-1] + (size - len(WORD_COST) + 1) / 2.5
        case "capitals":
            return 1 if size == 1 else 0.6 + 0.45 * size
        case "digits":
            numerals = len(piece.lstrip())
            return (numerals + 2) // 3 + (size > numerals)
        case "space":
            return 0.02 if size == 1 else 1
        case "letters":
            return 1.0
        case "symbol":
            return 0.95
        case _:
            return 1.0
