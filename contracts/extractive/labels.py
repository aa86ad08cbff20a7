"""Labels such as `revision C`, `issue 3` or `pump B`: a question about one is not answered from another (R4-9).

A label counts as one only if a question names it. A sentence has the labels of its own text and of the name of its
document (`manual-rev-c.pdf`). Without any it may belong to each of them.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from sourcebound.contracts.text.content_words import STOP_WORDS

KINDS: Final = (
    "revision rev version issue edition release class grade phase stage mark series error err fault alarm code".split()
)
"""The words whose label may be a number, or a letter of either case."""
ALIASES: Final = {"rev": "revision", "err": "error"}
NUMBERED: Final = re.compile(
    rf"\b({'|'.join(KINDS)})s?\b[ ._:-]{{0,2}}([a-z]|\d{{1,3}})\b(?![.,]\d|-\d)", re.IGNORECASE
)
LETTERED: Final = re.compile(r"\b([a-z]{4,}) ([A-HJ-Z])\b(?![-'’.]\w)")
"""A plain word and a capital letter: `pump B`. Not `I`."""
JOINED: Final = re.compile(r"\W{0,10}(?:,|and|or|to|versus|vs)\W{1,10}([a-z]|\d{1,3})\b(?![.,]\d|-\d)", re.IGNORECASE)
"""A further label of the same kind: `revisions B and C`."""
ARTICLE: Final = re.compile(r"[ai] [a-z]")
"""The article or pronoun after a kind: `at this stage a sample is taken`."""
SEPARATORS: Final = re.compile(r"[-_./]+")
PAGE: Final = re.compile(r"(?:\.\w{1,5})?(?:, p\. \d+)?$")
"""The end of a document's name, and the page that follows it."""
NAME_PART: Final = re.compile(r"[^\W_]+")
YEAR: Final = 4
"""The digits of a number that says something by itself in the name of a document."""
Labels = dict[str, frozenset[str]]
"""The labels by their kind, in lower case."""


def read_labels(text: str, kinds: Iterable[str] | None = None, *, is_prose: bool = True) -> Labels:
    """Read the labels of a text.

    Args:
        text: A question or a sentence.
        kinds: Only these kinds. Default: all that the text names.
        is_prose: Whether a single `a` or `i` before another word is no label.

    Returns:
        The labels by kind.
    """
    wanted = None if kinds is None else frozenset(kinds)
    found: dict[str, set[str]] = {}
    for pattern in (NUMBERED, LETTERED):
        for match in pattern.finditer(text):
            kind = _kind(match[1].casefold())
            if kind in STOP_WORDS or (wanted is not None and kind not in wanted):
                continue
            if is_prose and ARTICLE.match(text, match.start(2)):
                continue
            labels = found.setdefault(kind, set())
            labels.add(match[2].casefold())
            if match[0][len(match[1])] in "sS" and (other := JOINED.match(text, match.end())):
                labels.add(other[1].casefold())
    return {kind: frozenset(labels) for kind, labels in found.items()}


def _kind(word: str) -> str:
    one = word.removesuffix("s")
    return ALIASES.get(one, one) if one in KINDS else word


def read_source_labels(source: str, kinds: Iterable[str]) -> Labels:
    """Read the labels of a document's name, in which hyphens separate words."""
    return read_labels(SEPARATORS.sub(" ", source), kinds, is_prose=False)


def spell_source(source: str) -> str:
    """Return the words of a document's name, with its identifiers written as one word.

    Hyphens separate words there, so only the order tells an identifier: `hp-200-manual-rev-c.pdf` is read as
    `hp manual rev c hp200`.

    Args:
        source: The name of a document, with a page or without.
    """
    parts = NAME_PART.findall(PAGE.sub("", source, count=1))
    words = [part for part in parts if not part.isdigit() or len(part) >= YEAR]
    for place, part in enumerate(parts):
        if part.isdigit() and place and parts[place - 1].isalpha():
            end = next((after for after in range(place, len(parts)) if not parts[after].isdigit()), len(parts))
            name = parts[place - 1]
            prefixes = [name, parts[place - 2] + name] if place > 1 and parts[place - 2].isalpha() else [name]
            numbers = dict.fromkeys(["".join(parts[place:end]), part])
            words.extend(prefix + number for prefix in prefixes for number in numbers)
    return " ".join(words)


def name_document(source: str) -> str:
    """Return the words of a document's name in their order: `hp 200 manual rev c`.

    Args:
        source: The name of a document, with a page or without.
    """
    return " ".join(NAME_PART.findall(PAGE.sub("", source, count=1)))


def conflicts(asked: Mapping[str, frozenset[str]], text: str, source: str) -> bool:
    """Return whether a sentence has other labels of a kind than those that a question names.

    Args:
        asked: The labels of the question.
        text: The sentence.
        source: The name of its document.
    """
    if not asked:
        return False
    own, titled = read_labels(text, asked), read_source_labels(source, asked)
    for kind, labels in asked.items():
        has = own.get(kind, frozenset()) | titled.get(kind, frozenset())
        if has and not has & labels:
            return True
    return False


def has_labels(asked: Mapping[str, frozenset[str]], text: str, source: str) -> bool:
    """Return whether a sentence, or the name of its document, has a label of each kind that a question names."""
    own, titled = read_labels(text, asked), read_source_labels(source, asked)
    return all(labels & (own.get(kind, frozenset()) | titled.get(kind, frozenset())) for kind, labels in asked.items())
