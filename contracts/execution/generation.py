"""R4: the result of a model call, recorded and never edited (§5)."""

from typing import NamedTuple, Protocol, Self

from pydantic import PrivateAttr, model_validator

from sourcebound.contracts.base import Contract
from sourcebound.contracts.execution.call import Call
from sourcebound.contracts.outcome import Outcome, Status, fill_status
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt


class Generation(Contract):
    """The result of a model call, or of a skipped one (R4-8)."""

    outcome: Outcome
    generation_status: Status = Status.OK
    """The outcome's status."""
    raw_model_text: str = ""
    model_name: str | None = None
    provider: str | None = None
    prompt_sha256: str | None = None
    request_sha256: str | None = None
    """The digest of the last request body that was sent; None if nothing was sent."""
    response_id: str | None = None
    finish_reason: str | None = None
    attempts: int = 0
    """The number of requests; more than one only after a retried transport fault (R4-5)."""
    call: Call | None = None
    """The parameters of the request, from the model's profile and the policy (R4-4)."""
    llm_latency_ms: float | None = None
    prompt_tokens_actual: int | None = None
    completion_tokens_actual: int | None = None
    total_tokens_actual: int | None = None

    _status = model_validator(mode="before")(fill_status("generation_status"))
    _fault: str = PrivateAttr("")

    @property
    def fault(self) -> str:
        """Return the failure for the operator alone (S-5), neither stored nor public; empty if the model replied."""
        return self._fault

    def with_fault(self, fault: str) -> Self:
        """Attach the failure."""
        self._fault = fault
        return self


class AnswerModel(Protocol):
    """A generator; only it differs between backends (R4-2)."""

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        """Send the bytes of the prompt unchanged and record the answer; a model fault is a failure, as data."""
        ...


class GenerationKey(NamedTuple):
    """The key of a generation: the prompt of one attempt of a run."""

    run_id: str
    attempt: int
    """1, 2, … (R5-12); 0 for earlier calls: the rewriting of the question (CP-6), the choice of facts (R3-9)."""
    prompt_sha256: str


class AnswerLog(Protocol):
    """Stores a model's answer at once, so that no prompt is sent twice (CP-2)."""

    async def find(self, asked: GenerationKey) -> Generation | None:
        """Return the stored answer, or None.

        Raises:
            SourceboundError: The database did not answer.
        """
        ...

    async def keep(self, asked: GenerationKey, generation: Generation) -> Generation:
        """Store an answer durably.

        Returns:
            The stored answer: the first one.

        Raises:
            SourceboundError: The answer could not be stored; nothing may depend on an answer that may be lost.
        """
        ...
