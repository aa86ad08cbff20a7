"""Normal forms of literals: how a number, a date or an identifier is read off a text (R5-8).

Reading is symmetric: an answer and a chunk go through the same function, and a literal of the answer is supported when
the chunk has a literal, or plain words, of the same form.
"""

import re
import unicodedata
from decimal import Decimal, InvalidOperation
from typing import Final, NamedTuple

from sourcebound.contracts.units import UNITS

MONTHS: Final = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sept sep", "october oct", "november nov", "december dec"), start=1
    )
    for name in names.split()
}  # fmt: skip
MONTH: Final = r"(?P<month>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
NUMBER_WORDS: Final = {
    word: value
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
} | {
    word: 10 * value
    for value, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
}
SCALES: Final = {
    "hundred": 10**2, "thousand": 10**3, "k": 10**3, "million": 10**6, "mn": 10**6, "m": 10**6, "billion": 10**9,
    "bn": 10**9, "trillion": 10**12, "lakh": 10**5, "crore": 10**7,
}  # fmt: skip
CURRENCY: Final = r"(?:US\$|[$€£¥])"
NUMERAL: Final = r"\d{1,3}(?:[,\u00a0\u202f ’']\d{3})+(?:\.\d+)?(?!\d)|\d+(?:[.,]\d+)*|\.\d+"
NUMBER: Final = re.compile(
    rf"(?<![\w.])(?P<currency>{CURRENCY}\s?)?(?P<sign>(?<![\w)\]])(?<!\d\s)[-−+±])?(?P<numeral>{NUMERAL})"
    r"(?P<exponent>\s?[x×·*]\s?10\s?(?:\^|\*\*)?\s?[-−]?\d+|[eE][-−+]?\d+(?![\w]))?(?P<ordinal>(?:st|nd|rd|th)\b)?"
)
WORD_NUMBER: Final = re.compile(
    r"\b(?:"
    + "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))
    + r")(?:[\s-]+(?:"
    + "|".join([*NUMBER_WORDS, "hundred", "thousand", "million", "billion"])
    + r"))*\b",
    re.IGNORECASE,
)
SUFFIX: Final = re.compile(r"[\s-]?(?P<word>°\s?[CF]\b|[%℃℉$€£¥]|[A-Za-zµμ³²·⋅/.]+[A-Za-z³²0-9]|[A-Za-z])")
DATE: Final = re.compile(
    rf"\b(?:(?P<iso>\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}})|(?P<numeric>\d{{1,2}}[/.-]\d{{1,2}}[/.-](?:\d{{4}}|\d{{2}}))"
    rf"|(?:(?P<day_first>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?{MONTH}(?:\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d|:))?(?:,?\s+(?:of\s+)?(?P<year>\d{{4}}))?)(?!\w)",
    re.IGNORECASE,
)
TIME: Final = re.compile(
    r"(?<![\w:.])(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{2}))?)?\s?(?P<half>[ap]\.?\s?m\b\.?)?(?!\w|:\d)",
    re.IGNORECASE,
)
ADDRESS: Final = re.compile(r"\b(?:https?://|www\.)[^\s<>\"'\])}]+|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
IDENTIFIER: Final = re.compile(
    r"(?<![\w@/.])(?=[\w./-]*\d)(?=[\w./-]*[A-Za-z])[A-Za-z0-9]+(?:[-/._][A-Za-z0-9]+)*(?![\w])"
)
QUOTATION: Final = re.compile(r"[“\"„«]([^“”\"„«»\n]{3,400})[”\"“»]")
WORD: Final = re.compile(r"\w+")
MAX_EXPONENT_DIGITS: Final = 4
"""A power of ten that is written with more digits, its sign included, is not computed but compared as it is written."""
LIST_MARKER: Final = re.compile(r"^\s*(?:[-*+•]\s+)?(?:\(?\d{1,3}[.)]+|step\s+\d+:?)\s+", re.IGNORECASE)


class Literal(NamedTuple):
    """A literal of a text: its kind, its words, its normal forms (any of which supports it) and its unit."""

    kind: str
    text: str
    start: int
    forms: frozenset[str]
    unit: str | None = None


class Reading(NamedTuple):
    """All literals of a text, and its plain words for look-ups."""

    literals: tuple[Literal, ...]
    forms: dict[str, set[str | None]]
    """Normal forms, each with the units that it was seen with."""
    squeezed: str
    """Letters and digits of the text, words apart by one blank, case folded."""
    units: frozenset[str]

    def supports(self, literal: Literal) -> bool:
        """Whether this text holds `literal`, in any of its normal forms and with its unit."""
        if literal.kind == "quotation":
            return all(f" {form} " in f" {self.squeezed} " for form in literal.forms)
        seen = [self.forms[form] for form in literal.forms if form in self.forms]
        if not seen:
            return literal.kind in ("identifier", "address") and any(
                re.search(r"\b" + " ?".join(map(re.escape, form)) + r"\b", self.squeezed) for form in literal.forms
            )
        if literal.unit is None:
            return True
        return any(literal.unit in units or (None in units and literal.unit in self.units) for units in seen)


def read_literals(text: str) -> Reading:
    """Reads every literal off a text.

    Args:
        text: A segment without citations, or a chunk.

    Returns:
        The literals in order and the forms they support.
    """
    plain = unicodedata.normalize("NFKC", text.replace("−", "-").replace("*", "")).replace("’", "'")
    marker = LIST_MARKER.match(plain)
    masked = " " * marker.end() + plain[marker.end() :] if marker else plain
    literals: list[Literal] = []
    for reader in (_addresses, _quotations, _dates, _times, _identifiers, _numbers, _word_numbers):
        found = list(reader(masked))
        literals.extend(found)
        if reader is not _quotations:
            for literal in found:
                masked = (
                    masked[: literal.start] + "\x1f" * len(literal.text) + masked[literal.start + len(literal.text) :]
                )
    literals.sort(key=lambda literal: literal.start)
    forms: dict[str, set[str | None]] = {}
    for literal in literals:
        for form in literal.forms | _components(literal):
            forms.setdefault(form, set()).add(literal.unit)
    words = " ".join(WORD.findall(plain.casefold()))
    if " one " in f" {words} ":
        forms.setdefault("n1", set()).add(None)
    units = frozenset(UNITS[word] for word in re.findall(r"[°%$€£¥]?[\w·/³]*", plain.casefold()) if word in UNITS)
    return Reading(tuple(literals), forms, words, units)


def _addresses(text: str) -> list[Literal]:
    return [
        Literal("address", m[0].rstrip(".,;:"), m.start(), frozenset([re.sub(r"\W|_", "", m[0].casefold())]))
        for m in ADDRESS.finditer(text)
    ]


def _quotations(text: str) -> list[Literal]:
    found = []
    for match in QUOTATION.finditer(text):
        words = WORD.findall(match[1].casefold())
        if len(words) >= 3:
            found.append(Literal("quotation", match[0], match.start(), frozenset([" ".join(words)])))
    return found


def _dates(text: str) -> list[Literal]:
    found = []
    for match in DATE.finditer(text):
        forms = _date_forms(match)
        if forms:
            found.append(Literal("date", match[0], match.start(), forms))
    return found


def _date_forms(match: re.Match[str]) -> frozenset[str]:
    if match["iso"]:
        year, month, day = (int(part) for part in re.split(r"\D", match["iso"]))
        return frozenset([f"d{year}-{month}-{day}"])
    if match["numeric"]:
        first, second, year = (int(part) for part in re.split(r"\D", match["numeric"]))
        year += 0 if year > 99 else 2000 if year < 50 else 1900
        pairs = [(first, second), (second, first)]
        return frozenset(f"d{year}-{month}-{day}" for month, day in pairs if 1 <= month <= 12 and 1 <= day <= 31)
    day_text, year_text = match["day_first"] or match["day"], match["year"]
    if not day_text and not year_text:
        return frozenset()
    return frozenset([f"d{year_text or ''}-{MONTHS[match['month'].casefold()]}-{int(day_text) if day_text else ''}"])


def _components(literal: Literal) -> frozenset[str]:
    """What else a literal of a chunk vouches for: the parts of a date, the number inside an identifier."""
    parts: set[str] = set()
    if literal.kind == "date":
        for form in literal.forms:
            year, month, day = form[1:].split("-")
            parts |= {f"d-{month}-{day}", f"d{year}-{month}-", f"n{year}", f"n{day}"}
    elif literal.kind == "identifier":
        parts |= {f"n{number.lstrip('0') or '0'}" for number in re.findall(r"\d+", literal.text)}
        parts |= {f"v{version}" for version in re.findall(r"\d+(?:\.\d+){2,}", literal.text)}
    elif literal.kind == "time":
        parts |= {"n" + form[1:].split(":")[0] for form in literal.forms}
    return frozenset(parts)


def _times(text: str) -> list[Literal]:
    """Times of day; without am or pm both halves are read, unless the text writes times over twelve hours."""
    found = []
    by_twenty_four = any(int(match["hour"]) > 12 and match["minute"] for match in TIME.finditer(text))
    for match in TIME.finditer(text):
        hour, half = int(match["hour"]), (match["half"] or "").casefold().replace(".", "").replace(" ", "")
        if hour > 24 or not (match["minute"] or half):
            continue
        minute = (match["minute"] or "00").zfill(2)
        if half:
            hours = {hour % 12 + (12 if half == "pm" else 0)}
        else:
            hours = {hour % 24} if by_twenty_four or hour > 12 else {hour % 24, (hour + 12) % 24}
        found.append(Literal("time", match[0].strip(), match.start(), frozenset(f"t{h}:{minute}" for h in hours)))
    return found


def _identifiers(text: str) -> list[Literal]:
    found = []
    for match in IDENTIFIER.finditer(text):
        if not _is_measure(match[0]):
            form = re.sub(r"[\W_]", "", match[0].casefold())
            found.append(Literal("identifier", match[0], match.start(), frozenset([form])))
    return found


def _is_measure(token: str) -> bool:
    """Whether a token is a number with its unit or ending (`5kg`, `20th`, `1990s`, `24-hour`) and not a name."""
    match = re.fullmatch(r"\d+(?:[.,/-]\d+)*-?(?P<rest>[A-Za-z]+(?:[-/][A-Za-z]+)*)", token)
    if not match:
        return False
    rest = match["rest"].casefold()
    return (
        rest in UNITS
        or rest in SCALES
        or rest in ("s", "st", "nd", "rd", "th", "x", "g", "m", "l", "n")
        or len(rest) > 3
    )


def _numbers(text: str) -> list[Literal]:
    found = []
    for match in NUMBER.finditer(text):
        value = _value(match["numeral"], match["exponent"])
        if value is None:
            written = "v" + re.sub(r"\s", "", match["numeral"] + (match["exponent"] or ""))
            found.append(Literal("identifier", match[0], match.start(), frozenset([written])))
            continue
        value = -value if match["sign"] == "-" and value else value
        unit = UNITS.get(match["currency"].strip().casefold()) if match["currency"] else None
        suffix, end = _suffix(text, match.end()), match.end()
        forms = {_form(value)}
        if suffix and suffix[0] in SCALES and (suffix[0] != "m" or match["currency"]):
            forms, end = {_form(value * SCALES[suffix[0]])}, suffix[1]
            suffix = _suffix(text, end)
        if suffix and suffix[0] in UNITS:
            unit = unit or UNITS[suffix[0]]
        found.append(Literal("number", text[match.start() : end], match.start(), frozenset(forms), unit))
    return found


def _suffix(text: str, position: int) -> tuple[str, int] | None:
    match = SUFFIX.match(text, position)
    return (match["word"].casefold().replace(" ", "").rstrip("."), match.end()) if match else None


def _value(numeral: str, exponent: str | None) -> Decimal | None:
    compact = re.sub(r"[\s'’]", "", numeral)
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", compact):
        compact = compact.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+", compact):
        compact = compact.replace(".", "").replace(",", ".")
    elif re.fullmatch(r"\d+,\d+", compact):
        compact = compact.replace(",", ".")
    try:
        value = Decimal(compact)
    except InvalidOperation:
        return None
    power = re.search(r"[-−]?\d+$", exponent or "")
    if power and len(power[0]) > MAX_EXPONENT_DIGITS:
        return None
    return value.scaleb(int(power[0].replace("−", "-"))) if power else value


def _form(value: Decimal) -> str:
    normal = value.normalize()
    return f"n{normal:f}"


def _word_numbers(text: str) -> list[Literal]:
    found = []
    for match in WORD_NUMBER.finditer(text):
        words = re.split(r"[\s-]+", match[0].casefold())
        if words == ["one"]:
            continue
        suffix = _suffix(text, match.end())
        unit = UNITS.get(suffix[0]) if suffix else None
        found.append(Literal("number", match[0], match.start(), frozenset([_form(_word_value(words))]), unit))
    return found


def _word_value(words: list[str]) -> Decimal:
    total, current = 0, 0
    for word in words:
        if word in NUMBER_WORDS:
            current += NUMBER_WORDS[word]
        elif word == "hundred":
            current = (current or 1) * 100
        else:
            total, current = total + (current or 1) * SCALES[word], 0
    return Decimal(total + current)
