"""§12: one structured log line and one OpenTelemetry span for each node of a run.

Both have the same fields: ids, versions, counts, times and codes of the state after the node. They never hold the text
of a document, a question, a prompt or an answer. Without a listener, a node costs a few microseconds more.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from functools import wraps
from time import perf_counter
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.trace import Span, StatusCode, Tracer

from sourcebound.contracts.outcome import keep_worst
from sourcebound.contracts.state import JsonObject, State
from sourcebound.errors import SourceboundError

Node = Callable[..., Awaitable[JsonObject]]
Fields = dict[str, str | int | float | None]

NAME: Final = re.compile(r"[\w.:/@+=~-]{1,200}")
NO_NAME: Final = "(not a name)"
"""What is written for a name that another system chose, if it has blanks, line breaks or excessive length."""
LOGGER: Final = logging.getLogger("sourcebound.nodes")
TRACER: Final = trace.get_tracer("sourcebound")
METRICS: Final = (
    "citation_count",
    "uncited_sentence_count",
    "invalid_anchor_count",
    "malformed_anchor_count",
    "sentence_count",
    "unsupported_literal_count",
)
"""The counts of `GroundingMetrics` (R5-14)."""


def observe(name: str, node: Node, tracer: Tracer = TRACER) -> Node:
    """Wrap a node so that each of its calls writes a log line and a span.

    Args:
        name: The name of the node.
        node: The node. The wrapper has its signature.
        tracer: Makes the spans.

    Returns:
        The wrapped node. An error of the node is logged by its code and raised unchanged.
    """

    @wraps(node)
    async def observed(state: State, *arguments: Any, **options: Any) -> JsonObject:
        began = perf_counter()
        with tracer.start_as_current_span(
            f"sourcebound.{name}", record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                update = await node(state, *arguments, **options)
            except BaseException as error:
                reason = error.failure_code if isinstance(error, SourceboundError) else type(error).__name__
                _write(name, span, state, {}, began, reason)
                raise
            _write(name, span, state, update, began)
            return update

    return observed


def run_span() -> AbstractContextManager[Span]:
    """Start the span of a run, which holds the spans of its nodes."""
    return TRACER.start_as_current_span("sourcebound.run", record_exception=False, set_status_on_exception=False)


def node_fields(name: str, state: Mapping[str, Any], latency_ms: float, error_code: str | None = None) -> Fields:
    """Return the fields of a node's log line and span.

    Args:
        name: The name of the node.
        state: The state after the node.
        latency_ms: The time of the node in milliseconds.
        error_code: The code of the error that ended the node, if one did. Otherwise the reason is that of the outcome.

    Returns:
        Every field by name, in the same order for every node; None where the run has no such value (yet).
    """
    run = state.get("run") or {}
    source = (state.get("assembly") or {}).get("trace") or _own_bundle(state)
    generation, validation = state.get("generation") or {}, state.get("validation") or {}
    outcome = state.get("outcome") or {}
    metrics = validation.get("grounding_metrics") or {}
    return {
        "node": name,
        "request_id": _name(run.get("request_id")),
        "run_id": run.get("run_id"),
        "policy_version": run.get("policy_version"),
        "index_version": _name(source.get("index_version")),
        "embedding_model": _name(source.get("embedding_model")),
        "prompt_sha256": (state.get("prompt") or {}).get("prompt_sha256"),
        "response_id": _name(generation.get("response_id")),
        "latency_ms": round(latency_ms, 3),
        "prompt_tokens": generation.get("prompt_tokens_actual"),
        "completion_tokens": generation.get("completion_tokens_actual"),
        "total_tokens": generation.get("total_tokens_actual"),
        "generation_status": outcome.get("status"),
        "validation_status": validation.get("validation_status"),
        "failure_reason": error_code or outcome.get("failure_code"),
        **{metric: metrics.get(metric) for metric in METRICS},
    }


def _name(given: str | None) -> str | None:
    return given if given is None or NAME.fullmatch(given) else NO_NAME


def _own_bundle(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the bundle of our own retrieval. That of another system is unchecked text until it was assembled."""
    return {} if state.get("retrieval_bundle") is not None else state.get("retrieval") or {}


def _write(
    name: str, span: Span, state: State, update: JsonObject, began: float, error_code: str | None = None
) -> None:
    is_logged = LOGGER.isEnabledFor(logging.INFO)
    if not is_logged and not span.is_recording():
        return
    after = {**state, **update}
    if (outcome := update.get("outcome")) is not None:
        after["outcome"] = keep_worst(state.get("outcome"), outcome)
    fields = node_fields(name, after, (perf_counter() - began) * 1000, error_code)
    if is_logged:
        status = error_code or fields["generation_status"]
        LOGGER.info("node %s: %s in %s ms", name, status, fields["latency_ms"], extra=fields)
    if span.is_recording():
        span.set_attributes({f"sourcebound.{key}": value for key, value in fields.items() if value is not None})
        if error_code:
            span.set_status(StatusCode.ERROR, error_code)
