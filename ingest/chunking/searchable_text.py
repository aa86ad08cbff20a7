"""The searchable text of a chunk, if it differs from the text that is shown. Pure.

A word that is hyphenated at the end of a line has two parts in the document, but is whole in a question. The stored,
shown and cited text never changes. Search receives the whole word in addition.
"""

import re
from typing import Final

SOFT_HYPHEN: Final = "\u00ad"
BROKEN_WORD: Final = re.compile(r"(?<![^\W\d_])([^\W\d_]{2,}+)[-\u2010\u00ad][ \t]*+\n\s*+([^\W\d_]{2,}+)")
"""A word that continues in the next line."""
COMPOUND_WORD: Final = re.compile(r"(?<![\w-])([^\W\d_]{2,}+)[-\u2010]([^\W\d_]{2,}+)(?![\w-])")
"""Two parts with a hyphen: a compound, or a broken word whose line break was lost."""
SOFT_HYPHENATED: Final = re.compile(r"(?<![^\W\d_])[^\W\d_]++(?:\u00ad[^\W\d_]++)++")


def joined_words(text: str) -> str:
    """Return the words of a text that contain a hyphen, without it; empty if there are none.

    Only letters are joined, and only before a lower-case letter: `IO-470` and `Smith-Jones` stay as they are.
    """
    hyphenated = [*BROKEN_WORD.findall(text), *COMPOUND_WORD.findall(text)]
    words = [first + second for first, second in hyphenated if second[0].islower()]
    words += [word.replace(SOFT_HYPHEN, "") for word in SOFT_HYPHENATED.findall(text)]
    return " ".join(dict.fromkeys(words))


def join_broken_words(text: str) -> str:
    """Join the words that a line break divides. The embedder reads the result."""
    return BROKEN_WORD.sub(_join, text).replace(SOFT_HYPHEN, "")


def _join(match: re.Match[str]) -> str:
    return match[1] + match[2] if match[2][0].islower() else match[0]
