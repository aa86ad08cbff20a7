"""R4: what a generator is asked and what it says, recorded and never edited (contract §5)."""

from typing import NamedTuple, Protocol

from pydantic import model_validator

from sourcebound.contracts.base import Contract
from sourcebound.contracts.execution.call import Call
from sourcebound.contracts.outcome import Outcome, Status, fill_status
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt


class Generation(Contract):
    """The result of one model call, or of none (R4-8)."""

    outcome: Outcome
    generation_status: Status = Status.OK
    """The outcome's status."""
    raw_model_text: str = ""
    model_name: str | None = None
    provider: str | None = None
    prompt_sha256: str | None = None
    request_sha256: str | None = None
    """Of the body of the request as it left, the last one where several were made; None where nothing was sent."""
    response_id: str | None = None
    finish_reason: str | None = None
    attempts: int = 0
    """Times the request was tried; more than one only where a transport fault was retried (R4-5)."""
    call: Call | None = None
    """The parameters of the request, as the model's profile and the policy gave them (R4-4)."""
    llm_latency_ms: float | None = None
    prompt_tokens_actual: int | None = None
    completion_tokens_actual: int | None = None
    total_tokens_actual: int | None = None

    _status = model_validator(mode="before")(fill_status("generation_status"))


class AnswerModel(Protocol):
    """A generator behind a prompt; the one thing that differs between backends (R4-2)."""

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        """Sends the prompt's bytes as they are and records the answer; faults of the model are failures, as data."""
        ...


class GenerationKey(NamedTuple):
    """What is asked of a model once: the prompt of one attempt of a run."""

    run_id: str
    attempt: int
    """1, 2, … (R5-12); 0 for what is asked before: the rewriting of its question (CP-6), the choice of facts (R3-9)."""
    prompt_sha256: str


class AnswerLog(Protocol):
    """Keeps what a model answered from the moment it did, so that nothing is asked twice (CP-2)."""

    async def find(self, asked: GenerationKey) -> Generation | None:
        """The answer, if one was kept.

        Raises:
            SourceboundError: The store did not answer.
        """
        ...

    async def keep(self, asked: GenerationKey, generation: Generation) -> Generation:
        """Keeps an answer, durably before it returns.

        Returns:
            The answer that stands: the first that was kept.

        Raises:
            SourceboundError: It could not be kept; whatever depended on it would depend on what may be lost.
        """
        ...
