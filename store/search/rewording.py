"""Other wordings under which a question is searched as well: in the collection's spelling, and in English (R1-4)."""

from collections.abc import Awaitable, Callable
from typing import Final

from sourcebound.contracts.languages.english import read_wordings, write_english
from sourcebound.contracts.text.content_words import STOP_WORDS, content_words
from sourcebound.contracts.text.spelling import best_spelling, doubtful_words, slips
from sourcebound.contracts.validation.support.words import is_common_word
from sourcebound.store.search.chunk_queries import ChunkSearch

STOP_WORD: Final = 1 << 40
"""What a stop word counts, as a number of chunks: more than any other word."""
WORDINGS: Final = 2
"""The most wordings of a question: with the first, and with the second translation that the collection has."""


async def find_spellings(search: ChunkSearch, question: str) -> Callable[[], Awaitable[dict[str, str]]]:
    """Return the spelling of each word of a question that neither the collection nor English knows.

    A word is respelled as a stop word of the collection's language, or else as the word at one slip from it that most
    chunks hold. Two letters that changed places come before any other slip.

    Args:
        search: The search of the collection.
        question: The question or the search query.
    """
    words = [word for word in doubtful_words(question) if word not in STOP_WORDS and not is_common_word(word)]
    asked = {*words}.union(*map(slips, words))
    rows = await search.known_words(sorted(asked)) if words else []
    known = {row["word"]: STOP_WORD if row["is_stop_word"] else row["chunks"] for row in rows}
    known |= dict.fromkeys(asked & STOP_WORDS, STOP_WORD)
    unknown = [word for word in words if word not in known]
    found = {word: spelling for word in unknown if (spelling := best_spelling(word, known))}

    async def finish() -> dict[str, str]:
        return found

    return finish


async def find_translations(
    search: ChunkSearch, language: str, question: str
) -> Callable[[], Awaitable[tuple[str, ...]]]:
    """Return a question in English, in words that the collection has where the lexicon gives some.

    Args:
        search: The search of the collection.
        language: The language of the question.
        question: The question or the search query.
    """
    wordings = read_wordings(language, question)
    offered = {word for each in wordings for english in each.english for word in english.split()}
    rows = await search.known_words(sorted(offered)) if offered else []
    known = STOP_WORDS.union(row["word"] for row in rows if row["is_stop_word"] or row["chunks"])

    def find(phrase: str) -> str | None:
        return phrase if known.issuperset(phrase.split()) else None

    texts = [write_english(wordings, find, choice) for choice in range(WORDINGS)]

    async def finish() -> tuple[str, ...]:
        return tuple(dict.fromkeys(text for text in texts if content_words(text)))

    return finish
