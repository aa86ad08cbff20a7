"""R5P-7: salted digests that bind an audit record to what it speaks of.

The salt is random, belongs to one run, and is stored only with its erasable texts and checkpoints. With it, anyone can
check that a text is the recorded one. Without it, a digest says nothing about the text.
"""

import hashlib
from typing import Any, Final, NamedTuple

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.request import Run
from sourcebound.contracts.text.canonical_json import canonical_json
from sourcebound.contracts.validation.result import ValidationResult

JsonObject = dict[str, Any]


class ContentDigests(NamedTuple):
    """The digests of one attempt; all None for a run without a salt, of an earlier version."""

    run_digest: str | None = None
    """Of the identity of the run: ids, question, model, collection, filters, policy, start."""
    question_digest: str | None = None
    raw_text_digest: str | None = None
    """Of the model's text; None if no model answered."""
    answer_digest: str | None = None
    """Of the released text; None if nothing was released."""
    evidence_digest: str | None = None
    """Of the selected evidence; None if assembly did not run."""
    generation_digest: str | None = None
    """Of every model call and of what was resolved and chosen before it (`bind_calls`); None if there is nothing."""


DIGESTS: Final = ContentDigests._fields


def bind_calls(generation: JsonObject | None, resolution: JsonObject | None, facts: JsonObject | None) -> JsonObject:
    """Return the JSON of a model call, of the resolved question and of the chosen facts, where there are any.

    Args:
        generation: The model's result.
        resolution: The channel `resolution`.
        facts: The channel `facts`.
    """
    calls = {"generation": generation, "resolution": resolution, "facts": facts}
    return {name: value for name, value in calls.items() if value}


def digest_content(
    run: Run,
    bundle: AnswerBundle | None,
    generation: Generation | None,
    validation: ValidationResult | None,
    resolution: JsonObject | None = None,
    facts: JsonObject | None = None,
) -> ContentDigests:
    """Compute the digests of an attempt.

    Args:
        run: The run, with its salt.
        bundle: The evidence, if assembly ran.
        generation: The model's result, if the model was called.
        validation: The verdict, if there was an answer.
        resolution: The JSON of the resolved question, in a conversation.
        facts: The JSON of the chosen facts, if the policy has a facts phase.
    """
    if run.salt is None:
        return ContentDigests()
    answered = generation.model_dump(mode="json") if generation else None
    evidence = [chunk.model_dump(mode="json") for chunk in bundle.selected_evidence] if bundle else None
    return ContentDigests(
        run_digest=salted_digest(run.salt, run.model_dump(mode="json")),
        question_digest=salted_digest(run.salt, run.question),
        raw_text_digest=salted_digest(run.salt, (generation and generation.raw_model_text) or None),
        answer_digest=salted_digest(run.salt, (validation and validation.validated_answer_text) or None),
        evidence_digest=salted_digest(run.salt, evidence),
        generation_digest=salted_digest(run.salt, bind_calls(answered, resolution, facts) or None),
    )


def salted_digest(salt: str, value: str | list[Any] | dict[str, Any] | None) -> str | None:
    """Return the SHA-256 of the salt and the canonical JSON of a value, in hexadecimal; None without a value."""
    if value is None:
        return None
    return hashlib.sha256(salt.encode() + b"\n" + canonical_json(value)).hexdigest()
