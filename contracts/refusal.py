"""Refusals: the exact string passes, anything that carries a refusal and is not exactly it does not (contract R5-2)."""

import re
import unicodedata
from typing import Final

from sourcebound.contracts.prompt import REFUSAL

SUBJECT: Final = (
    r"(?:evidence|context|documents?|documentation|sources?|passages?|texts?|excerpts?|information|materials?|manuals?|data"
    r"|references?|files?)"
)
NEGATION: Final = (
    r"(?:does\s+not|doesn't|doesn’t|do\s+not|don't|don’t|did\s+not|didn't|cannot|can\s+not|can't|can’t|is\s+not|isn't"
    r"|are\s+not|aren't|no|not|never|insufficient|lacks?|fails?\s+to)"
)
PATTERNS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\bno[\s_-]*evidence\b\W*(?:$|:|the\b|to\b|was\b|is\b|found\b|provided\b)",
        rf"\b(?:the|this|these|any|provided|available|given|supplied|indexed|retrieved)\s+(?:\w+\s+){{0,2}}{SUBJECT}\s+"
        rf"(?:\w+\s+){{0,2}}{NEGATION}\s+(?:\w+\s+){{0,2}}(?:contain|include|provide|mention|state|specify|say|give|have|"
        r"hold|address|answer|sufficient|enough|information|indicate|describe|cover)",
        rf"\bnot\s+(?:\w+\s+){{0,2}}(?:contained|found|mentioned|stated|provided|specified|available|covered|given|present)\s+"
        rf"(?:\w+\s+){{0,1}}(?:in|by|within|from)\s+(?:the|this|these|any|your|provided)\s+(?:\w+\s+){{0,2}}{SUBJECT}",
        r"\b(?:insufficient|not\s+enough|no\s+(?:sufficient|relevant|supporting))\s+(?:evidence|information|context|"
        r"documentation|data|details?)\b",
        r"\b(?:I|we)\s*(?:am|are|'m|’m|was|were)?\s*(?:cannot|can\s?not|can't|can’t|unable\s+to|not\s+able\s+to|could\s+not|"
        r"couldn't|won't|will\s+not)\s+(?:\w+\s+){0,2}(?:answer|determine|find|say|provide|help|respond|confirm|tell|locate|"
        r"comment)",
        r"\b(?:I|we)\s+(?:do\s+not|don't|don’t|did\s+not|didn't)\s+(?:have|know|see|find)\b",
        r"\b(?:I'm|I\s+am|we\s+are|we're)\s+(?:sorry|afraid)\b|\bmy\s+apologies\b|\bI\s+apologi[sz]e\b",
        r"\b(?:question|this|it|that)\s+(?:cannot|can\s?not|can't|could\s+not)\s+be\s+(?:answered|determined|established|"
        r"inferred)\b",
        r"\bunanswerable\b|\bno\s+answer\s+(?:is|was|can|could|found|available)\b|^\W*(?:unknown|not\s+found|n/?a|none)\W*$",
    )
)
TRIGGERS: Final = frozenset(
    "no not never cannot can unable insufficient lack lacks fail fails sorry afraid apologies apologise apologize "
    "unanswerable unknown none na".split()
)
"""Every pattern above needs one of these words, an n't or a `no_`."""
WORD: Final = re.compile(r"\w+")
CORE: Final = re.compile(r"\W+")


def is_exact_refusal(text: str) -> bool:
    """Whether a text is the refusal string, outer white space aside."""
    return text.strip() == REFUSAL


def refusal_pattern(text: str) -> str | None:
    """The first words of a text that read as a refusal.

    Args:
        text: An answer without its citations.

    Returns:
        The matched words; None where the text refuses nothing.
    """
    plain = unicodedata.normalize("NFKC", text)
    if CORE.sub("", REFUSAL).casefold() in CORE.sub("", plain).casefold():
        return REFUSAL
    folded = plain.casefold()
    if TRIGGERS.isdisjoint(WORD.findall(folded)) and not any(mark in folded for mark in ("n't", "n’t", "no_", "n/a")):
        return None
    for pattern in PATTERNS:
        match = pattern.search(plain)
        if match:
            return match[0]
    return None
