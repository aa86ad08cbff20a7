"""Questions: `/v1/ask`, with or without events, `/rag/query`, and conversations (§10)."""

from typing import Any, Final

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel

from sourcebound.api.asking import Question
from sourcebound.api.callers import Caller, CallerAccess, CallerOf, require_conversation, requiring
from sourcebound.api.events import MEDIA_TYPE, question_event, stream_events
from sourcebound.api.forms import AskForm
from sourcebound.api.problems import request_id_of
from sourcebound.api.server import Server, ServerOf
from sourcebound.contracts.conversation.turns import Turn
from sourcebound.contracts.presentation.rag_query import POLICY, RagAnswer, RagQuery, rag_answer
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import RunContext

router = APIRouter(tags=["questions"], dependencies=[Depends(requiring("ask"))])
EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The outcome of the recorded run.",
        "content": {
            MEDIA_TYPE: {
                "example": 'event: stage\ndata: {"stage": "retrieve"}\n\nevent: response\ndata: {"status": "OK"}\n\n',
            }
        },
    }
}


class StartedConversation(BaseModel):
    """A new conversation."""

    conversation_id: str


class Conversation(BaseModel):
    """The questions of a conversation, in order."""

    conversation_id: str
    turns: list[Turn]


@router.post("/v1/ask", response_model=PublicResponse, response_model_exclude_none=False, responses=EVENTS)
async def ask(form: AskForm, request: Request, server: ServerOf, caller: CallerOf) -> Any:
    """Answer a question.

    With `Accept: text/event-stream` the answer is a stream: an event `stage` for each stage that has ended, then the
    event `response`. Nothing that a model wrote leaves before it is validated.
    """
    if MEDIA_TYPE in request.headers.get("accept", ""):
        return await _stream(form, request, server, caller)
    return await server.asking.ask(await _read_question(form, request, server, caller))


@router.post("/v1/ask/stream", response_class=Response, responses=EVENTS)
async def ask_stream(form: AskForm, request: Request, server: ServerOf, caller: CallerOf) -> Response:
    """Answer a question with events, as `/v1/ask` with `Accept: text/event-stream`."""
    return await _stream(form, request, server, caller)


@router.post("/rag/query")
async def rag_query(
    query: RagQuery, request: Request, response: Response, server: ServerOf, caller: CallerOf
) -> RagAnswer:
    """Answer a query to a project under GROUNDED_RAG_V1, with markers. The header `X-Run-ID` names the run."""
    caller.require_collection(query.project_id)
    asked = query.request()
    asked["request_id"] = request_id_of(request)
    answered = await server.asking.ask(Question(asked, RunContext(policy=POLICY), caller))
    response.headers["X-Run-ID"] = answered.run_id
    view = await server.engine.answer(answered.run_id, CallerAccess(server.services.index, caller), caller.key_id)
    return rag_answer(view, strip_markers=query.strip_markers)


@router.post("/v1/conversations", status_code=201)
async def start_conversation(server: ServerOf, _: CallerOf) -> StartedConversation:
    """Start a conversation. Name it in `conversation_id` of its questions."""
    return StartedConversation(conversation_id=await server.engine.start_conversation())


@router.get("/v1/conversations/{conversation_id}")
async def read_conversation(conversation_id: str, server: ServerOf, caller: CallerOf) -> Conversation:
    """Return the questions of a conversation."""
    await require_conversation(server, caller, conversation_id)
    return Conversation(conversation_id=conversation_id, turns=await server.engine.conversation(conversation_id))


async def _stream(form: AskForm, request: Request, server: Server, caller: Caller) -> Response:
    question = await _read_question(form, request, server, caller)
    return await stream_events(server.asking.stream(question), request_id_of(request), question_event)


async def _read_question(form: AskForm, request: Request, server: Server, caller: Caller) -> Question:
    """Return the question of a form, if the caller may ask it."""
    is_bundle = form.retrieval_bundle is not None
    caller.require_collection(None if is_bundle else form.collection or server.services.settings.collection)
    if form.conversation_id is not None:
        await require_conversation(server, caller, form.conversation_id)
    return Question(form.request(request_id_of(request)), form.context(), caller)
