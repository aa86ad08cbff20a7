"""Admission: a request needs a question or a bundle, an existing collection, and a policy that fits its index."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from pydantic import ValidationError

from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.labels import MAX_CALLER_LABELS, read_labels
from sourcebound.contracts.outcome import (
    OPENING,
    FailureCode,
    Outcome,
    RefusalCode,
    RefusalSource,
    Violation,
    fail,
    fail_with,
    proceed,
    quote_value,
    refuse,
)
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import MAX_QUESTION_CHARACTERS, Filters, Run
from sourcebound.contracts.response.chat_messages import question_of
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.contracts.text.sanitize import sanitize
from sourcebound.contracts.versions import Versions

STAGE = OPENING
TEXT_FIELDS: Final = ("question", "collection")
"""Fields of a request that are texts and name no record."""


class Admission(NamedTuple):
    """The run and its first outcome."""

    run: Run
    outcome: Outcome


def admit(
    request: AskInput,
    policy: Policy,
    collection: Collection | None,
    *,
    collection_name: str | None,
    model: str,
    thread_id: str,
    new_id: Callable[[], str],
    started_at: str,
    is_draft: bool = False,
    salt: str | None = None,
    made_by: Versions | None = None,
) -> Admission:
    """Open a run.

    Args:
        request: The graph's input.
        policy: The policy of the run.
        collection: The requested collection; None if it does not exist, or is not needed.
        collection_name: The name of the requested collection.
        model: The generator's name.
        thread_id: The checkpoint thread.
        new_id: Generator of ids (UUIDv7).
        started_at: The start of the run, in UTC (ISO 8601).
        is_draft: Whether the policy is a draft (P-1).
        salt: Random text, for the digests of the audit record (R5P-7).
        made_by: The versions of the code and the contracts (CP-10).

    Returns:
        The run and its first outcome.
    """
    bundle = request.get("retrieval_bundle")
    filters, violations = _read_filters(request)
    violations.extend(_find_wrong_types(request))
    labels = _read_labels(request, violations)
    question = _read_question(request, bundle)
    violations.extend(_find_entry_faults(request, question, filters))
    run_id = request.get("run_id") or new_id()
    run = Run(
        request_id=read_request_id(request) or new_id(),
        run_id=run_id,
        thread_id=thread_id or run_id,
        question=question,
        collection=None if bundle is not None else collection_name,
        filters=filters,
        model=model,
        policy_version=policy.policy_version,
        policy_sha256=policy.sha256,
        entry="question" if bundle is None else "bundle",
        started_at=started_at,
        conversation_id=request.get("conversation_id"),
        is_draft=is_draft,
        salt=salt,
        made_by=made_by,
        caller_labels=labels,
    )
    if violations:
        return Admission(run, fail_with(STAGE, tuple(violations)))
    return Admission(run, proceed(STAGE) if bundle is not None else _check_index(run, policy, collection))


def _read_filters(request: AskInput) -> tuple[Filters, list[Violation]]:
    given: object = request.get("filters") or {}
    if not isinstance(given, Mapping):
        return Filters(), [_invalid_request("filters", f"filters is not an object: {quote_value(given)}")]
    try:
        return Filters.model_validate(given), []
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        names = ", ".join(Filters.model_fields)
        message = f"filter {detail['loc'][0]}: {detail['msg']} (known filters: {names})"
        return Filters(), [_invalid_request("filters", message)]


def _read_labels(request: AskInput, violations: list[Violation]) -> tuple[str, ...] | None:
    """Return the labels of the caller, ordered (R6-7).

    Unreadable ones end the run before its search. They become None: only a caller that labels do not restrict reads it.
    """
    given: object = request.get("caller_labels")
    try:
        return None if given is None else read_labels(given, MAX_CALLER_LABELS)
    except ValueError as error:
        violations.append(_invalid_request("caller_labels", f"caller_labels {error}"))
        return None


def _find_wrong_types(request: AskInput) -> list[Violation]:
    """Report fields of the wrong type that admission would otherwise pass over (S-4)."""
    violations = []
    for name in TEXT_FIELDS:
        value = request.get(name)
        if not isinstance(value, str | None):
            violations.append(_invalid_request(name, f"{name} is not a text: {quote_value(value)}"))
    limits: object = request.get("limits") or {}
    if not isinstance(limits, Mapping):
        violations.append(_invalid_request("limits", f"limits is not an object: {quote_value(limits)}"))
    return violations


def _check_index(run: Run, policy: Policy, collection: Collection | None) -> Outcome:
    """Check that the collection exists and that its index is the calibrated one (R1-2, P-3)."""
    is_filled = collection is not None and (collection.chunks > 0 or run.caller_labels is not None)
    if collection is None or not is_filled:  # that it has only hidden documents is not said (R6-7)
        state = "does not exist" if collection is None else "holds no documents"
        return refuse(
            STAGE,
            RefusalCode.COLLECTION_NOT_FOUND,
            RefusalSource.GATE,
            f"the collection {run.collection!r} {state}; "
            f"fill it with `sourcebound ingest PATH --collection {run.collection}`",
        )
    mismatch = _describe_mismatch(policy, collection)
    return fail(STAGE, FailureCode.POLICY_INDEX_MISMATCH, mismatch) if mismatch else proceed(STAGE)


def _describe_mismatch(policy: Policy, collection: Collection) -> str:
    """Describe how the index differs from the calibrated one, and how to recalibrate; empty if it does not differ."""
    calibration = policy.calibration
    if calibration is None:
        return ""
    command = f"`sourcebound calibrate --collection {collection.name} --questions FILE`"
    if (calibration.embedding_model, calibration.metric) != (collection.embedding_model, collection.metric):
        return (
            f"policy {policy.policy_version} was calibrated for {calibration.embedding_model} ({calibration.metric}), "
            f"and the collection {collection.name!r} is made with {collection.embedding_model} ({collection.metric}); "
            f"name a policy calibrated for it with --policy, make one with {command}, or ingest the documents again "
            "with the policy's embedder"
        )
    if calibration.index_version not in (None, collection.index_version):
        return (
            f"policy {policy.policy_version} was calibrated for the index {calibration.index_version}, and that of the "
            f"collection {collection.name!r} is {collection.index_version}: its documents have changed; calibrate it "
            f"again with {command}"
        )
    return ""


def _read_question(request: AskInput, bundle: object) -> str:
    question = bundle.get("user_question") if isinstance(bundle, Mapping) else question_of(request)
    return question.replace("\0", "") if isinstance(question, str) else ""


def read_request_id(request: AskInput) -> str:
    """Return the request id of the caller, else of the bundle; empty if neither is a text."""
    bundle = request.get("retrieval_bundle")
    request_ids = (request.get("request_id"), bundle.get("request_id") if isinstance(bundle, Mapping) else None)
    return next((name for name in request_ids if isinstance(name, str) and name), "")


def requested_collection(request: AskInput, context: RunContext) -> str | None:
    """Return the collection that the request or its context names; None if neither does (R1-2)."""
    name = request.get("collection")
    return name if name and isinstance(name, str) else context.collection


def _find_entry_faults(request: AskInput, question: str, filters: Filters) -> list[Violation]:
    """Report what a supplied bundle would leave unapplied, or what is wrong with the question (R1-1, S-4)."""
    if request.get("retrieval_bundle") is not None:
        return _find_unapplied_options(request, filters)
    return _question_violations(question) if isinstance(question_of(request), str | None) else []


def _question_violations(question: str) -> list[Violation]:
    if not sanitize(question).text:
        return [_invalid_request("question", "the question is empty")]
    if len(question) > MAX_QUESTION_CHARACTERS:
        return [_invalid_request("question", f"the question is over {MAX_QUESTION_CHARACTERS} characters")]
    return []


def _find_unapplied_options(request: AskInput, filters: Filters) -> list[Violation]:
    """Report options that narrow a search but do not apply to a bundle, so that they do not seem applied (P-4)."""
    findings = []
    if filters.given():
        message = (
            "filters narrow a search, and a bundle was found already: apply them in your retriever, and name them in "
            "the bundle's filters_applied"
        )
        findings.append(_invalid_request("filters", message))
    limits: object = request.get("limits") or {}
    if isinstance(limits, Mapping) and "top_k" in limits:
        message = (
            "the limit top_k is of a search, and a bundle was found already: bring fewer rows, or limit max_chunks"
        )
        findings.append(_invalid_request("limits", message))
    return findings


def _invalid_request(field: str, message: str) -> Violation:
    return Violation(code=FailureCode.INVALID_REQUEST, clause="R1-1", message=message, field=field)
