"""R3-9, phase B by a model: the prompt that asks for the relevant facts, and the check of the reply.

A reply is JSON by schema, whole or not at all. Each row must name a fact of phase A, once, in words of that fact; any
other row fails the run, and no row is dropped. The selected facts are those of phase A: only the choice is taken from
the reply.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Final

from sourcebound.contracts.facts.extraction import Fact, FactKey
from sourcebound.contracts.outcome import FailureCode, Violation, proceed
from sourcebound.contracts.policy.releases import read_template
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import MESSAGE_BREAK, Message, Prompt, canonical_prompt
from sourcebound.contracts.prompt.fact_choice import PROFILE, RelevantFact, RelevantFacts
from sourcebound.contracts.prompt.sections import FOLLOW_UP_TEMPLATE, render_question
from sourcebound.contracts.text.sanitize import SanitizationMode, one_line, to_storable, without_control_tokens
from sourcebound.contracts.text.strict_json import read_strict
from sourcebound.contracts.text.tokens import estimate_tokens

TEMPLATE: Final = "relevant_facts_v1"
SHOWN: Final = 80
"""The most characters of a model's text in a violation."""


def facts_policy(policy: Policy) -> Policy:
    """Return the policy of the call: that of the run with another output profile."""
    return policy.model_copy(update={"prompt": policy.prompt.model_copy(update={"output_profile": PROFILE})})


def facts_prompt(
    facts: Sequence[Fact],
    question: str,
    search_query: str | None,
    stage: str,
    mode: SanitizationMode = "safe_normalize_v1",
) -> Prompt:
    """Build the prompt that asks for the relevant facts.

    Args:
        facts: The facts of phase A, in order.
        question: The question as received.
        search_query: The resolved query of a follow-up; None for any other question.
        stage: The calling stage.
        mode: The version of the sanitization (R2-S2).

    Returns:
        The prompt with its hash; the same bytes for the same facts and question.
    """
    system, user = read_template(TEMPLATE).split(MESSAGE_BREAK)
    before, after = user.split("{{facts}}")
    between, end = after.split("{{question}}")
    rows = without_control_tokens("\n".join(map(fact_row, facts)), mode)[0]
    content = before + rows + between + render_question(question, search_query, mode) + end
    messages = (
        Message(role="system", content=system.rstrip("\n")),
        Message(role="user", content=content.rstrip("\n")),
    )
    return Prompt(
        outcome=proceed(stage),
        messages=messages,
        prompt_sha256=hashlib.sha256(canonical_prompt(messages)).hexdigest(),
        prompt_tokens=sum(estimate_tokens(message.content) for message in messages),
        template=TEMPLATE,
        follow_up_template=FOLLOW_UP_TEMPLATE if search_query is not None else None,
    )


def fact_row(fact: Fact) -> str:
    """Write a fact as the row that a reply would use: JSON on one line, so that no quote can forge another row."""
    row = {"quote": one_line(fact.quote), "pdf": fact.document, "page": fact.page, "chunk_id": fact.chunk_id}
    return json.dumps(row, ensure_ascii=False)


def read_rows(section: str) -> tuple[RelevantFact, ...]:
    """Read the facts of a prompt from the text of its evidence section."""
    return tuple(RelevantFact.model_construct(**json.loads(line)) for line in section.split("\n"))


def write_choice(rows: Sequence[RelevantFact]) -> str:
    """Write the reply that names some facts."""
    return RelevantFacts(relevant_facts=tuple(rows)).model_dump_json()


def read_choice(raw: str, facts: Sequence[Fact]) -> frozenset[FactKey] | tuple[Violation, ...]:
    """Read a reply against the facts of its prompt.

    Args:
        raw: The raw text of the model.
        facts: The facts of the prompt.

    Returns:
        The keys of the chosen facts; or every violation, in the order of the rows.
    """
    reply = read_strict(raw, RelevantFacts)
    if isinstance(reply, str):
        message = f"the choice of facts is not the JSON that was asked for: {reply}"
        return (_violation(FailureCode.INVALID_FACTS_SCHEMA, message),)
    chosen: set[FactKey] = set()
    found: list[Violation] = []
    for number, row in enumerate(reply.relevant_facts):
        key = FactKey(row.pdf, row.page, row.chunk_id)
        quotes = [one_line(fact.quote) for fact in facts if fact.key == key]
        if not quotes:
            message = f"row {number + 1} names a fact that was not retrieved"
            found.append(_violation(FailureCode.UNKNOWN_FACT, message, number, ", ".join(map(str, key))))
        elif not any(one_line(row.quote) in quote for quote in quotes):
            message = f"row {number + 1} quotes what does not stand in the fact that it names"
            found.append(_violation(FailureCode.UNKNOWN_FACT, message, number, row.quote))
        elif key in chosen:
            message = f"row {number + 1} names a fact that an earlier row names"
            found.append(_violation(FailureCode.DUPLICATE_FACT, message, number, ", ".join(map(str, key))))
        chosen.add(key)
    return tuple(found) or frozenset(chosen)


def _violation(code: FailureCode, message: str, row: int | None = None, value: str | None = None) -> Violation:
    shown = value and to_storable(value)[:SHOWN]
    return Violation(code=code, clause="R3-9", message=message, field="raw_model_text", row=row, value=shown)
