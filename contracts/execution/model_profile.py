"""Model profiles: protocol, context window and supported parameters of a model (R4-2, R4-4, R4-7).

A profile is data from the model registry. It decides the form of a request, never the text of the prompt.
"""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sourcebound.contracts.base import Contract
from sourcebound.contracts.policy.schema import Policy

Provider = Literal["extractive", "local", "ollama", "openai"]
Seconds = Annotated[float, Field(gt=0, le=3600)]


class Wire(StrEnum):
    """The protocol of a request."""

    BUILT_IN = "built_in"
    RESPONSES = "responses"
    """OpenAI's Responses API."""
    CHAT_COMPLETIONS = "chat_completions"
    """OpenAI's older API, which many other servers support."""
    OLLAMA_CHAT = "ollama_chat"
    """Ollama's `/api/chat`."""


class ModelProfile(Contract):
    """The registry's description of a model."""

    provider: Provider
    model: Annotated[str, Field(min_length=1)]
    """The name of the model at the provider."""
    wire: Wire
    base_url: str | None = None
    """The address of the server, if it is not that of the settings; never with a password."""
    api_key_env: str | None = None
    """The environment variable of this server's key, if it is not that of the provider."""
    file: str | None = None
    """The GGUF file of a local model."""
    file_sha256: str | None = None
    """The digest of this file. A file with another one is not run (R4-3)."""
    context_window: Annotated[int, Field(ge=1)] | None
    """The most tokens of prompt and answer together; None if there is no limit."""
    tokenizer_tolerance: Annotated[float, Field(ge=0, lt=1)]
    """The share by which the provider's token count may be below our upper estimate; below it, the prompt was cut."""
    temperature: Literal["zero", "unsupported"]
    """Whether the model accepts temperature 0.0."""
    seed: bool
    """Whether the API accepts a seed."""
    structured_output: bool
    """Whether the provider supports structured output by JSON schema."""
    reported_names: tuple[str, ...] = ()
    """Other names that the server may report for this model."""
    listed: bool = True
    """Whether the server lists the model under this name."""
    timeout_seconds: Seconds
    """Deadline of one request, from connecting to the last byte."""
    budget_seconds: Seconds
    """Deadline of all requests of one call, with the pauses between them."""
    max_requests: Annotated[int, Field(ge=1, le=10)]
    """The most requests of one call (R4-5)."""
    pause_seconds: Annotated[float, Field(ge=0, le=60)]
    """Seconds before the second request; they double for each further one."""
    keep_alive: str | None = None
    """The time for which Ollama keeps the model loaded."""
    known: bool = True
    """False for a model that no registry lists; it has the conservative values of its provider."""

    @model_validator(mode="after")
    def _check_file(self) -> Self:
        if (self.provider == "local") != bool(self.file and self.file_sha256):
            raise ValueError("a local model has a file and its file_sha256, and no other model has")
        return self

    @property
    def name(self) -> str:
        """The name that settings, command line and runs use: `provider:model`, or `extractive`."""
        return self.model if self.provider == self.model else f"{self.provider}:{self.model}"


def context_tokens(policy: Policy) -> int:
    """Return the context window that a policy needs: the prompt budget plus the reserved output (R4-6)."""
    return policy.prompt.max_total_prompt_tokens + policy.prompt.reserved_output_tokens


def check_window(profile: ModelProfile, policy: Policy) -> str | None:
    """Check that the budget of a policy fits into a model's window.

    Returns:
        The reason why it does not fit, or None.
    """
    needed = context_tokens(policy)
    if profile.context_window is None or profile.context_window >= needed:
        return None
    return (
        f"the context window of {profile.name} is {profile.context_window} tokens and {policy.policy_version} needs "
        f"{needed}"
    )
