"""The view of the facts of a run: each fact with its outcome, and the call if a model chose (R3-9).

The view is built from what the facts phase recorded. It measures nothing again and decides nothing.
"""

from collections.abc import Collection
from typing import Final

from sourcebound.contracts.base import Contract
from sourcebound.contracts.evidence.answer_bundle import RowOutcome
from sourcebound.contracts.facts.extraction import Fact, render_facts
from sourcebound.contracts.facts.selection import FactsPhase
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.run_page.attempts import AttemptView, build_attempt_view
from sourcebound.contracts.state import State

WITHHELD: Final = "(withheld)"
"""The replacement for a quote whose document may not be read (R6-7)."""


class FactView(Contract):
    """A fact and its outcome; its quote only if its document may be read."""

    fact: Fact
    fate: RowOutcome | None
    """None if a model had to choose and its choice was not valid."""


class FactsView(Contract):
    """The facts of phase A, with their outcomes in phase B."""

    facts: tuple[FactView, ...]
    choice: AttemptView | None
    """The call of the model that chose; None if the local filter chose."""

    @property
    def admitted_count(self) -> int:
        """The number of facts that the answer may use."""
        return sum(view.fate is RowOutcome.ADMITTED for view in self.facts)

    @property
    def text(self) -> str:
        """All facts, one on each line."""
        return render_facts(view.fact for view in self.facts)


def build_facts_view(
    state: State, bundle: RetrievalBundle | None, readable: Collection[str], *, with_prompt: bool
) -> FactsView | None:
    """Build the facts of a run. Return None if its policy has no facts phase or the run did not reach it.

    Args:
        state: The run's state.
        bundle: Its candidates.
        readable: The knowledge ids of the documents whose text may be shown now (R6-7).
        with_prompt: Whether to show the text of the prompt for the choice.
    """
    if not state.get("facts") or bundle is None:
        return None
    phase = FactsPhase.model_validate(state["facts"])
    unreadable = {row.chunk_id for row in bundle.results if row.knowledge_id not in readable}
    fates = phase.fates or (None,) * len(phase.facts)
    return FactsView(
        facts=tuple(
            FactView(
                fact=fact.model_copy(update={"quote": WITHHELD}) if fact.chunk_id in unreadable else fact,
                fate=fate,
            )
            for fact, fate in zip(phase.facts, fates, strict=True)
        ),
        choice=build_attempt_view(0, phase.prompt, phase.generation, None, with_prompt=with_prompt)
        if phase.prompt
        else None,
    )
