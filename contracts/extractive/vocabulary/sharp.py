"""Kinds of answer with a form of their own: a day, a direction, a quantity with its unit (R4-9).

A sentence without the form is no answer: `On which day is it tested?` is not answered by `every week`.
If not all members of a kind can be listed (colours, directions, sizes), the form only
scores a sentence and refuses none.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from sourcebound.contracts.extractive.patterns import (
    ENDS,
    MONTH,
    NUMBER,
    NUMBER_WORD,
    TIME_UNIT,
    one_of,
    pattern,
)
from sourcebound.contracts.extractive.question import Asked
from sourcebound.contracts.text.questions import UNIT
from sourcebound.contracts.validation.support.words import read_words

WHICH: Final = r"\b(?:what|which) "
MODIFIERS: Final = (
    r"(?:(?!(?:after|at|because|before|by|for|if|in|of|on|that|to|when|which|while|with)\b)[\w/.'-]+ ){0,6}?"
)
"""What stands before a noun in its own phrase: `what is the highest permitted` temperature."""
ORDINAL: Final = r"(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|last|final)"
DAY: Final = (
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?-i:Mon|Tues?|Wed|Thurs?|Thu|Fri|Sat|Sun)\b"
    r"|\b(?:week|work|every |each |any |holi)days?\b|\bweekends?\b|\bdaily\b|\b(?:yester|to)day\b"
    rf"|\btomorrow\b|\bdays? (?:\d|{NUMBER_WORD}\b)|\b{ORDINAL} (?:\w+ )?days?\b|\b\d{{1,2}}(?:st|nd|rd|th)\b"
)
DATE: Final = rf"\b{MONTH}\b|\b\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}}\b|\b\d{{1,2}}(?:st|nd|rd|th)\b"
YEAR: Final = (
    rf"\b\d{{3,4}}(?:s|ad|bc)?\b|\byears? (?:\d|{NUMBER_WORD}\b)|\b{ORDINAL} year\b|\b(?:every|each|all) years?\b"
)
ONE_TIME: Final = re.compile(r"\bfor the (?:first|second|third|next|last) time\b|\binitially\b", re.IGNORECASE)
ONCE: Final = pattern(
    rf"(?P<other>\b(?:every|each|per) {NUMBER}\s(?:\w+\s)?{TIME_UNIT}\b)",
    rf"\b(?:{NUMBER}|an?)[\s-](?:\w+\s)?{TIME_UNIT}\b",
    r"\bfrom\b.{1,20}\bto\b|\buntil\b|\bsince\b",
)
"""A time that is not the interval of a repetition, for what happens at one time."""
SEASON: Final = r"\b(?:spring|summer|autumn|winter|monthly|(?:every|each|all) months?)\b"
LENGTHS: Final = (
    '[kcdmµn]?m (?:kilo|centi|milli|micro)?met(?:er|re)s? microns? miles? feet foot ft inch(?:es)? in yards? " '
    "char(?:acter)?s? columns? letters? digits? words? lines? bits? bytes? octets? pixels? px points? pt"
)
UNITS: Final = tuple(
    (
        pattern(
            rf"{WHICH}{MODIFIERS}(?P<asked>{one_of(nouns)})(?: of\b|{ENDS})",
            *([rf"\b{one_of(otherwise)}\b"] if otherwise else ()),
        ),
        pattern(
            rf"\d[\s-]?{one_of(units)}(?!\w)",
            rf"\b(?:{NUMBER_WORD}|an?|half an?|several)[\s-](?=\w{{3}}){one_of(units)}(?!\w)",
            rf"[(\[]{one_of(units)}[)\]]:\s?\d",
            *([rf"\b{one_of(named)}\b"] if named else ()),
        ),
    )
    for nouns, otherwise, units, named in (
        (
            "torques?",
            "",
            r"n[·\s.-]?m newton[\s-]?met(?:er|re)s? (?:ft|in)[·\s.-]?lbs? lbf?[·\s.-]?(?:ft|in) kgf?[·\s.-]?c?m turns?",
            r"(?:hand|finger)[\s-]tight",
        ),
        (
            "temperatures?",
            "how_(?:hot|cold|warm)",
            r"°(?:\s?[cfk])? degrees? k kelvin c f",
            "(?:room|ambient|body|boiling|freezing)_(?:temperature|point)",
        ),
        (
            "pressures?",
            "",
            r"(?:m?bar|[mkh]?pa|psi[ag]?|atm|torr|mmhg|inhg|atmospheres?|(?:kilo|mega)?pascals?)"
            r"(?:\s?\(?[ga]\)?)? n/mm²",
            "atmospheric",
        ),
        ("voltages?", "", r"[mkµ]?v(?:olts?)?(?:\s?[ad]c)? (?:kilo|milli)?volts?", "mains_voltage"),
        (
            "speeds?",
            "how_fast",
            r"rpm mph knots? [kmgt]?bits?/s [kmgt]?bps [kmgt]b(?:/s|ps)? hz % fps "
            r"[a-zµ.]{1,20}(?:/|_per_)(?:s|min|h|second|minute|hour|day) "
            "(?:s|sec|min|h)(?:-1|⁻¹) 1/(?:s|min)",
            r"(?:full|half|low|high|slow|top|variable|constant|walking)[\s-](?:speed|pace) "
            r"(?:speed|setting|stage|gear|level)_\d+",
        ),
        (
            "weights? mass",
            "how_heavy weighs?",
            r"[kmµ]?g (?:kilo|milli|micro)?gram(?:me)?s? kilos? lbs? pounds? ton(?:ne)?s? oz ounces? t stones?",
            "",
        ),
        ("areas?", "", r"[kcm]?m(?:²|2) sq(?:\.|uare)?_\w+ sqm sqft ft(?:²|2) acres? hectares? ha", ""),
        (
            "volumes?",
            "",
            "[mcdµ]?l (?:milli|centi|micro)?lit(?:er|re)s? gallons? [cmd]?m(?:³|3) cubic cc ft(?:³|3) pints? barrels? "
            "cups? "
            "db(?:\\(a\\))? decibels? %",
            "",
        ),
        ("heights? depths? widths? lengths? distances? thickness", "how_(?:tall|deep|wide|thick)", LENGTHS, ""),
        ("diameters?", "", LENGTHS, r"(?:dn|nps|m|ø)\s?\d+"),
    )
)
"""What a question asks to be measured, with its units: `80 °C`, or `Torque (Nm): 45` in a row."""
SIDE: Final = one_of(
    "(?:anti|counter)?-?clockwise left right up(?:wards?)? down(?:wards?)? inwards? outwards? towards? away "
    "forwards? back(?:wards?)? revers(?:e|ed) sideways vertical(?:ly)? horizontal(?:ly)? "
    "(?:north|south)(?:ern|wards?)? (?:north|south)?-?(?:east|west)(?:ern|wards?)?"
)
COLOUR: Final = one_of(
    "red(?:dish)? orange yellow(?:ish)? green(?:ish)? blue(?:ish)? purple violet pink brown(?:ish)? black white grey "
    r"gray silver gold(?:en)? beige turquoise cyan magenta amber colou?rless clear transparent ral\s?\d{4}"
)
SIZE_ASKED: Final = (
    WHICH + rf"sizes?{ENDS}",
    WHICH + r"sizes? of\b",
    r"\bwhat (?:is|are) the sizes? of\b",
    r"\bhow (?:big|large)\b",
)
SIZE: Final = (
    rf"\d\s?(?:{UNIT})(?!\w)",
    r"\b(?:DN|PN|M|G) ?\d",
    r"\d ?[x×] ?\d",
    r"\bsizes? \w|\b(?-i:X{0,3}[SL]|XXS)\b|\b(?:small|medium|large|huge|tiny)\b",
    rf"(?<![\w-]){NUMBER}\b(?!\s{TIME_UNIT})",
)
"""A number that is no time: `DN 25`, `M12`, `30 x 40`; or a name: `XL`."""
NUMBERED: Final = one_of("serial part order article model batch licen[cs]e invoice")
TOKEN: Final = r"(?<![\w/-])(?=[\w/-]{0,20}\d)(?-i:[A-Z\d])[\w/-]{2,40}+"
"""A number of a thing, with letters or without. It is read whole, so that no part of it is taken for one."""
NUMBER_OF: Final = pattern(
    rf"(?P<other>{TOKEN} (?:to|or|through|until) {TOKEN}"
    rf"|\b(?:begin|start|end)s? with (?:the )?(?:\w+ )?{TOKEN})",
    TOKEN,
    rf"\b(?:{NUMBERED}|numbers?|no\.|code)(?: (?:is|was|are|were)|:)? #?\d++",
    r"(?:\b(?:is|was|are|were)|:) #?\d++(?![,.]?\d|\s?[\w%°])",
)
FORMS: Final = (
    (pattern(WHICH + rf"(?:week)?days?{ENDS}"), pattern(DAY, DATE), True),
    (
        pattern(rf"{WHICH}(?:\w+ ){{0,2}}environment variables?\b"),
        pattern(r"(?-i:\b[A-Za-z]\w*_\w+\b|\b[A-Z]{2,}\b)|`\$?\w+`|\$\w+"),
        True,
    ),
    (pattern(WHICH + rf"years?{ENDS}"), pattern(YEAR), True),
    (pattern(WHICH + rf"months?{ENDS}"), pattern(rf"\b{MONTH}\b", DATE, SEASON), True),
    (
        pattern(WHICH + rf"dates?{ENDS}"),
        pattern(
            DATE,
            YEAR,
            rf"\b{NUMBER}\s(?:\w+\s){{0,2}}?{TIME_UNIT}\s(?:after|before|from|of|prior)\b",
            r"\b(?:end|beginning|start) of\b",
        ),
        True,
    ),
    (
        pattern(rf"{WHICH}percent"),
        pattern("%", r"\bper ?cent", r"\b(?:half|third|quarter|majority|minority|none|most|all)\b"),
        True,
    ),
    (
        pattern(WHICH + rf"(?:proportion|fraction)(?: of\b|{ENDS})"),
        pattern("%", r"\bper ?cent", rf"\b{NUMBER}\b", r"\b(?:majority|minority|none|most|all)\b"),
        True,
    ),
    (
        pattern(r"\bhow (?:soon|quickly|early)\b|\bhow far (?:ahead|in advance|before)\b"),
        pattern(
            rf"\bwithin\b|\blater than\b|\b{NUMBER}\s(?:\w+\s){{0,2}}?{TIME_UNIT}\b|\b(?:same|next|following) day\b",
            r"\bimmediately\b|\bpromptly\b|\bat once\b|\bas soon as\b|\bwithout delay\b|\bin advance\b",
        ),
        True,
    ),
    (pattern(WHICH + rf"colou?rs?{ENDS}"), pattern(rf"\b{COLOUR}\b"), False),
    (
        pattern(WHICH + rf"directions?{ENDS}"),
        pattern(rf"(?P<other>\b(?:never|not|without) (?:\w+ ){{0,3}}?{SIDE}\b)", rf"\b{SIDE}\b"),
        False,
    ),
    (pattern(*SIZE_ASKED), pattern(*SIZE), False),
    (
        pattern(
            rf"\b(?:(?:what|which) (?:is|are|was|were)|tell|give|know) (?:[\w'-]+ ){{0,4}}?"
            rf"(?P<asked>{NUMBERED} (?:number|code))\b"
        ),
        NUMBER_OF,
        True,
    ),
)
"""What asks for a form, the form, and whether a sentence without it is refused.

A range (`OP-01 to OP-99`) and a beginning are no number of a thing. A direction that is denied is not the direction.
"""


class Sharp(NamedTuple):
    """The form that a question asks for."""

    said: re.Pattern[str]
    """A match of its group `other` looks alike and does not count."""
    stems: frozenset[str]
    """The words that ask for it. A sentence with the form need not have them: `80 °C` is a temperature."""
    is_closed: bool
    """Whether the form has all members of the kind, so that a sentence without it is refused."""


@lru_cache(maxsize=64)
def read_sharp(text: str, asked: Asked) -> Sharp | None:
    """Return the form that a question asks for.

    Args:
        text: The question.
        asked: The kind that it asks for.

    Returns:
        None if its answer has no form of its own.
    """
    if asked is Asked.DURATION and ONE_TIME.search(text):
        return Sharp(ONCE, frozenset(), is_closed=True)
    measures = tuple((asking, said, True) for asking, said in UNITS) if asked is Asked.MEASURE else ()
    for asking, said, is_closed in (*FORMS, *measures):
        if match := asking.search(text):
            name = match.groupdict().get("asked") or match[0]
            return Sharp(said, frozenset(word.stem for word in read_words(name) if word.weight), is_closed)
    return None
