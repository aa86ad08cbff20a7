"""Abbreviations and units, as people at the plant write them."""

import re
from collections.abc import Iterable
from typing import Final

from sourcebound.evals.golden.perturb.draws import Draws

ABBREVIATIONS: Final = (
    ("standard operating procedure", "SOP"),
    ("water for injection", "WFI"),
    ("total organic carbon", "TOC"),
    ("net positive suction head", "NPSH"),
    ("quality assurance", "QA"),
    ("operating hours", "op. hrs"),
    ("part number", "part no."),
    ("serial number", "serial no."),
    ("maximum", "max."),
    ("minimum", "min."),
    ("temperature", "temp."),
    ("revision", "rev."),
    ("maintenance", "maint."),
    ("calibrated", "cal'd"),
    ("calibration", "cal."),
    ("requalification", "requal."),
    ("numbers", "nos."),
    ("hours", "hrs"),
    ("minutes", "mins"),
    ("replaced", "repl."),
)
"""Words and what people write for them; each that a question has is written so."""
UNITS: Final = (
    ("N·m", ("Nm", "newton metres")),
    ("°C", ("degrees Celsius", "deg C")),
    ("per cent", ("%", "percent")),
    ("L/min", ("litres per minute", "l/min")),
    ("m³/h", ("m3/h", "cubic metres per hour")),
    ("µm", ("microns", "um")),
    ("mm/s", ("millimetres per second",)),
    ("µS/cm", ("uS/cm",)),
    ("mbar", ("millibar",)),
    ("kg", ("kilograms",)),
    ("mm", ("millimetres",)),
    ("litres", ("L",)),
    ("ppb", ("parts per billion",)),
)
"""Units of the documents and other ways to write them."""


def abbreviate(question: str, draws: Draws) -> str | None:
    """Write words short: `QA`, `rev.`, `max.`.

    Args:
        question: The question.
        draws: Not used; each abbreviation applies.

    Returns:
        The question; None if it has no such word.
    """
    changed = question
    for word, short in ABBREVIATIONS:
        changed = re.sub(rf"(?<![\w-]){word}(?![\w-])", short, changed)
    return changed if changed != question else None


def respell_units(question: str, facts: Iterable[Iterable[str]], draws: Draws) -> str | None:
    """Write the units of a question in another way, or ask for the value in the unit of the answer, written so.

    Args:
        question: The question.
        facts: The facts of the item, for the unit of the answer.
        draws: Chooses the way.

    Returns:
        The question; None if it has no known unit, and its facts have not the same one.
    """
    changed = question
    for unit, others in UNITS:
        changed = _after_value(unit).sub(rf"\g<1>{draws.pick(unit, others)}", changed)
    if changed != question:
        return changed
    spellings = [spelling for fact in facts for spelling in fact]
    for unit, others in UNITS:
        if spellings and question.endswith("?") and all(_after_value(unit).search(each) for each in spellings):
            return f"{question.removesuffix('?')}, in {draws.pick(unit, others)}?"
    return None


def _after_value(unit: str) -> re.Pattern[str]:
    return re.compile(rf"((?:\d|\bten) ?){re.escape(unit)}(?![\w/]| per)")
