"""What a chunk is found by, where that differs from what it says. Pure.

A word that was broken at the end of a line stands in two pieces in the document, and a question does not break it. What
is stored, shown and cited is never changed; search gets the whole word beside it.
"""

import re
from typing import Final

SOFT_HYPHEN: Final = "\u00ad"
BROKEN: Final = re.compile(r"(?<![^\W\d_])([^\W\d_]{2,}+)[-\u2010\u00ad][ \t]*+\n\s*+([^\W\d_]{2,}+)")
"""A word that goes on in the next line."""
COMPOUND: Final = re.compile(r"(?<![\w-])([^\W\d_]{2,}+)[-\u2010]([^\W\d_]{2,}+)(?![\w-])")
"""Two parts with a hyphen: a compound, or a broken word whose line break is not known any more."""
SOFT: Final = re.compile(r"(?<![^\W\d_])[^\W\d_]++(?:\u00ad[^\W\d_]++)++")


def joined_words(text: str) -> str:
    """The words of a text that a hyphen parts, whole; empty when there are none.

    Only letters are joined, and only before a small letter: `IO-470` and `Smith-Jones` mean what they say.
    """
    parted = [*BROKEN.findall(text), *COMPOUND.findall(text)]
    words = [first + second for first, second in parted if second[0].islower()]
    words += [word.replace(SOFT_HYPHEN, "") for word in SOFT.findall(text)]
    return " ".join(dict.fromkeys(words))


def unbroken(text: str) -> str:
    """A text with the words that a line break parts made whole: what an embedder reads."""
    return BROKEN.sub(_join, text).replace(SOFT_HYPHEN, "")


def _join(match: re.Match[str]) -> str:
    return match[1] + match[2] if match[2][0].islower() else match[0]
