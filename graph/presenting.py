"""Reads what a recorded run released, for a presentation; whose text may be shown is asked anew (R6-7, R6-8)."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from pydantic import ValidationError

from sourcebound.contracts.answer_view import AnswerView, evidence_documents, view_answer
from sourcebound.contracts.ports import Access
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.contracts.state import State


async def open_answer(state: "State", access: Access, caller: str | None = None) -> AnswerView:
    """What a run released.

    Args:
        state: The run's state.
        access: Who may read what.
        caller: Who asks.

    Returns:
        The view; the text of a document that the caller may not read (any more) is not in it.

    Raises:
        RequestError: There is no run (`RUN_NOT_FOUND`), it has not ended (`RUN_NOT_ENDED`), or it was recorded under
            other contracts (`RUN_UNREADABLE`).
    """
    if not state:
        raise RequestError("there is no such run.", "See `sourcebound runs list`.", code="RUN_NOT_FOUND")
    if "response" not in state:
        raise RequestError("the run has not ended.", "Go on: sourcebound runs resume RUN.", code="RUN_NOT_ENDED")
    try:
        return view_answer(state, await _readable(state, access, caller))
    except ValidationError as error:
        raise RequestError(
            "the run was recorded under other contracts than those of this version.",
            "See what was recorded with `sourcebound runs show RUN --json`.",
            code="RUN_UNREADABLE",
        ) from error


async def _readable(state: "State", access: Access, caller: str | None) -> Collection[str]:
    """The documents of a run's evidence that may be read; a bundle from elsewhere has no collection to ask about."""
    documents, collection = evidence_documents(state), state["run"]["collection"]
    return {name for name in documents if not collection or await access.may_read(caller, collection, name)}
