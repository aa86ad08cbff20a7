"""Questions that are answered by yes or no, in five languages, and the wish for a unit at the end of a question."""

import re
from typing import Final

INTERROGATIVES: Final = re.compile(
    r"\b(?:what|which|who|whom|whose|when|where|why|how"
    r"|was für|welche[mnrs]?|wer|wen|wem|wessen|wann|wo|wohin|woher|warum|weshalb|wie|wieso|wieviele?"
    r"|w(?:o|or)(?:an|auf|bei|durch|für|in|mit|nach|von|vor|zu)"
    r"|quel(?:le)?s?|qui|quoi|quand|où|pourquoi|comment|combien"
    r"|qué|cuál(?:es)?|quién(?:es)?|cuándo|dónde|adónde|cómo|cuánt[oa]s?"
    r"|che|cosa|cos'|quale|quali|quando|dove|perché|quant[oiae]|chi)\b",
    re.IGNORECASE,
)
"""Words that ask for more than yes or no. `was` is left out, because in English it asks for just that."""
GERMAN_WAS: Final = re.compile(
    r"^\W*Was\s+(?:ist|sind|war|waren|wird|werden|hat|haben|muss|müssen|darf|kann|soll|passiert|gilt)\b"
)
SECOND_QUESTION: Final = re.compile(
    rf",?\s(?:and|or|und|oder|et|ou|y|o|e)\s+{INTERROGATIVES.pattern}.*$", re.IGNORECASE
)
VERB_FIRST: Final = re.compile(
    r"(?:[.!?;:,–—]\s|\s-\s)\W{0,3}(?:(?:so|and|but|or|also|then|und|aber|et|y|e|en)\s)?"
    r"(?:(?:is|are|was|were|does|do|did|has|have|can|could|may|must|should|will|would)(?:n['’]t)?\s"
    r"(?:i|we|you|he|she|it|they|this|that|these|those|there|the|an?|my|our|your|their|its)\b"
    r"|(?:ist|sind|darf|dürfen|kann|können|muss|müssen|soll|hat|haben|wird)"
    r"\s(?:ich|man|wir|sie|er|es|das|der|die|ein|eine)\b"
    r"|est-ce\squ['’e]|(?:is|mag|kan|moet|heeft|wordt)\s(?:ik|je|u|men|we|het|de|dat|een)\b)",
    re.IGNORECASE,
)
"""A later clause that begins with its verb. A question that begins so may ask for more: `Is it known which it is?`"""
UNIT: Final = "|".join(
    (
        r"% percent per_cent °\s?[CF]? [kcmµn]?m [kmµ]?g lbs? ton(?:ne)?s? (?:kilo|centi|milli)?met(?:er|re)s? miles? "
        r"feet foot ft inch(?:es)? in lit(?:er|re)s? m?l gallons? bar psi [km]?pa n·?m nm volts? [kmµ]?v amps? m?a "
        "[km]?w watts? [kmg]?hz rpm mph km/h acres? hectares? degrees? bytes? [kmg]b(?:ps)? bits?"
    ).split()
).replace("_", " ")
"""Alternatives of a pattern: the units of quantities."""
UNIT_WISH: Final = re.compile(
    rf"[,;] (?:given |expressed |stated )?in (?:(?:{UNIT})|deg(?:rees?)?\.? (?:c(?:elsius)?|f(?:ahrenheit)?)"
    r"|newton met(?:er|re)s"
    r"|kilograms|grams|(?:milli|kilo)?met(?:er|re)s per second|cubic met(?:er|re)s(?: per hour)?|parts per [mb]illion"
    r"|m[3³]/h|[lu]/min|ppb|ppm|[uµ]m|microns|millibar|hours|minutes|seconds|days)(?=\W*$)",
    re.IGNORECASE,
)


def without_unit_wish(question: str) -> str:
    """Remove the wish for a unit at the end of a question: `How heavy is it, in kg?`.

    Args:
        question: A question. Text without a question mark is returned unchanged.
    """
    return UNIT_WISH.sub("", question) if question.rstrip().endswith("?") else question


def asks_yes_or_no(question: str) -> bool:
    """Return whether a question can be answered by yes or no: it ends with a question mark and has no interrogative.

    One may follow with a second question: `Is dizziness a side effect, and when does it happen?` A later clause
    that begins with its verb asks for yes or no too: `We run it at sea - does that change how often it is due?`
    """
    if VERB_FIRST.search(question):
        return True
    first = SECOND_QUESTION.sub("", question)
    return (
        question.rstrip().endswith("?") and INTERROGATIVES.search(first) is None and GERMAN_WAS.match(question) is None
    )
