"""OpenAI's Responses API: one route, streamed and not, over the same questions as chat completions (§10).

Nothing that a generator wrote leaves before it is validated (CP-12).
"""

from collections.abc import AsyncGenerator, AsyncIterator
from time import time
from typing import Any, Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import StreamingResponse

from sourcebound.api.callers import CallerOf, requiring
from sourcebound.api.events import MEDIA_TYPE, write_event
from sourcebound.api.openai.model_choice import read_question, starting_with
from sourcebound.api.openai.response_forms import ResponseForm, ResponseObject, events_of, response_of
from sourcebound.api.problems import as_problem, request_id_of
from sourcebound.api.server import ServerOf
from sourcebound.contracts.presentation.chat_text import chat_text
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.errors import SourceboundError

router = APIRouter(tags=["OpenAI-compatible"], dependencies=[Depends(requiring("ask"))])
STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {MEDIA_TYPE: {"example": "event: response.created\ndata: {…}\n\n"}}}
}


@router.post("/v1/responses", response_model=ResponseObject, responses=STREAM)
async def create_response(form: ResponseForm, request: Request, server: ServerOf, caller: CallerOf) -> Any:
    """Answer the last message of the input.

    The message has its sources as footnotes. The extra field `sourcebound` is the whole response. Refusals and failures
    of a recorded run are messages too. Earlier messages complete a follow-up (CP-6). Instructions, tools and sampling
    parameters are ignored.
    """
    question = read_question(form, form.chat(), request_id_of(request), server, caller)
    if form.stream:
        progress = server.asking.stream(question)
        first = await anext(progress)
        return StreamingResponse(_write_events(form.model, first, progress), media_type=MEDIA_TYPE)
    response = await server.asking.ask(question)
    return response_of(response, chat_text(response), form.model, int(time()))


async def _write_events(
    model: str, first: str | PublicResponse, progress: AsyncIterator[str | PublicResponse]
) -> AsyncGenerator[str, None]:
    """Write the stages as comments, and the validated message as events."""
    try:
        async for item in starting_with(first, progress):
            if isinstance(item, PublicResponse):
                for event in events_of(response_of(item, chat_text(item), model, int(time()))):
                    yield write_event(event["type"], event)
            else:
                yield f": {item or ''}\n\n"
    except SourceboundError as error:
        problem = as_problem(error).openai_error()
        yield write_event("error", {**problem, "type": "error", "sequence_number": 0})
