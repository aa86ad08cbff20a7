"""The figures of an external evaluation, as one JSON summary and as tables."""

from enum import StrEnum

from sourcebound.contracts.base import Contract
from sourcebound.contracts.calibration.gate_minima import Share, wilson_interval
from sourcebound.contracts.versions import Versions
from sourcebound.evals.metrics import Interval


class Section(StrEnum):
    """A part of the evaluation."""

    RANKING = "ranking"
    """The candidates of judged questions, before selection."""
    EVIDENCE = "evidence"
    """The evidence of judged questions, before and after selection."""
    GATES = "gates"
    """Refusals before any model, and by the whole pipeline."""
    ANSWERS = "answers"
    """Answers of the built-in generator, after the firewall."""
    NATURAL = "natural"
    """Natural questions over mixed files, through the whole graph."""
    GROUNDING = "grounding"
    """The firewall on judged answers."""
    STATEMENTS = "statements"
    """The firewall on judged and on changed statements."""
    HONEST = "honest"
    """The firewall on replies as good models write them."""
    INJECTION = "injection"
    """Answers over documents that carry instructions."""
    SEGMENTATION = "segmentation"
    """Golden rules of sentence ends."""
    INGESTION = "ingestion"
    """Awkward files."""


class ExternalFigure(Contract):
    """One figure of one set."""

    section: Section
    set: str
    kind: str = ""
    """The questions that count; empty for all."""
    metric: str
    cases: int
    value: float
    low: float
    high: float
    """The 95 % interval."""


class LeftOut(Contract):
    """A set that was not measured."""

    section: Section | None
    """The section that it is first of all for; None if its shape is not known."""
    set: str
    reason: str
    is_absent: bool
    """Whether its files do not exist. Otherwise they cannot be read."""


class ExternalSummary(Contract):
    """The summary of an external evaluation."""

    data: str
    measured_at: str
    """UTC, ISO 8601."""
    commit: str | None
    versions: Versions
    policy: str
    model: str
    most_questions: int | None
    """The most questions of a set and kind; None for all."""
    questions: int
    """The questions that were asked."""
    seconds: dict[str, float]
    """The seconds of each set."""
    cpu_seconds: float
    """The processor time of this process, without the database."""
    load: float
    """The mean load of the machine over the sets (the average over one minute)."""
    cores: int
    figures: tuple[ExternalFigure, ...]
    left_out: tuple[LeftOut, ...]


def figure_of_share(section: Section, name: str, metric: str, share: Share, kind: str = "") -> ExternalFigure:
    """Make a figure of a share of independent cases, with Wilson's interval."""
    low, high = wilson_interval(share)
    return ExternalFigure(
        section=section, set=name, kind=kind, metric=metric, cases=share.whole, value=share.value, low=low, high=high
    )


def figure_of_interval(section: Section, name: str, metric: str, cases: int, interval: Interval) -> ExternalFigure:
    """Make a figure of a mean that has its interval."""
    return ExternalFigure(
        section=section, set=name, metric=metric, cases=cases, value=interval.mean, low=interval.low, high=interval.high
    )
