"""R3: the prompt is a pure function of bundle, policy and question, down to its bytes (§4).

The five sections come from a versioned template file and are sent as two chat messages. All inserted text is sanitized,
so only the template can produce section headers and evidence headers: `read_prompt` parses any built prompt again, and
a test does so for hostile evidence. Evidence that exceeds the budget is dropped from the lowest rank (R3-6).
"""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from pydantic import model_validator

from sourcebound.contracts.base import Contract
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, RowOutcome
from sourcebound.contracts.evidence.gate import check_minimum
from sourcebound.contracts.evidence.withhold import drop_evidence, withhold
from sourcebound.contracts.outcome import FailureCode, Outcome, Status, fail, fill_status, proceed
from sourcebound.contracts.policy.releases import read_template
from sourcebound.contracts.policy.schema import Policy, PromptPolicy
from sourcebound.contracts.prompt.sections import (
    FOLLOW_UP_TEMPLATE,
    REPAIR_TEMPLATE,
    read_question,
    render_question,
    repair_section,
)
from sourcebound.contracts.text.sanitize import SECTION_TITLES, without_control_tokens
from sourcebound.contracts.text.tokens import estimate_tokens


def without_last(bundle: AnswerBundle) -> AnswerBundle:
    """Drop the lowest-ranked chunk of a bundle; the ledger names it."""
    return drop_evidence(bundle, {bundle.selected_evidence[-1].rank: RowOutcome.DROP_PROMPT_BUDGET})


def over_budget(stage: str, limits: PromptPolicy, question: str) -> Outcome:
    """Return the failure of a question that leaves no room for evidence."""
    available = limits.max_total_prompt_tokens - limits.reserved_output_tokens
    return fail(
        stage,
        FailureCode.PROMPT_BUDGET,
        f"the question ({estimate_tokens(question)} tokens) leaves no room for evidence in a prompt of "
        f"{available} tokens; ask a shorter question",
    )


STAGE = "build_prompt"
REFUSAL: Final = "NO_EVIDENCE: The provided evidence does not contain sufficient information to answer this question."
"""The refusal string that the model must use (R3-2)."""
MESSAGE_BREAK: Final = "<<<MESSAGE BREAK>>>\n"
SECTION_HEADER: Final = re.compile(r"^=== (" + "|".join(SECTION_TITLES) + r") ===$", re.MULTILINE)
EVIDENCE_HEADER: Final = re.compile(
    r"^\[(?P<anchor>C\d+) \| chunk_id=(?P<chunk_id>(?:\\.|[^\\\]|])*)"
    r" \| knowledge_id=(?P<knowledge_id>(?:\\.|[^\\\]|])*) \| source=(?P<source>(?:\\.|[^\\\]|])*)\]$",
    re.MULTILINE,
)


class Message(Contract):
    """A chat message."""

    role: Literal["system", "user"]
    content: str


class Prompt(Contract):
    """The result of R3."""

    outcome: Outcome
    build_status: Status = Status.OK
    """The outcome's status (R3-8)."""
    messages: tuple[Message, ...] = ()
    prompt_sha256: str | None = None
    prompt_tokens: int = 0
    """Estimated tokens of both messages."""
    template: str | None = None
    repair_template: str | None = None
    """The template of the repair section, after a rejected attempt (R5-12)."""
    follow_up_template: str | None = None
    """The template of the line with a follow-up's search query (R3-4)."""

    _status = model_validator(mode="before")(fill_status("build_status"))


class BuiltPrompt(NamedTuple):
    """The prompt, and the bundle that it shows; rows over the budget are in its ledger."""

    prompt: Prompt
    bundle: AnswerBundle


class EvidencePart(NamedTuple):
    """An evidence chunk in a parsed prompt."""

    anchor: str
    source: str
    text: str


class PromptParts(NamedTuple):
    """A parsed prompt."""

    sections: dict[str, str]
    evidence: tuple[EvidencePart, ...]
    question: str
    search_query: str | None = None
    """The search query of a follow-up."""


def canonical_prompt(messages: Sequence[Message]) -> bytes:
    """Return the UTF-8 JSON of the message list, over which `prompt_sha256` is computed (R3-5)."""
    form = [{"role": message.role, "content": message.content} for message in messages]
    return json.dumps(form, ensure_ascii=False, separators=(",", ":")).encode()


def build_prompt(bundle: AnswerBundle, policy: Policy, broken: Sequence[FailureCode] = ()) -> BuiltPrompt:
    """Build the prompt; drop the lowest rank until it fits the budget (R3-1 to R3-8).

    Args:
        bundle: The answer bundle of R2.
        policy: The policy of the run.
        broken: The rules that the previous attempt broke (R5-12).

    Returns:
        The prompt with its hash, empty if nothing is sent, and the bundle that it shows.
    """
    if bundle.outcome.status is not Status.OK:
        return BuiltPrompt(Prompt(outcome=bundle.outcome), bundle)
    limits = policy.prompt
    mode, repair_template = policy.selection.sanitization_mode, limits.repair_template or REPAIR_TEMPLATE
    question = render_question(bundle.user_question, bundle.search_query, mode)
    while bundle.selected_evidence:
        messages = _render(bundle, question, policy, repair_section(broken, repair_template))
        tokens = sum(estimate_tokens(message.content) for message in messages)
        if tokens + limits.reserved_output_tokens <= limits.max_total_prompt_tokens:
            digest = hashlib.sha256(canonical_prompt(messages)).hexdigest()
            return BuiltPrompt(
                Prompt(
                    outcome=proceed(STAGE),
                    messages=messages,
                    prompt_sha256=digest,
                    prompt_tokens=tokens,
                    template=limits.template,
                    repair_template=repair_template if broken else None,
                    follow_up_template=FOLLOW_UP_TEMPLATE if bundle.search_query is not None else None,
                ),
                bundle,
            )
        bundle = without_last(bundle)
        minimum = check_minimum(bundle.selected_evidence, policy.retrieval, STAGE)
        if bundle.selected_evidence and minimum.status is not Status.OK:
            return BuiltPrompt(Prompt(outcome=minimum), withhold(bundle, minimum))
    return BuiltPrompt(Prompt(outcome=over_budget(STAGE, limits, question)), bundle)


def read_prompt(messages: Sequence[Message]) -> PromptParts:
    """Parse a built prompt.

    Args:
        messages: The messages of a prompt.

    Returns:
        The five sections by title, the evidence chunks in order and the question.
    """
    sections: dict[str, str] = {}
    for message in messages:
        pieces = SECTION_HEADER.split(message.content)
        for title, body in zip(pieces[1::2], pieces[2::2], strict=True):
            sections[title] = body.strip("\n")
    block = sections.get("EVIDENCE", "")
    headers = list(EVIDENCE_HEADER.finditer(block))
    ends = [*(header.start() for header in headers), len(block)][1:]
    evidence = tuple(
        EvidencePart(header["anchor"], header["source"], block[header.end() : end].strip("\n"))
        for header, end in zip(headers, ends, strict=True)
    )
    return PromptParts(sections, evidence, *read_question(sections.get("USER QUESTION", "")))


def shown_block(evidence_block_text: str, policy: Policy) -> str:
    """Return an evidence block as the prompt shows it: without chat-control tokens in its headers too (R2-S2)."""
    return without_control_tokens(evidence_block_text, policy.selection.sanitization_mode)[0]


def _render(bundle: AnswerBundle, question: str, policy: Policy, repair: str) -> tuple[Message, ...]:
    system, user = read_template(policy.prompt.template).split(MESSAGE_BREAK)
    before, after = user.split("{{evidence_block}}")
    between, end = after.split("{{question}}")
    content = before + shown_block(bundle.evidence_block_text, policy) + between + question + end + repair
    return (
        Message(role="system", content=system.rstrip("\n")),
        Message(role="user", content=content.rstrip("\n")),
    )
