"""The report: one self-contained HTML file over one or more evaluations, for a screen and for paper.

Charts and tables are of the latest evaluation of each set. Reasons and drift are over all of them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from textwrap import fill
from typing import NamedTuple

from jinja2 import Environment

from sourcebound.evals.external.report import ExternalSummary, Section
from sourcebound.evals.golden.comparison import describe_end
from sourcebound.evals.golden.gates import GateReport, check_gates, load_gates
from sourcebound.evals.golden.results import Circumstances, ItemResult
from sourcebound.evals.golden.summary import count_kinds, format_value, measure, measure_latency, ndcg_of
from sourcebound.evals.metrics import Interval, mean_interval
from sourcebound.evals.report.charts import (
    Chart,
    draw_calibration,
    draw_drift,
    draw_latency,
    draw_ranking,
    draw_reasons,
    draw_trade_off,
)

NDCG = "nDCG@10"
LABEL_CHARACTERS = 11


class Evaluation(NamedTuple):
    """An evaluation with its results."""

    circumstances: Circumstances
    results: list[ItemResult]


def render_report(evaluations: Sequence[Evaluation], external: ExternalSummary | None = None) -> str:
    """Render the report.

    Args:
        evaluations: One or more evaluations.
        external: The summary of an external evaluation, whose ranking is shown by collection.

    Returns:
        The HTML, which refers to no other file.

    Raises:
        ConfigurationError: matplotlib is not installed.
    """
    ordered = sorted(evaluations, key=lambda each: each.circumstances.started_at)
    latest = {each.circumstances.set_name: each for each in ordered}
    results = [result for each in latest.values() for result in each.results]
    gates = check_gates(load_gates(), results)
    template = Environment(autoescape=True).from_string((files(__package__) / "page.html").read_text("utf-8"))
    return template.render(
        items=len(results),
        gates=gates,
        rows=list(_gate_rows(gates)),
        charts=list(_draw(ordered, results, external)),
        kinds=count_kinds(results),
        failing=[each.model_dump() | {"end": describe_end(each)} for each in results if not each.passed],
        evaluations=[each.circumstances for each in ordered],
    )


def _gate_rows(report: GateReport) -> Iterator[Mapping[str, object]]:
    for each in report.results:
        figure, metric = each.figure, each.gate.metric
        measured = figure is not None and figure.value is not None
        yield {
            "scope": each.gate.scope,
            "metric": metric,
            "threshold": each.gate.threshold,
            "value": format_value(figure.value if figure else None, metric),
            "interval": f"{format_value(figure.low, metric)} to {format_value(figure.high, metric)}"
            if figure and measured
            else "–",
            "cases": figure.cases if figure else 0,
            "verdict": each.verdict,
        }


def _draw(
    ordered: Sequence[Evaluation], results: Sequence[ItemResult], external: ExternalSummary | None
) -> Iterator[Chart]:
    ranking = _external_ranking(external) if external else _ranking_by_kind(results)
    subject = "collection" if external else "kind of question"
    charts = (
        draw_calibration(results),
        draw_trade_off(results),
        draw_ranking(ranking, subject),
        draw_latency(measure_latency(results)),
        draw_reasons([(_label(each), _count_reasons(each.results)) for each in ordered]),
        _draw_drift(ordered),
    )
    yield from (chart for chart in charts if chart)


def _external_ranking(external: ExternalSummary) -> dict[str, Interval]:
    return {
        each.set: Interval(each.value, each.low, each.high)
        for each in external.figures
        if each.section is Section.RANKING and each.metric == NDCG
    }


def _ranking_by_kind(results: Sequence[ItemResult]) -> dict[str, Interval]:
    groups: dict[str, list[float]] = {}
    for each in results:
        if each.may_answer and each.run_id is not None:
            groups.setdefault(each.kind, []).append(ndcg_of(each))
    return {name: mean_interval(values) for name, values in groups.items()}


def _count_reasons(results: Sequence[ItemResult]) -> dict[str, int]:
    return dict(Counter(describe_end(each) for each in results if not each.passed).most_common())


def _label(evaluation: Evaluation) -> str:
    told = evaluation.circumstances
    name = told.set_name.removesuffix(".jsonl").replace("_", " ")
    return f"{fill(name, LABEL_CHARACTERS)}\n{told.started_at[5:16].replace('T', ' ')}"


def _draw_drift(ordered: Sequence[Evaluation]) -> Chart | None:
    """Draw the first and the last evaluation of the set that was evaluated last more than once."""
    by_set: dict[str, list[Evaluation]] = {}
    for each in ordered:
        by_set.setdefault(each.circumstances.set_name, []).append(each)
    repeated = [each for each in by_set.values() if len(each) > 1]
    if not repeated:
        return None
    first, last = repeated[-1][0], repeated[-1][-1]
    labels = tuple(each.circumstances.started_at[:16].replace("T", " ") for each in (first, last))
    return draw_drift(measure(first.results), measure(last.results), (labels[0], labels[1]))
