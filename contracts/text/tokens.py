"""Token estimate: deterministic, without a vocabulary to download, and deliberately an upper bound.

Budgets must hold for unknown tokenizers, so the estimate counts as byte-pair tokenizers split (words with
their leading space, digits in threes, punctuation, line breaks) and rounds each piece up.
"""

import re
from functools import lru_cache
from typing import Final

LINE_BREAKS: Final = re.compile(r"[\r\n]+")
PIECE: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[ \t]*\d+|[\r\n]+|[ \t]+|[^\W\d_]|[^\w\s]|_|.", re.DOTALL)
CACHED_PIECES: Final = 1 << 16
CACHED_LINES: Final = 1 << 13
CACHED_LENGTHS: Final = range(200, 2048)
"""The lengths of a line whose cost is cached, such as a one-line chunk that the prompt repeats."""
LONG_WORDS: Final = 20
"""The mean word length above which a line is unlikely to repeat its words, so that they are not cached."""
UNITS_PER_TOKEN: Final = 100
"""Costs are counted in hundredths of a token, because whole numbers add up to the same sum in any order."""
WORD_COST: Final = (0, 100, 100, 105, 110, 115, 125, 140, 155, 175, 200, 225, 250, 280, 310, 340)
"""The mean cost of a lower-case word by its length, rounded up. Every two and a half letters more cost a token."""
NAME_COST: Final = 50
"""The extra cost of a capitalized word, because names are rarer than other words."""
BREAK_COST: Final = 100
"""The cost of consecutive line breaks."""


def estimate_tokens(text: str) -> int:
    """Return an upper estimate of the tokens of `text` for byte-pair tokenizers (R2-S7, R3-6).

    Args:
        text: Any text.

    Returns:
        A whole number of tokens; 0 for the empty text.
    """
    return whole_tokens(token_cost(text))


def token_cost(text: str) -> int:
    """Return the estimate in hundredths of a token. The costs of lines and of their breaks add up."""
    lines = LINE_BREAKS.split(text) if "\r" in text else text.split("\n")
    breaks = len(lines) - 1 - lines[1:-1].count("")  # consecutive breaks count as one piece
    costs = (_cached_line_cost(line) if len(line) in CACHED_LENGTHS else _line_cost(line) for line in lines)
    return sum(costs) + BREAK_COST * breaks


def whole_tokens(cost: int) -> int:
    """Convert hundredths of a token to whole tokens, rounded up."""
    return -(-cost // UNITS_PER_TOKEN)


@lru_cache(CACHED_LINES)
def _cached_line_cost(line: str) -> int:
    return _line_cost(line)


def _line_cost(line: str) -> int:
    """Cost words separated by single spaces independently, because no token crosses a space."""
    first, *others = line.split(" ")
    if "  " in line or "\t" in line or len(line) > LONG_WORDS * (len(others) + 1):
        return _pieces_cost(line)
    return _pieces_cost(first) + sum(map(_spaced_costs.__getitem__, others))


def _pieces_cost(text: str) -> int:
    return sum(map(_piece_cost, PIECE.findall(text)))


class _SpacedCosts(dict[str, int]):
    """A cache of word costs, each with the space before the word. A lookup needs no function call."""

    def __missing__(self, word: str) -> int:
        if len(self) >= CACHED_PIECES:
            self.clear()
        cost = self[word] = _pieces_cost(f" {word}")
        return cost


_spaced_costs: Final = _SpacedCosts()


@lru_cache(CACHED_PIECES)
def _piece_cost(piece: str) -> int:
    """Return the cost of one piece. A single space before a word belongs to the word; before a number it does not."""
    size = len(piece)
    last = piece[-1]
    if "a" <= last <= "z":
        surcharge = NAME_COST if size > 3 and piece[0] < "a" else 0
        return surcharge + (
            WORD_COST[size] if size < len(WORD_COST) else WORD_COST[-1] + 40 * (size - len(WORD_COST) + 1)
        )
    if "A" <= last <= "Z":
        return 100 if size == 1 else 60 + 45 * size
    if last.isdecimal():
        numerals = len(piece.lstrip(" \t"))
        return 100 * ((numerals + 2) // 3 + min(size - numerals, 2))
    if last in " \t":
        return 2 if size == 1 else 100
    return 100 if last.isalpha() or last.isspace() or not last.isprintable() else 95
