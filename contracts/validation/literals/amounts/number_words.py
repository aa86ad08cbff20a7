"""English words for numbers, and numbers that a contract says twice. Pure."""

import re
from typing import Final

SMALL: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
NUMBER_WORDS: Final = {word: value for value, word in enumerate(SMALL)} | {
    word: 10 * value for value, word in enumerate(TENS, 2)
}
_COUNT: Final = re.compile(r"\s*\(\d{1,3}\)\s+[a-z]")
_COUNT_IN_WORDS: Final = re.compile(rf"\b(?:{'|'.join(NUMBER_WORDS)})\s*$", re.IGNORECASE)


def repeats_count(above: str, below: str) -> bool:
    """Return whether a line begins with the number, in figures, that the line above it ends with: `six`, `(6) months`.

    Such a line is no item of a list.
    """
    return bool(_COUNT.match(below) and _COUNT_IN_WORDS.search(above))
