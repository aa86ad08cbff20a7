"""The searchable text of a chunk, where it differs from the shown one. Pure.

A word that was hyphenated at the end of a line is in two pieces in the document, but whole in a question. The stored,
shown and cited text never changes; search gets the whole word in addition.
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
