"""Refusals: the exact string passes, anything that carries a refusal and is not exactly it does not (contract R5-2)."""

import re
import unicodedata
from typing import Final

from sourcebound.contracts.prompt import REFUSAL
from sourcebound.contracts.refusal_languages import translated_refusal

SUBJECT: Final = (
    r"(?:evidence|context|documents?|documentation|sources?|passages?|texts?|excerpts?|information|materials?|manuals?|data"
    r"|references?|files?)"
)
TEXTUAL: Final = (
    r"(?:evidence|context|documents?|documentation|sources|passages?|texts?|excerpts?|information|manuals?)"
)
"""Subjects that are texts and nothing else; a source may be one of current, a material of silicone."""
ASIDE: Final = (
    r"(?:(?:provided|given|supplied|retrieved|available|above|below|here|alone|itself|themselves|simply|clearly|explicitly|"
    r"also|currently|at\s+hand|I\s+have|I\s+was\s+given|you\s+(?:have\s+)?(?:provided|gave))\s+){0,2}"
)
OWN: Final = r"\b(?:the|this|these|any|provided|available|given|supplied|indexed|retrieved)\s+(?:\w+\s+){0,2}"
SAY: Final = r"(?:mention|state|specify|specifies|say|address|answer|indicate|describe|discuss|explain)"
HOLD: Final = r"(?:contain|include|provide|give|have|hold|cover)"
KNOWLEDGE: Final = r"(?:information|details?|answers?|evidence|mention|context)"
NEGATION: Final = (
    r"(?:does\s+not|doesn't|doesn’t|do\s+not|don't|don’t|did\s+not|didn't|cannot|can\s+not|can't|can’t|is\s+not|isn't"
    r"|are\s+not|aren't|no|not|never|insufficient|lacks?|fails?\s+to)"
)
PATTERNS: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        r"\bno_+evidence\b|\bno[\s_-]*evidence\b(?!\s+(?:was|is)\s+found\s+(?:of|for|that|to\s+(?:indicate|suggest|support))\b)\W*(?:$|:|the\b|to\b|was\b|is\b|found\b|provided\b)",
        rf"{OWN}{TEXTUAL}\s+{ASIDE}{NEGATION}\s+(?:\w+\s+){{0,2}}(?:{SAY}|{HOLD}|sufficient|enough|information)",
        rf"{OWN}{SUBJECT}\s+{ASIDE}{NEGATION}\s+(?:\w+\s+){{0,2}}(?:{SAY}\b|{HOLD}\s+(?:\w+\s+){{0,4}}{KNOWLEDGE}\b|{KNOWLEDGE}\b)",
        rf"{OWN}{TEXTUAL}\s+{ASIDE}(?:lacks?|omits?|says?\s+nothing|(?:is|are)\s+silent|makes?\s+no)\b",
        rf"\b(?:nothing|none|neither|no\s+part|no)\s+(?:(?:in|of|from|the|these|this|provided|given|supplied)\s+){{0,3}}"
        rf"(?:{TEXTUAL}|source)\s+{ASIDE}(?:{SAY}|{HOLD})",
        rf"\bnot\s+(?:\w+\s+){{0,2}}(?:contained|found|mentioned|stated|provided|specified|available|covered|given|present)\s+"
        rf"(?:\w+\s+){{0,1}}(?:in|by|within|from)\s+(?:the|this|these|any|your|provided)\s+(?:\w+\s+){{0,2}}{SUBJECT}",
        r"\b(?:insufficient|not\s+enough|no\s+(?:sufficient|relevant|supporting))\s+(?:evidence|information|context|"
        r"documentation|data|details?)\b(?!\s+(?:on|in|at)\s+(?:\w+\s+){1,2}(?:must|shall|should|causes?|leads?|trips?)\b)",
        r"\bno\s+(?:mention|information|details?)\s+(?:of|about|regarding|concerning|for)\b",
        rf"\bthere\s+(?:is|was|are|were)\s+no\s+[^.!?\n]{{0,60}}\b(?:in|within|from)\s+(?:the|these|any)\s+(?:provided\s+|given\s+)?{TEXTUAL}",
        r"\b(?:I|we)\s*(?:am|are|'m|’m|was|were)?\s*(?:cannot|can\s?not|can't|can’t|unable\s+to|not\s+able\s+to|could\s+not|"
        r"couldn't|won't|will\s+not)\s+(?:\w+\s+){0,2}(?:answer|determine|find|say|provide|help|respond|confirm|tell|locate|"
        r"comment)",
        r"\b(?:I|we)\s+(?:do\s+not|don't|don’t|did\s+not|didn't)\s+(?:have|know|see|find)\b",
        r"\b(?:I|we)\s+have\s+(?:no|insufficient|not\s+enough)\s+(?:\w+\s+)?(?:information|data|knowledge|answer|details?|evidence)\b",
        r"\bunfortunately\b[^.!?\n]{0,80}(?:\b(?:not|no|cannot|unable|lacks?)\b|n['’]t\b)",
        r"^\W*(?:cannot|can['’]t|unable\s+to|not\s+able\s+to)\s+(?:be\s+)?(?:answer|determine|respond|say|provide|comply|help)",
        rf"\b(?:not|im)\s*possible\s+to\s+(?:answer|determine|say|tell|establish|conclude)\b"
        rf"(?:\W*$|[^.!?\n]*\b(?:from|by|in|with|based\s+on)\s+(?:the|this|these)\s+(?:\w+\s+){{0,2}}{TEXTUAL}\b|[^.!?\n]*\bquestion\b)",
        r"\bthe\s+answer\s+(?:is\s+not|isn['’]t|was\s+not|cannot\s+be|can['’]t\s+be|could\s+not\s+be)\b",
        r"\b(?:this|that|the\s+requested|such)\s+information\s+(?:is|was)(?:\s+not|n['’]t)\s+"
        r"(?:available|provided|given|included|mentioned|stated|specified|covered|found|present)\s*(?:$|[.!,;])",
        r"\bquestion\s+(?:is|lies|falls|goes)\s+(?:outside|beyond)\b",
        r"\b(?:I'm|I\s+am|we\s+are|we're)\s+(?:sorry|afraid)\b|\bmy\s+apologies\b|\bI\s+apologi[sz]e\b",
        r"\b(?:question|this|it|that)\s+(?:cannot|can\s?not|can't|could\s+not)\s+be\s+(?:answered|determined|established|"
        r"inferred)\b",
        r"\bunanswerable\b|\bno\s+answer\s+(?:is|was|can|could|found|available)\b|^\W*(?:unknown|not\s+found|n/?a|none)\W*$",
    )
)
TRIGGERS: Final = frozenset(
    "no not never cannot can unable insufficient lack lacks fail fails sorry afraid apologies apologise apologize "
    "unanswerable unknown none na nothing neither silent impossible unfortunately omit omits outside beyond".split()
)
MARKS: Final = ("n't", "n’t", "no_", "n/a")
"""Every pattern above needs one of these words or marks in its sentence; other sentences are not looked at."""
SENTENCE_END: Final = re.compile(r"(?<=[.!?\n])")
WORD: Final = re.compile(r"\w+")
CORE_OF_REFUSAL: Final = "".join(filter(str.isalnum, REFUSAL.casefold()))


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
    folded = plain.casefold()
    if CORE_OF_REFUSAL in "".join(filter(str.isalnum, folded)):
        return REFUSAL
    suspect = "\n".join(filter(_may_refuse, SENTENCE_END.split(plain)))
    for pattern in PATTERNS if suspect else ():
        match = pattern.search(suspect)
        if match:
            return match[0]
    return translated_refusal(plain, folded)


def _may_refuse(sentence: str) -> bool:
    """Whether a sentence holds any of the words without which no pattern can match."""
    folded = sentence.casefold()
    return not TRIGGERS.isdisjoint(WORD.findall(folded)) or any(mark in folded for mark in MARKS)
