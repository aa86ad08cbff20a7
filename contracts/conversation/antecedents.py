"""The topic of an English question, and the antecedent of a pronoun in the next one.

Only a few forms of question with an obvious subject are read; any other question has no topic.
"""

import re
from typing import Final

from sourcebound.contracts.conversation.question_grammar import (
    AUXILIARIES,
    DETERMINERS,
    PARTICIPLES,
    PREPOSITIONS,
    PRONOUNS,
    QUESTION_WORDS,
    Phrase,
    is_identifier,
    is_plural,
    read_marks,
    read_phrases,
    words,
)

BEFORE: Final = r"(?:by|since|until|for|to|at|in|on|from|with|under|after|before|within)"
ADVERBIAL: Final = (
    rf"(?:{BEFORE}\s+)?(?:how\s+(?:often|long|far|deep|high|hot|fast|soon|frequently|many times)|when|where)"
    rf"|{BEFORE}\s+(?:what|which|how many|how much)\s+\w+(?:\s+\w+)??"
)
AUXILIARY: Final = r"(?:is|are|was|were|must|shall|should|can|may|will|does|do|did|has|have)"
ASKS: Final = re.compile(rf"(?:{ADVERBIAL}|how|why)\s+(?P<rest>(?P<aux>{AUXILIARY})\s+(?P<subject>.+))", re.IGNORECASE)
YES_NO: Final = re.compile(rf"(?P<aux>{AUXILIARY})\s+(?P<subject>.+)", re.IGNORECASE)
WHAT_IS: Final = re.compile(
    r"(?:what|which)\s+(?:is|are|was|were)\s+(?:the|an?)\s+(?P<attribute>.+?)\s+(?P<preposition>of|for)\s(?P<subject>.+)",
    re.IGNORECASE,
)
OBJECT: Final = re.compile(
    rf"(?:who(?!\s+(?:did|does|do)\b)|(?:{ADVERBIAL}|how|why)\s+(?:do|can|should|must|may)\s+(?:i|you|we))\s+\w+\s+(?P<subject>(?:the|an?)\s.+)",
    re.IGNORECASE,
)
MODALS: Final = frozenset("do does did can may must shall should will".split())
SHORT_VERBS: Final = frozenset("run set put cut".split())
"""Verbs that look alike after `is` and after `may`."""
PRONOUN: Final = re.compile(r"\b(?:its|it|their|they|them)\b", re.IGNORECASE)
EXPLETIVE: Final = re.compile(
    r"\bit\s+(?:takes?|took|costs?|rain\w*|snow\w*|means?|going|(?:\w+\s+)?(?:true|safe|okay|ok|possible|necessary)\b"
    r"|(?:required|allowed|permitted|needed|recommended|advised|forbidden|supposed)\s+(?:to|that)"
    r"|\w+(?<!ed)\s+(?:to|that|if|whether)\b)|\bwhat\s+\w+\s+is\s+it\b",
    re.IGNORECASE,
)
"""An expletive `it`."""
COMMON: Final = frozenset("often long far much many times i you we not also still ever usually normally and".split())


def find_pronoun(text: str) -> re.Match[str] | None:
    """Find the pronoun of a question that refers to nothing within the question."""
    found = [*PRONOUN.finditer(text)]
    others = {*words(text)} & (PRONOUNS - {"i", "you", "we", "it", "its", "they", "them", "their"})
    if len(found) != 1 or others or EXPLETIVE.search(text) or read_marks(text):
        return None
    head = words(text[: found[0].start()])
    asks = bool({*head} & (QUESTION_WORDS | AUXILIARIES))
    unknown = [word for word in head if word not in QUESTION_WORDS | AUXILIARIES | PREPOSITIONS | COMMON]
    if head[:1] == ["who"] and found[0][0].casefold() == "their":  # `their own` refers to no earlier thing
        return None
    return found[0] if asks and len(unknown) <= 1 and not DETERMINERS & {*head} else None


def find_topic(before: str, *, plural: bool) -> str:
    """Find the antecedent of a pronoun in the next question; empty if it is not obvious.

    Args:
        before: The earlier question, without its question mark.
        plural: Whether the pronoun is plural.

    Returns:
        The subject with its distinguishing words; for a singular pronoun after a plural subject, the one identifier.
    """
    phrases = read_subject(before)
    if phrases and is_plural(phrases[0].text) == plural:
        return before[phrases[0].start : phrases[-1].end]
    names = {mark.written.casefold(): mark for mark in read_marks(before) if is_identifier(mark)}
    if plural or len(names) != 1:
        return ""
    (mark,) = names.values()
    return f"the {mark.written}" if f"the {mark.written}" in before else mark.written


def read_subject(before: str) -> list[Phrase]:
    """Return the subject of a question as phrases; none if its form does not show it."""
    found = WHAT_IS.fullmatch(before) or OBJECT.fullmatch(before)
    if found:
        phrases = read_phrases(before, found.start("subject"), found.groupdict().get("preposition") or "")
        return phrases if phrases and phrases[-1].end == len(before) else []
    found = ASKS.fullmatch(before) or YES_NO.fullmatch(before)
    phrases = read_phrases(before, found.start("subject")) if found else []
    if not found or not phrases:
        return []
    # Without a known verb, the end of the subject is unknown.
    verb = (words(before[phrases[-1].end :]) or [""])[0]
    known = AUXILIARIES | SHORT_VERBS if found["aux"].casefold() in MODALS else AUXILIARIES
    participle = verb.endswith("ed") or verb in PARTICIPLES
    return phrases if verb in known or (participle and found["aux"].casefold() not in MODALS) else []
