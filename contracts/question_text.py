"""The question as a prompt shows it: the user's own words, and beside those of a follow-up what they stand for (R3-4).

A model that is asked "and for the HP-300?" alone must guess; the query that was searched for says what is asked. It is
shown as what it is, in a frozen line of its own, and never in place of the question.
"""

from typing import Final, NamedTuple

from sourcebound.contracts.released import read_template
from sourcebound.contracts.sanitize import sanitize

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
