"""Token estimate: deterministic, with no vocabulary to download, and an upper bound on purpose.

Budgets must hold for tokenizers that we cannot see, so the estimate counts as byte-pair tokenizers split (words with
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
"""Characters of a line that is worth keeping, as of a chunk that is one line: it is met again in the prompt."""
LONG: Final = 20
"""Letters of a word, on the average, from which on it is none that will be met again."""
WHOLE: Final = 100
"""Costs are counted in hundredths of a token: whole numbers add up to the same sum in any order."""
WORD_COST: Final = (0, 100, 100, 105, 110, 115, 125, 140, 155, 175, 200, 225, 250, 280, 310, 340)
"""Mean cost of a lower-case word by its length, rounded up; every two and a half letters more cost a token."""
NAME_COST: Final = 50
"""What a capitalised word costs more: names are rarer than other words."""
BREAK_COST: Final = 100
"""Of line breaks in a row."""


def estimate_tokens(text: str) -> int:
    """An upper estimate of the tokens of `text` for the byte-pair tokenizers in use (contract R2-S7, R3-6).

    Args:
        text: Any text.

    Returns:
        A whole number of tokens; 0 for the empty text.
    """
    return whole_tokens(token_cost(text))


def token_cost(text: str) -> int:
    """The same in hundredths of a token; the costs of lines and of the breaks between them add up."""
    lines = LINE_BREAKS.split(text) if "\r" in text else text.split("\n")
    breaks = len(lines) - 1 - lines[1:-1].count("")  # those with nothing between them are one
    costs = (_kept_cost(line) if len(line) in CACHED_LENGTHS else _line_cost(line) for line in lines)
    return sum(costs) + BREAK_COST * breaks


def whole_tokens(cost: int) -> int:
    """Hundredths of a token as whole tokens, rounded up."""
    return -(-cost // WHOLE)


@lru_cache(CACHED_LINES)
def _kept_cost(line: str) -> int:
    return _line_cost(line)


def _line_cost(line: str) -> int:
    """The costs of words that single spaces part, each with the space before it, add up: no piece goes on over one."""
    first, *others = line.split(" ")
    if "  " in line or "\t" in line or len(line) > LONG * (len(others) + 1):
        return _pieces_cost(line)
    return _pieces_cost(first) + sum(map(_spaced_costs.__getitem__, others))


def _pieces_cost(text: str) -> int:
    return sum(map(_piece_cost, PIECE.findall(text)))


class _SpacedCosts(dict[str, int]):
    """What words cost with the space before them, as far as they were met; a word is looked up without a call."""

    def __missing__(self, word: str) -> int:
        if len(self) >= CACHED_PIECES:
            self.clear()
        cost = self[word] = _pieces_cost(f" {word}")
        return cost


_spaced_costs: Final = _SpacedCosts()


@lru_cache(CACHED_PIECES)
def _piece_cost(piece: str) -> int:
    """The cost of one piece; a single space before a word belongs to the word, before a number it does not."""
    size = len(piece)
    last = piece[-1]
    if "a" <= last <= "z":
        name = NAME_COST if size > 3 and piece[0] < "a" else 0
        return name + (WORD_COST[size] if size < len(WORD_COST) else WORD_COST[-1] + 40 * (size - len(WORD_COST) + 1))
    if "A" <= last <= "Z":
        return 100 if size == 1 else 60 + 45 * size
    if last.isdecimal():
        numerals = len(piece.lstrip(" \t"))
        return 100 * ((numerals + 2) // 3 + min(size - numerals, 2))
    if last in " \t":
        return 2 if size == 1 else 100
    return 100 if last.isalpha() or last.isspace() or not last.isprintable() else 95
