"""Days of the week, months and adverbs of frequency as literals: `on Monday`, `in March`, `weekly` (R5-8).

An adverb of frequency is checked only against a text that names another frequency, because writers otherwise use it
freely ("daily life"). A day is supported by a text that lists at least three of them, as opening hours do.
"""

import re
from collections.abc import Iterable, Iterator, Set
from typing import Final

from sourcebound.contracts.validation.literals.literal import OCCASIONAL, WORD, Literal
from sourcebound.contracts.validation.literals.times.dates import fold_case, month_of

Form = tuple[str, str | None]

DAY_NAMES: Final = (
    "mondays? mon montags? lundis? lunes lunedì",
    "tuesdays? tues? dienstags? mardis? martes martedì",
    "wednesdays? wed mittwochs? mercredis? miércoles mercoledì",
    "thursdays? thurs? thu donnerstags? jeudis? jueves giovedì",
    "fridays? fri freitags? vendredis? viernes venerdì",
    "saturdays? sat samstags? samedis? sábados? sabato",
    "sundays? sun sonntags? dimanches? domingos? domenica",
)
DAY: Final = re.compile(
    r"(?<!\w)(?:"
    + "|".join(f"(?P<d{number}>{names.replace(' ', '|')})" for number, names in enumerate(DAY_NAMES, start=1))
    + r")(?!\w)",
    re.IGNORECASE,
)
DAY_WORDS: Final = frozenset(
    word for name in " ".join(DAY_NAMES).split() for word in (name.removesuffix("s?"), name.replace("?", ""))
)
SHORT: Final = frozenset("mon tue tues wed thu thur thurs fri sat sun".split())
"""Short names, which count in a source only, because `sun` and `sat` are words too."""
LISTED_DAYS: Final = 3
MOST_DAYS: Final = 5
"""The days of the week that a source must name to support `daily`."""
AMBIGUOUS_MONTHS: Final = frozenset("may march mai".split())
"""Names of months that are words too; they count after a preposition or at a dash only."""
MONTHS: Final = frozenset(
    "january february march april may june july august september october november december "
    "januar februar märz mai juni juli oktober dezember janvier février avril juin juillet août septembre octobre "
    "novembre décembre enero febrero marzo abril junio julio agosto septiembre octubre noviembre diciembre "
    "gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre".split()
)
"""The full names. `mars` and `mayo` are left out, because they name a planet and a sauce too."""
MONTH: Final = re.compile(
    r"(?:(?P<before>\b(?:in|of|since|until|till|by|during|from|to|through|early|late|mid|every|each|im|en|à|de|a)[\s-]"
    r"|(?<=[^\W\d_])\s?[–—]\s?))?"
    rf"(?<!\w)(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})(?!\w)(?P<after>(?=\s?[–—]\s?[A-Z]))?",
    re.IGNORECASE,
)
MONTH_FORM: Final = re.compile(r"d\d*-(\d+)-\d*")
ISO_MONTH: Final = re.compile(r"(?<!\d)\d{4}[-/](0?[1-9]|1[0-2])(?!\d)")
ISO_MONTH_MARK: Final = re.compile(r"\d[-/]\d")
"""A text without this has no such month."""
FREQUENCIES: Final = {
    word: time
    for time, words in {
        "hour": "hourly stündlich",
        "day": "daily täglich quotidiennement diariamente quotidianamente giornalmente dagelijks",
        "week": "weekly wöchentlich semanalmente settimanalmente wekelijks",
        "fortnight": "fortnightly",
        "month": "monthly monatlich mensuellement mensualmente mensilmente maandelijks mensalmente",
        "quarter": "quarterly vierteljährlich quartalsweise trimestralmente",
        "year": "yearly annually jährlich annuellement anualmente annualmente jaarlijks",
    }.items()
    for word in words.split()
}
FREQUENCY: Final = re.compile(rf"(?<![\w-])(?:{'|'.join(FREQUENCIES)})(?![\w-])", re.IGNORECASE)
NOUNS: Final = {
    noun: time
    for time, nouns in {
        "hour": "hour stunde heure hora ora uur",
        "day": "day tag jour día giorno dag dia",
        "week": "week woche semaine semana settimana",
        "fortnight": "fortnight",
        "month": "month monat mois mes mese maand mês",
        "quarter": "quarter quartal vierteljahr trimestre kwartaal",
        "year": "year jahr année an año anno jaar ano",
    }.items()
    for noun in nouns.split()
}
NOUN: Final = rf"(?P<time>{'|'.join(NOUNS)})"
EACH: Final = re.compile(
    rf"\b(?:every|each|jede[nrms]?|chaque|cada|ogni|elke?|iedere?)\s{NOUN}(?![\w-])(?!\s(?:and|or)\b)", re.IGNORECASE
)
"""A frequency of a statement: `each month`, but not `every day and night`."""
COUNTED: Final = re.compile(
    r"\b(?:once|twice|thrice|times|(?:ein|zwei|drei|vier)mal|mal|fois|vez|veces|volt[ae]|keer|vezes)\s"
    rf"(?P<rate>(?:an?|per|each|every|pro|im|am|in\sder|par|al|a\sla|por|all[ao])\s{NOUN}(?![\w-]))",
    re.IGNORECASE,
)
"""The same after a number of times: `once a week`."""
RATE: Final = re.compile(
    r"\b(?:per|every|each|an?|\d+|two|three|six|jede[nrms]?|alle|pro|je|chaque|par|tous\sles|toutes\sles|cada|al|por|ogni"
    rf"|elke?|iedere?)\s{NOUN}(?:s|n|e|en)?\b",
    re.IGNORECASE,
)
RATE_WORDS: Final = frozenset(form for noun in NOUNS for form in (noun, *(noun + end for end in ("s", "n", "e", "en"))))
MEANT: Final = {
    "hour": re.compile(r"\bhour|\b60\smin|stünd|\bstunde|\bheure|\bhora|\bor[ae]\b|\buur"),
    "day": re.compile(
        r"\bda(?:ys?|ily)\b|\b24\s?h|\b(?:night|morning|evening)|täglich|\btage?n?s?\b|\bjour|quotidi|\bdías?\b|\bdiari|giorn"
        r"|\bdag(?:en)?\b|\bdias?\b|\bmonday (?:to|through) sunday|\bmontag bis sonntag|\blundi au dimanche"
    ),
    "week": re.compile(r"\bweek|\b(?:7|seven) days|wöchent|\bwoche|semai?n|hebdo|settiman|\bwekel"),
    "fortnight": re.compile(r"\bfortnight|\b(?:two|2) weeks|\b14 days|biweekly|bi-weekly|\b(?:zwei|2) wochen"),
    "month": re.compile(r"\bmonth|\b30 days|monat|\bmois|mensu|\bmes(?:es)?\b|\bmes[ei]\b|mensil|maand|\bmês|mensa"),
    "quarter": re.compile(r"\bquarter|\b(?:three|3) months|quartal|vierteljähr|trimest|kwarta"),
    "year": re.compile(
        r"\byear|annu|\b(?:12|twelve) months|jähr|\bjahr|\bann(?:ée|[io]\b)|\bans?\b|\baños?\b|\banua|\bjaar|\banos?\b"
    ),
}
"""What in a source means each frequency."""


def read_named_times(text: str) -> list[Literal]:
    """Read every day of the week, month without a day or year, and adverb of frequency of a text without dates."""
    words = frozenset(WORD.findall(text.casefold()))
    literals = [
        Literal("date", match[0], match.start(), frozenset([f"w{str(match.lastgroup)[1:]}"]))
        for match in _find(DAY, text, words, DAY_WORDS)
        if match[0].casefold() not in SHORT
    ]
    literals += [
        Literal("date", match["month"], match.start("month"), frozenset([f"m{month_of(match['month'])}"]))
        for match in _find(MONTH, text, words, MONTHS)
        if match["month"].casefold() not in AMBIGUOUS_MONTHS
        or ((match["before"] or match["after"] is not None) and match["month"][0].isupper())
    ]
    literals += [
        Literal(
            "date",
            match[0],
            match.start(),
            frozenset([f"f{FREQUENCIES[fold_case(match[0])]}"]),
            OCCASIONAL,
        )
        for match in _find(FREQUENCY, text, words, FREQUENCIES.keys())
    ]
    literals += [
        Literal(
            "date", match[group], match.start(group), frozenset([f"f{NOUNS[fold_case(match['time'])]}"]), OCCASIONAL
        )
        for pattern, group in ((EACH, 0), (COUNTED, "rate"))
        for match in _find(pattern, text, words, NOUNS.keys())
    ]
    return sorted(literals, key=lambda literal: literal.start)


def named_time_forms(text: str, literals: Iterable[Literal]) -> Iterator[Form]:
    """Yield the days, months and frequencies that a source names in any form."""
    lowered = fold_case(text)
    words = frozenset(WORD.findall(lowered))
    days = {str(match.lastgroup)[1:] for match in _find(DAY, text, words, DAY_WORDS)}
    yield from ((f"w{day}", None) for day in (days if len(days) < LISTED_DAYS else "1234567"))
    for literal in literals:
        yield from ((f"m{match[1]}", None) for form in literal.forms if (match := MONTH_FORM.fullmatch(form)))
    if ISO_MONTH_MARK.search(text):
        yield from ((f"m{int(match[1])}", None) for match in ISO_MONTH.finditer(text))
    named = {FREQUENCIES[match[0]] for match in _find(FREQUENCY, lowered, words, FREQUENCIES.keys())}
    named |= {match["time"] for match in _find(RATE, lowered, words, RATE_WORDS)}
    if len(days) >= MOST_DAYS:
        yield "fday", None
    if named:
        yield "f", None
        yield from ((f"f{name}", None) for name, pattern in MEANT.items() if pattern.search(lowered))


def _find(pattern: re.Pattern[str], text: str, words: Set[str], needed: Set[str]) -> Iterable[re.Match[str]]:
    """Return the matches of a pattern, each of which needs a word; a text without any is not searched."""
    return () if needed.isdisjoint(words) else pattern.finditer(text)
