"""Calibrates the gate: how many answerable questions it refuses, and how many off-topic ones, at each pair of minima.

Run `python -m sourcebound.evals.gates --data DATA`. The rule: no set of answerable questions may lose more than two in
a hundred, and within that the pair refuses as many off-topic questions as it can. Every set must agree, because a
threshold that fits one collection alone is no threshold; minima are multiples of 0.05, because more digits would only
describe this data. The sets differ in kind and in size: an encyclopaedia, each of its articles alone, and a manual.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from math import sqrt
from pathlib import Path
from typing import Any, Final, NamedTuple

from sourcebound.contracts.policy import Policy
from sourcebound.evals.retrieval import DATA, ingest, read_records, retrieve, temporary_services, write_documents
from sourcebound.wiring import DEFAULT_POLICY, LEXICAL_POLICY, Services, find_policy

MOST_ANSWERABLE_REFUSED: Final = 0.02
LEAST_OFF_TOPIC_REFUSED: Final = 0.95
MINIMA: Final = tuple(step / 20 for step in range(13))
NORMAL_95: Final = 1.959964
SEARCHED: Final = (("minilm", DEFAULT_POLICY), ("lexical", LEXICAL_POLICY))


class Signals(NamedTuple):
    """What the gate sees of one question."""

    similarity: float
    coverage: float


class QuestionSet(NamedTuple):
    """Questions that were asked of one kind of collection and that deserve one outcome."""

    name: str
    answerable: bool
    signals: tuple[Signals, ...]


class Share(NamedTuple):
    """So many of so many."""

    part: int
    whole: int

    @property
    def value(self) -> float:
        """The share itself; 0 of nothing."""
        return self.part / self.whole if self.whole else 0.0


class Point(NamedTuple):
    """One pair of minima and the share of each question set that it refuses, in the order of the sets."""

    min_similarity: float
    min_coverage: float
    refused: tuple[Share, ...]


class Corpus(NamedTuple):
    """Documents, the questions they answer and questions they do not, by the name of the set each adds to."""

    documents: Sequence[dict[str, Any]]
    answerable: tuple[str, Sequence[str]]
    off_topic: Sequence[tuple[str, Sequence[str]]]


def wilson(share: Share) -> tuple[float, float]:
    """The 95 % confidence interval of a share, by Wilson's score, which holds for small counts too."""
    if not share.whole:
        return 0.0, 1.0
    spread = NORMAL_95**2 / share.whole
    middle = (share.value + spread / 2) / (1 + spread)
    half = sqrt(share.value * (1 - share.value) * spread + spread**2 / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def refused(signals: Sequence[Signals], min_similarity: float, min_coverage: float) -> Share:
    """How many questions a pair of minima refuses."""
    part = sum(1 for seen in signals if seen.similarity < min_similarity or seen.coverage < min_coverage)
    return Share(part, len(signals))


def sweep(
    sets: Sequence[QuestionSet], similarities: Sequence[float] = MINIMA, coverages: Sequence[float] = MINIMA
) -> list[Point]:
    """Every pair of minima with what it refuses of every set."""
    return [
        Point(similarity, coverage, tuple(refused(each.signals, similarity, coverage) for each in sets))
        for similarity in similarities
        for coverage in coverages
    ]


def worst_answerable(sets: Sequence[QuestionSet], point: Point) -> float:
    """The largest share of a set of answerable questions that a point refuses."""
    return max((share.value for each, share in zip(sets, point.refused, strict=True) if each.answerable), default=0.0)


def pooled_off_topic(sets: Sequence[QuestionSet], point: Point) -> float:
    """The mean over the off-topic sets of the share that a point refuses; a large set weighs no more than a small."""
    shares = [share.value for each, share in zip(sets, point.refused, strict=True) if not each.answerable]
    return sum(shares) / len(shares) if shares else 0.0


def choose(sets: Sequence[QuestionSet], points: Sequence[Point]) -> Point:
    """The point that refuses most off-topic questions while no answerable set loses over two in a hundred.

    Args:
        sets: The question sets.
        points: What `sweep` returned for them.

    Returns:
        The point; the lowest minima among equals, and the one that loses least where every point loses too many.
    """
    allowed = [point for point in points if worst_answerable(sets, point) <= MOST_ANSWERABLE_REFUSED]
    if not allowed:
        return min(points, key=lambda point: (worst_answerable(sets, point), -pooled_off_topic(sets, point)))
    return max(allowed, key=lambda point: (pooled_off_topic(sets, point), -point.min_similarity, -point.min_coverage))


def trade_off(sets: Sequence[QuestionSet], points: Sequence[Point]) -> list[Point]:
    """The points that no other beats on both counts, from lenient to strict."""
    curve: list[Point] = []
    for point in sorted(points, key=lambda point: (worst_answerable(sets, point), -pooled_off_topic(sets, point))):
        if not curve or pooled_off_topic(sets, point) > pooled_off_topic(sets, curve[-1]):
            curve.append(point)
    return curve


def read_corpora(data: Path, most: int | None = None) -> list[Corpus]:
    """The calibration's corpora: the encyclopaedia, the manual, then each article of the encyclopaedia alone.

    Args:
        data: The folder of the evaluation data.
        most: Questions of each kind, the first of the data's own order; all when omitted.
    """
    paragraphs = read_records(data / "answerability/squad2/paragraphs.jsonl")
    records = sorted(read_records(data / "answerability/squad2/questions.jsonl"), key=lambda record: record["order"])
    records = [record for record in records if record["answerable"]][:most]
    off_topic = _texts(read_records(data / "answerability/offtopic_nq_open/questions.jsonl")[:most], "question")
    manual = data / "retrieval/emanual_s10"
    encyclopaedia = Corpus(paragraphs, ("squad2", _texts(records, "question")), [("nq_open in squad2", off_topic)])
    guide = Corpus(
        read_records(manual / "corpus.jsonl"),
        ("emanual", _texts(read_records(manual / "queries.jsonl")[:most], "text")),
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


def _texts(records: Iterable[dict[str, Any]], field: str) -> list[str]:
    return [record[field] for record in records]


async def measure(
    services: Services, corpora: Sequence[Corpus], embedder: str, policy: Policy
) -> tuple[QuestionSet, ...]:
    """Ingests each corpus into a collection of its own and retrieves for each of its questions.

    Args:
        services: An empty database.
        corpora: What to ingest and to ask.
        embedder: `minilm` or `lexical`.
        policy: The policy whose retrieval is measured; its minima do not matter.

    Returns:
        The answerable sets, then the off-topic ones; corpora that name the same set add to it.
    """
    found: dict[tuple[bool, str], list[Signals]] = {}
    for number, corpus in enumerate(corpora):
        collection = f"{embedder}-{number}"
        with tempfile.TemporaryDirectory(prefix="sourcebound-eval-") as folder:
            write_documents(Path(folder) / "documents", corpus.documents)
            await ingest(services, Path(folder) / "documents", collection, embedder)
        asked = [(True, *corpus.answerable), *((False, *each) for each in corpus.off_topic)]
        for answerable, name, questions in asked:
            signals = [await _signals(services, question, collection, policy) for question in questions]
            found.setdefault((answerable, name), []).extend(signals)
    ordered = sorted(found.items(), key=lambda item: not item[0][0])
    return tuple(QuestionSet(name, answerable, tuple(signals)) for (answerable, name), signals in ordered)


async def _signals(services: Services, question: str, collection: str, policy: Policy) -> Signals:
    bundle = await retrieve(services, question, collection, policy)
    best = max((row.similarity_score for row in bundle.results), default=0.0)
    return Signals(best, 0.0 if bundle.question_coverage is None else bundle.question_coverage)


def describe(sets: Sequence[QuestionSet], policy: Policy) -> str:
    """The report of one policy in Markdown: each set at the chosen and at the released minima, then the trade-off."""
    points = sweep(sets)
    chosen = choose(sets, points)
    limits = policy.retrieval
    (released,) = sweep(sets, [limits.min_top_similarity], [limits.min_question_coverage or 0.0])
    parts = [
        f"## {policy.policy_version}\n",
        f"Chosen: {_minima(chosen)}. The policy has {_minima(released)}.\n",
        *_set_table(sets, chosen, released),
        f"\n{_verdict(sets, chosen)}\n",
        "Trade-off, every step that is not beaten on both counts:\n",
        *_curve_table(sets, points),
    ]
    return "\n".join(parts)


def _set_table(sets: Sequence[QuestionSet], chosen: Point, released: Point) -> Iterator[str]:
    yield "| questions | should be | refused at the chosen minima | 95 % interval | refused at the policy's minima |"
    yield "|---|---|---|---|---|"
    for each, share, now in zip(sets, chosen.refused, released.refused, strict=True):
        low, high = wilson(share)
        wanted = "answered" if each.answerable else "refused"
        counted = f"{_percent(share.value)} ({share.part} of {share.whole})"
        interval = f"{_percent(low)} to {_percent(high)}"
        yield f"| {each.name} | {wanted} | {counted} | {interval} | {_percent(now.value)} |"


def _curve_table(sets: Sequence[QuestionSet], points: Sequence[Point]) -> Iterator[str]:
    yield "| similarity | coverage | answerable refused, worst set | off-topic refused, mean |"
    yield "|---|---|---|---|"
    for point in trade_off(sets, points):
        worst, off_topic = worst_answerable(sets, point), pooled_off_topic(sets, point)
        yield f"| {point.min_similarity:.2f} | {point.min_coverage:.2f} | {_percent(worst)} | {_percent(off_topic)} |"


def _verdict(sets: Sequence[QuestionSet], chosen: Point) -> str:
    worst, off_topic = worst_answerable(sets, chosen), pooled_off_topic(sets, chosen)
    first = "met" if worst <= MOST_ANSWERABLE_REFUSED else "missed"
    second = "met" if off_topic >= LEAST_OFF_TOPIC_REFUSED else "missed"
    return (
        f"Answerable refused at most {_percent(worst)} (target {_percent(MOST_ANSWERABLE_REFUSED)}: {first}); "
        f"off-topic refused {_percent(off_topic)} on average (target {_percent(LEAST_OFF_TOPIC_REFUSED)}: {second})."
    )


def _minima(point: Point) -> str:
    return f"`min_top_similarity = {point.min_similarity:.2f}`, `min_question_coverage = {point.min_coverage:.2f}`"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


PREAMBLE: Final = """# How the gate is calibrated

Written by `python -m sourcebound.evals.gates --data DATA`; do not edit.

The gate refuses a question before any model is called when the best candidate's similarity is below
`min_top_similarity`, or when no candidate holds `min_question_coverage` of the question's content words by weight.
For each question below the product's own ingest and retriever ran under the policy, on an embedded database; no
answer was made. Answerable questions: SQuAD 2.0 (114 paragraphs, one document each; once as one collection, once with
each article as a collection of its own) and the Samsung S10 manual (451 sections). Off-topic questions: NQ-open
questions, which no document here answers, and the SQuAD questions asked of the manual. A few off-topic questions name
a subject that a collection does treat ("who was the king of england in 1756", asked of articles about the Normans);
what the gate lets through there is left to the later stages.

The rule: no answerable set loses over 2 %, and within that as many off-topic questions as possible are refused (the
mean over the off-topic sets). Minima are multiples of 0.05. Without vectors the similarity of a row is its coverage,
so the two minima are one. The gate says nothing of questions that are on topic and unanswerable.
"""


async def calibrate(data: Path) -> str:
    """Measures every policy that has a gate of its own and returns the whole report."""
    corpora = read_corpora(data)
    reports = [PREAMBLE]
    async with temporary_services() as services:
        for embedder, name in SEARCHED:
            policy = find_policy(name, embedding_model=embedder)
            reports.append(describe(await measure(services, corpora, embedder, policy), policy) + "\n")
    return "\n".join(reports)


def main() -> None:
    """Prints the report and writes it to a file."""
    parser = argparse.ArgumentParser(prog="python -m sourcebound.evals.gates", description=calibrate.__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the evaluation data")
    parser.add_argument("--report", type=Path, default=Path("docs/gates.md"), help="where to write the report")
    options = parser.parse_args()
    report = asyncio.run(calibrate(options.data))
    options.report.write_text(report, "utf-8")
    print(report)


if __name__ == "__main__":
    main()
