"""Numbers, amounts and times as German, French, Spanish, Italian, Dutch and Portuguese write them (R5-8).

Number words support digits only in a text of their own language, because `once` and `due` are also English words. A
number word is a literal of its own only there or before a noun of time (`treinta días`), and an article never is one.
Those of Dutch and Portuguese support numbers, and are no literals.
"""

import re
from collections import Counter
from typing import Final

from sourcebound.contracts.validation.literals.amounts.units import ALL_UNITS, UNITS
from sourcebound.contracts.validation.literals.literal import Literal, lower_case

Form = tuple[str, str | None]

FUNCTION_WORDS: Final = {
    "en": frozenset("the of and is are was to for with by this that it from be not".split()),
    "de": frozenset(
        "der die das und ist sind wird werden nicht mit von zu den dem des für auf bei ein eine im "
        "mio mrd tsd teur".split()
    ),
    "fr": frozenset("le la les et est sont des du une dans pour par sur avec au aux ne pas ou qui milliards".split()),
    "es": frozenset("el la los las y es son del una en para por con al no se que o miles millones".split()),
    "it": frozenset("il la lo gli le e è sono del della dei una per con al non si che di da milioni miliardi".split()),
    "pt": frozenset("o a os as e é são do da dos das uma em no na para por com ao não se que ou milhões".split()),
    "nl": frozenset("is of was het een van zijn wordt worden niet met voor op bij aan naar ook uit deze dit".split()),
}
SMALL: Final = {
    "de": "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
    "siebzehn achtzehn neunzehn zwanzig",
    "fr": "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept "
    "dix-huit dix-neuf vingt",
    "es": "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis "
    "diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis "
    "veintisiete veintiocho veintinueve",
    "it": "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici "
    "diciassette diciotto diciannove venti",
    "pt": "zero um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezesseis dezessete "
    "dezoito dezenove vinte",
    "nl": "nul één twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien "
    "zeventien achttien negentien twintig",
}  # fmt: skip
"""The words from zero upwards."""
TENS: Final = {
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "fr": "vingt trente quarante cinquante soixante",
    "es": "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    "it": "venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
    "pt": "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
    "nl": "twintig dertig veertig vijftig zestig zeventig tachtig negentig",
}
ROUND: Final = {
    "de": {"hundert": 100, "tausend": 1000},
    "fr": {"soixante-dix": 70, "quatre-vingts": 80, "quatre-vingt": 80, "quatre-vingt-dix": 90, "cent": 100}
    | {"mille": 1000},
    "es": {"cien": 100, "mil": 1000},
    "it": {"cento": 100, "mille": 1000},
    "pt": {"duas": 2, "quatorze": 14, "dezasseis": 16, "dezassete": 17, "dezanove": 19, "cem": 100, "mil": 1000},
    "nl": {"honderd": 100, "duizend": 1000},
}  # fmt: skip
FRENCH_ORDINALS: Final = (
    "deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième onzième douzième"
).split()
NOUNS_OF_TIME: Final = {
    "de": r"(?:sekunden|minuten|stunden|tagen?|wochen|monaten?|jahren?|werktagen?)",
    "fr": r"(?:secondes|minutes|heures|jours|semaines|mois|ans|années)",
    "es": r"(?:segundos|minutos|horas|días|semanas|meses|años)",
    "it": r"(?:secondi|minuti|ore|giorni|settimane|mesi|anni)",
}


def _words_of(language: str) -> dict[str, int]:
    small = SMALL[language].split()
    words = {word: value for value, word in enumerate(small)} | ROUND[language]
    for ten, name in enumerate(TENS[language].split(), start=2):
        words[name] = ten * 10
        for one in range(1, 10):
            words.setdefault(_compound(language, name, one, small), ten * 10 + one)
    if language == "fr":
        for above, name in enumerate(small[11:20], start=11):
            words |= {f"soixante-{name}": 60 + above, f"quatre-vingt-{name}": 80 + above}
        words |= {f"quatre-vingt-{name}": 80 + one for one, name in enumerate(small[1:10], start=1)}
        words["soixante-et-onze"] = 71
    return words


def _compound(language: str, ten: str, one: int, small: list[str]) -> str:
    if language == "de":
        return ("ein" if one == 1 else small[one]) + "und" + ten
    if language == "fr":
        return f"{ten}-et-un" if one == 1 else f"{ten}-{small[one]}"
    if language in ("es", "pt"):
        return f"{ten} {'y' if language == 'es' else 'e'} {small[one]}"
    if language == "nl":
        return ("een" if one == 1 else small[one]) + ("ën" if one in (2, 3) else "en") + ten
    return (ten[:-1] if one in (1, 8) else ten) + ("tré" if one == 3 else small[one])


WORDS: Final = {language: _words_of(language) for language in SMALL}
ARTICLES: Final = frozenset({"un", "uno", "eins"})
OTHER_MEANINGS: Final = frozenset("acht neuf sei cent cento cien mil mille hundert tausend null zero cero".split())
"""Number words with another frequent meaning: `neuf` is new, `sei` are you, `pour cent` is a unit."""
NUMBER_WORD: Final = {
    language: re.compile(rf"(?<![\w-])(?:{'|'.join(sorted(words, key=len, reverse=True))})(?![\w-])")
    for language, words in WORDS.items()
}
WORD: Final = re.compile(r"[^\W\d_]+")
LANGUAGES_OF_LITERALS: Final = tuple(NOUNS_OF_TIME)
"""The languages whose number words are literals."""
FIRST_WORDS: Final = {
    language: frozenset(WORD.match(word)[0] for word in WORDS[language])  # type: ignore[index]
    for language in LANGUAGES_OF_LITERALS
}
"""The word with which a number word of each of them begins: `dix` of `dix-sept`."""
CLOCK: Final = re.compile(
    r"(?<![\w.,:])(?P<hour>[01]?\d|2[0-4])(?:\s?h\s?(?P<minute>[0-5]\d)|\s?Uhr(?:\s(?P<after>[0-5]\d))?)(?!\w|[.,]\d)"
    r"|(?<![\w.,:])(?P<hour_from>[01]?\d|2[0-4])(?=\s(?:bis|und)\s(?:[01]?\d|2[0-4])(?:[:.][0-5]\d)?\sUhr\b)"
    r"|(?<=\b[aeo]lle )(?P<hour_it>[01]?\d|2[0-3])\.(?P<minute_it>[0-5]\d)(?![\w]|[.,]\d)"
    r"|(?<=\bore )(?P<hour_ore>[01]?\d|2[0-3])\.(?P<minute_ore>[0-5]\d)(?![\w]|[.,]\d)"
)
HOUR_GROUPS: Final = ("hour", "hour_from", "hour_it", "hour_ore")
"""`8h30`, `22 h 30`, `8 Uhr`, the first hour of `8 bis 10 Uhr`, and the Italian `12.30` after
`alle`, `dalle` and `ore`."""
CLOCK_MARK: Final = re.compile(r"\d(?:\s?(?:h|Uhr)|\.[0-5]\d)")
"""A text without this has no such time."""
HOURS_WITH_H: Final = re.compile(r"(?<![\w.,:])(?P<hour>[01]?\d|2[0-4])\s?h(?!\w|\s?\d|/)")
HOURS: Final = {
    "fr": HOURS_WITH_H,
    "pt": HOURS_WITH_H,
    "nl": re.compile(r"(?<![\w.,:])(?P<hour>[01]?\d|2[0-4])(?=(?:\s(?:tot|en)\s(?:[01]?\d|2[0-4]))?\suur\b)"),
}
"""An hour that is a time of day or a duration, by the language of its text."""
YEARS: Final = re.compile(r"(?<![\w.,:-])(?P<number>\d{1,4})\s?y(?!\w|\s?\d)")
"""Years as English papers write them: `for over 300 y`. In Spanish `y` is a word."""
AFTERNOON: Final = re.compile(r"\s(?:nachmittags|abends|am\s(?:Nachmittag|Abend))\b")
NOON: Final = 12
SCALE_WORD: Final = (
    r"(?:Mio|Mrd|Tsd|Millionen|Milliarden|millions|milliards|millones|milioni|miliardi|million|billion|trillion|thousand"
    r"|tausend|mila|milliers|miles(?=\sde\s)|[TkK](?=€|EUR|CHF|USD))"
)
SCALED: Final = re.compile(rf"(?<![\w.,])(?P<currency>[$€£¥])?(?P<number>\d+(?:[,.]\d+)?)(?=\s{SCALE_WORD})")
"""A number before its scale. A statement or its head may give the scale once: `27,4 Mio. EUR nach 25,9`."""
NAMES_SCALE: Final = re.compile(rf"(?<!\w){SCALE_WORD}")
BARE: Final = re.compile(r"[$€£¥]?(?P<number>\d+(?:[,.]\d+)?)")
KEYED: Final = re.compile(r"\w_(?P<unit>[a-z]{1,3})[\"']?\s*[:=]\s*[\"']?(?P<number>\d+)(?![\w.,]\d|\w)", re.IGNORECASE)
"""A key whose name ends in a unit, and its value: `max_body_kb: 512`."""


def language_of_words(text: str) -> str:
    """Return the language of most function words and scales of a text; English without a clear majority."""
    words = Counter(WORD.findall(text.casefold()))
    counts = {name: sum(words[word] for word in known & words.keys()) for name, known in FUNCTION_WORDS.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > counts["en"] and counts[best] >= 2 else "en"


def unscaled_form(number: str) -> str:
    """Return the form of a number that is written before its scale, or in a statement that gives the scale once."""
    whole, _, decimals = number.replace(",", ".").partition(".")
    return f"s{whole}.{decimals.rstrip('0')}"


def names_scale(text: str) -> bool:
    """Return whether a text has the word of a scale."""
    return NAMES_SCALE.search(text) is not None


def without_scale(literals: list[Literal]) -> list[Literal]:
    """Let bare numbers also be read at a scale that the statement or its head gives."""
    return [
        literal._replace(forms=literal.forms | {unscaled_form(bare["number"])})
        if literal.kind == "number"
        and (bare := BARE.fullmatch(literal.text.strip()))
        and (literal.unit is None or not bare[0][0].isdigit())
        else literal
        for literal in literals
    ]


def read_clock_times(text: str) -> list[Literal]:
    """Read every time of day as these languages write it, on the 24-hour clock."""
    literals = []
    for match in CLOCK.finditer(text) if CLOCK_MARK.search(text) else ():
        hour = int(next(filter(None, map(match.group, HOUR_GROUPS)))) % 24
        minute = match["minute"] or match["after"] or match["minute_it"] or match["minute_ore"] or "00"
        hour += NOON if hour < NOON and AFTERNOON.match(text, match.end()) else 0
        forms = {f"t{hour}:{minute}"} | ({f"n{hour}"} if match["hour_from"] else set())
        literals.append(Literal("time", match[0], match.start(), frozenset(forms)))
    return literals


def read_counted_words(text: str) -> list[Literal]:
    """Read every number word before a noun of time of the same language, and any in a text of it, except an article."""
    lowered = lower_case(text)
    words = frozenset(WORD.findall(lowered))
    languages = [language for language, first in FIRST_WORDS.items() if not first.isdisjoint(words)]
    language_of_text = language_of_words(text) if languages else "en"
    return [
        Literal(
            "number",
            text[match.start() : match.end()],
            match.start(),
            frozenset([f"n{WORDS[language][match[0]]}"]),
            ALL_UNITS[noun[1]] if noun else None,
        )
        for language in languages
        for match in NUMBER_WORD[language].finditer(lowered)
        if match[0] not in ARTICLES
        and (
            (noun := re.match(rf"\s+({NOUNS_OF_TIME[language]})\b", lowered[match.end() : match.end() + 20]))
            or (language == language_of_text != "en" and match[0] not in OTHER_MEANINGS)
        )
    ]


def forms_of_language(text: str, language: str) -> list[Form]:
    """Return the forms that a text supports by the habits of its language, and by units in the names of keys."""
    forms: list[Form] = [
        (f"n{int(match['number'])}", UNITS[match["unit"].casefold()])
        for match in KEYED.finditer(text)
        if match["unit"].casefold() in UNITS
    ]
    forms += [
        (unscaled_form(match["number"]), UNITS[match["currency"]] if match["currency"] else None)
        for match in SCALED.finditer(text)
    ]
    if language == "en":
        forms += [(f"n{int(match['number'])}", UNITS["year"]) for match in YEARS.finditer(text)]
    if language not in WORDS:
        return forms
    lowered = text.casefold()
    forms += [(f"n{WORDS[language][match[0]]}", None) for match in NUMBER_WORD[language].finditer(lowered)]
    for match in HOURS[language].finditer(text) if language in HOURS else ():
        forms += [(f"t{int(match['hour']) % 24}:00", None), (f"n{int(match['hour'])}", UNITS["h"])]
    if language == "fr":
        words = frozenset(WORD.findall(lowered))
        for value, word in enumerate(FRENCH_ORDINALS, start=2):
            if word in words:
                forms += [(f"{value}e", None), (f"{value}ème", None)]
    return forms
