"""Broad collections of an external evaluation: labelled paragraphs of several sets among others without questions.

A broad collection holds something near to any question. The labelled sets are split in two halves. Each half is mixed
with further texts to collections of several sizes, which are asked their own questions, those of the other half, and
those that no document answers.
"""

from collections.abc import Iterable, Sequence
from math import sqrt
from typing import Final

from sourcebound.contracts.calibration.gate_minima import Share
from sourcebound.contracts.text.trigrams import Trigram, word_trigrams
from sourcebound.evals import broad
from sourcebound.evals.external.report import ExternalFigure, Section, figure_of_share
from sourcebound.evals.external.sets.collections import Collection, Document, Kind, Question

ANSWERABLE: Final = Kind.ANSWERABLE.value
MIXED: Final = "paragraphs of"
WIDEST: Final = 3000
"""The characters of the longest document that is a paragraph."""
MOST_SHARED: Final = 0.5
"""The share of a further text's trigrams that are in labelled documents; above it, the text is a part or a version of
one."""


def mix_collections(
    collections: Sequence[Collection],
    off_topic: Sequence[Question],
    texts: Iterable[str],
    sizes: Sequence[int] = broad.SIZES,
) -> list[Collection]:
    """Mix broad collections, always the same ones.

    Args:
        collections: The sets. Those whose questions have one whole document as their answer are mixed; documents of the
            others that have no answers are among the further texts.
        off_topic: The questions that no document answers.
        texts: Further texts. Those that repeat a labelled document are left out, because they answer its questions.
        sizes: The numbers of paragraphs. A size for which there are not enough texts is left out.
    """
    labelled = [each for each in collections if each.answering]
    known = frozenset[Trigram]().union(*(word_trigrams(one.text) for each in labelled for one in each.documents))
    rest = [each for each in collections if not each.answering and all(not one.is_asked for one in each.questions)]
    others = [(document.title, document.text) for each in rest for document in each.documents]
    others += [("", text) for text in texts if broad.SHORTEST < len(text) < broad.LONGEST]
    fillers = [
        {"_id": f"filler {number}", "title": title, "text": text}
        for number, (title, text) in enumerate(dict.fromkeys(others))
        if len(text) < WIDEST and (trigrams := word_trigrams(text)) and _share(trigrams, known) <= MOST_SHARED
    ]
    middle = (len(labelled) + 1) // 2
    halves = labelled[:middle], labelled[middle:]
    return [
        collection
        for chosen, other in (halves, halves[::-1])
        for size in sizes
        if (collection := _mix(chosen, other, off_topic, fillers, size)) is not None
    ]


def _share(trigrams: frozenset[Trigram], known: frozenset[Trigram]) -> float:
    return len(trigrams & known) / len(trigrams)


def _mix(
    chosen: Sequence[Collection],
    other: Sequence[Collection],
    off_topic: Sequence[Question],
    fillers: Sequence[dict[str, str]],
    size: int,
) -> Collection | None:
    """Mix one collection; None if there are not enough texts."""
    by_id = {f"{each.name}/{question.id}": question for each in chosen for question in each.questions}
    mixture = broad.mix([_labelled(each) for each in chosen], fillers, size)
    if not chosen or len(mixture.documents) < size:
        return None
    names = {record["_id"]: f"{number:04d}.md" for number, record in enumerate(mixture.documents)}
    documents = tuple(Document(names[each["_id"]], each["text"], each["title"]) for each in mixture.documents)
    elsewhere = " and ".join(each.name for each in other)
    questions = [
        *(Question(key, Kind.ANSWERABLE, by_id[key].text, by_id[key].facts) for key in mixture.answerable),
        *off_topic,
        *(
            Question(one.id, Kind.OFF_TOPIC, one.text, answers=_spellings(one), origin=elsewhere)
            for each in other
            for one in each.questions
            if one.kind is Kind.ANSWERABLE
        ),
    ]
    name = f"{size} {MIXED} {' and '.join(each.name for each in chosen)}"
    return Collection(name, documents, tuple(questions))


def _labelled(collection: Collection) -> broad.Labelled:
    """Return a set with the ids of its questions, because a mixture only needs to know where each one belongs."""
    prefix = collection.name
    paragraphs = [
        {"_id": f"{prefix}/{each.name}", "title": each.title, "text": each.text} for each in collection.documents
    ]
    return broad.Labelled(
        paragraphs, [(f"{prefix}/{key}", f"{prefix}/{name}") for key, name in collection.answering.items()]
    )


def _spellings(question: Question) -> tuple[str, ...]:
    return tuple(spelling for fact in question.facts for spelling in fact)


def count_means(figures: Sequence[ExternalFigure]) -> list[ExternalFigure]:
    """Count the means over the broad collections: all answerable questions together, and the mean of off-topic sets.

    Each size weighs the same, and within it each set. The limits of the mean are recovered from the limits of the sets,
    which are taken for independent (Donner and Zou, MOVER).

    Args:
        figures: The figures of the section `gates`.
    """
    mixed = [each for each in figures if each.section is Section.GATES and f" {MIXED} " in each.set]
    sizes = sorted({_size(each) for each in mixed})
    means = []
    for metric in dict.fromkeys(each.metric for each in mixed):
        members = [each for each in mixed if each.metric == metric]
        groups = [(f"{size} paragraphs", [each for each in members if _size(each) == size]) for size in sizes]
        for name, group in [*groups, *([(f"all {len(sizes)} sizes", members)] if len(sizes) > 1 else [])]:
            answerable = [each for each in group if each.kind == ANSWERABLE]
            if answerable:
                part = sum(round(each.value * each.cases) for each in answerable)
                share = Share(part, sum(each.cases for each in answerable))
                means.append(figure_of_share(Section.GATES, name, metric, share, ANSWERABLE))
            if others := [each for each in group if each.kind.startswith(Kind.OFF_TOPIC)]:
                means.append(_mean(name, metric, others))
    return means


def _mean(name: str, metric: str, figures: Sequence[ExternalFigure]) -> ExternalFigure:
    """Return the mean in which each size weighs the same, and within a size each set."""
    counts = [sum(_size(other) == _size(each) for other in figures) for each in figures]
    sizes = len({_size(each) for each in figures})
    weights = [1 / (sizes * count) for count in counts]
    value = sum(weight * each.value for weight, each in zip(weights, figures, strict=True))
    below, above = (
        sqrt(sum((weight * (limit(each) - each.value)) ** 2 for weight, each in zip(weights, figures, strict=True)))
        for limit in (_low, _high)
    )
    return ExternalFigure(
        section=Section.GATES,
        set=name,
        kind=f"{Kind.OFF_TOPIC}, mean of the sets",
        metric=metric,
        cases=sum(each.cases for each in figures),
        value=value,
        low=max(0.0, value - below),
        high=min(1.0, value + above),
    )


def _low(figure: ExternalFigure) -> float:
    return figure.low


def _high(figure: ExternalFigure) -> float:
    return figure.high


def _size(figure: ExternalFigure) -> int:
    return int(figure.set.split(" ", 1)[0])
