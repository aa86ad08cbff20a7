"""Kinds of answer with a form of their own: a day, a direction, a quantity with its unit (R4-9).

A sentence without the form is no answer: `On which day is it tested?` is not answered by `every week`.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from sourcebound.contracts.extractive.patterns import MONTH, NUMBER, TIME_UNIT, one_of, pattern
from sourcebound.contracts.extractive.question import Asked
from sourcebound.contracts.text.questions import UNIT
from sourcebound.contracts.validation.support.words import read_words

WHICH: Final = r"\b(?:what|which) "
DAY: Final = r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
DATE: Final = rf"\b{MONTH}\b|\b\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}}\b"
YEAR: Final = r"\b\d{3,4}(?:s|ad|bc)?\b"
LENGTHS: Final = '[kcmµn]?m (?:kilo|centi|milli)?met(?:er|re)s? miles? feet foot ft inch(?:es)? in yards? "'
FIRST: Final = re.compile(r"\bfirst time\b", re.IGNORECASE)
ONCE: Final = pattern(rf"(?<!every )(?<![\d,.]){NUMBER}\s(?:\w+\s)?{TIME_UNIT}\b")
"""A time that is not the interval of a repetition."""
UNITS: Final = tuple(
    (pattern(rf"\b{one_of(asked)}\b"), pattern(rf"\d\s?{one_of(units)}(?!\w)", rf"[(\[]{one_of(units)}[)\]]:\s?\d"))
    for asked, units in (
        ("torques?", r"n[·\s.-]?m newton[\s-]met(?:er|re)s? (?:ft|in)[·\s.-]?lbs? lbf?[·\s.-]?(?:ft|in)"),
        ("temperatures? hot cold warm", r"°(?:\s?[cfk])? degrees? k kelvin c f"),
        ("pressures?", r"(?:m?bar|[mkh]?pa|psi[ag]?|atm|torr|mmhg)(?:\(g\))?"),
        ("voltages?", r"[mkµ]?v(?:olts?)?(?:\s?[ad]c)?"),
        ("speeds? fast", r"rpm [mk]?m/s km/h mph knots? [kmgt]?bits?/s [kmgt]?bps [kmgt]b(?:/s|ps)? hz"),
        ("weighs? weights? mass heavy", "[kmµ]?g (?:kilo)?grams? lbs? pounds? ton(?:ne)?s? oz ounces? t"),
        ("areas?", r"[kcm]?m(?:²|2) sq(?:\.|uare)?_\w+ acres? hectares? ha"),
        ("volumes?", "[mcd]?l (?:milli)?lit(?:er|re)s? gallons? [cmd]?m³ m3 cubic pints?"),
        ("heights? tall depths? deep widths? wide lengths? distances? diameters? thick(?:ness)?", LENGTHS),
    )
)
"""What a question asks to be measured, with its units: `80 °C`, or `Torque (Nm): 45` in a row."""
SIDE: Final = one_of(
    "(?:anti|counter)?-?clockwise left right up(?:wards?)? down(?:wards?)? inwards? outwards? towards? away "
    "(?:north|south)(?:ern|wards?)? (?:north|south)?-?(?:east|west)(?:ern|wards?)?"
)
COLOUR: Final = one_of(
    "red(?:dish)? orange yellow(?:ish)? green(?:ish)? blue(?:ish)? purple violet pink brown(?:ish)? black white grey "
    "gray silver gold(?:en)? beige turquoise cyan magenta amber colou?rless clear transparent"
)
SIZE_ASKED: Final = (WHICH + r"sizes? (?:is|are|of)\b", r"\bwhat (?:is|are) the sizes? of\b", r"\bhow (?:big|large)\b")
SIZE: Final = (
    rf"\d\s?(?:{UNIT})(?!\w)",
    r"\b(?:DN|PN|M|G) ?\d",
    r"\d ?[x×] ?\d",
    rf"(?<![\w-]){NUMBER}\b(?!\s{TIME_UNIT})",
)
"""A number that is no time: `DN 25`, `M12`, `30 x 40`."""
NUMBERED: Final = one_of("serial part order article model batch licen[cs]e invoice")
FORMS: Final = (
    (pattern(WHICH + r"(?:week)?days?\b(?! of)"), pattern(DAY, DATE)),
    (pattern(WHICH + r"years?\b"), pattern(YEAR)),
    (pattern(WHICH + r"months?\b"), pattern(rf"\b{MONTH}\b")),
    (pattern(WHICH + r"dates?\b"), pattern(DATE, YEAR)),
    (pattern(WHICH + r"(?:percent\w*|proportion|fraction)\b"), pattern("%", r"\bper ?cent", rf"\b{NUMBER}\b")),
    (pattern(WHICH + r"colou?rs?\b"), pattern(rf"\b{COLOUR}\b")),
    (pattern(WHICH + r"direction\b"), pattern(rf"\b{SIDE}\b")),
    (
        pattern(r"\bhow (?:level|flat|straight|thick|tall|deep|wide)\b"),
        pattern(rf"\d\s?(?:°|%|degrees?|{one_of(LENGTHS)}(?!\w))"),
    ),
    (pattern(*SIZE_ASKED), pattern(*SIZE)),
    (
        pattern(
            rf"\b(?:(?:what|which) (?:is|are|was|were)|tell|give|know) (?:[\w'-]+ ){{0,4}}?{NUMBERED} (?:number|code)\b"
        ),
        re.compile(r"(?<!from )(?<!letters )\b(?=[\w-]{0,20}\d)[A-Z\d][\w/-]{2,}\b(?! (?:or|to)\b)"),
    ),
)
"""What asks for a form, and the form. A range (`from OP-01 to OP-99`) is no number of a thing."""


class Sharp(NamedTuple):
    """The form that a question asks for."""

    said: re.Pattern[str]
    stems: frozenset[str]
    """The words that ask for it. A sentence with the form need not have them: `80 °C` is a temperature."""


@lru_cache(maxsize=64)
def read_sharp(text: str, asked: Asked) -> Sharp | None:
    """Return the form that a question asks for.

    Args:
        text: The question.
        asked: The kind that it asks for.

    Returns:
        None if its answer has no form of its own.
    """
    if asked is Asked.DURATION and FIRST.search(text):
        return Sharp(ONCE, frozenset())
    forms = (*FORMS, *UNITS) if asked is Asked.MEASURE else FORMS
    for asking, said in forms:
        if match := asking.search(text):
            return Sharp(said, frozenset(word.stem for word in read_words(match[0]) if word.weight))
    return None
