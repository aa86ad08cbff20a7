"""OpenAI-compatible routes: chat completions, streamed and not, and the models that a client may name (§10).

Nothing that a generator wrote leaves before it is validated (CP-12).
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from time import time
from typing import Any, Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import StreamingResponse

from sourcebound.api.callers import CallerOf, requiring
from sourcebound.api.events import MEDIA_TYPE
from sourcebound.api.openai.chat_forms import (
    ChatCompletion,
    ChatForm,
    ModelCard,
    ModelList,
    chunk_of,
    completion_of,
    usage_of,
)
from sourcebound.api.openai.model_choice import PREFIX, read_name, read_question, starting_with
from sourcebound.api.problems import as_problem, request_id_of
from sourcebound.api.server import ServerOf
from sourcebound.contracts.presentation.chat_text import chat_text
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.errors import SourceboundError

router = APIRouter(tags=["OpenAI-compatible"], dependencies=[Depends(requiring("ask"))])
STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {MEDIA_TYPE: {"example": "data: {…}\n\ndata: [DONE]\n\n"}}}
}


@router.post("/v1/chat/completions", response_model=ChatCompletion, responses=STREAM)
async def complete_chat(form: ChatForm, request: Request, server: ServerOf, caller: CallerOf) -> Any:
    """Answer the last message of a chat.

    The message has its sources as footnotes. The extra field `sourcebound` is the whole response. Refusals and failures
    of a recorded run are messages too. Earlier messages complete a follow-up (CP-6). System messages and sampling
    parameters are ignored.
    """
    question = read_question(form, form.chat(), request_id_of(request), server, caller)
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
    caller.require_collection(read_name(model).collection or server.services.settings.collection)
    return ModelCard(id=model)


async def _write_chunks(
    form: ChatForm, first: str | PublicResponse, progress: AsyncIterator[str | PublicResponse]
) -> AsyncGenerator[str, None]:
    """Write the stages as comments, and the validated message as chunks."""
    created = int(time())
    try:
        item: str | PublicResponse | None = first
        async for item in starting_with(first, progress):
            if isinstance(item, PublicResponse):
                for chunk in _chunks_of(form, item, created):
                    yield f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"
            else:
                yield f": {item or ''}\n\n"
    except SourceboundError as error:
        problem = as_problem(error)
        yield f"data: {json.dumps({'error': problem.openai_error()})}\n\n"
    yield "data: [DONE]\n\n"


def _chunks_of(form: ChatForm, response: PublicResponse, created: int) -> list[dict[str, Any]]:
    place = (f"chatcmpl-{response.run_id}", form.model, created)
    delta = {"role": "assistant", "content": chat_text(response)}
    whole = response.model_dump(mode="json")
    chunks = [chunk_of(*place, delta), chunk_of(*place, {}, finish_reason="stop", sourcebound=whole)]
    if form.stream_options and form.stream_options.include_usage:
        chunks.append(chunk_of(*place, None, usage=usage_of(response).model_dump()))
    return chunks
