"""The forms of OpenAI's Responses API, as far as they have a meaning here.

Other fields of a request are ignored, because each client sends its own. Nothing is stored under the id of a response
except the run, so a client sends the earlier messages of a chat again.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sourcebound.api.openai.chat_forms import usage_of
from sourcebound.api.openai.model_choice import MOST_MESSAGES, ModelChoice, check_last_question
from sourcebound.contracts.response.chat_messages import Message
from sourcebound.contracts.response.public import PublicResponse


class InputPart(BaseModel):
    """A part of a message. Only text has a meaning here."""

    type: Literal["input_text", "output_text", "text"]
    text: str


class InputMessage(BaseModel):
    """A message of the input."""

    type: Literal["message"] = "message"
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[InputPart]

    @property
    def text(self) -> str:
        """The whole text."""
        return self.content if isinstance(self.content, str) else "\n".join(part.text for part in self.content)


class TextFormat(BaseModel):
    """The form of the answer. Only text can be promised."""

    type: Literal["text"] = "text"


class TextOptions(BaseModel):
    """Options of the text."""

    format: TextFormat = TextFormat()


class ResponseForm(ModelChoice):
    """A question, or a chat whose last message is the question. Sampling parameters are ignored."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"model": "sourcebound/demo", "input": "How often is the filter of the HP-200 changed?"}]
        }
    )

    input: str | Annotated[list[InputMessage], Field(min_length=1, max_length=MOST_MESSAGES)]
    stream: bool = False
    text: TextOptions | None = None
    background: Literal[False] | None = None
    previous_response_id: None = Field(None, description="Send the earlier messages in `input` instead.")
    conversation: None = Field(None, description="Send the earlier messages in `input` instead.")

    @model_validator(mode="after")
    def _ends_with_a_question(self) -> Self:
        last = self.chat()[-1:]
        check_last_question(last[0]["content"] if last and last[0]["role"] == "user" else "")
        return self

    def chat(self) -> list[Message]:
        """Return the questions and answers of the chat, the question last."""
        if isinstance(self.input, str):
            return [{"role": "user", "content": self.input}]
        turns = [message for message in self.input if message.role in ("user", "assistant")]
        return [{"role": message.role, "content": message.text} for message in turns]


class OutputText(BaseModel):
    """The text of the message."""

    type: Literal["output_text"] = "output_text"
    text: str
    annotations: list[Any] = []
    logprobs: list[Any] = []


class OutputMessage(BaseModel):
    """The message, the only item of the output."""

    type: Literal["message"] = "message"
    id: str
    status: Literal["in_progress", "completed"] = "completed"
    role: Literal["assistant"] = "assistant"
    content: list[OutputText]


class InputTokens(BaseModel):
    """The tokens of the input that were cached: none is known of."""

    cached_tokens: Literal[0] = 0
    cache_write_tokens: Literal[0] = 0


class OutputTokens(BaseModel):
    """The tokens of the output that are reasoning: none is known of."""

    reasoning_tokens: Literal[0] = 0


class ResponseUsage(BaseModel):
    """The tokens that the generator counted; 0 if none was called."""

    input_tokens: int
    input_tokens_details: InputTokens = InputTokens()
    output_tokens: int
    output_tokens_details: OutputTokens = OutputTokens()
    total_tokens: int


class ResponseObject(BaseModel):
    """A response of the API."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    status: Literal["in_progress", "completed"] = "completed"
    model: str
    output: list[OutputMessage]
    usage: ResponseUsage | None = None
    error: None = None
    incomplete_details: None = None
    instructions: None = None
    previous_response_id: None = None
    metadata: dict[str, str] = {}
    parallel_tool_calls: Literal[False] = False
    tool_choice: Literal["none"] = "none"
    tools: list[Any] = []
    store: Literal[False] = False
    sourcebound: PublicResponse | None = None
    """The whole response: status, citations, support level, run. None while it is in progress."""


def response_of(response: PublicResponse, text: str, model: str, created: int) -> ResponseObject:
    """Return the completed object for a response.

    Args:
        response: The response.
        text: It as a message.
        model: The name that the client asked for.
        created: The current time, in seconds since 1970.
    """
    usage = usage_of(response)
    return ResponseObject(
        id=f"resp_{response.run_id}",
        created_at=created,
        model=model,
        output=[OutputMessage(id=f"msg_{response.run_id}", content=[OutputText(text=text)])],
        usage=ResponseUsage(
            input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens, total_tokens=usage.total_tokens
        ),
        sourcebound=response,
    )


def events_of(completed: ResponseObject) -> list[dict[str, Any]]:
    """Return the events of a stream, in the order in which clients expect them. The text is in one piece.

    Args:
        completed: The completed object.
    """
    (message,) = completed.output
    (part,) = message.content
    begun = completed.model_copy(update={"status": "in_progress", "output": [], "usage": None, "sourcebound": None})
    opened = message.model_copy(update={"status": "in_progress", "content": []})
    item = {"item_id": message.id, "output_index": 0}
    in_part = {**item, "content_index": 0}
    empty = part.model_copy(update={"text": ""})
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun.model_dump(mode="json")},
        {"type": "response.in_progress", "response": begun.model_dump(mode="json")},
        {"type": "response.output_item.added", "output_index": 0, "item": opened.model_dump(mode="json")},
        {"type": "response.content_part.added", **in_part, "part": empty.model_dump(mode="json")},
        {"type": "response.output_text.delta", **in_part, "delta": part.text, "logprobs": []},
        {"type": "response.output_text.done", **in_part, "text": part.text, "logprobs": []},
        {"type": "response.content_part.done", **in_part, "part": part.model_dump(mode="json")},
        {"type": "response.output_item.done", "output_index": 0, "item": message.model_dump(mode="json")},
        {"type": "response.completed", "response": completed.model_dump(mode="json")},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]
