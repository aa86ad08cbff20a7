"""The figures of an evaluation, each with its number of cases and its 95 % interval.

Shares of items have Wilson's interval. Shares of facts, places and citations, which come in groups, and means have a
bootstrap interval over items.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Final

import numpy as np

from sourcebound.contracts.base import Contract
from sourcebound.contracts.calibration.gate_minima import Share, wilson_interval
from sourcebound.contracts.outcome import Status
from sourcebound.evals.golden.items import Kind
from sourcebound.evals.golden.results import Circumstances, ItemResult, ModelVerdict
from sourcebound.evals.metrics import Interval, mean_interval, ndcg, share_by_group

K: Final = 10
"""The candidates that retrieval recall and nDCG look at."""


class Scope(StrEnum):
    """The items that a figure is about."""

    GOLDEN = "golden"
    """The items as they were written."""
    PERTURBED = "perturbed"
    """The items that `eval perturb` made."""


class Figure(Contract):
    """One figure."""

    metric: str
    scope: Scope
    value: float | None
    """None if there is no case."""
    low: float
    high: float
    """The 95 % interval."""
    cases: int
    """The items that count."""


class KindCount(Contract):
    """The outcomes of the items of one kind, or of one perturbation."""

    name: str
    scope: Scope
    items: int
    passed: int
    answered: int
    refused: int
    failed: int
    hallucinated: int


class NodeLatency(Contract):
    """The latency of one node, in milliseconds."""

    node: str
    runs: int
    median: float
    p95: float


class Agreement(Contract):
    """The verdicts of a judge next to the judgements of the evaluation."""

    model: str
    verdicts: dict[ModelVerdict, int]
    """How often each verdict was given."""
    right_and_passed: int
    right_and_not_passed: int
    wrong_and_passed: int
    wrong_and_not_passed: int


class Summary(Contract):
    """The summary of an evaluation."""

    circumstances: Circumstances
    ended_at: str
    """UTC, ISO 8601."""
    figures: tuple[Figure, ...]
    kinds: tuple[KindCount, ...]
    latency: tuple[NodeLatency, ...]
    codes: dict[str, int]
    """The number of items for each refusal and failure code."""
    judge: Agreement | None = None
    """The agreement with the optional judge. It is no metric, so that no gate can be about it."""


Results = Sequence[ItemResult]
Selects = Callable[[ItemResult], bool]


def _share(select: Selects, counts: Selects) -> Callable[[Results], tuple[int, Interval]]:
    def measure(results: Results) -> tuple[int, Interval]:
        chosen = [each for each in results if select(each)]
        share = Share(sum(map(counts, chosen)), len(chosen))
        return len(chosen), Interval(share.value, *wilson_interval(share))

    return measure


def _grouped(select: Selects, part: str, whole: str) -> Callable[[Results], tuple[int, Interval]]:
    def measure(results: Results) -> tuple[int, Interval]:
        groups = [(getattr(each, part), _size(getattr(each, whole))) for each in results if select(each)]
        return len(groups), share_by_group(groups)

    return measure


def _mean(select: Selects, value: Callable[[ItemResult], float]) -> Callable[[Results], tuple[int, Interval]]:
    def measure(results: Results) -> tuple[int, Interval]:
        values = [value(each) for each in results if select(each)]
        return len(values), mean_interval(values)

    return measure


def _size(value: int | Sequence[object]) -> int:
    return value if isinstance(value, int) else len(value)


def _is_any(result: ItemResult) -> bool:
    return True


def _is_right_release(result: ItemResult) -> bool:
    return result.released and result.may_answer


def _is_searched(result: ItemResult) -> bool:
    return result.may_answer and result.run_id is not None


def _is_refusable(result: ItemResult) -> bool:
    return Status.NO_EVIDENCE in result.accepted and not result.may_answer


def _recall(result: ItemResult) -> float:
    return sum(rank is not None and rank < K for rank in result.ranks) / len(result.ranks)


def ndcg_of(result: ItemResult) -> float:
    """Return nDCG@10 where each place is one relevant document, at the rank of its first candidate."""
    places = {str(number): rank for number, rank in enumerate(result.ranks)}
    found = {rank: place for place, rank in places.items() if rank is not None}
    ranked = [found.get(rank, f"other {rank}") for rank in range(K)]
    return ndcg(ranked, dict.fromkeys(places, 1.0), K)


METRICS: Final = {
    "pass_rate": _share(_is_any, lambda each: each.passed),
    "hallucination_rate": _share(_is_any, lambda each: each.hallucinated),
    "correct_refusal_rate": _share(_is_refusable, lambda each: each.status is Status.NO_EVIDENCE),
    "incorrect_refusal_rate": _share(lambda each: each.must_answer, lambda each: not each.released),
    "wrong_answer_rate": _share(_is_right_release, lambda each: not each.passed),
    "off_topic_model_call_rate": _share(
        lambda each: each.kind is Kind.OFF_TOPIC, lambda each: "generate" in each.nodes
    ),
    "fallback_used_rate": _share(_is_any, lambda each: each.fallback_used),
    "fallback_used_rate_answerable": _share(lambda each: each.may_answer, lambda each: each.fallback_used),
    "key_fact_recall": _grouped(_is_right_release, "facts_said", "facts"),
    "citation_recall": _grouped(_is_right_release, "places_cited", "places"),
    "citation_precision": _grouped(_is_right_release, "citations_right", "cited"),
    "attribution_coverage": _mean(lambda each: each.released, lambda each: each.attribution_coverage or 0.0),
    "retrieval_recall_at_10": _mean(_is_searched, _recall),
    "retrieval_ndcg_at_10": _mean(_is_searched, ndcg_of),
}
"""Every metric by its name. `incorrect_refusal_rate` counts the answerable items that end without an answer, and
`off_topic_model_call_rate` the off-topic items that the gate lets through to the model."""


def measure(results: Results) -> tuple[Figure, ...]:
    """Measure every metric on the items of each scope."""
    figures = []
    for scope in Scope:
        members = of_scope(results, scope)
        for metric, compute in METRICS.items() if members else ():
            cases, interval = compute(members)
            figures.append(
                Figure(
                    metric=metric,
                    scope=scope,
                    value=interval.mean if cases else None,
                    low=interval.low if cases else 0.0,
                    high=interval.high if cases else 1.0,
                    cases=cases,
                )
            )
    return tuple(figures)


def of_scope(results: Iterable[ItemResult], scope: Scope) -> list[ItemResult]:
    """Return the results of one scope."""
    return [each for each in results if (each.perturbation is not None) is (scope is Scope.PERTURBED)]


def count_kinds(results: Results) -> tuple[KindCount, ...]:
    """Count the outcomes by kind, and those of perturbed items by kind of perturbation too."""
    counts = []
    for scope in Scope:
        members = of_scope(results, scope)
        counts += [_count(scope, name, group) for name, group in _group(members, lambda each: each.kind)]
        counts += [_count(scope, name, group) for name, group in _group(members, lambda each: each.perturbation)]
    return tuple(counts)


def _group(results: Results, key: Callable[[ItemResult], str | None]) -> list[tuple[str, Results]]:
    names = dict.fromkeys(name for name in map(key, results) if name is not None)
    return [(str(name), [each for each in results if key(each) == name]) for name in names]


def _count(scope: Scope, name: str, group: Results) -> KindCount:
    statuses = Counter(each.status for each in group)
    return KindCount(
        name=name,
        scope=scope,
        items=len(group),
        passed=sum(each.passed for each in group),
        answered=statuses[Status.OK],
        refused=statuses[Status.NO_EVIDENCE],
        failed=statuses[Status.FAILED],
        hallucinated=sum(each.hallucinated for each in group),
    )


def measure_latency(results: Results) -> tuple[NodeLatency, ...]:
    """Return the latency of each node, in the order of the graph."""
    values: dict[str, list[float]] = {}
    for result in results:
        for node, milliseconds in result.nodes.items():
            values.setdefault(node, []).append(milliseconds)
    return tuple(
        NodeLatency(
            node=node,
            runs=len(times),
            median=round(float(np.median(times)), 1),
            p95=round(float(np.percentile(times, 95)), 1),
        )
        for node, times in values.items()
    )


def summarize(circumstances: Circumstances, results: Results, ended_at: str) -> Summary:
    """Summarize an evaluation."""
    return Summary(
        circumstances=circumstances,
        ended_at=ended_at,
        figures=measure(results),
        kinds=count_kinds(results),
        latency=measure_latency(results),
        codes=dict(sorted(Counter(each.code for each in results if each.code).items())),
        judge=_compare(circumstances.judge, results) if circumstances.judge else None,
    )


def _compare(model: str, results: Results) -> Agreement:
    judged = [(each.model_verdict, each.passed) for each in results if each.model_verdict]
    counts = Counter(judged)
    return Agreement(
        model=model,
        verdicts=dict(Counter(verdict for verdict, _ in judged)),
        right_and_passed=counts[ModelVerdict.RIGHT, True],
        right_and_not_passed=counts[ModelVerdict.RIGHT, False],
        wrong_and_passed=counts[ModelVerdict.WRONG, True],
        wrong_and_not_passed=counts[ModelVerdict.WRONG, False],
    )


def format_value(value: float | None, metric: str) -> str:
    """Format a figure: a share in percent, another mean with three digits."""
    if value is None:
        return "–"
    return f"{value:.3f}" if metric.startswith("retrieval") else f"{value:.1%}"
