"""Sentences within a block: `sentencex`, with corrections for the prose of manuals (R5-5)."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import sentencex

from sourcebound.contracts.text.blocks import ENUMERATED, LONE_MARKER, SECTION_NUMBER, list_starts

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
NEVER_LAST: Final = re.compile(
    r"(?:^|[\s(\[/])(?:e\.\s?g|i\.\s?e|z\.\s?B|cf|vs|viz|resp|incl|excl|approx|ca)\.$", re.IGNORECASE
)
"""Abbreviations that announce what follows, whatever its case."""
POINTER: Final = re.compile(
    r"(?:^|[\s(\[/])(?:fig|figs|eq|sec|sect|ch|chap|vol|app|tab|no|art|par|para|ref|pos)\.$", re.IGNORECASE
)
LABEL: Final = re.compile(r"(?:[B-HJ-Z]|[AI](?![ ]+[a-z]))(?:[-.]?\d+)*(?!\w)")
"""The target of a pointer: `B`, `A-3`; not the article of a new sentence."""
TRAILING_MARKS: Final = re.compile(r"(?:\*{1,3}|_{1,3}|~~|`)(?=\s|$)")
"""The end of bold or italic text, which follows the full stop of its sentence."""
LABELLED: Final = re.compile(
    r"\b(?:valves?|pumps?|models?|types?|class|grade|zones?|lines?|tanks?|position|sections?|parts?|options?|phases?|units?|"
    r"points?|ports?|buttons?|keys?|modes?|sizes?|schedule|versions?|revision|rooms?|gates?|doors?|sides?|terminals?|pins?|"
    r"plans?|steps?|columns?|rows?|levels?|group|category|cable|connector|vitamin|appendix|annex|table|figure|схема|модели?|"
    r"типа?|клапана?|насоса?)\s+\w\.(?=\s)"
)
"""A part and its letter at the end of a sentence: `Open valve B. Wait.` is two sentences, `Ask J. Smith.` is one."""
ELLIPSIS_END: Final = re.compile(r"(?<=\w)…(?=\s)")
UNIT_END: Final = re.compile(
    r"\d\s?(?:mm|cm|m|km|in|ft|g|kg|lb|l|L|ml|s|min|h|V|A|W|kW|Hz|rpm|bar|psi|Pa|kPa|MPa|N|Nm|N·m|K|°C|°F|dB|ppm)\.(?=\s)"
)
COMPANY_END: Final = re.compile(r"\b(?:Inc|Ltd|Corp|Co)\.(?=\s+(?!Inc|Ltd|Corp|KG|LLC))")
START: Final = re.compile(r"\s++(?:[^\w\s]++\s*+)?+(?=[^\W\d_])(?![a-zа-яα-ωäöüà-ÿ])")
"""The beginning of a sentence: a letter that is not lower case, with or without marks before it."""
SPLIT_AFTER: Final = (LABELLED, ELLIPSIS_END, UNIT_END, COMPANY_END)
CLOSING_THEN_LOWER: Final = re.compile(r"[\"'”’»」』)\]]$")

STARTER: Final = (
    r"(?:The|A|An|It|Its|This|That|These|Those|He|She|We|You|They|There|Here|In|On|At|By|For|From|With|Without|If|When|While"
    r"|Where|After|Before|Since|Until|Because|Although|However|Therefore|Thus|Then|Also|As|Above|Below|Under|Over|During"
    r"|Each|Every|All|Most|Many|Some|Several|Few|Not|Both|Such|Other|Others|Another|Millions|Thousands|Hundreds|Dozens"
    r"|Billions|What|How|Why|Who|Which|But|And|Or|So|One|Two|Three|Once|Today|Now|Only)"
)
"""A word that begins a sentence and no name."""
SHORT_END: Final = re.compile(
    rf"(?:\b(?:[A-Z]\.){{2,5}}|\b[ap]\.\s?m\.|\b(?:min|max|typ|nom|etc|al|Ph\.D)\.)(?=\s+{STARTER}\b)|\) \.(?=\s+[A-Z])"
)
"""An abbreviation at the end of a sentence, or a bracket apart from its full stop."""
OWN_PARENTHESIS: Final = re.compile(
    r"\((?=[\"“'*_]*[^\W\d_a-zà-ÿ])[^()]{8,600}?[.!?][\"”'*_]*\)(?=\s+\W*[^\W\d_a-zà-ÿ]|\W*$)"
)
"""A parenthesis that is a sentence, and after which another one begins."""
CITED_PARENTHESIS: Final = re.compile(
    r"\s*\((?!(?:see|cf|e\.g|i\.e)\b)(?=[^()]*\s(?:is|are|was|were|has|have|had|does|did|can|could|must|should|will|would)\s)"
    r"[^()]{8,600}\)[\s.;,!?]*$",
    re.IGNORECASE,
)
"""A parenthesis with a verb after the citation of its sentence, which does not reach it."""
MORE_NEVER_LAST: Final = re.compile(
    r"(?:^|[\s(\[/])(?:bzw|z\.\s?B|d\.\s?h|u\.\s?a|vgl|Nr|Ziff|p\.\s?ej|p\.\s?es|núm|pág|Sig|Sigg)\.$"
)
"""Abbreviations of German, Spanish and Italian that announce what follows."""
MORE_ABBREVIATION: Final = re.compile(
    r"(?<=\*)(?:No|Nr|Art|Fig|Abs|Kap)\.$|(?:^|[\s(\[/'’])(?:Abs|Art|art|arts|Kap|Bd|n|nn|núms|págs|cap|Mio|Mrd|Tsd|Std|Stk|Pkt|pts|aprox|uds)\.$"
)
"""Abbreviations that go on with a number or a word in lower case."""
DOTTED: Final = re.compile(r"\s\.\w")
"""A name that begins with a point: `a custom .CCMX`."""
INITIAL: Final = re.compile(r"(?:^|[\s(\[/])(?:[*_\"“'(]{1,3}[A-Z]|[*_\"“'(]{0,3}[A-Z][a-z])\.$")
"""The beginning of a name, which a word in lower case continues: `*S. aureus*`, `Ae. aegypti`."""
BIG_NUMBER: Final = re.compile(r"\d\s?(?:Mio|Mrd|Tsd)\.$")
COUNTED: Final = re.compile(r"(?:[€$£]|(?:EUR|Euro|USD|CHF|GBP|US-Dollar|Dollar|Stück|Tonnen)\b)")
"""What follows a number of millions."""
ORDINAL: Final = re.compile(r"(?:^|\s)\d{1,2}\.$")
AFTER_ORDINAL: Final = re.compile(
    r"(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Quartal|Halbjahr|Monat|Monats"
    r"|Tag|Tages|Woche|Jahr|Jahres|Jahrhundert|Lebensjahr|Stock|Auflage|des|der|jedes|jeden|eines|bis|und|oder)\b"
)
"""What follows a German ordinal: `vom 1. März`, `zum 1. des Monats`."""
LONGEST_ABBREVIATION: Final = 32  # so that a joined text is not read again at each of its cuts
LONGEST_CODE: Final = 120
PROSE: Final = re.compile(r"\W*[^\W\d_]+,?(?: [a-zà-ÿ]+,?){2}(?![\w(=:])")
"""The beginning of a sentence: three words, `The valve is`."""
RANGE: Final = re.compile(r"[^.\s]\.\.\w")
"""The dots of a range, whose ends stand directly at them: `U+0000..U+007F`."""
MARK_WITHIN: Final = re.compile(r"[?!][,;:]")  # a mark directly after what looks like an end: `Complete?: yes`
FIRST_VERSION: Final = 1
"""The version of validation whose sentences know no abbreviations of other languages (CP-10)."""
STOP_WITHIN: Final = re.compile(r"[.…](?=\s)")  # what every sentence that `SPLIT_AFTER` and `SHORT_END` cut holds
SURROGATE: Final = re.compile("[\ud800-\udfff]")  # no UTF-8 text can hold it alone, and `sentencex` cannot read it
WIDE_BLANK: Final = re.compile("(?<=[A-Z])[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000](?=\\.)")  # neither that

Span = tuple[int, int]


def split_sentences(text: str, version: int = FIRST_VERSION) -> list[Span]:
    """Cut a block into sentences.

    Args:
        text: One block without citations, in which line breaks are blanks.
        version: The number of the validation contract.

    Returns:
        The start and end of each sentence, without outer white space.
    """
    spans: list[Span] = []
    for start, end in pairwise([*list_starts(text, knows_decimals=version > FIRST_VERSION), len(text)]):
        sentences = _move_marks(text, _rejoin(text, _split_raw(text, start, end, version), version))
        spans.extend(_trim(text, [piece for span in sentences for piece in _split_further(text, span)]))
    return spans


def cut_merged(text: str, spans: list[Span], cited: Sequence[int]) -> list[Span]:
    """Cut the sentences that hold two statements.

    Args:
        text: The block without citations.
        spans: Its sentences.
        cited: The positions of the citations, in ascending order.

    Returns:
        The start and end of each statement.
    """
    result: list[Span] = []
    for start, end in spans:
        ends = SHORT_END.finditer(text, start, end) if STOP_WITHIN.search(text, start, end) else ()
        cuts = set(_outside_quotes(text, start, [match.end() for match in ends]))
        for match in OWN_PARENTHESIS.finditer(text, start, end):
            cuts |= {match.start(), match.end()}
        within = cited[bisect_right(cited, start) : bisect_left(cited, end)]
        cuts |= {position for position in within if CITED_PARENTHESIS.match(text, position, end)}
        inside = [cut for cut in sorted(cuts) if start < cut < end and text[cut:end].strip(" .;,!?")]
        result.extend(_trim(text, list(pairwise([start, *inside, end]))))
    return result


def _outside_quotes(text: str, start: int, positions: Sequence[int]) -> list[int]:
    """Return the positions at which no quotation is open, in one pass over the text from `start`."""
    outside, depth, is_open = [], 0, False
    for position in positions:
        piece = text[start:position]
        is_open ^= piece.count('"') % 2 == 1
        depth += sum(map(piece.count, "“«「")) - sum(map(piece.count, "”»」"))
        if not is_open and depth <= 0:
            outside.append(position)
        start = position
    return outside


def language_of(text: str) -> str:
    """Return the language whose sentence rules fit the script of most letters; English for Latin script."""
    counts = [] if text.isascii() else [(len(pattern.findall(text)), name) for name, pattern in SCRIPTS]
    matches = [(count, name) for count, name in counts if count]
    if not matches:
        return "en"
    if any(name == "ja" for _, name in matches):
        return "ja"
    count, name = max(matches)
    return name if count * 2 >= sum(character.isalpha() for character in text) else "en"


def _split_raw(text: str, start: int, end: int, version: int) -> list[Span]:
    position, spans = start, []
    piece = WIDE_BLANK.sub(" ", SURROGATE.sub("\ufffd", text[start:end]))
    if version > FIRST_VERSION and (marker := ENUMERATED.match(piece)):
        piece = marker[0].replace("(", "[").replace(")", "]") + piece[marker.end() :]
    for sentence in sentencex.segment(language_of(piece), piece):
        spans.append((position, position + len(sentence)))
        position += len(sentence)
    return spans


def _rejoin(text: str, spans: list[Span], version: int) -> list[Span]:
    """Join sentences that were split at an abbreviation, a list marker, a quotation or within code."""
    merged: list[Span] = []
    marks = 0
    for start, end in spans:
        before, after = text[merged[-1][0] : merged[-1][1]].rstrip() if merged else "", text[start:end].lstrip()
        joins = _is_continuation(before, after)
        if version > FIRST_VERSION and not joins:
            joins = (marks % 2 == 1 and _is_within_code(text, start)) or (before.endswith("`") and after[0].islower())
            joins = joins or _is_within_range(text, start) or _is_later_continuation(before, after)
            joins = joins or before.endswith(",") or bool(MARK_WITHIN.match(text, start - 1))
            joins = joins or bool(DOTTED.match(text, max(0, start - len(" ."))))
        joins = joins and bool(merged)
        marks = (marks if joins else 0) + text.count("`", start, end)
        merged.append((merged.pop()[0] if joins else start, end))
    return merged


def _is_within_code(text: str, cut: int) -> bool:
    """Return whether a cut is in code and begins no sentence; in `the `first' value` a mark begins a quotation."""
    opening = text.rfind("`", 0, cut)
    closing = text.find("`", cut, opening + LONGEST_CODE)
    return closing > 0 and "'" not in text[opening:closing] and not PROSE.match(text, cut, closing)


def _is_within_range(text: str, cut: int) -> bool:
    """Return whether a range is cut at its dots; in `at the gate..The valve` two sentences stand close together."""
    if cut < len("0..") or not RANGE.match(text, cut - len("0..")):
        return False
    ends = (text[max(0, cut - len("ab..")) : cut - len("..")], text[cut : cut + len("Ab")])
    return not any(len(end) > 1 and end.isalpha() and not end.isupper() for end in ends)


def _is_continuation(before: str, after: str) -> bool:
    if not after or not any(character.isalnum() for character in after):
        return True
    tail = before[-LONGEST_ABBREVIATION:]
    if NEVER_LAST.search(tail) or (POINTER.search(tail) and LABEL.match(after)):
        return True
    if ABBREVIATION.search(tail):
        return after[0].isdigit() or after[0].islower() or after[0] in "(±<>≤≥≈~-–'\""
    if LONE_MARKER.fullmatch(before):
        return True
    return bool(CLOSING_THEN_LOWER.search(tail)) and (after[0].islower() or after[0] in "とっ,;")


def _is_later_continuation(before: str, after: str) -> bool:
    """Return whether a series (`1, 2, ..., 9`), a section's number or another language's abbreviation goes on."""
    if (before.endswith(("...", "…")) and after[0] in ",;") or SECTION_NUMBER.fullmatch(before):
        return True
    tail = before[-LONGEST_ABBREVIATION:]
    if MORE_NEVER_LAST.search(tail) or (BIG_NUMBER.search(tail) and COUNTED.match(after)):
        return True
    if INITIAL.search(tail) and after[0].islower():
        return True
    if ORDINAL.search(tail):
        return bool(AFTER_ORDINAL.match(after))
    return bool(MORE_ABBREVIATION.search(tail)) and (after[0].isdigit() or after[0].islower())


def _move_marks(text: str, spans: list[Span]) -> list[Span]:
    """Move the marks that end bold or italic text to the sentence before them."""
    result: list[Span] = []
    for start, end in spans:
        marks = TRAILING_MARKS.match(text, start) if result and not text[start - 1 : start].isspace() else None
        if marks:
            result[-1] = (result[-1][0], marks.end())
        result.append((marks.end() if marks else start, end))
    return result


def _split_further(text: str, span: Span) -> list[Span]:
    """Split after a part's letter, an ellipsis, a unit or a company if a new sentence begins there."""
    start, end = span
    if not STOP_WITHIN.search(text, start, end):
        return [span]
    matches = {
        match.end(): pattern is LABELLED for pattern in SPLIT_AFTER for match in pattern.finditer(text, start, end)
    }
    cuts = [
        cut
        for cut, is_label in sorted(matches.items())
        if START.match(text, cut, end)
        and (not is_label or not text[cut - 2].islower())
        and not _within_quotes(text[start:cut])
    ]
    return list(pairwise([start, *cuts, end]))


def _within_quotes(before: str) -> bool:
    return before.count('"') % 2 == 1 or any(before.count(o) > before.count(c) for o, c in ("“”", "«»", "「」", "„“"))


def _trim(text: str, spans: list[Span]) -> list[Span]:
    trimmed_spans = []
    for start, end in spans:
        piece = text[start:end]
        begin = start + len(piece) - len(piece.lstrip())
        if piece.strip():
            trimmed_spans.append((begin, begin + len(piece.strip())))
    return trimmed_spans
