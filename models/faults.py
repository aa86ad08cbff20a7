"""Why a request brought no answer, and whether to make it again (contract R4-5).

A fault is judged by what was seen on the wire, not by a client's exception, so that every provider's faults end in the
same codes. Nothing of a server's own words is repeated: they may quote the key.
"""

from typing import NamedTuple

from sourcebound.contracts.execution.model_profile import ModelProfile
from sourcebound.contracts.outcome import FailureCode
from sourcebound.models.exchange import Exchange


class ServerWords(NamedTuple):
    """What messages say of a server."""

    address: str = ""
    """Without a password; empty where there is no server."""
    when_unreachable: str = ""
    when_unauthorised: str = ""
    when_unknown: str = ""


class Fault(NamedTuple):
    """Why a request brought no answer."""

    code: FailureCode
    message: str
    is_worth_another: bool = False
    """Whether the same request may be made again."""
    retry_after: float | None = None


def judge_fault(exchange: Exchange, profile: ModelProfile, server: ServerWords, *, is_late: bool = False) -> Fault:
    """Judges a request that brought no answer.

    Args:
        exchange: What was seen of it.
        profile: The model that was asked.
        server: Where.
        is_late: Whether its deadline ended it.

    Returns:
        The fault, with a message that says what to do next.
    """
    who = f"{profile.name} at {server.address}" if server.address else profile.name
    status = exchange.status
    if exchange.altered or not (exchange.is_made or is_late):
        what = f"it changed {', '.join(exchange.altered)}" if exchange.altered else "it made none"
        message = f"nothing was sent to {who}: the client library did not make the request asked for ({what}); "
        message += "check the model's profile, or install the versions of requirements/runtime.lock"
        return Fault(FailureCode.REQUEST_ALTERED, message)
    if status is not None and status >= 300:
        return _judge_status(status, exchange, who, server)
    if is_late:
        message = (
            f"{who} gave no whole answer in {profile.timeout_seconds:g} s; try again, or raise its timeout_seconds"
        )
        return Fault(FailureCode.MODEL_TIMEOUT, message, is_worth_another=True)
    if status is None:
        message = f"{who} cannot be reached, or closed the connection without an answer; {server.when_unreachable}"
        return Fault(FailureCode.MODEL_UNAVAILABLE, message, is_worth_another=True)
    if exchange.is_too_long:
        message = f"the answer of {who} went on far beyond its cap and was not read to its end; choose another model"
        return Fault(FailureCode.OUTPUT_TRUNCATED, message)
    message = f"the answer of {who} broke off, or does not follow the protocol; look at the server's log, and try again"
    return Fault(FailureCode.MODEL_UNAVAILABLE, message)


def _judge_status(status: int, exchange: Exchange, who: str, server: ServerWords) -> Fault:
    if status == 429:
        message = f"{who} has had too many requests (HTTP status 429); wait, or look at your quota"
        return Fault(FailureCode.MODEL_RATE_LIMITED, message, True, exchange.retry_after)
    if status >= 500:
        message = f"{who} failed with HTTP status {status}; try again later, or look at the server's log"
        return Fault(FailureCode.MODEL_UNAVAILABLE, message, True, exchange.retry_after)
    steps = {401: server.when_unauthorised, 403: server.when_unauthorised, 404: server.when_unknown}
    step = steps.get(status, "check the address, the model's name and its profile")
    if status < 400:
        step = "give the address that it points to; a prompt does not follow it by itself"
    return Fault(FailureCode.MODEL_REJECTED, f"{who} refused the request with HTTP status {status}; {step}")
