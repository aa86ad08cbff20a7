"""Times of day that count from an hour in words: `quarter past nine`, `halb acht`, `las nueve y media` (R5-8).

An hour with its part of the day is one too: `from 7 in the morning`.

Parts of an hour in words are counts of minutes: `half an hour`.

Without a word for the half of the day such a time has both forms, as a time in digits has. A time with a point between
hours and minutes is also a number, so it only gets more forms: `at 8.05`.
"""

import re
from collections.abc import Iterator
from typing import Final

from sourcebound.contracts.validation.literals.literal import Literal, lower_case

HOURS: Final = {
    "en": "one two three four five six seven eight nine ten eleven twelve",
    "de": "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "fr": "une deux trois quatre cinq six sept huit neuf dix onze douze",
    "es": "una dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "it": "una due tre quattro cinque sei sette otto nove dieci undici dodici",
}
NUMBERS: Final = {word: hour for words in HOURS.values() for hour, word in enumerate(words.split(), start=1)}
ALONE: Final = r"(?!\s(?!(?:and|or|in|on|at|every|each|to|until|the|for|with|by|then|daily|sharp|a\.?m|p\.?m)\b)[^\W_])"
"""What does not follow an hour: a noun that the number counts (`gave a quarter to five schools`)."""
QUARTERS_IN_WORDS: Final = {
    "en": ((r"\b(?:a\s)?quarter\s(?:past|after)\s<h>" + ALONE, 15),
           (r"\b(?:a\s)?quarter\s(?:to|before)\s<h>" + ALONE, -15), (r"\bhalf\spast\s<h>", 30),
           (r"\b(?:from|at|until|till|to|before|after|by|between|since)\s<h>(?:\so['’]clock)?"
            r"(?=\s(?:in\sthe\s(?:morning|afternoon|evening)|at\snight)\b)", 0)),
    "de": ((r"\bviertel\snach\s<h>", 15), (r"\bviertel\svor\s<h>", -15),
           (r"(?<!\bvor\s)(?<!\bnach\s)\bhalb\s<h>", -30)),
    "fr": ((r"(?:\bà|\bdès|\bvers)\s<h>\sheures?\set\squart\b", 15),
           (r"(?:\bà|\bdès|\bvers)\s<h>\sheures?\smoins\sle\squart\b", -15),
           (r"(?:\bà|\bdès|\bvers)\s<h>\sheures?\set\sdemie\b", 30)),
    "es": ((r"\blas?\s<h>\sy\scuarto\b", 15), (r"\blas?\s<h>\smenos\scuarto\b", -15),
           (r"\blas?\s<h>\sy\smedia\b", 30)),
    "it": ((r"(?:\b[ad]?l?le\s|\ball['’]|\bl['’])<h>\se\sun\squarto\b", 15),
           (r"(?:\b[ad]?l?le\s|\ball['’]|\bl['’])<h>\smeno\sun\squarto\b", -15),
           (r"(?:\b[ad]?l?le\s|\ball['’]|\bl['’])<h>\se\smezz[ao]\b", 30)),
}  # fmt: skip
"""The patterns of each language, in lower case, and the minutes that they add to the hour `<h>`."""
HALF_OF_DAY: Final = (
    r"(?:\s(?:(?P<am>a\.?m\b|in\sthe\smorning|morgens|früh|vormittags|du\smatin|de\sla\smañana|d[ie]l?\smattin[ao])"
    r"|(?P<pm>p\.?m\b|in\sthe\s(?:afternoon|evening)|at\snight|nachmittags|abends|du\ssoir|de\s(?:la|l['’])\s?(?:tarde"
    r"|noche|après-midi)|d[ie]l?\s(?:sera|pomeriggio))))?"
)


def _compile(language: str, pattern: str) -> re.Pattern[str]:
    words = "|".join(sorted(HOURS[language].split(), key=len, reverse=True))
    hour = rf"(?P<hour>(?:{words}|1[0-2]|0?[1-9])\b(?![.:,]\d|\s?[%-]))"
    return re.compile(pattern.replace("<h>", hour) + HALF_OF_DAY)


PATTERNS: Final = tuple(
    (_compile(language, pattern), minutes)
    for language, patterns in QUARTERS_IN_WORDS.items()
    for pattern, minutes in patterns
)
MARK: Final = re.compile(
    r"quarter|half\spast|in\sthe\s(?:mor|aft|eve)|at\snight|viertel|halb|\bquart\b|demie|cuarto|media|quarto|mezz"
)
"""A text in lower case without this has no such time."""
PARTS_OF_AN_HOUR: Final = {
    30: r"(?<!and[\s-])(?<!and[\s-]a[\s-])\bhalf[\s-](?:an[\s-])?hour\b|\bhalben?\sstunde\b|\bdemi-heure\b"
    r"|\bmedia\shora\b|\bmezz['’]ora\b",
    15: r"(?<!three[\s-])\bquarter[\s-](?:of\san[\s-])?hour\b|\bviertelstunde\b|\bquart\sd['’]heure\b"
    r"|\bcuarto\sde\shora\b|\bquarto\sd['’]ora\b",
    45: r"\bthree[\s-]quarters\sof\san\shour\b|\bdreiviertelstunde\b|\btrois\squarts\sd['’]heure\b"
    r"|\btres\scuartos\sde\shora\b|\btre\squarti\sd['’]ora\b",
}
PART_OF_AN_HOUR: Final = re.compile("|".join(f"(?P<m{minutes}>{text})" for minutes, text in PARTS_OF_AN_HOUR.items()))
"""Applies to text in lower case."""
HOUR_MARK: Final = re.compile(r"hour|stunde|heure|hora|['’]ora")
"""A text in lower case without this has no part of an hour."""
POINTED: Final = re.compile(
    r"(?P<lead>\b(?:at|um|until|till|à|alle|ore|las)\s)?(?P<hour>[01]?\d|2[0-3])\.(?P<minute>[0-5]\d)(?![\w%]|[.,]\d)"
    r"(?:\s?(?:(?P<am>a\.?m)|(?P<pm>p\.?m)|(?P<uhr>uhr))\b)?"
)
"""`at 8.05`, `8.05 a.m.`; applies to text in lower case."""
POINT: Final = re.compile(r"\d\.[0-5]\d")
"""A text without this has no time with a point."""
DAY: Final = 24 * 60
NOON: Final = 12


def read_spoken_times(text: str) -> list[Literal]:
    """Read every time of day that counts from an hour in words."""
    lowered = lower_case(text)
    if not MARK.search(lowered):
        return []
    found = [
        Literal("time", text[match.start() : match.end()], match.start(), _spoken_forms(match, minutes))
        for pattern, minutes in PATTERNS
        for match in pattern.finditer(lowered)
    ]
    return sorted(found, key=lambda literal: literal.start)


def minutes_in_words(plain: str) -> Iterator[str]:
    """Yield the form of the minutes of each part of an hour that a text names: `half an hour`."""
    lowered = lower_case(plain)
    if HOUR_MARK.search(lowered):
        yield from (f"n{str(match.lastgroup)[1:]}" for match in PART_OF_AN_HOUR.finditer(lowered))


def pointed_times(plain: str) -> dict[int, frozenset[str]]:
    """Return the forms of each time with a point between hours and minutes, by the position of its hour."""
    if not POINT.search(plain):
        return {}
    matches = POINTED.finditer(lower_case(plain))
    return {
        match.start("hour"): frozenset(_forms(match, int(match["hour"]), int(match["minute"])))
        for match in matches
        if match["lead"] or match["am"] or match["pm"] or match["uhr"]
    }


def _spoken_forms(match: re.Match[str], minutes: int) -> frozenset[str]:
    return frozenset(_forms(match, NUMBERS.get(match["hour"], 0) or int(match["hour"]), minutes))


def _forms(match: re.Match[str], hour: int, minutes: int) -> Iterator[str]:
    """Yield both times of day that an hour up to noon can mean, or the one in its half of the day."""
    is_either = hour <= NOON and not (match["am"] or match["pm"])
    for half in (0, NOON):
        if hour > NOON or is_either or bool(match["pm"]) is bool(half):
            total = ((hour if hour > NOON else hour % NOON + half) * 60 + minutes) % DAY
            yield f"t{total // 60}:{total % 60:02d}"
