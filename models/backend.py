"""What a chat backend is to the generator: it sends a call once and says what came back, or raises what went wrong."""

from collections.abc import Sequence
from typing import Any, Final, Protocol

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from sourcebound.contracts.execution.call import Call
from sourcebound.contracts.execution.reply import Reply, ReplyEnding
from sourcebound.contracts.prompt.build import Message

UNHEARD: Final[RunnableConfig] = {"tags": ["nostream"]}
"""Keeps LangGraph from streaming a model's words to a listener before they were checked."""
MAX_COUNT: Final = 2**31 - 1
"""What the audit record has room for."""


class Backend(Protocol):
    """A provider's chat API behind its LangChain client."""

    @property
    def faults(self) -> tuple[type[Exception], ...]:
        """What its client raises when the server, the network or the protocol fails."""
        ...

    @property
    def timeouts(self) -> tuple[type[Exception], ...]:
        """Those of the faults that are deadlines."""
        ...

    async def send(self, call: Call, messages: Sequence[Message]) -> Reply:
        """Makes one request, without a retry of its own."""
        ...

    async def close(self) -> None:
        """Closes the connections that it keeps."""
        ...


def to_langchain(messages: Sequence[Message]) -> list[BaseMessage]:
    """The prompt as LangChain's messages, content untouched."""
    return [
        SystemMessage(message.content) if message.role == "system" else HumanMessage(message.content)
        for message in messages
    ]


def read_reply(answer: AIMessage, ending: ReplyEnding, finish_reason: object, response_id: object = None) -> Reply:
    """A LangChain answer as a reply."""
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
    """A count of tokens; none where it cannot be one. Clients write 0 where a server says nothing."""
    return tokens if isinstance(tokens, int) and 0 < tokens <= MAX_COUNT else None
