"""Two sections of the prompt: the question (R3-4) and, in a further attempt, the repair section (R5-12).

The question is in the user's own words. A follow-up such as "and for the HP-300?" alone would make the model guess, so
its search query is added, in a frozen line of its own and never in place of the question.

The repair section is a released template with one sentence for each broken rule, chosen by failure code only. The
rejected text never returns to a prompt, because a model believes an invented number that it reads again.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.outcome import FailureCode
from sourcebound.contracts.policy.releases import read_template
from sourcebound.contracts.text.sanitize import sanitize

FOLLOW_UP_TEMPLATE: Final = "follow_up_v1"
"""The released template of the line; a new wording is a new file with a new name."""
SLOT: Final = "{{search_query}}"


class QuestionText(NamedTuple):
    """The question of a prompt."""

    question: str
    search_query: str | None = None


def render_question(question: str, search_query: str | None) -> str:
    """Render the question section.

    Args:
        question: The question as received.
        search_query: The search query of a follow-up; None for any other question.

    Returns:
        The sanitized question, with a line for the search query if there is one.
    """
    asked = sanitize(question).text
    if search_query is None:
        return asked
    line = read_template(FOLLOW_UP_TEMPLATE).replace(SLOT, " ".join(sanitize(search_query).text.split()))
    return f"{asked}\n{line}".rstrip("\n")


def read_question(text: str) -> QuestionText:
    """Parse the question section.

    Args:
        text: A text from `render_question`.

    Returns:
        The question and its search query.
    """
    before, after = read_template(FOLLOW_UP_TEMPLATE).rstrip("\n").split(SLOT)
    question, line, rest = text.rpartition("\n" + before)
    if not line or not rest.endswith(after) or "\n" in rest:
        return QuestionText(text)
    return QuestionText(question, rest.removesuffix(after))


REPAIR_TEMPLATE: Final = "repair_v1"
"""The released template of the section; a new wording is a new file with a new name."""
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
"""Failures that a model can repair (R5-3 to R5-10). An empty answer, an incomplete refusal and a fault end the run."""


def repair_section(broken: Sequence[FailureCode]) -> str:
    """Render the repair section for the rules that an attempt broke.

    Args:
        broken: The codes of the violations; repetitions and order do not matter.

    Returns:
        The opening line and a sentence for each rule, in the order of the file; empty without violations.
    """
    if not broken:
        return ""
    opening, *rules = read_template(REPAIR_TEMPLATE).splitlines()
    sentences = dict(rule.split(": ", 1) for rule in rules)
    return "\n".join([opening, *(f"- {sentence}" for code, sentence in sentences.items() if code in broken)])
