"""Whether a request can be served at all.

A question or a bundle, a collection that exists, a policy that fits its index.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pydantic import ValidationError

from sourcebound.contracts.corpus.collection import Collection
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
    refuse,
)
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import MAX_QUESTION_CHARACTERS, Filters, Run
from sourcebound.contracts.response.chat_messages import question_of
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.contracts.text.sanitize import sanitize

STAGE = OPENING


class Admission(NamedTuple):
    """The run, and whether it may go on."""

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
) -> Admission:
    """Opens a run.

    Args:
        request: The graph's input.
        policy: The policy of the run.
        collection: The collection asked for; None where there is none of that name, or none is needed.
        collection_name: Its name.
        model: The generator's name.
        thread_id: The checkpoint thread.
        new_id: Makes ids (UUIDv7).
        started_at: UTC, ISO 8601.
        is_draft: Whether the policy is a draft (P-1).

    Returns:
        The run and its first outcome.
    """
    bundle = request.get("retrieval_bundle")
    violations: list[Violation] = []
    try:
        filters = Filters.model_validate(request.get("filters") or {})
    except ValidationError as error:
        filters = Filters()
        detail = error.errors(include_url=False)[0]
        known = ", ".join(Filters.model_fields)
        violations.append(_violation("filters", f"filter {detail['loc'][0]}: {detail['msg']} (known filters: {known})"))
    question = _question(request, bundle)
    violations.extend(_question_violations(question) if bundle is None else _unapplied(request, filters))
    run_id = request.get("run_id") or new_id()
    run = Run(
        request_id=stated_request_id(request) or new_id(),
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
    )
    if violations:
        return Admission(run, fail_with(STAGE, tuple(violations)))
    return Admission(run, proceed(STAGE) if bundle is not None else _fits(run, policy, collection))


def _fits(run: Run, policy: Policy, collection: Collection | None) -> Outcome:
    """R1-2 and P-3: the collection is there, and its index is the one the gates were calibrated for."""
    if collection is None or not collection.chunks:
        state = "does not exist" if collection is None else "holds no documents"
        return refuse(
            STAGE,
            RefusalCode.COLLECTION_NOT_FOUND,
            RefusalSource.GATE,
            f"the collection {run.collection!r} {state}; "
            f"fill it with `sourcebound ingest PATH --collection {run.collection}`",
        )
    mismatch = _mismatch(policy, collection)
    return fail(STAGE, FailureCode.POLICY_INDEX_MISMATCH, mismatch) if mismatch else proceed(STAGE)


def _mismatch(policy: Policy, collection: Collection) -> str:
    """How the index differs from the one that the gates were calibrated for, and how to recalibrate; empty if not."""
    stated = policy.calibration
    if stated is None:
        return ""
    again = f"`sourcebound calibrate --collection {collection.name} --questions FILE`"
    if (stated.embedding_model, stated.metric) != (collection.embedding_model, collection.metric):
        return (
            f"policy {policy.policy_version} was calibrated for {stated.embedding_model} ({stated.metric}), and the "
            f"collection {collection.name!r} is made with {collection.embedding_model} ({collection.metric}); name a "
            f"policy calibrated for it with --policy, make one with {again}, or ingest the documents again with the "
            "policy's embedder"
        )
    if stated.index_version not in (None, collection.index_version):
        return (
            f"policy {policy.policy_version} was calibrated for the index {stated.index_version}, and that of the "
            f"collection {collection.name!r} is {collection.index_version}: its documents have changed; calibrate it "
            f"again with {again}"
        )
    return ""


def _question(request: AskInput, bundle: object) -> str:
    stated = bundle.get("user_question") if isinstance(bundle, Mapping) else question_of(request)
    return stated.replace("\0", "") if isinstance(stated, str) else ""


def stated_request_id(request: AskInput) -> str:
    """The caller's own id, else the bundle's; empty where neither is a text."""
    bundle = request.get("retrieval_bundle")
    stated = (request.get("request_id"), bundle.get("request_id") if isinstance(bundle, Mapping) else None)
    return next((name for name in stated if isinstance(name, str) and name), "")


def requested_collection(request: AskInput, context: RunContext) -> str | None:
    """The collection that a request names, or else its context; None where neither does (R1-2)."""
    return request.get("collection") or context.collection


def _question_violations(question: str) -> list[Violation]:
    if not sanitize(question).text:
        return [_violation("question", "the question is empty")]
    if len(question) > MAX_QUESTION_CHARACTERS:
        return [_violation("question", f"the question is over {MAX_QUESTION_CHARACTERS} characters")]
    return []


def _unapplied(request: AskInput, filters: Filters) -> list[Violation]:
    """What would narrow a search of ours and does nothing to a bundle: it may not seem to have been applied (P-4)."""
    found = []
    if filters.given():
        message = (
            "filters narrow a search, and a bundle was found already: apply them in your retriever, and name them in "
            "the bundle's filters_applied"
        )
        found.append(_violation("filters", message))
    if "top_k" in (request.get("limits") or {}):
        message = (
            "the limit top_k is of a search, and a bundle was found already: bring fewer rows, or limit max_chunks"
        )
        found.append(_violation("limits", message))
    return found


def _violation(field: str, message: str) -> Violation:
    return Violation(code=FailureCode.INVALID_REQUEST, clause="R1-1", message=message, field=field)
