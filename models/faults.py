"""Faults of requests that brought no answer, and whether to retry them (contract R4-5).

A fault is classified by the observed HTTP exchange, not by a client's exception, so that every provider's faults end in
the same codes. A server's own message is never repeated, because it may quote the key.
"""

from typing import NamedTuple

from sourcebound.contracts.execution.model_profile import ModelProfile
from sourcebound.contracts.outcome import FailureCode
from sourcebound.models.exchange import Exchange


class ServerWording(NamedTuple):
    """The wording of messages about a server."""

    address: str = ""
    """The address without a password; empty if there is no server."""
    when_unreachable: str = ""
    when_unauthorised: str = ""
    when_unknown: str = ""


class Fault(NamedTuple):
    """The reason why a request brought no answer."""

    code: FailureCode
    message: str
    is_retryable: bool = False
    """Whether the same request may be retried."""
    retry_after: float | None = None


def judge_fault(exchange: Exchange, profile: ModelProfile, server: ServerWording, *, is_late: bool = False) -> Fault:
    """Classify the fault of a request that brought no answer.

    Args:
        exchange: The observed HTTP exchange.
        profile: The model of the request.
        server: The wording of messages about its server.
        is_late: Whether the deadline ended the request.

    Returns:
        The fault, with a message that includes the next step.
    """
    subject = f"{profile.name} at {server.address}" if server.address else profile.name
    status = exchange.status
    if exchange.altered or not (exchange.is_made or is_late):
        problem = f"it changed {', '.join(exchange.altered)}" if exchange.altered else "it made no request"
        message = f"nothing was sent to {subject}: the client library did not make the required request ({problem}); "
        message += "check the model's profile, or install the versions of requirements/runtime.lock"
        return Fault(FailureCode.REQUEST_ALTERED, message)
    if status is not None and status >= 300:
        return _judge_status(status, exchange, subject, server)
    if is_late:
        message = f"{subject} did not finish in {profile.timeout_seconds:g} s; try again, or raise its timeout_seconds"
        return Fault(FailureCode.MODEL_TIMEOUT, message, is_retryable=True)
    if status is None:
        message = f"{subject} cannot be reached, or closed the connection without an answer; {server.when_unreachable}"
        return Fault(FailureCode.MODEL_UNAVAILABLE, message, is_retryable=True)
    if exchange.is_too_long:
        message = f"the answer of {subject} exceeded its cap by far, so reading was stopped; choose another model"
        return Fault(FailureCode.OUTPUT_TRUNCATED, message)
    message = (
        f"the answer of {subject} broke off, or does not follow the protocol; check the server's log, and try again"
    )
    return Fault(FailureCode.MODEL_UNAVAILABLE, message)


def _judge_status(status: int, exchange: Exchange, subject: str, server: ServerWording) -> Fault:
    if status == 429:
        message = f"{subject} received too many requests (HTTP status 429); wait, or check your quota"
        return Fault(FailureCode.MODEL_RATE_LIMITED, message, True, exchange.retry_after)
    if status >= 500:
        message = f"{subject} failed with HTTP status {status}; try again later, or check the server's log"
        return Fault(FailureCode.MODEL_UNAVAILABLE, message, True, exchange.retry_after)
    next_steps = {401: server.when_unauthorised, 403: server.when_unauthorised, 404: server.when_unknown}
    next_step = next_steps.get(status, "check the address, the model's name and its profile")
    if status < 400:
        next_step = "set the address that it redirects to; prompts do not follow redirects"
    return Fault(FailureCode.MODEL_REJECTED, f"{subject} refused the request with HTTP status {status}; {next_step}")
