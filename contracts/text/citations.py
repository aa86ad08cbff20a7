"""Citations: the one valid form, and its look-alikes (R5-3)."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final, NamedTuple

from sourcebound.contracts.text.sanitize import HIDDEN, fold_to_latin

CITATION: Final = re.compile(r"\[C(0|[1-9][0-9]*)\]")
"""The only form of a citation; ASCII throughout."""
CITATION_RUN: Final = re.compile(rf"\s*{CITATION.pattern}")
"""A citation with the white space before it."""

OPEN: Final = r"[\[\(\{<«‹⟦⟨〈《「『【〔〖〘〚［（｛＜❨❪❬❮❰❲❴]"
CLOSE: Final = r"[\]\)\}>»›⟧⟩〉》」』】〕〗〙〛］）｝＞❩❫❭❯❱❳❵]"
LETTER_C: Final = "[CcСсϹϲＣｃℂⅭⅽᏟꓚ𝐂𝐜𝑪𝒞𝓒𝖢𝗖𝘊𝙲]"
NUMBER: Final = r"[-−–+]?\s?\d+"
BRACKETED: Final = re.compile(
    rf"{OPEN}\s*\^?(?:{LETTER_C}\s*[-_.:#]?\s*{NUMBER})(?:\s*(?:[,;/&|+–—-]|and|to)\s*(?:{LETTER_C}\s*[-_.:#]?)?\s*{NUMBER})*\s*{CLOSE}"
)
"""An anchor in any bracket, alone or in a list or range."""
MARKED: Final = re.compile(
    rf"{OPEN}\s*(?:{LETTER_C}hunks?|{LETTER_C}itations?|{LETTER_C}ite|[Ss]ources?|[Rr]efs?\.?)\s*[:#=_-]?\s*(?:{LETTER_C}\s*)?{NUMBER}\s*{CLOSE}"
)
"""A number under another word: `[Citation 1]`, `[source: 2]`."""
UNCLOSED: Final = re.compile(rf"\[\s*{LETTER_C}\s*\d+(?![\d\]])|(?<![\w\[]){LETTER_C}\d+\]")
"""`[C0` without its end, `C0]` without its start."""
EMPTY: Final = re.compile(rf"(?![(（]){OPEN}\s*{LETTER_C}\s*{CLOSE}(?=\W|$)|\[\s*{LETTER_C}\s*[#nNxX?*]\s*\]")
"""`[C]`, `[C#]`: an anchor without its number; `(c)` is the third item of a list."""
WRAPPED: Final = re.compile(rf"{OPEN}((?:(?!{OPEN}|{CLOSE})[^\n]){{1,24}}){CLOSE}")
SKELETON: Final = re.compile(r"c\d+(?:c?\d+)*(?:source)?")
"""An anchor in brackets after folding to Latin letters without marks, accents and hidden characters."""
RELEASE: Final = r"(?:98|03|11|14|17|2[036])"
LANGUAGE: Final = re.compile(rf"[\"'“‘«]?C\+\+ ?{RELEASE}(?:(?:/|, | and | or | to )(?:C\+\+ ?)?{RELEASE})*[\"'”’»]?")
"""Releases of a programming language: `C++14`, `C++11/14`."""
BRACKET: Final = re.compile(f"{OPEN}|{CLOSE}")
LOOK_ALIKES: Final = (BRACKETED, MARKED, UNCLOSED, EMPTY)


class Citation(NamedTuple):
    """A citation with its place in a text."""

    anchor: str
    start: int
    end: int


class LookAlike(NamedTuple):
    """Text that a reader would take for a citation, but that is not one."""

    text: str
    start: int


def find_citations(text: str) -> list[Citation]:
    """Find every well-formed citation, in order."""
    return [Citation("C" + match[1], match.start(), match.end()) for match in CITATION.finditer(text)]


def strip_citations(text: str) -> str:
    """Remove the citations and the white space before them. Words that only citations separate stay separate."""
    return re.sub(f"(?:{CITATION_RUN.pattern})+", _separator, text).strip()


def _separator(run: re.Match[str]) -> str:
    before, after = run.string[: run.start()][-1:], run.string[run.end() :][:1]
    return " " if before.isalnum() and after.isalnum() else ""


def find_look_alikes(text: str, version: int = 1) -> list[LookAlike]:
    """Find every malformed citation (R5-3).

    Look-alikes have another case, other or missing brackets, signs, spaces, leading zeros, lists, or letters of other
    scripts.

    Args:
        text: An answer.
        version: The number of the validation contract. From the second on, `(C++14)` is not a look-alike.

    Returns:
        The look-alikes in order, each once.
    """
    masked = CITATION.sub(lambda match: " " * len(match[0]), text)
    if not BRACKET.search(masked):
        return []
    look_alikes = {
        match.start(): LookAlike(match[0], match.start())
        for pattern in LOOK_ALIKES
        for match in pattern.finditer(masked)
        if _has_letter(match[0])
    }
    for match in WRAPPED.finditer(masked):
        is_language = version > 1 and LANGUAGE.fullmatch(match[1])
        if match.start() not in look_alikes and not is_language and _is_disguised_anchor(match[1]):
            look_alikes[match.start()] = LookAlike(match[0], match.start())
    return [look_alikes[start] for start in sorted(look_alikes)]


def first_use_order(anchors: Iterable[str]) -> tuple[str, ...]:
    """Return each anchor once, in order of first use (R5-9)."""
    return tuple(dict.fromkeys(anchors))


def _has_letter(text: str) -> bool:
    """Whether a match still has a letter after its compatibility forms are folded.

    This prevents false positives of the widest patterns.
    """
    return any(character.isalpha() for character in unicodedata.normalize("NFKC", text))


def _is_disguised_anchor(inner: str) -> bool:
    """Whether the text within brackets is an anchor under marks, accents or hidden characters: `_C0_`, `C₀`."""
    folded = fold_to_latin(HIDDEN.sub("", inner)).casefold()
    return "c" in folded and bool(SKELETON.fullmatch("".join(filter(str.isalnum, folded))))
