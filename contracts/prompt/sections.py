"""The question as a prompt shows it: the user's own words, and beside those of a follow-up what they stand for (R3-4).

A model that is asked "and for the HP-300?" alone must guess; the query that was searched for says what is asked. It is
shown as what it is, in a frozen line of its own, and never in place of the question.

The repair section: what a further attempt is told, and nothing of what was rejected (contract R5-12).

Its text is a released template, one sentence a broken rule, chosen by failure code alone. The rejected text never
comes back into a prompt: an invented number that a model reads again is a number that it believes.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.outcome import FailureCode
from sourcebound.contracts.policy.releases import read_template
from sourcebound.contracts.text.sanitize import sanitize

FOLLOW_UP_TEMPLATE: Final = "follow_up_v1"
"""The released line; another wording is another file, under another name."""
SLOT: Final = "{{search_query}}"


class QuestionText(NamedTuple):
    """What a prompt asks."""

    question: str
    search_query: str | None = None


def render_question(question: str, search_query: str | None) -> str:
    """The text of the question's section.

    Args:
        question: As received.
        search_query: What a follow-up stands for; None for any other question.

    Returns:
        The question sanitized, with the line for the query where there is one.
    """
    asked = sanitize(question).text
    if search_query is None:
        return asked
    line = read_template(FOLLOW_UP_TEMPLATE).replace(SLOT, " ".join(sanitize(search_query).text.split()))
    return f"{asked}\n{line}".rstrip("\n")


def read_question(text: str) -> QuestionText:
    """Takes the text of the question's section apart.

    Args:
        text: As `render_question` made it.

    Returns:
        The question and the search query beside it.
    """
    before, after = read_template(FOLLOW_UP_TEMPLATE).rstrip("\n").split(SLOT)
    question, line, rest = text.rpartition("\n" + before)
    if not line or not rest.endswith(after) or "\n" in rest:
        return QuestionText(text)
    return QuestionText(question, rest.removesuffix(after))


REPAIR_TEMPLATE: Final = "repair_v1"
"""The released section; another wording is another file, under another name."""
REPEATABLE: Final = frozenset(
    {
        FailureCode.MALFORMED_CITATION,
        FailureCode.INVALID_CITATION_REFERENCE,
        FailureCode.UNCITED_FACTUAL_STATEMENT,
        FailureCode.FORBIDDEN_CONTENT,
        FailureCode.UNSUPPORTED_LITERAL,
        FailureCode.CITATION_MISMATCH,
        FailureCode.INVALID_OUTPUT_SCHEMA,
    }
)
"""R5-3 … R5-10: what a model can mend. An empty answer, half a refusal and every fault end the run."""


def repair_section(broken: Sequence[FailureCode]) -> str:
    """The section for the rules that an attempt broke.

    Args:
        broken: The codes of its violations; each counts once, and the order does not matter.

    Returns:
        The opening line and a sentence a rule, in the order of the file; empty where nothing was broken.
    """
    if not broken:
        return ""
    opening, *rules = read_template(REPAIR_TEMPLATE).splitlines()
    sentences = dict(rule.split(": ", 1) for rule in rules)
    return "\n".join([opening, *(f"- {sentence}" for code, sentence in sentences.items() if code in broken)])
