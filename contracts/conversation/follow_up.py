"""English follow-up questions, resolved by rules from one earlier question (R3-4, CP-6).

A rule applies only to a form that cannot stand alone ("and for the HP-300?", "how often?", "and its torque?"), and only
if the earlier question has exactly one place for it. A wrong search is worse than an incomplete one, which the gate
refuses: if two readings are possible, no rule applies.
"""

import re
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple

from sourcebound.contracts.conversation.antecedents import find_pronoun
from sourcebound.contracts.conversation.follow_up_rules import (
    JOINED,
    SWAPPED,
    Remark,
    add_condition,
    ask_attribute,
    ask_otherwise,
    forget_edition,
    is_bare_mark,
    name_pronoun,
    swap_modifier,
    swap_phrase,
    swap_value,
)
from sourcebound.contracts.conversation.question_grammar import LABELS, PREPOSITIONS, read_phrases, words
from sourcebound.contracts.text.questions import without_unit_wish
from sourcebound.contracts.text.spelling import best_spelling, doubtful_words, respell
from sourcebound.contracts.validation.support.words import is_common_word
from sourcebound.contracts.versions import CONTRACTS

LEAD: Final = re.compile(
    r"(?:(?:ok|okay|thanks|thank you|fine|good|well|so|right)[,.!]?\s+)*"
    r"(?P<and>(?:and|but|or|also),?\s+(?:also\s+)?)?"
    r"(?:(?P<about>(?:what|how)\s+about)\s+"
    r"|(?P<same>(?:(?:is it |it is )?the\s+)?same(?:\s+(?:question|thing))?\s+(?=(?:for|on|of|with|in|at)\b)))?",
    re.IGNORECASE,
)
SENTENCE_END: Final = re.compile(r"[.?!;]\s")
ENGLISH: Final = frozenset("the a an is are of how what when where who which why does do must can should".split())


class Rule(StrEnum):
    """The rule that completed a follow-up."""

    ANOTHER_VALUE = "another_value"
    """Another model, revision, year … replaces the earlier one."""
    ANOTHER_ATTRIBUTE = "another_attribute"
    """Something else about the same thing ("and its torque?")."""
    ANOTHER_QUESTION_WORD = "another_question_word"
    """The same thing, asked differently ("how often?")."""
    ANOTHER_PHRASE = "another_phrase"
    """Another part or circumstance replaces the earlier one."""
    ANOTHER_MODIFIER = "another_modifier"
    """The same noun with another word before it ("and the action limit?"); from version 2 of the contract."""
    ADDED_CONDITION = "added_condition"
    """A circumstance is added to the earlier question."""
    PRONOUN = "pronoun"
    """A whole question says `it` or `them`."""


RULES: Final[tuple[tuple[Rule, Callable[[Remark, str], str]], ...]] = (
    (Rule.ANOTHER_VALUE, swap_value),
    (Rule.ANOTHER_ATTRIBUTE, ask_attribute),
    (Rule.ANOTHER_QUESTION_WORD, ask_otherwise),
    (Rule.ANOTHER_MODIFIER, swap_modifier),
    (Rule.ANOTHER_PHRASE, swap_phrase),
    (Rule.ADDED_CONDITION, add_condition),
    (Rule.PRONOUN, name_pronoun),
)
"""The rules in order; the first with a unique reading applies."""


class FollowUp(NamedTuple):
    """The resolved question of a follow-up, and the rule."""

    rule: Rule
    query: str


def needs_context(question: str) -> bool:
    """Whether the form of a question needs an earlier one; otherwise the question stands alone.

    Args:
        question: A question with normalized white space.
    """
    remark = read_remark(question)
    if SWAPPED.fullmatch(remark.text) or JOINED.fullmatch(remark.text) or find_pronoun(remark.text):
        return True
    if not read_phrases(remark.phrase) or read_phrases(remark.phrase)[-1].end < len(remark.phrase):
        return False
    owner = words(remark.phrase)[0] in ("its", "their")
    return remark.leads or bool(remark.preposition) or owner or is_bare_mark(remark.phrase)


def resolve_follow_up(question: str, earlier: str, version: int = CONTRACTS["conversation"]) -> FollowUp | None:
    """Resolve a follow-up.

    Args:
        question: The follow-up with normalized white space.
        earlier: The earlier question, which stands alone.
        version: The version of the contract of conversations.

    Returns:
        The whole question and its rule; None if no rule has a unique reading.
    """
    if not needs_context(question):
        return None
    if version > 1:
        question, earlier = in_the_spelling_of(earlier, question), without_unit_wish(earlier)
    remark, before = read_remark(question), _core(earlier)
    plain = not SENTENCE_END.search(before) and bool(ENGLISH & {*words(before)})
    for rule, apply in RULES if plain else RULES[:1]:
        query = "" if version == 1 and rule is Rule.ANOTHER_MODIFIER else apply(remark, before)
        if version > 1 and rule is Rule.ANOTHER_VALUE:
            query = forget_edition(remark, query)
        if query:
            return FollowUp(rule, f"{query[0].upper()}{query[1:]}?")
    return None


def in_the_spelling_of(earlier: str, question: str) -> str:
    """Return a follow-up with each word that English does not know in the spelling of the earlier question.

    The words of labels are known too: `and in revission B?` asks about a revision.
    """
    known = Counter([*words(earlier), *LABELS])
    doubtful = [word for word in doubtful_words(question) if not known[word] and not is_common_word(word)]
    spellings = {word: spelling for word in doubtful if (spelling := best_spelling(word, known))}
    return respell(question, spellings)


def read_remark(question: str) -> Remark:
    """Remove the lead-in (`and`, `what about`) and the question mark."""
    core = _core(question)
    lead = LEAD.match(core)
    text = core[lead.end() :] if lead else core
    first, _, after = text.partition(" ")
    preposition = first.casefold() if first.casefold() in PREPOSITIONS else ""
    return Remark(
        text=text,
        leads=bool(lead and (lead["and"] or lead["about"] or lead["same"])),
        about=bool(lead and lead["about"]),
        preposition=preposition,
        phrase=after if preposition else text,
    )


def _core(question: str) -> str:
    return question.strip().rstrip("?!. ")
