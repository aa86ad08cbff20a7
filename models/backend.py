"""The interface between the generator and a chat backend, which sends a call once and returns the reply or raises."""

from collections.abc import Sequence
from typing import Any, Final, Protocol

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from sourcebound.contracts.execution.call import Call
from sourcebound.contracts.execution.reply import Reply, ReplyEnding
from sourcebound.contracts.prompt.build import Message

NO_STREAM: Final[RunnableConfig] = {"tags": ["nostream"]}
"""Keeps LangGraph from streaming a model's answer to a listener before it is checked."""
MAX_COUNT: Final = 2**31 - 1
"""The largest count that fits into the audit record."""


class Backend(Protocol):
    """A provider's chat API behind its LangChain client."""

    @property
    def faults(self) -> tuple[type[Exception], ...]:
        """The exceptions that its client raises when the server, the network or the protocol fails."""
        ...

    @property
    def timeouts(self) -> tuple[type[Exception], ...]:
        """The exceptions that mean a missed deadline."""
        ...

    async def send(self, call: Call, messages: Sequence[Message]) -> Reply:
        """Make one request, without retries."""
        ...

    async def close(self) -> None:
        """Close the open connections."""
        ...


def to_langchain(messages: Sequence[Message]) -> list[BaseMessage]:
    """Convert the prompt to LangChain's messages, with the content unchanged."""
    return [
        SystemMessage(message.content) if message.role == "system" else HumanMessage(message.content)
        for message in messages
    ]


def read_reply(answer: AIMessage, ending: ReplyEnding, finish_reason: object, response_id: object = None) -> Reply:
    """Convert a LangChain answer to a reply."""
    usage: Any = answer.usage_metadata or {}
    model = answer.response_metadata.get("model_name")
    return Reply(
        text=str(answer.text),
        ending=ending,
        model_name=model if isinstance(model, str) else None,
        response_id=response_id if isinstance(response_id, str) else None,
        finish_reason=finish_reason if isinstance(finish_reason, str) else None,
        prompt_tokens=_count(usage.get("input_tokens")),
        completion_tokens=_count(usage.get("output_tokens")),
        total_tokens=_count(usage.get("total_tokens")),
    )


def _count(tokens: object) -> int | None:
    """Return a token count, or None for an impossible value. Clients report 0 where a server sends no count."""
    return tokens if isinstance(tokens, int) and 0 < tokens <= MAX_COUNT else None
