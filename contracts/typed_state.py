"""Loads typed contract models from graph state."""

from functools import cached_property

from sourcebound.contracts.conversation.turns import Resolution
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.facts.selection import FactsPhase
from sourcebound.contracts.outcome import Outcome, Status
from sourcebound.contracts.request import Run
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.state import State
from sourcebound.contracts.validation.attempts import Attempt
from sourcebound.contracts.validation.result import ValidationResult


class TypedState:
    """Typed access to the state of a run; a layer that did not run is None.

    Args:
        state: The state of a run.
    """

    def __init__(self, state: State) -> None:
        self.run = Run.from_json(state["run"])
        self.outcome = Outcome.from_json(state["outcome"])
        assembly = state.get("assembly")
        self.bundle = AnswerBundle.from_json(assembly) if assembly else None
        self.attempts = tuple(Attempt.model_validate(attempt) for attempt in state.get("attempts") or ())
        resolution = state.get("resolution")
        self.resolution = Resolution.from_json(resolution) if resolution else None
        facts = state.get("facts")
        self.facts = FactsPhase.from_json(facts) if facts else None
        generation, validation = state.get("generation"), state.get("validation")
        self.generation = Generation.from_json(generation) if generation else None
        self.validation = ValidationResult.from_json(validation) if validation else None
        is_valid_bundle = self.bundle is not None and self.bundle.trace is not None
        self._retrieval = (state.get("retrieval") if is_valid_bundle else None) or {}

    @cached_property
    def retrieval(self) -> RetrievalBundle | None:
        """The retrieval bundle, if it is valid."""
        return RetrievalBundle.from_json(self._retrieval) if self._retrieval else None

    @property
    def retrieval_latency_ms(self) -> float | None:
        """The time of retrieval in milliseconds; None if it did not run, or the bundle is invalid."""
        latency: float | None = self._retrieval.get("retrieval_latency_ms")
        return latency

    @property
    def cited_chunks(self) -> tuple[str, ...]:
        """The ids of the chunks that a released answer cites, in order. Empty without an answer."""
        if self.outcome.status is not Status.OK or self.bundle is None or self.validation is None:
            return ()
        return tuple(self.bundle.anchor_map[anchor] for anchor in self.validation.validated_citations)
