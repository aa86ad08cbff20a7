"""Citations: the one form that counts, and the look-alikes that do not (contract R5-3)."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final, NamedTuple

from sourcebound.contracts.text.sanitize import HIDDEN, latin_look

CITATION: Final = re.compile(r"\[C(0|[1-9][0-9]*)\]")
"""The only form of a citation; ASCII throughout."""
CITATION_RUN: Final = re.compile(rf"\s*{CITATION.pattern}")
"""A citation with the white space before it."""

OPEN: Final = r"[\[\(\{<«‹⟦⟨〈《「『【〔〖〘〚［（｛＜❨❪❬❮❰❲❴]"
CLOSE: Final = r"[\]\)\}>»›⟧⟩〉》」』】〕〗〙〛］）｝＞❩❫❭❯❱❳❵]"
CEE: Final = "[CcСсϹϲＣｃℂⅭⅽᏟꓚ𝐂𝐜𝑪𝒞𝓒𝖢𝗖𝘊𝙲]"
NUMBER: Final = r"[-−–+]?\s?\d+"
BRACKETED: Final = re.compile(
    rf"{OPEN}\s*\^?(?:{CEE}\s*[-_.:#]?\s*{NUMBER})(?:\s*(?:[,;/&|+–—-]|and|to)\s*(?:{CEE}\s*[-_.:#]?)?\s*{NUMBER})*\s*{CLOSE}"
)
"""An anchor in any bracket, alone or in a list or range."""
MARKED: Final = re.compile(
    rf"{OPEN}\s*(?:{CEE}hunks?|{CEE}itations?|{CEE}ite|[Ss]ources?|[Rr]efs?\.?)\s*[:#=_-]?\s*(?:{CEE}\s*)?{NUMBER}\s*{CLOSE}"
)
"""A number under another word: `[Citation 1]`, `[source: 2]`."""
UNCLOSED: Final = re.compile(rf"\[\s*{CEE}\s*\d+(?![\d\]])|(?<![\w\[]){CEE}\d+\]")
"""`[C0` without its end, `C0]` without its start."""
EMPTY: Final = re.compile(rf"(?![(（]){OPEN}\s*{CEE}\s*{CLOSE}(?=\W|$)|\[\s*{CEE}\s*[#nNxX?*]\s*\]")
"""`[C]`, `[C#]`: an anchor without its number; `(c)` is the third item of a list."""
WRAPPED: Final = re.compile(rf"{OPEN}((?:(?!{OPEN}|{CLOSE})[^\n]){{1,24}}){CLOSE}")
SKELETON: Final = re.compile(r"c\d+(?:c?\d+)*(?:source)?")
"""What is left of an anchor in brackets without marks, accents and hidden characters, in Latin letters."""
BRACKET: Final = re.compile(f"{OPEN}|{CLOSE}")
LOOK_ALIKES: Final = (BRACKETED, MARKED, UNCLOSED, EMPTY)


class Citation(NamedTuple):
    """A citation where it stands in a text."""

    anchor: str
    start: int
    end: int


class LookAlike(NamedTuple):
    """Something that a reader would take for a citation and that is not one."""

    text: str
    start: int


def find_citations(text: str) -> list[Citation]:
    """Every well-formed citation, in order."""
    return [Citation("C" + match[1], match.start(), match.end()) for match in CITATION.finditer(text)]


def strip_citations(text: str) -> str:
    """A text without its citations and the white space before them; words that only citations parted stay apart."""
    return re.sub(f"(?:{CITATION_RUN.pattern})+", _gap, text).strip()


def _gap(run: re.Match[str]) -> str:
    before, after = run.string[: run.start()][-1:], run.string[run.end() :][:1]
    return " " if before.isalnum() and after.isalnum() else ""


def find_look_alikes(text: str) -> list[LookAlike]:
    """Every malformed citation (R5-3).

    Other case, other or missing brackets, signs, spaces, leading zeros, lists, letters of other scripts.

    Args:
        text: An answer.

    Returns:
        The look-alikes in order, each once.
    """
    masked = CITATION.sub(lambda match: " " * len(match[0]), text)
    if not BRACKET.search(masked):
        return []
    found = {
        match.start(): LookAlike(match[0], match.start())
        for pattern in LOOK_ALIKES
        for match in pattern.finditer(masked)
        if _reads_as_anchor(match[0])
    }
    for match in WRAPPED.finditer(masked):
        if match.start() not in found and _disguises_anchor(match[1]):
            found[match.start()] = LookAlike(match[0], match.start())
    return [found[start] for start in sorted(found)]


def first_use_order(anchors: Iterable[str]) -> tuple[str, ...]:
    """Each anchor once, in order of first use (R5-9)."""
    return tuple(dict.fromkeys(anchors))


def _reads_as_anchor(text: str) -> bool:
    """Whether, once compatibility forms are folded, anything like an anchor is left.

    Guards the patterns' widest edges.
    """
    return any(character.isalpha() for character in unicodedata.normalize("NFKC", text))


def _disguises_anchor(inner: str) -> bool:
    """Whether the text within brackets is an anchor under marks, accents or hidden characters: `_C0_`, `C₀`."""
    seen = latin_look(HIDDEN.sub("", inner)).casefold()
    return "c" in seen and bool(SKELETON.fullmatch("".join(filter(str.isalnum, seen))))
