"""One attempt of a run as a person reads it: the prompt, the call, and each statement with its verdict (R5-12, R5-14).

Made of what R3, R4 and R5 recorded; nothing is measured anew and nothing is decided.
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
    """How a statement stands."""

    CITED = "cited"
    EXEMPT = "needs no citation"
    BROKEN = "breaks a rule"


class StatementView(Contract):
    """A statement, its verdict and what it rests on."""

    number: int
    text: str
    anchors: tuple[str, ...]
    verdict: StatementStatus
    violations: tuple[Violation, ...]
    literals: tuple[LiteralFinding, ...]


class PromptView(Contract):
    """A prompt by its hash and size; its text only where it was asked for."""

    prompt_sha256: str | None
    template: str | None
    repair_template: str | None
    tokens: int
    """Estimated, of all messages."""
    characters: int
    messages: tuple[Message, ...]


class AttemptView(Contract):
    """One prompt, its answer and the verdict; a layer that did not run is None."""

    number: int
    prompt: PromptView
    generation: Generation | None
    validation: ValidationResult | None
    statements: tuple[StatementView, ...]
    other_violations: tuple[Violation, ...]
    """Those that belong to no single statement."""


def build_attempt_views(state: State, *, with_prompt: bool) -> tuple[AttemptView, ...]:
    """The attempts of a run in their order; none where it ended before its prompt.

    Args:
        state: The run's state.
        with_prompt: Whether the text of the prompts is shown.
    """
    forms = [*(state.get("attempts") or ())]
    prompt = state.get("prompt")
    last = {"prompt": prompt, "generation": state.get("generation"), "validation": state.get("validation")}
    if prompt and prompt["prompt_sha256"] and last not in forms:
        forms.append(last)
    return tuple(_read(number, form, with_prompt) for number, form in enumerate(forms, start=1))


def _read(number: int, form: JsonObject, with_prompt: bool) -> AttemptView:
    generation = Generation.model_validate(form["generation"]) if form["generation"] else None
    validation = ValidationResult.model_validate(form["validation"]) if form["validation"] else None
    return build_attempt_view(
        number, Prompt.model_validate(form["prompt"]), generation, validation, with_prompt=with_prompt
    )


def build_attempt_view(
    number: int,
    prompt: Prompt,
    generation: Generation | None,
    validation: ValidationResult | None,
    *,
    with_prompt: bool,
) -> AttemptView:
    """One call of a model, whatever came of it.

    Args:
        number: Its number among the attempts.
        prompt: What was to be sent.
        generation: What the model said, where it was asked.
        validation: The verdict on it, where there is one.
        with_prompt: Whether the text of the prompt is shown.
    """
    statements = _statements(validation) if validation else ()
    placed = {violation for statement in statements for violation in statement.violations}
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
        other_violations=tuple(v for v in validation.outcome.violations if v not in placed) if validation else (),
    )


def _statements(validation: ValidationResult) -> tuple[StatementView, ...]:
    shown = []
    for index, statement in enumerate(validation.statements):
        violations = tuple(v for v in validation.outcome.violations if _concerns(v, index, statement))
        kept = StatementStatus.CITED if statement.anchors else StatementStatus.EXEMPT
        shown.append(
            StatementView(
                number=index + 1,
                text=statement.text,
                anchors=statement.anchors,
                verdict=StatementStatus.BROKEN if violations else kept,
                violations=violations,
                literals=tuple(finding for finding in validation.literals if finding.segment == index),
            )
        )
    return tuple(shown)


def _concerns(violation: Violation, index: int, statement: Statement) -> bool:
    """Whether a violation is about a statement: by its row, or by the words that it quotes."""
    if violation.row is not None:
        return violation.row == index
    if violation.code is FailureCode.INVALID_CITATION_REFERENCE:
        return violation.value in statement.anchors
    return bool(violation.value) and str(violation.value) in statement.text
