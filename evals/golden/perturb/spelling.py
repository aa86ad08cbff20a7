"""Typing errors, and upper and lower case.

A typing error is in a plain word only. A changed equipment number or value would be another question.
"""

import re
from typing import Final

from sourcebound.evals.golden.perturb.draws import Draws

PLAIN_WORD: Final = re.compile(r"(?<![\w-])[A-Za-z][a-z]{4,}(?![\w-])")
KEYS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
WORDS_PER_ERROR: Final = 8
EDITS: Final = ("swap", "omit", "double", "neighbour")


def make_typos(question: str, draws: Draws) -> str | None:
    """Make one typing error for every eight words, at least one, each in another word.

    Args:
        question: The question.
        draws: Chooses the words and the errors.

    Returns:
        The misspelt question; None if it has no plain word of five letters.
    """
    words = list(PLAIN_WORD.finditer(question))
    if not words:
        return None
    count = min(len(words), 1 + len(question.split()) // WORDS_PER_ERROR)
    chosen = sorted(words, key=lambda word: draws.number(f"order {word.start()}", 1 << 32))[:count]
    for word in sorted(chosen, key=lambda word: -word.start()):
        question = question[: word.start()] + _misspell(word[0], draws, word.start()) + question[word.end() :]
    return question


def _misspell(word: str, draws: Draws, place: int) -> str:
    """Return a word with one error behind its first letter."""
    at = 1 + draws.number(f"letter {place}", len(word) - 2)
    edit = draws.pick(f"edit {place}", EDITS)
    if edit == "swap" and word[at] != word[at + 1]:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if edit == "neighbour":
        return word[:at] + _neighbour(word[at], draws, place) + word[at + 1 :]
    if edit == "double":
        return word[:at] + word[at] + word[at:]
    return word[:at] + word[at + 1 :]


def _neighbour(letter: str, draws: Draws, place: int) -> str:
    row = next(row for row in KEYS if letter in row)
    index = row.index(letter)
    return draws.pick(f"key {place}", [row[near] for near in (index - 1, index + 1) if 0 <= near < len(row)])


def change_case(question: str, draws: Draws) -> str | None:
    """Write a question in lower case, in upper case, or with a capital for every word.

    Args:
        question: The question.
        draws: Chooses the way.

    Returns:
        The question in another case; None if that changes nothing.
    """
    if re.search(r"[a-zµ]\w*[A-ZΩ]|[A-ZΩ]/|\b[Mm][A-Z]", question):  # "mL" and "MPa" mean something by their case
        return None
    way = draws.pick("way", ("lower", "lower", "upper", "capitals"))
    if way == "capitals":
        changed = " ".join(word[:1].upper() + word[1:] for word in question.split(" "))
    else:
        changed = question.upper() if way == "upper" else question.lower()
    return changed if changed != question else None
