"""The questions of the evaluation: drawn with a fixed seed, half of each pool held out.

Answerable questions come from SQuAD 2.0 and from QED (search questions). SQuAD also has questions on the topic of its
paragraphs that no paragraph answers. The search questions of NQ-open are off topic.
"""

import random
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from sourcebound.evals.retrieval import read_records

SEED: Final = 20251121
ENCYCLOPAEDIA: Final = "squad2"
ARTICLES: Final = "qed_nq"


class Kind(StrEnum):
    """Whether the collection has the answer."""

    ANSWERABLE = "answerable"
    UNANSWERABLE = "on topic, unanswerable"
    OFF_TOPIC = "off topic"


class Question(NamedTuple):
    """A question with the answers that the data accepts."""

    id: str
    kind: Kind
    collection: str
    text: str
    gold: tuple[str, ...]
    """Empty if there is no answer in the collection."""


class Pool(NamedTuple):
    """The questions of one kind of one set, and the share of a draw that comes from it."""

    share: float
    questions: Sequence[Question]


def read_documents(data: Path) -> dict[str, list[dict[str, Any]]]:
    """Read the documents of each collection, as records with a title and a text."""
    items = read_records(data / "answerability/qed_nq/items.jsonl")
    articles = {item["paragraph"]: {"title": item["title"], "text": item["paragraph"]} for item in items}
    return {
        ENCYCLOPAEDIA: read_records(data / "answerability/squad2/paragraphs.jsonl"),
        ARTICLES: list(articles.values()),
    }


def read_pools(data: Path) -> list[Pool]:
    """Read every question of the data.

    Args:
        data: The folder of the evaluation data.

    Returns:
        The pools. Their shares add up to 1.
    """
    folder = data / "answerability"
    squad = read_records(folder / "squad2/questions.jsonl")
    return [
        Pool(0.35, [_squad_question(each) for each in squad if each["answerable"]]),
        Pool(0.25, [_qed_question(each) for each in read_records(folder / "qed_nq/items.jsonl")]),
        Pool(0.25, [_squad_question(each) for each in squad if not each["answerable"]]),
        Pool(
            0.15,
            [
                Question(each["id"], Kind.OFF_TOPIC, ENCYCLOPAEDIA, each["question"], ())
                for each in read_records(folder / "offtopic_nq_open/questions.jsonl")
            ],
        ),
    ]


def draw(pools: Iterable[Pool], number: int, *, held: bool = False) -> list[Question]:
    """Draw questions, always the same ones, in an order in which every beginning has all kinds.

    Args:
        pools: The questions to draw from.
        number: How many to draw. A larger draw contains a smaller one, except for rounding.
        held: Whether to draw from the held half of each pool, which no rule may be tuned on.

    Returns:
        The questions; fewer if a pool has too few.
    """
    placed, total = [], 0.0
    for pool in pools:
        first, total = total, total + number * pool.share
        shuffled = sorted(pool.questions, key=lambda question: question.id)
        random.Random(SEED).shuffle(shuffled)
        middle = len(shuffled) // 2
        half = shuffled[middle:] if held else shuffled[:middle]
        wanted = half[: round(total) - round(first)]
        placed += [((place + 0.5) / len(wanted), question) for place, question in enumerate(wanted)]
    return [question for _, question in sorted(placed)]


def _squad_question(record: dict[str, Any]) -> Question:
    kind = Kind.ANSWERABLE if record["answerable"] else Kind.UNANSWERABLE
    return Question(record["_id"], kind, ENCYCLOPAEDIA, record["question"], tuple(record["answers"]))


def _qed_question(record: dict[str, Any]) -> Question:
    """Each annotator's answer is a list of spans, most often of one."""
    gold = tuple(" ".join(span["string"] for span in spans) for spans in record["nq_answers"])
    return Question(record["id"], Kind.ANSWERABLE, ARTICLES, record["question"], gold)
