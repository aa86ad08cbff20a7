"""The choice of collection, policy and generator by a client of OpenAI's API: a model's name and extra fields.

A model's name is `sourcebound`, optionally with a collection, a policy and a generator:
`sourcebound/COLLECTION/POLICY/GENERATOR`.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated, Final, NamedTuple

from pydantic import BaseModel, Field, StringConstraints

from sourcebound.api.asking import Question
from sourcebound.api.callers import Caller
from sourcebound.api.events import with_pauses
from sourcebound.api.forms import POLICY_NAME, Identity
from sourcebound.api.problems import Problem
from sourcebound.api.server import Server
from sourcebound.contracts.request import MAX_QUESTION_CHARACTERS, Filters
from sourcebound.contracts.response.chat_messages import Message
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import AskInput, RunContext

PREFIX: Final = "sourcebound"
MOST_MESSAGES: Final = 1000


class ModelName(NamedTuple):
    """The parts of a model's name; None for the server's own choice."""

    collection: str | None = None
    policy: str | None = None
    generator: str | None = None


class ModelChoice(BaseModel):
    """The fields of a request that say what to ask and where, in addition to its messages."""

    model: Identity
    collection: Identity | None = Field(None, description="An extra field. Default: that of the model's name.")
    filters: Filters | None = Field(None, description="An extra field: a chunk must pass all of them.")
    policy: Annotated[str, StringConstraints(pattern=POLICY_NAME)] | None = Field(None, description="An extra field.")
    generator: Identity | None = Field(None, description="An extra field: the model that writes the answer.")


def read_name(model: str) -> ModelName:
    """Return the parts of a model's name.

    Raises:
        Problem: There is no such model (404).
    """
    prefix, *parts = model.split("/", 3)
    if prefix != PREFIX or not all(parts):
        detail, next_step = f"there is no model {model!r}.", "Name one of GET /v1/models."
        raise Problem(404, "MODEL_NOT_FOUND", detail, next_step)
    return ModelName(*parts)


def read_question(
    choice: ModelChoice, messages: list[Message], request_id: str, server: Server, caller: Caller
) -> Question:
    """Return the question of a chat, if the caller may ask it.

    Args:
        choice: What the client chose.
        messages: The questions and answers of the chat, the question last.
        request_id: The id of the request.
        server: The services.
        caller: The caller.

    Raises:
        Problem: There is no such model (404), or the caller may not use the collection (403).
    """
    name = read_name(choice.model)
    collection = choice.collection or name.collection or server.services.settings.collection
    caller.require_collection(collection)
    asked = AskInput(messages=messages, collection=collection, request_id=request_id)
    if choice.filters is not None:
        asked["filters"] = choice.filters.model_dump(mode="json", exclude_none=True)
    context = RunContext(policy=choice.policy or name.policy, model=choice.generator or name.generator)
    return Question(asked, context, caller)


def check_last_question(text: str) -> None:
    """Check the text of the last message of a chat.

    Raises:
        ValueError: It is empty or too long.
    """
    if not text.strip():
        raise ValueError("the last message must be the question of the user")
    if len(text) > MAX_QUESTION_CHARACTERS:
        raise ValueError(f"the question must have at most {MAX_QUESTION_CHARACTERS} characters")


async def starting_with(
    first: str | PublicResponse, progress: AsyncIterator[str | PublicResponse]
) -> AsyncGenerator[str | PublicResponse | None, None]:
    """Yield the items of a question in progress whose first one was taken, and None for each pause."""
    yield first
    async for item in with_pauses(progress):
        yield item
