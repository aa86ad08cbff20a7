"""The figures of an external evaluation, as one JSON summary and as tables."""

from collections.abc import Iterator, Sequence
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
    """Refusals of answerable and of off-topic questions, before any model."""
    ANSWERS = "answers"
    """Answers of the built-in generator, after the firewall."""
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
    metric: str
    cases: int
    value: float
    low: float
    high: float
    """The 95 % interval."""


class LeftOut(Contract):
    """A set that was not measured."""

    section: Section
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
    """The most questions of a set; None for all."""
    seconds: dict[str, float]
    """The seconds of each section."""
    figures: tuple[ExternalFigure, ...]
    left_out: tuple[LeftOut, ...]


def figure_of_share(section: Section, name: str, metric: str, share: Share) -> ExternalFigure:
    """Make a figure of a share of independent cases, with Wilson's interval."""
    low, high = wilson_interval(share)
    return ExternalFigure(
        section=section, set=name, metric=metric, cases=share.whole, value=share.value, low=low, high=high
    )


def figure_of_interval(section: Section, name: str, metric: str, cases: int, interval: Interval) -> ExternalFigure:
    """Make a figure of a mean that has its interval."""
    return ExternalFigure(
        section=section, set=name, metric=metric, cases=cases, value=interval.mean, low=interval.low, high=interval.high
    )


def render_page(summary: ExternalSummary) -> str:
    """Render the figures as one Markdown table for each section, and the sets that were left out."""
    return "\n".join(_lines(summary))


def _lines(summary: ExternalSummary) -> Iterator[str]:
    most = f", at most {summary.most_questions} questions of a set" if summary.most_questions else ""
    yield f"Measured on {summary.measured_at[:10]} at {summary.commit or summary.versions.code}: "
    yield f"policy {summary.policy}, generator {summary.model}{most}. Brackets hold the interval of 95 %."
    for section in Section:
        figures = [each for each in summary.figures if each.section is section]
        if figures:
            yield from ("", f"### {section.capitalize()}", "", *_table(figures))
    if summary.left_out:
        yield from ("", "### Left out", "")
        yield from (f"- {each.section}, {each.set}: {each.reason}" for each in summary.left_out)


def _table(figures: Sequence[ExternalFigure]) -> Iterator[str]:
    yield "| set | metric | cases | value |"
    yield "|---|---|---|---|"
    for each in figures:
        interval = f"{each.value:.3f} ({each.low:.3f} to {each.high:.3f})"
        yield f"| {each.set} | {each.metric} | {each.cases} | {interval} |"
