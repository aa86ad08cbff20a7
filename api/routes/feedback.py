"""Feedback of readers on answers."""

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from sourcebound.api.callers import CallerOf, find_run, requiring
from sourcebound.api.forms import FeedbackForm
from sourcebound.api.server import ServerOf
from sourcebound.graph.workflow import new_id

router = APIRouter(tags=["records"], dependencies=[Depends(requiring("ask"))])


class StoredFeedback(BaseModel):
    """Feedback that was stored."""

    feedback_id: str
    run_id: str


@router.post("/v1/feedback", status_code=201)
async def give_feedback(form: FeedbackForm, server: ServerOf, caller: CallerOf) -> StoredFeedback:
    """Store the words of a reader about the answer of a run. Earlier feedback stays."""
    run = await find_run(server, caller, form.run_id)
    stored = await server.services.feedback.add(new_id(), run.run_id, form.rating, form.comment or None, caller.key_id)
    return StoredFeedback(feedback_id=stored.feedback_id, run_id=run.run_id)
