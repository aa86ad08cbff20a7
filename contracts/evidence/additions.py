"""The information that a near-duplicate adds to the better-ranked text: a literal, a negation or a condition (R2-S4).

Two versions of a rule share nearly all of their words, and differ in the one that an answer depends on: the number, the
"not", the "unless". A text that repeats another may be dropped only if it holds nothing of that kind that the other
lacks. The reading is coarse on purpose, because an error in doubt keeps a chunk and loses none.
"""

import re
from collections import Counter
from typing import Final

from sourcebound.contracts.text.trigrams import WORD

NUMBER_WORDS: Final = frozenset(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen half
    twice once third quarter january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    """.split()
)
NEGATIONS: Final = frozenset(
    """
    not no never none nor neither nobody nothing without cannot t nicht kein keine keinen keiner nie niemals ohne ne pas
    jamais aucun aucune sans non nunca ningún ninguna sin mai nessun nessuna senza
    """.split()
)
"""Negations of English, German, French, Spanish and Italian. `t` is the end of `don't`."""
CONDITIONS: Final = frozenset(
    """
    if unless only except excluding excluded until till provided providing otherwise whenever whether when case subject
    limited minimum maximum least most wenn falls nur sofern außer bis si sauf seulement uniquement lorsque salvo solo
    solamente cuando excepto se quando eccetto tranne
    """.split()
)
"""Words that begin or narrow a condition, in the same languages."""
TOKEN: Final = re.compile(r"\d(?:[\d.,:/·-]*\d)?[^\W\d_]*|\w+|[%°$€£¥]")
URL: Final = re.compile(r"(?:https?://|www\.)[^\s<>\"')\]]+")
QUOTATION: Final = re.compile(r"[\"“„«]([^\"“”„«»]{8,300})[\"”“»]")
QUOTED_WORDS: Final = 3
"""The shortest quotation that is a literal (R5-8)."""


def adds_information(text: str, other: str) -> bool:
    """Return whether a text holds a literal, a negation or a condition that another lacks (R2-S4).

    Args:
        text: The text that repeats the other.
        other: The text of the better rank.
    """
    added_markers = _markers(text) - _markers(other)
    return bool(added_markers) or bool(_literals(text) - _literals(other)) or _adds_quotation(text, other)


def _markers(text: str) -> Counter[str]:
    """Count the negations and conditions. A second "not" in a repeated text negates something else."""
    return Counter(word for word in WORD.findall(text.casefold()) if word in NEGATIONS or word in CONDITIONS)


def _literals(text: str) -> set[tuple[str, str]]:
    """Return the numbers, dates and identifiers, each with the word after it, which may be its unit; and the URLs."""
    tokens = TOKEN.findall(text.casefold())
    following = [*tokens[1:], ""]
    literals = {
        (token, unit)
        for token, unit in zip(tokens, following, strict=True)
        if token in NUMBER_WORDS or any(character.isdigit() for character in token)
    }
    return literals | {(url, "") for url in URL.findall(text)}


def _adds_quotation(text: str, other: str) -> bool:
    words = " ".join(WORD.findall(other.casefold()))
    quotations = (WORD.findall(quotation.casefold()) for quotation in QUOTATION.findall(text))
    return any(len(quoted) >= QUOTED_WORDS and " ".join(quoted) not in words for quoted in quotations)
