"""The rules for English follow-ups: each builds the whole question, or nothing.

A rule gets the follow-up without its lead-in and the earlier question, and returns a question; all without question
mark. It returns an empty text if the earlier question has no place for the follow-up, or several.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.conversation.antecedents import (
    ADVERBIAL,
    ASKS,
    YES_NO,
    find_pronoun,
    find_topic,
    read_subject,
)
from sourcebound.contracts.conversation.question_grammar import (
    DETERMINERS,
    LABELS,
    PREPOSITIONS,
    Mark,
    Phrase,
    is_identifier,
    is_noun_phrase,
    is_plural,
    read_marks,
    read_phrases,
    shape,
    words,
)

SWAPPED: Final = re.compile(
    rf"{ADVERBIAL}|(?:what|which|how many|how much)\s+(?!(?:else|next|now|then|one|about)$)\w+(?<!s)(?<!ed)",
    re.IGNORECASE,
)
"""Follow-ups that ask for another adverbial, or for one more thing."""
JOINED: Final = re.compile(r"why|how|who|by whom|to whom|how much|how many", re.IGNORECASE)
ATTRIBUTES: Final = frozenset(
    "weight torque pressure temperature price cost size length width height depth thread warranty guarantee volume "
    "speed power voltage current colour color material number name date time interval limit range capacity flow".split()
)
"""Attributes of a thing: "and the weight?" does not replace the thing."""
ADJUNCTS: Final = frozenset("in under at during after before without with above below".split())
EDITION: Final = re.compile(
    r"\b(?:revision|rev\.?|version|issue|edition)\s(?:[A-Za-z]|\d+(?:\.\d+)*)(?![\w/-])", re.IGNORECASE
)
EDITION_APART: Final = re.compile(
    rf",?\s(?:in|under|per|according to)\s(?:the\s)?{EDITION.pattern}(?=,|\W*$)", re.IGNORECASE
)
"""The edition of a document in a phrase of its own: `in revision C`. Without the phrase a question is whole."""
HOLDERS: Final = frozenset(("", "for", "of", "on", "in", "with"))
GENERIC: Final = frozenset("pump compressor machine device unit series variant product system".split()) | frozenset(
    LABELS
)


class Remark(NamedTuple):
    """A follow-up without its lead-in."""

    text: str
    leads: bool
    """Whether there was a lead-in."""
    about: bool
    """Whether the lead-in was `what about`."""
    preposition: str
    phrase: str
    """The text without its preposition."""


def swap_value(remark: Remark, before: str) -> str:
    """Replace each mark by the follow-up's mark of the same family ("and for the HP-300?")."""
    marks, known = read_marks(remark.phrase), read_marks(before)
    if not marks or not _says_nothing_else(remark.phrase, marks, before):
        return ""
    result = before
    for mark in marks:
        family = mark.family if any(other.family == mark.family for other in known) else _alike(mark, known, remark)
        places = [other for other in read_marks(result) if other.family == family]
        if len({place.written.casefold() for place in places}) != 1 or _is_half_a_date(mark, marks, known):
            return ""
        for place in reversed(places):
            result = result[: place.start] + mark.written + result[place.end :]
    return result if len({mark.family for mark in marks}) == len(marks) else ""


def forget_edition(remark: Remark, query: str) -> str:
    """Remove the one revision of a question that now names another thing: it was a revision of the earlier thing.

    Within another phrase (`issue 3 of the manual`) it cannot be removed, and the question stays open.

    Args:
        remark: The follow-up whose marks were put into the question.
        query: The question.
    """
    names_thing = any(map(is_identifier, read_marks(remark.phrase))) and not EDITION.search(remark.phrase)
    if not names_thing or len(EDITION.findall(query)) != 1:
        return query
    return EDITION_APART.sub("", query) if EDITION_APART.search(query) else ""


def is_bare_mark(phrase: str) -> bool:
    """Whether a phrase is only the name of one thing ("the HP-300", "revision B")."""
    marks = read_marks(phrase)
    return bool(marks) and _says_nothing_else(phrase, marks, "")


def swap_phrase(remark: Remark, before: str) -> str:
    """Replace the noun phrase after the same preposition, or the subject, by another one."""
    if not remark.leads or not is_noun_phrase(remark.phrase) or read_marks(remark.phrase):
        return ""
    phrases = read_subject(before)
    if remark.preposition in words(before):
        places = [one for one in (*phrases, *_last_phrase(before, phrases)) if one.preposition == remark.preposition]
        if words(before).count(remark.preposition) != len(places):
            return ""
    else:
        places = [one for one in phrases[:1] if _may_take_place_of(one, remark, before)]
    plain = [place for place in places if not read_marks(place.text)]
    return before[: plain[0].start] + remark.phrase + before[plain[0].end :] if len(plain) == 1 else ""


def swap_modifier(remark: Remark, before: str) -> str:
    """Replace the word before the same noun ("and the action limit?" after one about the alert limit)."""
    if not remark.leads or remark.preposition or not is_noun_phrase(remark.phrase) or read_marks(remark.phrase):
        return ""
    modifiers, noun = remark.phrase.split()[:-1], remark.phrase.split()[-1]
    modifiers = modifiers[1:] if modifiers and modifiers[0].casefold() in DETERMINERS else modifiers
    places = [*re.finditer(rf"\b(?P<modifier>[^\W\d_]+) {re.escape(noun)}\b", before, re.IGNORECASE)]
    if not modifiers or len(places) != 1 or words(before).count(noun.casefold()) != 1:
        return ""
    earlier = places[0]["modifier"].casefold()
    if not is_noun_phrase(earlier) or earlier in DETERMINERS or earlier == modifiers[-1].casefold():
        return ""
    return f"{before[: places[0].start()]}{' '.join(modifiers)}{before[places[0].end('modifier') :]}"


def add_condition(remark: Remark, before: str) -> str:
    """Add a circumstance that the earlier question does not state ("and during start-up?")."""
    families = {mark.family for mark in read_marks(before)}
    is_known = remark.preposition in words(before) or any(mark.family in families for mark in read_marks(remark.phrase))
    if remark.preposition not in ADJUNCTS or is_known or not is_noun_phrase(remark.phrase):
        return ""
    return f"{before} {remark.preposition} {remark.phrase}"


def ask_attribute(remark: Remark, before: str) -> str:
    """Ask for another attribute of the same thing ("and its torque?")."""
    owner, _, attribute = remark.text.partition(" ")
    if owner.casefold() not in ("its", "their") or not is_noun_phrase(attribute):
        return ""
    topic = find_topic(before, plural=owner.casefold() == "their")
    return f"what {'are' if is_plural(attribute) else 'is'} the {attribute} of {topic}" if topic else ""


def ask_otherwise(remark: Remark, before: str) -> str:
    """Ask the same with other question words ("how often?"), or join both questions ("…, and why?")."""
    if re.fullmatch(ADVERBIAL, remark.text, re.IGNORECASE):
        asks = ASKS.fullmatch(before)
        if asks:
            return f"{remark.text} {asks['rest']}"
        if YES_NO.fullmatch(before):
            return f"{remark.text} {before[0].lower()}{before[1:]}"
    if SWAPPED.fullmatch(remark.text) or JOINED.fullmatch(remark.text):
        return f"{before}, and {remark.text[0].lower()}{remark.text[1:]}"
    return ""


def name_pronoun(remark: Remark, before: str) -> str:
    """Replace the pronoun of a whole question by its antecedent ("how is it replaced?")."""
    pronoun = find_pronoun(remark.text)
    if pronoun is None:
        return ""
    topic = find_topic(before, plural=pronoun[0].casefold().startswith("the"))
    head, tail = remark.text[: pronoun.start()], remark.text[pronoun.end() :]
    if pronoun[0].casefold() not in ("its", "their"):
        return f"{head}{topic}{tail}" if topic else ""
    owned = read_phrases(tail, 1)
    if not topic or not owned:
        return ""
    return f"{head}the{tail[: owned[0].end]} of {topic}{tail[owned[0].end :]}"


def _says_nothing_else(phrase: str, marks: Sequence[Mark], before: str) -> bool:
    """Whether a phrase adds nothing to the earlier question except its marks."""
    rest = phrase
    for mark in reversed(marks):
        rest = rest[: mark.start] + " " + rest[mark.end :]
    said = {word.rstrip(".") for word in words(rest)}
    return not said - DETERMINERS - PREPOSITIONS - GENERIC - {"no", "number"} - {*words(before)}


def _alike(mark: Mark, known: Sequence[Mark], remark: Remark) -> str:
    """Return the family of the earlier question's only identifier if this one has the same shape; else None."""
    names = {other.family: other for other in known if is_identifier(other)}
    if len(names) != 1 or not is_identifier(mark) or remark.preposition not in HOLDERS:
        return ""
    ((family, other),) = names.items()
    return family if shape(other) == shape(mark) else ""


def _is_half_a_date(mark: Mark, marks: Sequence[Mark], known: Sequence[Mark]) -> bool:
    """Whether a year alone would be combined with the month or quarter of another date."""
    finer = {"month", "identifier q"}
    return mark.family == "year" and bool({m.family for m in known} & finer - {m.family for m in marks})


def _may_take_place_of(subject: Phrase, remark: Remark, before: str) -> bool:
    """Whether a noun phrase names a thing of the subject's kind, and not an attribute of it."""
    noun = words(remark.phrase)
    if noun[-1] in ATTRIBUTES or (not subject.preposition and is_plural(subject.text) != is_plural(remark.phrase)):
        return False
    if remark.preposition:
        return remark.preposition in ("of", "for")
    return noun[0] in ("the", "a", "an") and bool(remark.about or ASKS.fullmatch(before))


def _last_phrase(before: str, phrases: Sequence[Phrase]) -> list[Phrase]:
    """Return the last phrase of a question if it follows a preposition and was not read yet."""
    found = [match for match in re.finditer(r"\w+", before) if match[0].casefold() in PREPOSITIONS]
    if not found or any(phrase.end == len(before) for phrase in phrases):
        return []
    start = found[-1].end() + 1
    return (
        [Phrase(found[-1][0].casefold(), before[start:], start, len(before))] if is_noun_phrase(before[start:]) else []
    )
