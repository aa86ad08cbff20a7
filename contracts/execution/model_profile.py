"""What is known of a model before it is asked: its wire, its window, what it takes (contract R4-2, R4-4, R4-7).

A profile is data from the model registry. It decides how a request is made, and never what the prompt says.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from sourcebound.contracts.base import Contract
from sourcebound.contracts.policy.schema import Policy

Provider = Literal["extractive", "ollama", "openai"]
Seconds = Annotated[float, Field(gt=0, le=3600)]


class Wire(StrEnum):
    """The protocol that a request is made in."""

    BUILT_IN = "built_in"
    RESPONSES = "responses"
    """OpenAI's Responses API."""
    CHAT_COMPLETIONS = "chat_completions"
    """OpenAI's older API, which many other servers speak."""
    OLLAMA_CHAT = "ollama_chat"
    """Ollama's `/api/chat`."""


class ModelProfile(Contract):
    """A model as the registry describes it."""

    provider: Provider
    model: Annotated[str, Field(min_length=1)]
    """Its name at the provider."""
    wire: Wire
    base_url: str | None = None
    """The server's address where it is not the one that the settings name; never with a password in it."""
    api_key_env: str | None = None
    """The environment variable of this server's key, where it is not the provider's own."""
    context_window: Annotated[int, Field(ge=1)] | None
    """Tokens of prompt and answer together; None where nothing limits them."""
    tokenizer_tolerance: Annotated[float, Field(ge=0, lt=1)]
    """Share by which the provider's count of a prompt may fall under our upper estimate before it counts as cut."""
    temperature: Literal["zero", "unsupported"]
    """Whether the model takes temperature 0.0."""
    seed: bool
    """Whether the API takes a seed."""
    structured_output: bool
    """Whether the provider can be held to a JSON schema."""
    reported_names: tuple[str, ...] = ()
    """Other names under which the server may report this very model."""
    listed: bool = True
    """Whether the server's list of models names it; false where a server lists other names."""
    timeout_seconds: Seconds
    """Deadline of one request, from connecting to the last byte."""
    budget_seconds: Seconds
    """Deadline of all requests of one call, with the pauses between them."""
    max_requests: Annotated[int, Field(ge=1, le=10)]
    """Requests of one call at most (R4-5)."""
    pause_seconds: Annotated[float, Field(ge=0, le=60)]
    """Pause before the second request; it doubles for each further one."""
    keep_alive: str | None = None
    """How long Ollama keeps the model loaded."""
    known: bool = True
    """False for a model that no registry names: it has its provider's conservative values."""

    @property
    def name(self) -> str:
        """The name that settings, command line and runs use: `provider:model`, or `extractive`."""
        return self.model if self.provider == self.model else f"{self.provider}:{self.model}"


def context_tokens(policy: Policy) -> int:
    """Tokens that a model's window must have for a policy: the prompt budget and the reserved output (R4-6)."""
    return policy.prompt.max_total_prompt_tokens + policy.prompt.reserved_output_tokens


def check_window(profile: ModelProfile, policy: Policy) -> str | None:
    """Whether the budget of a policy fits into a model's window.

    Returns:
        A sentence that says why not, or None.
    """
    needed = context_tokens(policy)
    if profile.context_window is None or profile.context_window >= needed:
        return None
    return (
        f"the context window of {profile.name} is {profile.context_window} tokens and {policy.policy_version} needs "
        f"{needed}"
    )
