"""Calibrate the gate: measure the answerable and the off-topic questions that each pair of minima refuses.

Run `python -m sourcebound.evals.gates --data DATA`. The rule: of the answerable questions of all sets together no more
than two in a hundred may be lost, and within that limit the pair refuses as many off-topic questions as possible. The
sets differ in kind and in size, because a threshold must fit more than one collection: an encyclopaedia, each of its
articles alone, a manual, and mixtures of up to five thousand paragraphs. Further collections are checks: they are
measured at the chosen minima and have no influence on the choice.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sourcebound.contracts.calibration.gate_minima import (
    MAX_ANSWERABLE_REFUSED,
    Point,
    QuestionSet,
    Share,
    Signals,
    choose,
    cross_validate,
    max_answerable_refused,
    mean_off_topic_refused,
    pareto_front,
    read_signals,
    sweep,
    wilson_interval,
)
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.evals.broad import SIZES, mix, read_fillers, read_labelled
from sourcebound.evals.retrieval import DATA, ingest, read_records, retrieve, temporary_services, write_documents
from sourcebound.wiring import DEFAULT_POLICY, LEXICAL_POLICY, Services, find_policy

MIN_OFF_TOPIC_REFUSED: Final = 0.95
SHORTEST_ANSWER: Final = 3
TOGETHER: Final = "all answerable together"
GATED_POLICIES: Final = (("minilm", DEFAULT_POLICY), ("lexical", LEXICAL_POLICY))


class Corpus(NamedTuple):
    """Documents, the questions that they answer, and questions that they do not. Each list names the set it adds to."""

    documents: Sequence[dict[str, Any]]
    answerable: tuple[str, Sequence[str]]
    off_topic: Sequence[tuple[str, Sequence[str]]]
    known_answers: Mapping[str, Sequence[str]] = MappingProxyType({})
    """The answers of off-topic questions, where known. A question whose answer a candidate holds is left out."""


def read_corpora(data: Path, limit: int | None = None) -> list[Corpus]:
    """Read the calibration's corpora: the encyclopaedia, the manual, then each article of the encyclopaedia alone.

    Args:
        data: The folder of the evaluation data.
        limit: The number of questions of each kind, in the order of the data; all if omitted.
    """
    paragraphs = read_records(data / "answerability/squad2/paragraphs.jsonl")
    records = sorted(read_records(data / "answerability/squad2/questions.jsonl"), key=lambda record: record["order"])
    records = [record for record in records if record["answerable"]][:limit]
    off_topic = _texts(read_records(data / "answerability/offtopic_nq_open/questions.jsonl")[:limit], "question")
    manual = data / "retrieval/emanual_s10"
    encyclopaedia = Corpus(paragraphs, ("squad2", _texts(records, "question")), [("nq_open in squad2", off_topic)])
    guide = Corpus(
        read_records(manual / "corpus.jsonl"),
        ("emanual", _texts(read_records(manual / "queries.jsonl")[:limit], "text")),
        [("nq_open in emanual", off_topic), ("squad2 in emanual", _texts(records, "question"))],
    )
    title_of = {paragraph["_id"]: paragraph["title"] for paragraph in paragraphs}
    articles = [
        Corpus(
            [paragraph for paragraph in paragraphs if paragraph["title"] == title],
            (
                "squad2 by article",
                _texts([record for record in records if title_of[record["paragraph_id"]] == title], "question"),
            ),
            [("nq_open by article", off_topic)],
        )
        for title in dict.fromkeys(title_of.values())
    ]
    return [encyclopaedia, guide, *articles]


def read_checks(data: Path, limit: int | None = None) -> list[Corpus]:
    """Read the collections that are not used for the choice: articles, long papers and abstracts.

    Args:
        data: The folder of the evaluation data.
        limit: As in `read_corpora`.
    """
    folder = data / "answerability"
    off_topic = _texts(read_records(folder / "offtopic_nq_open/questions.jsonl")[:limit], "question")
    items = read_records(folder / "qed_nq/items.jsonl")
    articles = {item["paragraph"]: {"title": item["title"], "text": item["paragraph"]} for item in items}
    papers = read_records(folder / "covidqa_long/documents.jsonl")
    abstracts = read_records(folder / "pubmedqa/corpus.jsonl")
    return [
        Corpus(documents, (name, _texts(questions[:limit], "question")), [(f"nq_open in {name}", off_topic)])
        for name, documents, questions in (
            ("qed_nq", list(articles.values()), items),
            ("covidqa_long", papers, read_records(folder / "covidqa_long/questions.jsonl")),
            ("pubmedqa", abstracts, read_records(folder / "pubmedqa/questions.jsonl")),
        )
    ]


def read_broad(data: Path, limit: int | None = None) -> tuple[list[Corpus], list[Corpus]]:
    """Read the broad collections of several sizes: those for the choice, and the checks, which have other sources.

    Args:
        data: The folder of the evaluation data.
        limit: As in `read_corpora`; the collections then have a hundred paragraphs only.
    """
    folder = data / "answerability"
    records = read_records(folder / "offtopic_nq_open/questions.jsonl")[:limit]
    off_topic = _texts(records, "question")
    answers: dict[str, Sequence[str]] = {each["question"]: each["answers"] for each in records}
    fillers, sizes = read_fillers(data), SIZES if limit is None else SIZES[:1]
    sources = {name: read_labelled(data, name) for name in ("squad2", "emanual", "qed_nq", "pubmedqa")}
    for source in sources.values():
        answers.update(source.answers)
    collections = []
    for chosen, others in ((("squad2", "emanual"), ("qed_nq",)), (("qed_nq", "pubmedqa"), ("squad2", "emanual"))):
        elsewhere = [question for name in others for question, _ in sources[name].questions][:limit]
        mixtures = [mix([sources[name] for name in chosen], fillers, size) for size in sizes]
        label = " and ".join(chosen)
        collections.append(
            [
                Corpus(
                    each.documents,
                    (f"{label} among {each.size}", each.answerable[:limit]),
                    [
                        (f"nq_open in {label} among {each.size}", off_topic),
                        (f"{' and '.join(others)} in {label} among {each.size}", elsewhere),
                    ],
                    answers,
                )
                for each in mixtures
            ]
        )
    return collections[0], collections[1]


def _texts(records: Iterable[dict[str, Any]], field: str) -> list[str]:
    return [record[field] for record in records]


async def measure(
    services: Services, corpora: Sequence[Corpus], embedder: str, policy: Policy, prefix: str = "calibration"
) -> tuple[QuestionSet, ...]:
    """Ingest each corpus into its own collection and retrieve for each of its questions.

    Args:
        services: An empty database.
        corpora: The documents to ingest and the questions to ask.
        embedder: `minilm` or `lexical`.
        policy: The policy whose retrieval is measured. Its minima do not matter.
        prefix: The prefix of the names of the collections.

    Returns:
        The answerable sets, then the off-topic sets. Corpora that name the same set add to it.
    """
    signals_by_set: dict[tuple[bool, str], list[Signals]] = {}
    for number, corpus in enumerate(corpora):
        collection = f"{prefix}-{embedder}-{number}"
        with tempfile.TemporaryDirectory(prefix="sourcebound-eval-") as folder:
            write_documents(Path(folder) / "documents", corpus.documents)
            await ingest(services, Path(folder) / "documents", collection, embedder)
        question_sets = [(True, *corpus.answerable), *((False, *each) for each in corpus.off_topic)]
        for answerable, name, questions in question_sets:
            bundles = [await retrieve(services, each, collection, policy) for each in questions]
            signals = [
                read_signals(bundle, policy.retrieval)
                for bundle in bundles
                if answerable or not holds_answer(bundle, corpus.known_answers.get(bundle.user_question, ()))
            ]
            signals_by_set.setdefault((answerable, name), []).extend(signals)
    ordered = sorted(signals_by_set.items(), key=lambda item: not item[0][0])
    return tuple(QuestionSet(name, answerable, tuple(signals)) for (answerable, name), signals in ordered)


def holds_answer(bundle: RetrievalBundle, answers: Sequence[str]) -> bool:
    """Whether a candidate holds an answer of an off-topic question, so that the question may not be off topic."""
    texts = [row.chunk_text.casefold() for row in bundle.results]
    return any(len(answer) >= SHORTEST_ANSWER and answer.casefold() in text for answer in answers for text in texts)


def describe(sets: Sequence[QuestionSet], checks: Sequence[QuestionSet], policy: Policy) -> str:
    """Write one policy's report in Markdown: each set at the chosen and at the policy's minima, then the trade-off.

    Args:
        sets: The sets that the minima are chosen on.
        checks: Sets that are not used for the choice.
        policy: The policy that was measured.
    """
    sets, checks = _with_all_answerable(sets), _with_all_answerable(checks)
    judged = [each for each in sets if each.name == TOGETHER or not each.answerable]
    points = sweep(judged)
    best = choose(judged, points)
    limits = policy.retrieval
    released = [limits.min_top_similarity], [limits.min_question_coverage or 0.0]
    (chosen,) = sweep(sets, [best.min_similarity], [best.min_coverage])
    (released_point,) = sweep(sets, *released)
    (released_check,) = sweep(checks, *released)
    (checked,) = sweep(checks, [best.min_similarity], [best.min_coverage])
    unseen = dict(zip([each.name for each in judged], cross_validate(judged), strict=True))
    sections = [
        f"## {policy.policy_version}\n",
        f"Chosen: {_format_minima(chosen)}. The policy has {_format_minima(released_point)}.\n",
        *_set_table(sets, chosen.refused, unseen, released_point.refused),
        f"\n{_verdict(judged, best)}\n",
        *_size_table([*sets, *checks], [*released_point.refused, *released_check.refused]),
        "Checks, which were not used for the choice:\n",
        *_set_table(checks, checked.refused, None, released_check.refused),
        "\nTrade-off, every pair of minima that no other pair beats on both counts:\n",
        *_curve_table(judged, points),
    ]
    return "\n".join(sections)


def _with_all_answerable(sets: Sequence[QuestionSet]) -> list[QuestionSet]:
    """Add the set of all answerable questions together, by which minima are chosen: a small set says little alone."""
    answerable = [each for each in sets if each.answerable]
    together = QuestionSet(TOGETHER, True, tuple(signal for each in answerable for signal in each.signals))
    return [*answerable, together, *(each for each in sets if not each.answerable)]


def _size_table(sets: Sequence[QuestionSet], released: Sequence[Share]) -> Iterator[str]:
    """Yield the means over the broad collections of each size, at the policy's minima."""
    yield "The broad collections, choice and checks together, at the policy's minima:\n"
    yield "| paragraphs | answerable refused | off-topic refused, mean of the sets |"
    yield "|---|---|---|"
    means = []
    for size in SIZES:
        broad = [(each, share) for each, share in zip(sets, released, strict=True) if each.name.endswith(f" {size}")]
        answerable = [share for each, share in broad if each.answerable]
        off_topic = [share.value for each, share in broad if not each.answerable]
        if off_topic:
            lost = Share(sum(share.part for share in answerable), sum(share.whole for share in answerable))
            means.append(sum(off_topic) / len(off_topic))
            yield f"| {size} | {_percent(lost.value)} ({lost.part} of {lost.whole}) | {_percent(means[-1])} |"
    if means:
        yield f"| mean | | {_percent(sum(means) / len(means))} |"
    yield ""


def _set_table(
    sets: Sequence[QuestionSet], chosen: Sequence[Share], unseen: Mapping[str, Share] | None, released: Sequence[Share]
) -> Iterator[str]:
    """Yield one row per set with its error rate: false refusals or false passes."""
    columns = ["questions", "error", "at the chosen minima", "95 % interval", "at the policy's minima"]
    yield f"| {' | '.join([*columns, 'cross-validated'] if unseen else columns)} |"
    yield "|" + "---|" * (6 if unseen else 5)
    for i, each in enumerate(sets):
        kind = "false refusal" if each.answerable else "false pass"
        errors = [share if each.answerable else share.rest for share in (chosen[i], released[i])]
        low, high = wilson_interval(errors[0])
        rate = f"{_percent(errors[0].value)} ({errors[0].part} of {errors[0].whole})"
        interval = f"{_percent(low)} to {_percent(high)}"
        cells = [each.name, kind, rate, interval, _percent(errors[1].value)]
        if unseen:
            held_out = unseen.get(each.name)
            cells.append(_percent((held_out if each.answerable else held_out.rest).value) if held_out else "–")
        yield f"| {' | '.join(cells)} |"


def _curve_table(sets: Sequence[QuestionSet], points: Sequence[Point]) -> Iterator[str]:
    yield "| similarity | coverage | false refusals | false passes, mean |"
    yield "|---|---|---|---|"
    for point in pareto_front(sets, points):
        worst, passed = max_answerable_refused(sets, point), 1 - mean_off_topic_refused(sets, point)
        yield f"| {point.min_similarity:.2f} | {point.min_coverage:.2f} | {_percent(worst)} | {_percent(passed)} |"


def _verdict(sets: Sequence[QuestionSet], chosen: Point) -> str:
    worst, off_topic = max_answerable_refused(sets, chosen), mean_off_topic_refused(sets, chosen)
    first = "met" if worst <= MAX_ANSWERABLE_REFUSED else "missed"
    second = "met" if off_topic >= MIN_OFF_TOPIC_REFUSED else "missed"
    return (
        f"Answerable refused at most {_percent(worst)} (target {_percent(MAX_ANSWERABLE_REFUSED)}: {first}); "
        f"off-topic refused {_percent(off_topic)} on average (target {_percent(MIN_OFF_TOPIC_REFUSED)}: {second})."
    )


def _format_minima(point: Point) -> str:
    return f"`min_top_similarity = {point.min_similarity:.2f}`, `min_question_coverage = {point.min_coverage:.2f}`"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


PREAMBLE: Final = """# Calibration of the gate

Written by `python -m sourcebound.evals.gates --data DATA`; do not edit.

The gate refuses a question before any model call if the similarity of the best candidate is below `min_top_similarity`,
or if no candidate covers `min_question_coverage` of the question's content words by weight. A word that a candidate
lacks counts in proportion to the similarity of this candidate to the question
([why](decisions/0014-soft-coverage.md)). For each question below, the product's own ingest and retriever ran under the
policy on an embedded database. No answer was generated.

Answerable questions: SQuAD 2.0 (114 paragraphs, one document each; once as one collection, and once with a collection
for each article) and the Samsung S10 manual (451 sections). Off-topic questions: NQ-open questions, which no document
here answers, and the SQuAD questions asked of the manual. A few off-topic questions name a subject that a collection
does cover ("who was the king of england in 1756", asked of articles about the Normans). If the gate passes such a
question, the later stages decide. The checks are other collections: 224 paragraphs of other articles with the search
questions that they answer (QED), fifteen long papers (COVID-QA), 150 abstracts with the questions that are their titles
(PubMedQA), and the NQ-open questions asked of each. NQ-open and QED are samples of one stream of questions, so an
"off-topic" question there can be about an article of the collection.

The broad collections are half labelled paragraphs, as far as there are so many, among abstracts and the evidence texts
of other sets, of 100, 1,000 and 5,000 paragraphs. The checks have other sources than the choice. An off-topic question
whose known answer a candidate holds is left out there. In a broad collection many off-topic questions find a paragraph
on their subject; what remains is for the later stages to refuse. [external.md](external.md#gates) has what the gate
refuses next to what the whole pipeline refuses.

The rule: the answerable questions together lose no more than 2 %, and within that limit as many off-topic questions as
possible are refused (the mean over the off-topic sets). A long question needs less coverage, and one that is asked of a
large collection needs more (`coverage_allowance`, `coverage_per_tenfold`). Here the difference is added to its
coverage. Minima are multiples of 0.05. For the column "cross-validated", the questions are split into five parts, and
each part is judged by minima chosen on the other four. Without vectors the similarity of a row is its coverage, so the
two minima are one. The gate does not detect questions that are on topic but unanswerable.
Run `sourcebound calibrate` to measure a collection of your own.
"""


async def calibrate(data: Path) -> str:
    """Measure every policy that has its own gate, and return the report."""
    broad, broad_checks = read_broad(data)
    corpora, check_corpora = [*read_corpora(data), *broad], [*read_checks(data), *broad_checks]
    reports = [PREAMBLE]
    async with temporary_services() as services:
        for embedder, name in GATED_POLICIES:
            policy = find_policy(name, embedding_model=embedder)
            sets = await measure(services, corpora, embedder, policy)
            checks = await measure(services, check_corpora, embedder, policy, "check")
            reports.append(describe(sets, checks, policy) + "\n")
    return "\n".join(reports)


def main() -> None:
    """Print the report and write it to a file."""
    parser = argparse.ArgumentParser(prog="python -m sourcebound.evals.gates", description=calibrate.__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the evaluation data")
    parser.add_argument("--report", type=Path, default=Path("docs/gates.md"), help="where to write the report")
    options = parser.parse_args()
    report = asyncio.run(calibrate(options.data))
    options.report.write_text(report, "utf-8")
    print(report)


if __name__ == "__main__":
    main()
