"""The spellings of units of measure and currencies, and the name under which each is compared (R5-8)."""

import re
import unicodedata
from typing import Final

SPELLINGS: Final = """
% percent per-cent pct percentage percents
°c ℃ celsius degc
°f ℉ fahrenheit degf
bar bars barg
pa pascal pascals
kpa kilopascal kilopascals
mpa megapascal megapascals
psi psig
mm millimetre millimetres millimeter millimeters
cm centimetre centimetres centimeter centimeters
m metre metres meter meters
km kilometre kilometres kilometer kilometers
in inch inches
ft feet foot
mi mile miles
yd yard yards
mph
km/h kph
m/s
µm μm um micron microns
kg kilogram kilograms kilogramme kilogrammes
mg milligram milligrams
g gram grams gramme grammes
lb lbs pound pounds
oz ounce ounces
t tonne tonnes
ton tons
lbf
kgf
l litre litres liter liters
gal gallon gallons
pt pint pints
ml millilitre millilitres milliliter milliliters
s sec secs second seconds
min mins minute minutes
h hr hrs hour hours
d day days
wk week weeks
mo month months
yr yrs year years year-old years-old
hz hertz
khz
mhz
ghz
v volt volts
kv
a amp amps ampere amperes
ma milliamp milliamps
w watt watts
kw kilowatt kilowatts
mw megawatt megawatts
kwh
j joule joules
kj
cal calorie calories
kcal
ppm
n·m nm n-m n.m n⋅m newton-metre newton-metres
kn·m
kn
n newton newtons
rpm r/min min-1
db decibel decibels
gb gigabyte gigabytes
mb megabyte megabytes
kb
m3/h m³/h
l/min lpm
µs/cm μs/cm us/cm
us$ $ usd dollar dollars
€ eur euro euros
£ gbp
¥ jpy yen
"""
"""One unit per line, its name first."""

UNITS: Final = {spelling: line.split()[0] for line in SPELLINGS.strip().split("\n") for spelling in line.split()}
"""The unit's name for every spelling, case folded."""
FOREIGN_SPELLINGS: Final = """
% prozent
m mètre mètres metro metros metri
mi meile meilen milla millas miglio miglia mijl mijlen
km kilomètre kilomètres kilómetro kilómetros chilometro chilometri quilómetros quilômetros
cm zentimeter centimètre centimètres centímetro centímetros centimetri
mm millimètre millimètres milímetro milímetros millimetri
kg kilogramm kilo kilos kilogramos chilogrammi quilos quilogramas
g gramm gramos grammi gramas
t tonnen toneladas tonnellate
l liter litern litro litros litri
s sekunde sekunden seconde secondes segundo segundos secondo secondi seconden
min minuten minuto minutos minuti
h stunde stunden std heure heures hora horas ora ore uren
d tag tage tagen jour jours día días giorno giorni werktag werktage werktagen dias dagen werkdagen
wk woche wochen semaine semaines semana semanas settimana settimane weken
mo monat monate monaten mois mes meses mese mesi mês maand maanden
yr jahr jahre jahren ans année années año años anno anni ano anos jaar jaren
v voltios
w vatios
us$ us-dollar dólar dólares dollari
"""
"""Spellings of other languages, which count since the second version of validation."""
ALL_UNITS: Final = (
    UNITS
    | {spelling: line.split()[0] for line in FOREIGN_SPELLINGS.strip().split("\n") for spelling in line.split()}
    | {"chf": "chf", "franken": "chf"}
)
"""The unit's name for every spelling since the second version."""

MORE_SPELLINGS: Final = {
    "°f": r"(?:°\s?|degrees?[\s-]+|deg\.?\s?)(?:f|fahrenheit)",
    "°c": r"(?:°\s?|degrees?[\s-]+|deg\.?\s?)(?:c|celsius|centigrade)",
    "°": r"°|degrees?|deg",
    "pp": r"percent(?:age)?[\s-]points?|per[\s-]cent[\s-]points?|%[\s-]?points?|ppts?|pp|prozentpunkt(?:en?)?"
    r"|points?\sde\spourcentage|puntos?\sporcentuales?|punt[oi]\spercentual[ei]",
    "bp": r"basis[\s-]points?|bps",
    "n·m": r"newton[\s-]*met(?:re|er)s?|n\s?[·⋅∙•.-]?\s?m",
    "ft·lb": r"(?:foot|feet|ft)[\s.·⋅-]*(?:pounds?|lbs?|lbf)|(?:pounds?|lbs?|lbf)[\s.·⋅-]*(?:foot|feet|ft)",
    "l/min": r"(?:l|lit(?:re|er)s?)\s?(?:/|per|a)\s?min(?:ute)?|lpm",
    "l/h": r"(?:l|lit(?:re|er)s?)\s?(?:/|per|an)\s?(?:h|hr|hour)",
    "l/s": r"(?:l|lit(?:re|er)s?)\s?(?:/|per|a)\s?s(?:ec(?:ond)?)?",
    "gal/min": r"(?:gal|gallons?)\s?(?:/|per|a)\s?min(?:ute)?|gpm",
    "m3/h": r"(?:m3|cubic met(?:re|er)s?)\s?(?:/|per|an)\s?(?:h|hr|hour)",
    "m/s": r"(?:m|met(?:re|er)s?)\s?(?:/|per|a)\s?s(?:ec(?:ond)?)?",
    "km/h": r"(?:km|kilomet(?:re|er)s?)\s?(?:/|per|an)\s?(?:h|hr|hour)|kph|kmh",
    "mph": r"(?:mi|miles?)\s?(?:/|per|an)\s?(?:h|hr|hour)|mph",
    "mpg": r"miles? per gallon|mpg",
    "rpm": r"rev(?:olution)?s?\.?\s?(?:/|per|a)\s?min(?:ute)?|r\.?p\.?m|min\s?-1",
    "kwh": r"kilowatt[\s-]?hours?|kw\s?[·⋅]?\s?h",
    "mg/l": r"(?:mg|milligrams?)\s?(?:/|per)\s?(?:l|lit(?:re|er))",
    "kg/m3": r"(?:kg|kilograms?)\s?(?:/|per)\s?(?:m3|cubic met(?:re|er))",
    "µs/cm": r"microsiemens\s?(?:/|per)\s?(?:cm|centimet(?:re|er))",
    "m2": r"(?:square|sq\.?)\s?(?:m|met(?:re|er)s?)|m2|sqm|quadratmetern?|m[eè]tres?\scarr[eé]s?"
    r"|metros?\scuadrados?|metr[io]\squadr(?:at)?[io]",
    "ft2": r"(?:square|sq\.?)[\s/.-]?(?:ft|foot|feet)|ft2|sqft",
    "in2": r"(?:square|sq\.?)[\s-]?(?:in|inch|inches)|in2",
    "km2": r"(?:square|sq\.?)[\s-]?(?:km|kilomet(?:re|er)s?)|km2",
    "mi2": r"(?:square|sq\.?)[\s-]?(?:mi|miles?)",
    "m3": r"cubic met(?:re|er)s?|m3|kubikmetern?|m[eè]tres?\scubes?|metros?\sc[uú]bicos?|metr[io]\scub[io]",
    "%": r"%[mvw]/[mvw]|pour\scent|por\sciento|per[\s-]?cento?",
    "ft3": r"(?:cubic|cu\.?)[\s-]?(?:ft|foot|feet)|ft3",
    "cm3": r"cubic centimet(?:re|er)s?|cm3|ccm",
    "tb": r"tb|terabytes?",
    "ms": r"msecs?|ms|milliseconds?|millisekunden?|millisecondes?|milisegundos?",
}
"""Units of several words or signs, and the patterns of their spellings, in lower case. They go before `UNITS`."""
NUMBERED_SPELLINGS: Final = {f"u{number}": name for number, name in enumerate(MORE_SPELLINGS)}
MORE_UNITS: Final = re.compile(
    r"(?:"
    + "|".join(f"(?P<u{number}>{spellings})" for number, spellings in enumerate(MORE_SPELLINGS.values()))
    + r")(?![\w³²])",
    re.IGNORECASE,
)
DEGREES: Final = frozenset({"°f", "°c"})
BARE_DEGREES: Final = re.compile(r"[CF](?![\w'.-])|[CF](?=\.(?:\s|$))")
"""A degree letter without its sign, as in `350 F`."""
PROSE_AFTER_IN: Final = re.compile(
    r"\s+(?!(?:long|wide|high|deep|thick|tall|diameter|dia|bore|pipes?|hoses?|screens?|nails?|by|x)\b)[^\W_]",
    re.IGNORECASE,
)
"""What follows `in` where it is a preposition: `3 in the box`, `1 in 4`."""

PROSE_AFTER_UM: Final = re.compile(r"\s+(?:(?:rund|etwa|ca\.|circa|fast|knapp|über)\s+)?\d")
"""What follows the German `um` where it is a preposition: `2024 um 4 %`."""


def read_more_units(text: str, position: int) -> tuple[str, int] | None:
    """Return the name and the end of a unit of several words that begins at a position, if there is one.

    Args:
        text: A text.
        position: The place after a number and the blank that may follow it.

    Returns:
        None if no such unit begins there.
    """
    match = MORE_UNITS.match(text, position)
    if match and match.lastgroup:
        return NUMBERED_SPELLINGS[match.lastgroup], match.end()
    letter = BARE_DEGREES.match(text, position)
    return (f"°{letter[0].casefold()}", letter.end()) if letter else None


def is_prose(word: str, text: str, end: int) -> bool:
    """Return whether what spells a unit is an article (`5 a day`), a preposition (`1 in 4`) or a part of a word."""
    if text[end : end + 1].isalpha() or (len(word) == 1 and text[end : end + 1] == "'"):
        return True
    if word == "um" and PROSE_AFTER_UM.match(text, end):
        return True
    return word == "a" or (word.casefold() == "in" and bool(PROSE_AFTER_IN.match(text, end)))


def is_unit(word: str) -> bool:
    """Return whether a whole word spells a unit: `m²`, `kWh`, `Stunden`."""
    plain = unicodedata.normalize("NFKC", word).casefold()
    longer = read_more_units(plain, 0)
    return plain in ALL_UNITS or (longer is not None and longer[1] == len(plain))
