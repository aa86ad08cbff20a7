"""The forms of OpenAI's chat completions, as far as they have a meaning here.

Other fields of a request are ignored, because each client sends its own.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sourcebound.api.openai.model_choice import MOST_MESSAGES, ModelChoice, check_last_question
from sourcebound.contracts.response.chat_messages import Message
from sourcebound.contracts.response.public import PublicResponse


class TextPart(BaseModel):
    """A part of a message. Only text has a meaning here."""

    type: Literal["text"]
    text: str


class ChatMessage(BaseModel):
    """A message of a chat."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[TextPart] | None = None

    @property
    def text(self) -> str:
        """The whole text."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""


class ResponseFormat(BaseModel):
    """The form of the answer. Only text can be promised."""

    type: Literal["text"]


class StreamOptions(BaseModel):
    """Options of a stream."""

    include_usage: bool = False


class ChatForm(ModelChoice):
    """A chat whose last message is the question. Sampling parameters are ignored, because the policy sets them."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "model": "sourcebound/demo",
                    "messages": [{"role": "user", "content": "How often is the filter of the HP-200 changed?"}],
                }
            ]
        }
    )

    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MOST_MESSAGES)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    response_format: ResponseFormat | None = None

    @model_validator(mode="after")
    def _ends_with_a_question(self) -> Self:
        last = self.messages[-1]
        check_last_question(last.text if last.role == "user" else "")
        return self

    def chat(self) -> list[Message]:
        """Return the questions and answers of the chat, the question last."""
        turns = [message for message in self.messages if message.role in ("user", "assistant")]
        return [{"role": message.role, "content": message.text} for message in turns]


class Usage(BaseModel):
    """The tokens that the generator counted; 0 if none was called."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class AnswerMessage(BaseModel):
    """The answer as a message."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class Choice(BaseModel):
    """The only choice."""

    index: Literal[0] = 0
    message: AnswerMessage
    finish_reason: Literal["stop"] = "stop"
    logprobs: None = None


class ChatCompletion(BaseModel):
    """A completed chat."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    sourcebound: PublicResponse
    """The whole response: status, citations, support level, run."""


class ModelCard(BaseModel):
    """A model of the list."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: Literal["sourcebound"] = "sourcebound"


class ModelList(BaseModel):
    """The models that the caller may use."""

    object: Literal["list"] = "list"
    data: list[ModelCard]


def usage_of(response: PublicResponse) -> Usage:
    """Return the tokens of a response."""
    counts = response.token_usage
    return Usage(
        prompt_tokens=counts.prompt or 0, completion_tokens=counts.completion or 0, total_tokens=counts.total or 0
    )


def completion_of(response: PublicResponse, text: str, model: str, created: int) -> ChatCompletion:
    """Return the completion for a response.

    Args:
        response: The response.
        text: It as a message.
        model: The name that the client asked for.
        created: The current time, in seconds since 1970.
    """
    return ChatCompletion(
        id=f"chatcmpl-{response.run_id}",
        created=created,
        model=model,
        choices=[Choice(message=AnswerMessage(content=text))],
        usage=usage_of(response),
        sourcebound=response,
    )


def chunk_of(completion_id: str, model: str, created: int, delta: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    """Return a chunk of a stream.

    Args:
        completion_id: The id of the completion.
        model: The name that the client asked for.
        created: The time of the first chunk.
        delta: The next part of the message; None for a chunk without a choice.
        more: Further fields. `finish_reason` goes into the choice.
    """
    choice = {"index": 0, "delta": delta, "finish_reason": more.pop("finish_reason", None), "logprobs": None}
    head = {"id": completion_id, "object": "chat.completion.chunk", "created": created, "model": model}
    return {**head, "choices": [] if delta is None else [choice], **more}
