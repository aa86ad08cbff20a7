"""The view of one attempt of a run: the prompt, the call, and each statement with its verdict (R5-12, R5-14).

The view is built from what R3, R4 and R5 recorded. It measures nothing again and decides nothing.
"""

from enum import StrEnum

from sourcebound.contracts.base import Contract
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import FailureCode, Violation
from sourcebound.contracts.prompt.build import Message, Prompt
from sourcebound.contracts.state import JsonObject, State
from sourcebound.contracts.validation.answer_reading import Statement
from sourcebound.contracts.validation.literals.check import LiteralFinding
from sourcebound.contracts.validation.result import ValidationResult


class StatementStatus(StrEnum):
    """The verdict on a statement."""

    CITED = "cited"
    EXEMPT = "needs no citation"
    BROKEN = "breaks a rule"


class StatementView(Contract):
    """A statement with its verdict, citations and literals."""

    number: int
    text: str
    anchors: tuple[str, ...]
    verdict: StatementStatus
    violations: tuple[Violation, ...]
    literals: tuple[LiteralFinding, ...]


class PromptView(Contract):
    """The hash and size of a prompt; its text only on request."""

    prompt_sha256: str | None
    template: str | None
    repair_template: str | None
    tokens: int
    """The estimated number of tokens of all messages."""
    characters: int
    messages: tuple[Message, ...]


class AttemptView(Contract):
    """One prompt, its answer and the verdict. A layer that did not run is None."""

    number: int
    prompt: PromptView
    generation: Generation | None
    validation: ValidationResult | None
    statements: tuple[StatementView, ...]
    other_violations: tuple[Violation, ...]
    """The violations that do not belong to a single statement."""


def build_attempt_views(state: State, *, with_prompt: bool) -> tuple[AttemptView, ...]:
    """Build the attempts of a run in their order. A run that ended before its prompt has none.

    Args:
        state: The run's state.
        with_prompt: Whether to show the text of the prompts.
    """
    attempts = [*(state.get("attempts") or ())]
    prompt = state.get("prompt")
    last = {"prompt": prompt, "generation": state.get("generation"), "validation": state.get("validation")}
    if prompt and prompt["prompt_sha256"] and last not in attempts:
        attempts.append(last)
    return tuple(_parse_attempt(number, attempt, with_prompt) for number, attempt in enumerate(attempts, start=1))


def _parse_attempt(number: int, attempt: JsonObject, with_prompt: bool) -> AttemptView:
    generation = Generation.model_validate(attempt["generation"]) if attempt["generation"] else None
    validation = ValidationResult.model_validate(attempt["validation"]) if attempt["validation"] else None
    return build_attempt_view(
        number, Prompt.model_validate(attempt["prompt"]), generation, validation, with_prompt=with_prompt
    )


def build_attempt_view(
    number: int,
    prompt: Prompt,
    generation: Generation | None,
    validation: ValidationResult | None,
    *,
    with_prompt: bool,
) -> AttemptView:
    """Build the view of one call of a model, whatever its outcome.

    Args:
        number: The number of the attempt.
        prompt: The prompt of the call.
        generation: The model's result, if the model was called.
        validation: The verdict on the result, if there is one.
        with_prompt: Whether to show the text of the prompt.
    """
    statements = _build_statement_views(validation) if validation else ()
    assigned = {violation for statement in statements for violation in statement.violations}
    return AttemptView(
        number=number,
        prompt=PromptView(
            prompt_sha256=prompt.prompt_sha256,
            template=prompt.template,
            repair_template=prompt.repair_template,
            tokens=prompt.prompt_tokens,
            characters=sum(len(message.content) for message in prompt.messages),
            messages=prompt.messages if with_prompt else (),
        ),
        generation=generation,
        validation=validation,
        statements=statements,
        other_violations=tuple(v for v in validation.outcome.violations if v not in assigned) if validation else (),
    )


def _build_statement_views(validation: ValidationResult) -> tuple[StatementView, ...]:
    views = []
    for index, statement in enumerate(validation.statements):
        violations = tuple(v for v in validation.outcome.violations if _concerns(v, index, statement))
        status = StatementStatus.CITED if statement.anchors else StatementStatus.EXEMPT
        views.append(
            StatementView(
                number=index + 1,
                text=statement.text,
                anchors=statement.anchors,
                verdict=StatementStatus.BROKEN if violations else status,
                violations=violations,
                literals=tuple(finding for finding in validation.literals if finding.segment == index),
            )
        )
    return tuple(views)


def _concerns(violation: Violation, index: int, statement: Statement) -> bool:
    """Return whether a violation is about a statement, by its row or by the words that it quotes."""
    if violation.row is not None:
        return violation.row == index
    if violation.code is FailureCode.INVALID_CITATION_REFERENCE:
        return violation.value in statement.anchors
    return bool(violation.value) and str(violation.value) in statement.text
