"""Two sections of the prompt: the question (R3-4) and, in a further attempt, the repair section (R5-12).

The question is in the user's own words. A follow-up such as "and for the HP-300?" alone would make the model guess, so
its search query is added, in a frozen line of its own and never in place of the question.

The repair section is a released template with one sentence for each broken rule, chosen by failure code only. The
rejected text never returns to a prompt, because a model believes an invented number that it reads again.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from sourcebound.contracts.outcome import FailureCode
from sourcebound.contracts.policy.releases import read_template
from sourcebound.contracts.text.sanitize import SanitizationMode, sanitize

FOLLOW_UP_TEMPLATE: Final = "follow_up_v1"
"""The released template of the line; a new wording is a new file with a new name."""
SLOT: Final = "{{search_query}}"


class QuestionText(NamedTuple):
    """The question of a prompt."""

    question: str
    search_query: str | None = None


def render_question(question: str, search_query: str | None, mode: SanitizationMode = "safe_normalize_v1") -> str:
    """Render the question section.

    Args:
        question: The question as received.
        search_query: The search query of a follow-up; None for any other question.
        mode: The version of the sanitization (R2-S2).

    Returns:
        The sanitized question, with a line for the search query if there is one.
    """
    asked = sanitize(question, mode).text
    if search_query is None:
        return asked
    line = read_template(FOLLOW_UP_TEMPLATE).replace(SLOT, " ".join(sanitize(search_query, mode).text.split()))
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
"""The section's template where the policy names none; a new wording is a new file with a new name."""


@cache
def repair_sentences(template: str = REPAIR_TEMPLATE) -> Mapping[str, str]:
    """Return the sentence of each failure that a model can repair, by its code, in the order of the file (R5-12).

    An empty answer and a fault are in no template: they end the run.
    """
    return dict(rule.split(": ", 1) for rule in read_template(template).splitlines()[1:])


def repair_section(broken: Sequence[FailureCode], template: str = REPAIR_TEMPLATE) -> str:
    """Render the repair section for the rules that an attempt broke.

    Args:
        broken: The codes of the violations; repetitions and order do not matter.
        template: The released template of the section.

    Returns:
        The opening line and a sentence for each rule, in the order of the file; empty without violations.
    """
    if not broken:
        return ""
    opening = read_template(template).splitlines()[0]
    return "\n".join(
        [opening, *(f"- {sentence}" for code, sentence in repair_sentences(template).items() if code in broken)]
    )
