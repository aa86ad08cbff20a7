"""Reads the nearest passages of a run without an answer, and checks access to them again (R6-7).

They are passages, not an answer: no stage has checked whether they say anything about the question.
"""

from typing import TYPE_CHECKING, NamedTuple

from sourcebound.contracts.evidence.sections import name_sections, sections_within
from sourcebound.contracts.outcome import Outcome, Status
from sourcebound.contracts.ports import Access
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.text.sanitize import sanitize

if TYPE_CHECKING:
    from sourcebound.contracts.state import State

NEAREST = 3


class Passage(NamedTuple):
    """A retrieved chunk."""

    place: str
    """The document and the sections that the passage runs through."""
    text: str


async def read_passages(state: "State", access: Access, caller: str | None = None) -> list[Passage]:
    """Return the nearest passages of a run that has no answer, best first.

    Args:
        state: The run's state.
        access: Decides who may read which document.
        caller: The reader.

    Returns:
        At most `NEAREST` passages of documents that the caller may read; none for an answered run, and none for a run
        that retrieved nothing from a collection.
    """
    collection, retrieval = state["run"]["collection"], state.get("retrieval")
    if not collection or not retrieval or Outcome.from_json(state["outcome"]).status is Status.OK:
        return []
    passages: list[Passage] = []
    for row in sorted(RetrievalBundle.from_json(retrieval).results, key=lambda row: row.rank):
        if len(passages) < NEAREST and await access.may_read(caller, collection, row.knowledge_id):
            section = name_sections(sections_within(row))
            place = " · ".join(part for part in (row.source_reference or row.knowledge_id, section) if part)
            passages.append(Passage(place, sanitize(row.chunk_text).text))
    return passages
