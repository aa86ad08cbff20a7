"""The sections about retrieval: ranking, evidence before and after selection, and gates."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from sourcebound.contracts.calibration.gate_minima import refused
from sourcebound.evals import evidence, gates, ranking
from sourcebound.evals.external.measuring import EMBEDDER, Measuring, ready
from sourcebound.evals.external.report import Section, figure_of_interval, figure_of_share
from sourcebound.evals.metrics import mean_interval
from sourcebound.evals.retrieval import temporary_services

RankingSets = dict[str, Callable[[], AbstractContextManager[ranking.QuestionSet]]]


async def measure_ranking(measuring: Measuring) -> None:
    """Measure the order of the candidates under the policy."""
    data, policy = measuring.data, measuring.policy
    openers: RankingSets = {name: partial(ranking.document_set, data, name) for name in _judged_corpora(measuring)}
    openers["chunking_eval"] = partial(ranking.chunking_set, data)
    openers["financebench"] = partial(ranking.page_set, data, policy.retrieval.top_k)
    (variant, *_) = ranking.variants_of(policy)
    async with temporary_services() as services:
        for name, questions in measuring.each_set(Section.RANKING, openers):
            limited = questions._replace(questions=measuring.limited(questions.questions))
            measured = await ranking.measure(services, limited, [variant])
            for metric, values in measured.scores[variant.name].items():
                figure = figure_of_interval(Section.RANKING, name, metric, len(values), mean_interval(values))
                measuring.figures.append(figure)


def _judged_corpora(measuring: Measuring) -> list[str]:
    """Return the folders of judged corpora: those that the ranking is known for, and any other of their shape."""
    found = sorted(file.parent.name for file in (measuring.data / "retrieval").glob("*/qrels.tsv"))
    return list(dict.fromkeys([*ranking.DOCUMENT_SETS, *found]))


async def measure_evidence(measuring: Measuring) -> None:
    """Measure whether the evidence of a question is among the candidates and in the prompt."""
    data = measuring.data
    openers: RankingSets = {
        **evidence.answer_sets(data),
        "emanual_s10": partial(evidence.judged_documents, data, "emanual_s10"),
        "chunking_eval": partial(evidence.judged_characters, data),
        "financebench": partial(evidence.report_set, data),
    }
    async with temporary_services() as services:
        for name, questions in measuring.each_set(Section.EVIDENCE, openers):
            limited = questions._replace(questions=measuring.limited(questions.questions))
            for each in await evidence.measure(services, limited, measuring.policy):
                metric = f"{each.metric}, {each.place}"
                measuring.figures.append(figure_of_interval(Section.EVIDENCE, name, metric, each.questions, each.share))


async def measure_gates(measuring: Measuring) -> None:
    """Measure what the gate of the policy refuses, in collections of one subject each."""
    limits = measuring.policy.retrieval
    minima = limits.min_top_similarity, limits.min_question_coverage or 0.0
    openers = {
        "calibration": ready(partial(gates.read_corpora, measuring.data, measuring.most)),
        "checks": ready(partial(gates.read_checks, measuring.data, measuring.most)),
    }
    for name, corpora in measuring.each_set(Section.GATES, openers):
        async with temporary_services() as services:
            for each in await gates.measure(services, corpora, EMBEDDER, measuring.policy, name):
                kind = "answerable refused" if each.answerable else "off-topic refused"
                share = refused(each.signals, *minima)
                measuring.figures.append(figure_of_share(Section.GATES, each.name, kind, share))
