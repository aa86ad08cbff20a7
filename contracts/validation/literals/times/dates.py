"""Dates and times of day as literals, in one normal form each (R5-8)."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from sourcebound.contracts.validation.literals.literal import Literal
from sourcebound.contracts.validation.versions import SECOND

MONTH_NAMES: Final = (
    "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
    "september sept sep", "october oct", "november nov", "december dec",
)  # fmt: skip
MONTHS: Final = {name: number for number, names in enumerate(MONTH_NAMES, start=1) for name in names.split()}
FOREIGN_MONTH_NAMES: Final = (
    "januar janvier enero gennaio janeiro januari", "februar février fevrier febrero febbraio fevereiro februari",
    "märz maerz mars marzo março marco maart", "avril abril aprile", "mai mayo maggio maio mei",
    "juni juin junio giugno junho", "juli juillet julio luglio julho", "août aout agosto augustus",
    "septembre septiembre setiembre settembre setembro", "oktober octobre octubre ottobre outubro",
    "novembre noviembre novembro", "dezember décembre decembre diciembre dicembre dezembro",
)  # fmt: skip
"""The months in German, French, Spanish, Italian, Portuguese and Dutch, as far as English spells them otherwise."""
ALL_MONTHS: Final = MONTHS | {
    name: number for number, names in enumerate(FOREIGN_MONTH_NAMES, start=1) for name in names.split()
}
MONTH: Final = rf"(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b\.?"
ENDING: Final = r"(?:st|nd|rd|th)?"
SEPARATED: Final = re.compile(r"\d[-/.]\d")
DIGITS_DATE: Final = re.compile(
    r"\b(?:(?P<iso>\d{4}[-/.]\d{1,2}[-/.]\d{1,2})|(?P<numeric>\d{1,2}[/.-]\d{1,2}[/.-](?:\d{4}|\d{2})))(?!\w)"
)
ONE_MARK_DATE: Final = re.compile(
    r"\b(?:(?P<iso>\d{4}(?P<mark>[-/.])\d{1,2}(?P=mark)\d{1,2})"
    r"|(?P<numeric>\d{1,2}(?P<other>[/.-])\d{1,2}(?P=other)(?:\d{4}|\d{2})))(?!\w)"
)
"""The same with one mark throughout, since the second version: `1.17-4.69` is a range."""
MONTH_DATE: Final = re.compile(
    rf"\b(?:(?P<day_first>\d{{1,2}}){ENDING}\s+(?:of\s+)?)?{MONTH}"
    rf"(?:\s+(?P<day>\d{{1,2}}){ENDING}\b(?!\d|:))?(?:,?\s+(?:of\s+)?(?P<year>\d{{4}}))?(?!\w)",
    re.IGNORECASE,
)
ANY_MONTH: Final = rf"(?P<month>{'|'.join(sorted(ALL_MONTHS, key=len, reverse=True))})\b\.?"
DAY_ENDING: Final = r"(?:st|nd|rd|th|er|ère|°|o|\.)?"
UP_TO: Final = (
    r"(?:\s?[-–—/]\s?|\s(?:to|and|or|through|until|bis(?:\s(?:zum|einschließlich))?|und|jusqu'au|jusqu’au|au|et|hasta\sel|al"
    r"|fino\sal|y|e|tot(?:\sen\smet)?|t/m|até)\s)"
)
NO_DAY: Final = r"\s?(?:[%°€£$]|(?:euros?|eur|chf|percent|per\scent|prozent)\b)"
"""What follows a number after a month that is not its day: `in juli 29 euro`."""
ANY_MONTH_DATE: Final = re.compile(
    rf"\b(?:(?<![^\W\d_]-)(?<!\d[.,])(?:(?P<from_day>\d{{1,2}}){DAY_ENDING}{UP_TO})?(?P<day_first>\d{{1,2}}){DAY_ENDING}\s+(?:(?:of|de|di)\s+)?)?"
    rf"{ANY_MONTH}(?:\s+(?P<day>\d{{1,2}}){ENDING}\b(?!\d|:|[.,]\d|{NO_DAY})"
    rf"(?:{UP_TO}(?P<to_day>\d{{1,2}}){ENDING}\b(?!\d|:|\s?[%°$€£]|[.,]\d)(?=\s?(?:,|\)|\d{{4}}|$)))?)?"
    rf"(?:\s?,?\s+(?:(?:of|de|del|do)\s+)?(?P<year>\d{{4}}))?(?!\w)",
    re.IGNORECASE,
)
"""A date with its month in words, and the other end of a range of days in one month: `20–21 October`."""
YEAR: Final = re.compile(r"(?:d(?=\d{4}-)|n(?=\d{4}$))((?:19|20)\d\d)")
"""The year of a date, or a number that may be one."""
VERB: Final = re.compile(
    r"\s(?:also|not|never|still|well|be|have|affect|cause|contain|differ|help|include|lead|need|require|vary)\b"
)
"""What follows `may` where it is a verb: `type 2 may cause`."""
TIME: Final = re.compile(
    r"(?<![\w:.])(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{2}))?)?\s?(?P<half>[ap]\.?\s?m\b\.?)?(?!\w|:\d)",
    re.IGNORECASE,
)
DATE_IN_CODE: Final = re.compile(r"\bdate(?:time)?\(\s?((?:19|20)\d\d),\s?(1[0-2]|0?[1-9]),\s?(\d{1,2})(?=[,)\s])")
"""A date as code writes it: `datetime(2024, 2, 29, 0, 0)`."""


def read_dates(text: str, version: int = SECOND) -> list[Literal]:
    """Read every date in digits. An ambiguous date (`03/04/2024`) has both forms."""
    if not SEPARATED.search(text):
        return []
    pattern = ONE_MARK_DATE if version >= SECOND else DIGITS_DATE
    return _with_forms(Literal("date", m[0], m.start(), _numeric_forms(m)) for m in pattern.finditer(text))


def read_month_dates(text: str) -> list[Literal]:
    """Read every date that names its month in English and has a day or a year."""
    return _with_forms(Literal("date", m[0], m.start(), _month_forms(m)) for m in MONTH_DATE.finditer(text))


def read_any_month_dates(text: str) -> list[Literal]:
    """Read every date that names its month in one of the known languages and has a day or a year."""
    return _with_forms(literal for match in ANY_MONTH_DATE.finditer(text) for literal in _days_of(match))


def _days_of(match: re.Match[str]) -> Iterator[Literal]:
    """Yield the date of a match, and before or after it the other end of its range of days."""
    if match["month"] == "may" and match["day_first"] and VERB.match(match.string, match.end()):
        return
    year, month = match["year"] or "", month_of(match["month"])
    start, end = match.span()
    if match["from_day"]:
        start = match.start("day_first")
        form = frozenset([f"d{year}-{month}-{int(match['from_day'])}"])
        yield Literal("date", match["from_day"], match.start("from_day"), form)
    if match["to_day"]:
        end = match.end("day")
    yield Literal("date", match.string[start:end], start, _month_forms(match))
    if match["to_day"]:
        form = frozenset([f"d{year}-{month}-{int(match['to_day'])}"])
        yield Literal("date", match.string[match.start("to_day") : match.end()], match.start("to_day"), form)


def fold_case(text: str) -> str:
    """Return a text without case. The Turkish ı and İ become an i, for which a pattern without case takes them."""
    return text.casefold().replace("ı", "i").replace("\u0307", "")


def month_of(name: str) -> int:
    """Return the number of a month, from 1, by a name that a pattern has matched."""
    return ALL_MONTHS[fold_case(name)]


def _with_forms(literals: Iterable[Literal]) -> list[Literal]:
    return [literal for literal in literals if literal.forms]


def date_parts(form: str) -> set[str]:
    """Return the forms that a chunk's date also supports: day and month, month and year, year."""
    year, month, day = form[1:].split("-")
    return {f"d-{month}-{day}", f"d{year}-{month}-", f"n{year}"}


def dated_forms(text: str, literals: Iterable[Literal]) -> Iterator[tuple[str, None]]:
    """Yield the days that a source has in code, and those without a year, if it names one year alone: `until 30 April`.

    Args:
        text: The plain text of the source.
        literals: Its literals.
    """
    for call in DATE_IN_CODE.finditer(text):
        year, month, day = map(int, call.groups())
        yield from ((form, None) for form in (f"d{year}-{month}-{day}", *date_parts(f"d{year}-{month}-{day}")))
    forms = [form for literal in literals if literal.unit is None for form in literal.forms]
    years = {match[1] for form in forms if (match := YEAR.match(form))}
    if len(years) == 1:
        yield from ((f"d{year}{form[1:]}", None) for year in years for form in forms if form.startswith("d-"))


def read_times(text: str) -> list[Literal]:
    """Read every time of day. Without am or pm it has both forms, unless the text uses the 24-hour clock.

    An hour above twelve with am or pm is not a time of day and is compared as written.
    """
    times = []
    hours: set[int] | set[str]
    matches = list(TIME.finditer(text))
    is_24_hour = any(match["minute"] and int(match["hour"]) > 12 for match in matches)
    for match in matches:
        if not (match["minute"] or match["half"]):
            continue
        hour, half = int(match["hour"]), re.sub(r"[.\s]", "", match["half"] or "").casefold()
        if hour > 24:
            continue
        minute = (match["minute"] or "00").zfill(2)
        if half and hour > 12:
            hours = {f"{hour}{half}"}
        elif half:
            hours = {hour % 12 + (12 if half == "pm" else 0)}
        elif is_24_hour or hour > 12 or match["hour"].startswith("0"):
            hours = {hour % 24}
        else:
            hours = {hour % 24, (hour + 12) % 24}
        times.append(Literal("time", match[0].strip(), match.start(), frozenset(f"t{h}:{minute}" for h in hours)))
    return times


def _numeric_forms(match: re.Match[str]) -> frozenset[str]:
    if match["iso"]:
        year, month, day = (int(part) for part in re.split(r"\D", match["iso"]))
        return frozenset([f"d{year}-{month}-{day}"])
    first, second, year = (int(part) for part in re.split(r"\D", match["numeric"]))
    year += 0 if year > 99 else 2000 if year < 50 else 1900
    pairs = [(first, second), (second, first)]
    return frozenset(f"d{year}-{month}-{day}" for month, day in pairs if 1 <= month <= 12 and 1 <= day <= 31)


def _month_forms(match: re.Match[str]) -> frozenset[str]:
    day_text, year_text = match["day_first"] or match["day"], match["year"]
    if not day_text and not year_text:
        return frozenset()
    return frozenset([f"d{year_text or ''}-{month_of(match['month'])}-{int(day_text) if day_text else ''}"])
