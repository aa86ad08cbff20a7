"""Sentences within a block: `sentencex`, and the few cases where a manual's prose differs from a newspaper's (R5-5)."""

import re
from itertools import pairwise
from typing import Final

import sentencex

SCRIPTS: Final = (
    ("el", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("ar", re.compile("[\u0600-\u06ff\u0750-\u077f]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
)
ABBREVIATION: Final = re.compile(
    r"(?:^|[\s(\[/])(?:max|min|approx|ca|cf|e\.g|i\.e|etc|vs|viz|resp|incl|excl|no|nos|nr|art|fig|figs|eq|eqs|sec|secs|sect|"
    r"ch|chap|vol|vols|p|pp|para|par|ref|refs|rev|ed|eds|tab|app|ver|temp|temps|press|diam|dia|nom|typ|est|std|spec|dept|"
    r"assy|qty|wt|ht|lg|hr|hrs|sec|mins|mt|st|mr|mrs|ms|dr|prof|jr|sr|inc|ltd|co|corp|al)\.$",
    re.IGNORECASE,
)
CLOSING_THEN_LOWER: Final = re.compile(r"[\"'”’»」』)\]]$")
INLINE_MARKER: Final = re.compile(r"(?:(?<=\s)|^)(?:[•⁃‣▪·]\s*)?(?P<number>\d{1,3}|[a-z])(?:\.\)|\.|\))(?=\s*\S)")
LONE_MARKER: Final = re.compile(r"\W*(?:\d{1,3}|[a-zA-Z])(?:\.\)|[.)])")
BULLET: Final = re.compile(r"(?:(?<=\s)|^)[•⁃‣▪]\s*(?=\S)")

Span = tuple[int, int]


def split_sentences(text: str) -> list[Span]:
    """Cuts a block into sentences.

    Args:
        text: One block without citations; line breaks are blanks.

    Returns:
        Start and end of each sentence, outer white space left out.
    """
    spans: list[Span] = []
    for start, end in pairwise([*_list_starts(text), len(text)]):
        spans.extend(_trim(text, _joined(text, _raw(text, start, end))))
    return spans


def language_of(text: str) -> str:
    """The language whose sentence rules fit the script of most of the letters; English for Latin script."""
    counts = [(len(pattern.findall(text)), name) for name, pattern in SCRIPTS]
    found = [(count, name) for count, name in counts if count]
    if not found:
        return "en"
    if any(name == "ja" for _, name in found):
        return "ja"
    count, name = max(found)
    return name if count * 2 >= sum(character.isalpha() for character in text) else "en"


def _raw(text: str, start: int, end: int) -> list[Span]:
    position, spans = start, []
    piece = text[start:end]
    for sentence in sentencex.segment(language_of(piece), piece):
        spans.append((position, position + len(sentence)))
        position += len(sentence)
    return spans


def _joined(text: str, spans: list[Span]) -> list[Span]:
    """Puts back together what ended at an abbreviation, a list marker or a quotation inside a sentence."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and _belongs(text[joined[-1][0] : joined[-1][1]].rstrip(), text[start:end].lstrip()):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _belongs(before: str, after: str) -> bool:
    if not after or not any(character.isalnum() for character in after):
        return True
    if ABBREVIATION.search(before):
        return after[0].isdigit() or after[0].islower() or after[0] in "(±<>≤≥≈~-–'\""
    if LONE_MARKER.fullmatch(before):
        return True
    return bool(CLOSING_THEN_LOWER.search(before)) and (after[0].islower() or after[0] in "とっ,;")


def _trim(text: str, spans: list[Span]) -> list[Span]:
    trimmed = []
    for start, end in spans:
        piece = text[start:end]
        begin = start + len(piece) - len(piece.lstrip())
        if piece.strip():
            trimmed.append((begin, begin + len(piece.strip())))
    return trimmed


def _list_starts(text: str) -> list[int]:
    """Where the items of a list that runs on within one line begin; just the start where there is no such list."""
    bullets = [match.start() for match in BULLET.finditer(text)]
    if len(bullets) >= 2:
        return sorted({0, *bullets})
    markers = [(match.start(), match["number"]) for match in INLINE_MARKER.finditer(text)]
    run: list[tuple[int, str]] = []
    for position, number in markers:
        if (run and _next_marker(run[-1][1]) == number) or (not run and not text[:position].strip()):
            run.append((position, number))
    return sorted({0, *(position for position, _ in run)}) if len(run) >= 2 else [0]


def _next_marker(number: str) -> str:
    return str(int(number) + 1) if number.isdigit() else chr(ord(number) + 1)
