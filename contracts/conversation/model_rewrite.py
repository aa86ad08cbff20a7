"""CP-6: rewriting of follow-ups by a model, if the policy asks for it: the prompt, and the check of the reply.

The call is recorded like any other, with its bytes and their hash. The reply is used only for search, and only if it
names nothing that the user did not name.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from sourcebound.contracts.conversation.question_grammar import read_marks
from sourcebound.contracts.conversation.turns import STAGE, Resolution, Turn, one_line
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import proceed
from sourcebound.contracts.policy.releases import read_template
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import MESSAGE_BREAK, Message, Prompt, canonical_prompt
from sourcebound.contracts.request import MAX_QUESTION_CHARACTERS
from sourcebound.contracts.text.tokens import estimate_tokens

REWRITE_TEMPLATE: Final = "rewrite_v1"
SHOWN_TURNS: Final = 4
"""The number of earlier questions that the model sees."""
UNUSABLE: Final = "the model's search query could not be used ({reason}); the question was searched for as it stands"


def shown_turns(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the earlier runs whose questions the model sees, the latest first, without erased ones."""
    return tuple(turn for turn in turns if 0 < len(turn.asked) <= MAX_QUESTION_CHARACTERS)[:SHOWN_TURNS]


def rewriting_prompt(question: str, turns: Sequence[Turn]) -> Prompt:
    """Build the prompt that asks for a search query.

    Args:
        question: The user's question.
        turns: The earlier runs from `shown_turns`, the latest first.

    Returns:
        The prompt with its hash; the same bytes for the same questions.
    """
    earlier = "\n".join(f"{number}. {turn.asked}" for number, turn in enumerate(reversed(turns), start=1))
    system, user = read_template(REWRITE_TEMPLATE).split(MESSAGE_BREAK)
    before, after = user.split("{{earlier_questions}}")
    between, end = after.split("{{question}}")
    content = before + earlier + between + one_line(question) + end
    messages = (
        Message(role="system", content=system.rstrip("\n")),
        Message(role="user", content=content.rstrip("\n")),
    )
    return Prompt(
        outcome=proceed(STAGE),
        messages=messages,
        prompt_sha256=hashlib.sha256(canonical_prompt(messages)).hexdigest(),
        prompt_tokens=sum(estimate_tokens(message.content) for message in messages),
        template=REWRITE_TEMPLATE,
    )


def rewriting_policy(policy: Policy) -> Policy:
    """Return the policy of the call: that of the run with a prose profile, because a query is not JSON."""
    return policy.model_copy(update={"prompt": policy.prompt.model_copy(update={"output_profile": "prose"})})


def read_rewriting(question: str, turns: Sequence[Turn], prompt: Prompt, generation: Generation) -> Resolution:
    """Read the model's reply.

    Args:
        question: The user's question.
        turns: The earlier runs that the model saw.
        prompt: The prompt that was sent.
        generation: The reply.

    Returns:
        The resolution; the question is used unchanged if the model repeats it, or if the reply is not a query.
    """
    reply, asked = generation.raw_model_text.strip(), one_line(question)
    query = one_line(reply)
    reason = _objection(reply, query, [asked, *(turn.asked for turn in turns)])
    used = None if reason or query == asked else query
    return Resolution(
        search_query=used,
        rule="model" if used else None,
        from_run_id=turns[0].run_id if used else None,
        earlier=tuple(turns),
        notices=(UNUSABLE.format(reason=reason),) if reason else (),
        prompt=prompt,
        generation=generation,
    )


def _objection(reply: str, query: str, questions: Sequence[str]) -> str:
    if not query:
        return "it is empty"
    if len(reply.splitlines()) > 1 or len(query) > MAX_QUESTION_CHARACTERS or query.startswith("NO_EVIDENCE"):
        return "it is no query"
    known = {mark.written.casefold() for text in questions for mark in read_marks(text)}
    new = [mark.written for mark in read_marks(query) if mark.written.casefold() not in known]
    return f"no question names {new[0]}" if new else ""
