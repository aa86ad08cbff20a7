"""Reads the released answer of a recorded run for a presentation, and checks access to its texts again (R6-7, R6-8)."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from pydantic import ValidationError

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, EvidenceChunk
from sourcebound.contracts.ports import Access
from sourcebound.contracts.presentation.answer_view import AnswerView, evidence_documents, view_answer
from sourcebound.errors import RequestError
from sourcebound.store.runs.refusals import unreadable_run_error

if TYPE_CHECKING:
    from sourcebound.contracts.state import State


async def read_answer(state: "State", access: Access, caller: str | None = None) -> AnswerView:
    """Return the released answer of a run.

    Args:
        state: The run's state.
        access: Decides who may read which document.
        caller: The reader.

    Returns:
        The view, without the texts of documents that the caller may not read (any more).

    Raises:
        RequestError: The run does not exist (`RUN_NOT_FOUND`), has not ended (`RUN_NOT_ENDED`), or was recorded under
            other contracts (`RUN_UNREADABLE`).
    """
    if not state:
        raise RequestError("there is no such run.", "See `sourcebound runs list`.", code="RUN_NOT_FOUND")
    if "response" not in state:
        raise RequestError("the run has not ended.", "Resume it: sourcebound runs resume RUN.", code="RUN_NOT_ENDED")
    try:
        return view_answer(state, await _readable(state, access, caller))
    except ValidationError as error:
        raise unreadable_run_error() from error


async def find_evidence(state: "State", anchor: str, access: Access, caller: str | None = None) -> EvidenceChunk:
    """Return one source of a run with its text, after checking that the caller may read its document now (R6-7).

    Args:
        state: The run's state.
        anchor: `C0`, `C1`, …
        access: Decides who may read which document.
        caller: The reader.

    Raises:
        RequestError: The run has no such source (`EVIDENCE_NOT_FOUND`), or the caller may not read its document
            (`ACCESS_REFUSED`).
    """
    bundle = AnswerBundle.model_validate(assembly) if (assembly := state.get("assembly")) else None
    chunks = {chunk.anchor: chunk for chunk in bundle.selected_evidence} if bundle else {}
    if anchor not in chunks:
        raise RequestError(
            f"the run has no source {anchor!r}.", "See `sourcebound runs show RUN`.", code="EVIDENCE_NOT_FOUND"
        )
    collection, chunk = state["run"]["collection"], chunks[anchor]
    if collection and not await access.may_read(caller, collection, chunk.knowledge_id):
        raise RequestError(
            f"{chunk.knowledge_id!r} may not be read, or is no longer in the collection {collection!r}.",
            "Ask for access, or ingest the document again.",
            code="ACCESS_REFUSED",
        )
    return chunk


async def _readable(state: "State", access: Access, caller: str | None) -> Collection[str]:
    """Return the readable documents of a run's evidence. An external bundle has no collection, and no access check."""
    documents, collection = evidence_documents(state), state["run"]["collection"]
    return {name for name in documents if not collection or await access.may_read(caller, collection, name)}
