"""The facts of a run as a person reads them: each with what became of it, and the call where a model chose (R3-9).

Made of what the facts phase recorded; nothing is measured anew and nothing is decided.
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
"""Stands for a quote whose document may not be read (R6-7)."""


class FactView(Contract):
    """A fact and what became of it; its quote only where its document may be read."""

    fact: Fact
    fate: RowOutcome | None
    """None where a model was to choose and its choice could not be used."""


class FactsView(Contract):
    """The facts of phase A, with what phase B made of them."""

    facts: tuple[FactView, ...]
    choice: AttemptView | None
    """The call of the model that chose; None where the local filter did."""

    @property
    def kept(self) -> int:
        """How many facts the answer was asked from."""
        return sum(shown.fate is RowOutcome.ADMITTED for shown in self.facts)

    @property
    def text(self) -> str:
        """Every fact as a line of text."""
        return render_facts(shown.fact for shown in self.facts)


def build_facts_view(
    state: State, bundle: RetrievalBundle | None, readable: Collection[str], *, with_prompt: bool
) -> FactsView | None:
    """The facts of a run; None where its policy has no facts phase, or it did not come to it.

    Args:
        state: The run's state.
        bundle: Its candidates.
        readable: The documents whose text may be shown now (R6-7).
        with_prompt: Whether the text of the prompt for the choice is shown.
    """
    if not state.get("facts") or bundle is None:
        return None
    phase = FactsPhase.model_validate(state["facts"])
    hidden = {row.chunk_id for row in bundle.results if row.knowledge_id not in readable}
    fates = phase.fates or (None,) * len(phase.facts)
    return FactsView(
        facts=tuple(
            FactView(
                fact=fact.model_copy(update={"quote": WITHHELD}) if fact.chunk_id in hidden else fact,
                fate=fate,
            )
            for fact, fate in zip(phase.facts, fates, strict=True)
        ),
        choice=build_attempt_view(0, phase.prompt, phase.generation, None, with_prompt=with_prompt)
        if phase.prompt
        else None,
    )
