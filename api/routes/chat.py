"""OpenAI-compatible routes: chat completions, streamed and not, and the models that a client may name (§10).

A model's name is `sourcebound`, optionally with a collection, a policy and a generator:
`sourcebound/COLLECTION/POLICY/GENERATOR`. Nothing that a generator wrote leaves before it is validated (CP-12).
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from time import time
from typing import Any, Final, NamedTuple

from fastapi import APIRouter, Depends, Request
from fastapi.responses import StreamingResponse

from sourcebound.api.asking import Question
from sourcebound.api.callers import Caller, CallerOf, requiring
from sourcebound.api.chat_forms import ChatCompletion, ChatForm, ModelCard, ModelList, chunk_of, completion_of, usage_of
from sourcebound.api.events import MEDIA_TYPE, with_pauses
from sourcebound.api.problems import Problem, as_problem, request_id_of
from sourcebound.api.server import Server, ServerOf
from sourcebound.contracts.presentation.chat_text import chat_text
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.errors import SourceboundError

router = APIRouter(tags=["OpenAI-compatible"], dependencies=[Depends(requiring("ask"))])
PREFIX: Final = "sourcebound"
STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {MEDIA_TYPE: {"example": "data: {…}\n\ndata: [DONE]\n\n"}}}
}


class ModelName(NamedTuple):
    """The parts of a model's name; None for the server's own choice."""

    collection: str | None = None
    policy: str | None = None
    generator: str | None = None


@router.post("/v1/chat/completions", response_model=ChatCompletion, responses=STREAM)
async def complete_chat(form: ChatForm, request: Request, server: ServerOf, caller: CallerOf) -> Any:
    """Answer the last message of a chat.

    The message has its sources as footnotes. The extra field `sourcebound` is the whole response. Refusals and failures
    of a recorded run are messages too. Earlier messages complete a follow-up (CP-6). System messages and sampling
    parameters are ignored.
    """
    question = _read_question(form, request_id_of(request), server, caller)
    if form.stream:
        progress = server.asking.stream(question)
        first = await anext(progress)
        return StreamingResponse(_write_chunks(form, first, progress), media_type=MEDIA_TYPE)
    response = await server.asking.ask(question)
    return completion_of(response, chat_text(response), form.model, int(time()))


@router.get("/v1/models")
async def list_models(server: ServerOf, caller: CallerOf) -> ModelList:
    """Return a model for each collection that the caller may read, and one for the server's own collection."""
    names = [each.name for each in await server.services.index.list_collections() if caller.may_use(each.name)]
    own = [PREFIX] if caller.may_use(server.services.settings.collection) else []
    return ModelList(data=[ModelCard(id=name) for name in (*own, *(f"{PREFIX}/{name}" for name in names))])


@router.get("/v1/models/{model:path}")
async def read_model(model: str, server: ServerOf, caller: CallerOf) -> ModelCard:
    """Return a model by its name."""
    caller.require_collection(_read_name(model).collection or server.services.settings.collection)
    return ModelCard(id=model)


def _read_name(model: str) -> ModelName:
    prefix, *parts = model.split("/", 3)
    if prefix != PREFIX or not all(parts):
        detail, next_step = f"there is no model {model!r}.", "Name one of GET /v1/models."
        raise Problem(404, "MODEL_NOT_FOUND", detail, next_step)
    return ModelName(*parts)


def _read_question(form: ChatForm, request_id: str, server: Server, caller: Caller) -> Question:
    """Return the question of a chat, if the caller may ask it."""
    name = _read_name(form.model)
    collection = form.collection or name.collection or server.services.settings.collection
    caller.require_collection(collection)
    asked = AskInput(messages=form.chat(), collection=collection, request_id=request_id)
    if form.filters is not None:
        asked["filters"] = form.filters.model_dump(mode="json", exclude_none=True)
    return Question(asked, RunContext(policy=form.policy or name.policy, model=form.generator or name.generator))


async def _write_chunks(
    form: ChatForm, first: str | PublicResponse, progress: AsyncIterator[str | PublicResponse]
) -> AsyncGenerator[str, None]:
    """Write the stages as comments, and the validated message as chunks."""
    created = int(time())
    try:
        item: str | PublicResponse | None = first
        async for item in _starting_with(first, progress):
            if isinstance(item, PublicResponse):
                for chunk in _chunks_of(form, item, created):
                    yield f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"
            else:
                yield f": {item or ''}\n\n"
    except SourceboundError as error:
        problem = as_problem(error)
        yield f"data: {json.dumps({'error': problem.openai_error()})}\n\n"
    yield "data: [DONE]\n\n"


async def _starting_with(
    first: str | PublicResponse, progress: AsyncIterator[str | PublicResponse]
) -> AsyncGenerator[str | PublicResponse | None, None]:
    yield first
    async for item in with_pauses(progress):
        yield item


def _chunks_of(form: ChatForm, response: PublicResponse, created: int) -> list[dict[str, Any]]:
    place = (f"chatcmpl-{response.run_id}", form.model, created)
    delta = {"role": "assistant", "content": chat_text(response)}
    whole = response.model_dump(mode="json")
    chunks = [chunk_of(*place, delta), chunk_of(*place, {}, finish_reason="stop", sourcebound=whole)]
    if form.stream_options and form.stream_options.include_usage:
        chunks.append(chunk_of(*place, None, usage=usage_of(response).model_dump()))
    return chunks
