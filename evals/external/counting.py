"""The figures of the questions of a collection: ranking, evidence, gate and whole pipeline, answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from sourcebound.contracts.calibration.gate_minima import Share
from sourcebound.contracts.outcome import Status
from sourcebound.evals.external.asking import Answered, says_facts
from sourcebound.evals.external.report import ExternalFigure, Section, figure_of_interval, figure_of_share
from sourcebound.evals.external.sets.collections import Kind
from sourcebound.evals.metrics import mean_interval

HIGH: Final = "HIGH"
Test = Callable[[Answered], bool]
MUST_REFUSE: Final = frozenset({Kind.UNANSWERABLE, Kind.OFF_TOPIC})


def count_ranking(name: str, answered: Sequence[Answered]) -> list[ExternalFigure]:
    """Count the metrics of the candidates, before selection."""
    values = _by_metric([each.ranking for each in answered])
    return [figure_of_interval(Section.RANKING, name, key, len(each), mean_interval(each)) for key, each in values]


def count_evidence(name: str, answered: Sequence[Answered]) -> list[ExternalFigure]:
    """Count the evidence among the candidates and in the prompt."""
    figures = []
    for place, scores in (
        ("in the candidates", [each.in_candidates for each in answered]),
        ("in the prompt", [each.shown for each in answered]),
    ):
        for metric, values in _by_metric(scores):
            interval = mean_interval(values)
            figures.append(figure_of_interval(Section.EVIDENCE, name, f"{metric}, {place}", len(values), interval))
    return figures


def _by_metric(scores: Sequence[Mapping[str, float]]) -> list[tuple[str, list[float]]]:
    values: dict[str, list[float]] = {}
    for each in scores:
        for metric, value in each.items():
            values.setdefault(metric, []).append(value)
    return list(values.items())


def count_refusals(name: str, answered: Sequence[Answered]) -> list[ExternalFigure]:
    """Count what is refused before a generator is called, and by the whole pipeline. A rejected answer is neither."""
    figures = []
    for kind, group in _by_group(answered):
        for metric, test in (
            ("refused by the gate", _is_refused_before),
            ("refused by the whole pipeline", _is_refused),
        ):
            figures.append(figure_of_share(Section.GATES, name, metric, _share(group, test), kind))
    return figures


def _is_refused_before(each: Answered) -> bool:
    return each.before_model


def _is_refused(each: Answered) -> bool:
    return each.refused


def count_answers(name: str, answered: Sequence[Answered]) -> list[ExternalFigure]:
    """Count what is released of each kind but the off-topic questions, which `count_refusals` counts."""
    return [
        figure_of_share(Section.ANSWERS, name, metric, share, kind)
        for kind, group in _by_group(answered)
        for metric, share in _shares(group[0].question.kind, group)
        if share.whole and group[0].question.kind is not Kind.OFF_TOPIC
    ]


def _shares(kind: Kind, group: Sequence[Answered]) -> Iterator[tuple[str, Share]]:
    released = [each for each in group if each.released]
    if kind in MUST_REFUSE:
        yield "status right", _share(group, lambda each: each.refused)
        yield "wrong", _share(group, lambda each: each.released)
    elif kind is Kind.ANSWERABLE:
        judged = [each for each in group if each.question.facts]
        yield "status right", _share(group, lambda each: each.released)
        yield "right", _share(judged, lambda each: each.is_right is True)
        yield "wrong", _share(judged, lambda each: each.is_right is False)
        yield (
            "key facts said, of released",
            _share([each for each in released if each.says_facts is not None], lambda each: each.says_facts is True),
        )
        yield "citation hit, of released", _share([each for each in released if each.question.cites], cites_place)
        yield "right answer in the prompt", _share(judged, lambda each: each.in_prompt is True)
        high = [each for each in released if each.level == HIGH and each.question.facts]
        yield "right, of support HIGH", _share(high, lambda each: each.is_right is True)
    else:
        yield "answered", _share(group, lambda each: each.released)
        yield from _further(group)
    if failed := sum(each.outcome.status is Status.FAILED for each in group):
        yield "failed", Share(failed, len(group))


def _further(group: Sequence[Answered]) -> Iterator[tuple[str, Share]]:
    """Yield what the answers say and which documents they cite, of all questions."""
    for metric in dict.fromkeys(metric for each in group for metric in each.question.says):
        said = sum(says_facts(each.answer, each.question.says[metric]) for each in group)
        yield metric, Share(said, len(group))
    for metric in dict.fromkeys(metric for each in group for metric in each.question.sources):
        cited = sum(_cites_any(each, each.question.sources[metric]) for each in group)
        yield metric, Share(cited, len(group))


def cites_place(answered: Answered) -> bool:
    """Whether an answer cites the place that it must cite."""
    cites = answered.question.cites
    return cites is not None and any(cites(chunk) for chunk in answered.cited)


def _cites_any(answered: Answered, names: frozenset[str]) -> bool:
    return any(chunk.knowledge_id in names for chunk in answered.cited)


def _by_group(answered: Sequence[Answered]) -> list[tuple[str, list[Answered]]]:
    """Return the questions that are asked by group, without those that may have an answer although they should not."""
    groups: dict[str, list[Answered]] = {}
    for each in answered:
        if each.question.is_asked and not each.is_left_out:
            groups.setdefault(each.question.group, []).append(each)
    return list(groups.items())


def _share(group: Sequence[Answered], test: Test) -> Share:
    return Share(sum(map(test, group)), len(group))
