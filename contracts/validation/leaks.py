"""Leaks: internals of the system that an answer must not show (contract R5-7)."""

import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.text.sanitize import SECTION_TITLES
from sourcebound.contracts.validation.versions import SECOND, VERSION

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
WORD_OR_NUMBER: Final = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*|\d+(?:[.,]\d+)*")
"""An id that an answer may hold by chance, as an ordinary word or a number."""

CITED: Final = r"(?:^|[.!?\]]\s)\W{0,40}Evidence\s+\[C?\d+"
"""`Evidence [C1] says`. Within a sentence the citation may be that of the sentence: `on weak evidence [C1]`."""


def _bound(pattern: str) -> str:
    """Return a pattern of the second version."""
    bounded = pattern.replace(r"={2,}", "==").replace(r"\W*", r"\W{0,40}")
    return bounded.replace(r"|\[?C?\d+)", rf"|C?\d+)|{CITED}")


LEAK_PATTERNS: Final = (
    ("reasoning", "<", REASONING_TAG),
    ("an evidence header", "|", ANCHOR_HEADER),
    ("an evidence header", "_id", HEADER_FIELD),
    ("a section of the prompt", "", SECTION_SHAPE),
    ('the word "Evidence" of the prompt', "evidence", PROMPT_EVIDENCE),
)
SECOND_PATTERNS: Final = tuple(
    (
        label,
        required,
        re.compile(_bound(pattern.pattern), pattern.flags),
    )
    for label, required, pattern in LEAK_PATTERNS
)
"""The patterns of the second version: at most 40 marks around a title, so that a long run of marks costs no more."""
"""For each kind of leak: its label, a substring without which it cannot occur, and its pattern."""


class Leak(NamedTuple):
    """A part of an answer that shows an internal of the system."""

    label: str
    text: str


def find_leaks(text: str, bundle: AnswerBundle, cited: Collection[str] = (), version: int = VERSION) -> list[Leak]:
    """Find the internals that an answer shows (R5-7).

    These are internal ids, evidence headers, prompt sections, reasoning, and the word "Evidence" for the prompt's
    section.

    Args:
        text: An answer.
        bundle: Its evidence and its question.
        cited: The anchors that the answer cites.
        version: The number of the validation contract.
    """
    plain = unicodedata.normalize("NFKC", text)
    folded = plain.casefold()
    leaks = [
        Leak(label, match[0])
        for label, required, pattern in (SECOND_PATTERNS if version >= SECOND else LEAK_PATTERNS)
        if required in folded
        for match in pattern.finditer(plain)
    ]
    own_texts = [chunk.sanitized_text for chunk in bundle.selected_evidence if chunk.anchor in cited]
    for chunk in bundle.selected_evidence:
        texts = [*own_texts, bundle.user_question] if version >= SECOND else [chunk.sanitized_text]
        for label, name in (("a chunk id", chunk.chunk_id), ("a knowledge id", chunk.knowledge_id)):
            if version >= SECOND and WORD_OR_NUMBER.fullmatch(name):
                continue
            if _shows_id(plain, name, texts):
                leaks.append(Leak(label, name))
    return leaks


def _shows_id(text: str, name: str, texts: Sequence[str]) -> bool:
    """Return whether an answer shows an internal id that none of the texts holds; such an id is a document's own."""
    if name.casefold() not in text.casefold():
        return False
    id_pattern = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE)
    return bool(id_pattern.search(text)) and not any(map(id_pattern.search, texts))
