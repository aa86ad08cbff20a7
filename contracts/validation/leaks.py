"""Leaks: internals of the system that an answer must not show (contract R5-7)."""

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

LEAK_PATTERNS: Final = (
    ("reasoning", "<", REASONING_TAG),
    ("an evidence header", "|", ANCHOR_HEADER),
    ("an evidence header", "_id", HEADER_FIELD),
    ("a section of the prompt", "", SECTION_SHAPE),
    ('the word "Evidence" of the prompt', "evidence", PROMPT_EVIDENCE),
)
"""For each kind of leak: its label, a substring without which it cannot occur, and its pattern."""


class Leak(NamedTuple):
    """A part of an answer that shows an internal of the system."""

    label: str
    text: str


def find_leaks(text: str, bundle: AnswerBundle) -> list[Leak]:
    """Find the internals that an answer shows (R5-7).

    These are internal ids, evidence headers, prompt sections, reasoning, and the word "Evidence" for the prompt's
    section.
    """
    plain = unicodedata.normalize("NFKC", text)
    folded = plain.casefold()
    leaks = [
        Leak(label, match[0])
        for label, required, pattern in LEAK_PATTERNS
        if required in folded
        for match in pattern.finditer(plain)
    ]
    for chunk in bundle.selected_evidence:
        for label, name in (("a chunk id", chunk.chunk_id), ("a knowledge id", chunk.knowledge_id)):
            if _shows_id(plain, name, chunk.sanitized_text):
                leaks.append(Leak(label, name))
    return leaks


def _shows_id(text: str, name: str, evidence: str) -> bool:
    """Return whether an answer shows an internal id. An id that the evidence contains is the document's own text."""
    if name.casefold() not in text.casefold():
        return False
    id_pattern = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE)
    return bool(id_pattern.search(text)) and not id_pattern.search(evidence)
