"""The searchable text of a chunk, if it differs from the text that is shown. Pure.

A word that is hyphenated at the end of a line has two parts in the document, but is whole in a question. The stored,
shown and cited text never changes. Search receives the whole word in addition. In a collection with English stems it
also receives the English words of a chunk in another language, so that questions in any language of the lexicon find
it, and an embedder that knows English only reads such a chunk in English. The stems of another language would not fit.
"""

import re
from typing import Final

from sourcebound.contracts.languages.english import foreign_language_of_chunk, read_translations, translate_evidence
from sourcebound.contracts.text.content_words import STOP_WORDS

AS_IT_STANDS: Final = "structure_v1:"
"""The beginning of the chunker's name in collections of other languages, and in those that earlier versions made."""
IN_ENGLISH_TOO: Final = "structure_v2:"
"""That of collections in which chunks in other languages are searched in English."""
MOST_TRANSLATIONS: Final = 2
"""The most English words that one word is found by."""
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


def further_words(text: str, chunker: str) -> str:
    """Return the words by which a chunk is found besides its own: joined ones, and English ones.

    They are part of `structure_v2`: other ones need another name, else stored chunks would count as altered (IX-3).

    Args:
        text: The text of the chunk.
        chunker: The name of the chunker of its collection.
    """
    if chunker.startswith(AS_IT_STANDS):
        return joined_words(text)
    english = [word for words in read_translations(text) for word in words[:MOST_TRANSLATIONS]]
    return " ".join(dict.fromkeys([*joined_words(text).split(), *(each for each in english if each not in STOP_WORDS)]))


def in_english(text: str, chunker: str) -> str:
    """Return the text that an embedder reads that knows English only. It is part of `structure_v2` as well.

    Args:
        text: The text that the embedder would read.
        chunker: The name of the chunker of its collection.
    """
    language = None if chunker.startswith(AS_IT_STANDS) else foreign_language_of_chunk(text)
    return (translate_evidence(text, language) if language else None) or text


def join_broken_words(text: str) -> str:
    """Join the words that a line break divides. The embedder reads the result."""
    return BROKEN_WORD.sub(_join, text).replace(SOFT_HYPHEN, "")


def _join(match: re.Match[str]) -> str:
    return match[1] + match[2] if match[2][0].islower() else match[0]
