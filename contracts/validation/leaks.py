"""What an answer must not show: the inside of the system that wrote it (contract R5-7)."""

import re
import unicodedata
from typing import Final, NamedTuple

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.text.sanitize import SECTION_TITLES

REASONING_TAG: Final = re.compile(
    r"</?\s*(?:think|thinking|thought|reasoning|scratchpad|analysis|reflection)\b[^>]*>", re.IGNORECASE
)
ANCHOR_HEADER: Final = re.compile(r"\[\s*C\d+\s*\|", re.IGNORECASE)
HEADER_FIELD: Final = re.compile(r"\b(?:chunk|knowledge)_id\s*=", re.IGNORECASE)
SECTION_SHAPE: Final = re.compile(
    r"={2,}\W*(?:"
    + "|".join(SECTION_TITLES)
    + r")\W*={2,}|^\W*={2,}\W*(?:"
    + "|".join(SECTION_TITLES)
    + r")\b|^\W*(?:SYSTEM INSTRUCTION|SAFETY AND GROUNDING RULES|OUTPUT REQUIREMENTS)\W*$",
    re.MULTILINE | re.IGNORECASE,
)
PROMPT_EVIDENCE: Final = re.compile(
    r"\b(?:provided|given|supplied|above|retrieved|cited|following)\s+Evidence\b"
    r"|\bthe\s+Evidence\s+(?:states?|says?|mentions?|contains?|provides?|specifies|lists?|does|do|above|below)\b"
    r"|\b(?:based\s+on|according\s+to|per|from|in)\s+(?:the\s+)?(?:provided\s+|given\s+)?Evidence\b"
    r"(?!\s+(?:of|for|that|from|against)\b)"
    r"|\bEvidence\s+(?:block|section|chunk|\[?C?\d+)|(?:^|[.!?\]])\W*Evidence\s*:",
    re.IGNORECASE | re.MULTILINE,
)

FORBIDDEN_SHAPES: Final = (
    ("reasoning", "<", REASONING_TAG),
    ("an evidence header", "|", ANCHOR_HEADER),
    ("an evidence header", "_id", HEADER_FIELD),
    ("a section of the prompt", "", SECTION_SHAPE),
    ('the word "Evidence" of the prompt', "evidence", PROMPT_EVIDENCE),
)
"""What it is, a mark without which it cannot occur, and its pattern."""


class Forbidden(NamedTuple):
    """Something of the system's inside that has no place in an answer."""

    what: str
    text: str


def find_forbidden(text: str, bundle: AnswerBundle) -> list[Forbidden]:
    """What an answer must not show (R5-7).

    Internal ids, evidence headers, prompt sections, reasoning, and the word "Evidence" used of the prompt.
    """
    plain = unicodedata.normalize("NFKC", text)
    folded = plain.casefold()
    found = [
        Forbidden(what, match[0])
        for what, mark, pattern in FORBIDDEN_SHAPES
        if mark in folded
        for match in pattern.finditer(plain)
    ]
    for chunk in bundle.selected_evidence:
        for what, name in (("a chunk id", chunk.chunk_id), ("a knowledge id", chunk.knowledge_id)):
            if _shows(plain, name, chunk.sanitized_text):
                found.append(Forbidden(what, name))
    return found


def _shows(text: str, name: str, evidence: str) -> bool:
    """Whether an answer shows an internal id; one that the document itself contains is the document's own word."""
    if name.casefold() not in text.casefold():
        return False
    shown = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE)
    return bool(shown.search(text)) and not shown.search(evidence)
