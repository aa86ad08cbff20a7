"""Questions with an answer taken from a passage that answers them, or from one on the topic that does not (R5-18).

The answer to a question that the passage does not answer is the passage's sentence that holds most of the question,
because that is what a system would quote.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from data import part_of, read_lines

from sourcebound.contracts.text.sentences import split_sentences
from sourcebound.contracts.validation.support.claims import best_windows, read_claim
from sourcebound.contracts.validation.support.passages import read_passage

PIECE: Final = 1500
"""The characters of a piece of a long paper."""


class Asked(NamedTuple):
    """A question and an answer to it."""

    source: str
    group: str
    part: str
    question: str
    answer: str
    text: str
    answers: bool
    short: str = ""
    """The answer in a few words, if the data gives it."""


def read_questions(folder: Path) -> list[Asked]:
    """Read the questions of SQuAD 2.0, QED, PubMedQA and COVID-QA, in the order of the files."""
    home = folder / "answerability"
    return [
        *_squad(home / "squad2"),
        *_qed(home / "qed_nq"),
        *_pubmed(home / "pubmedqa"),
        *_covid(home / "covidqa_long"),
    ]


def closest(question: str, text: str) -> str:
    """Return the sentence of a passage that holds most of a question; empty if none holds a word of it."""
    window = best_windows(read_claim(question), [read_passage(text)])[0]
    return " ".join(text[part.start : part.end] for part in window.sentences)


def holding(text: str, start: int) -> str:
    """Return the sentence of a text around a position."""
    return next((text[first:last] for first, last in split_sentences(text) if first <= start < last), "")


def _asked(
    source: str, group: str, question: str, answer: str, text: str, answers: bool, short: str = ""
) -> Iterator[Asked]:
    if answer.strip():
        yield Asked(source, group, part_of(group), question, answer.strip(), text, answers, short)


def _squad(home: Path) -> Iterator[Asked]:
    texts = {row["_id"]: row["text"] for row in read_lines(home / "paragraphs.jsonl")}
    for row in read_lines(home / "questions.jsonl"):
        text, group = texts[row["paragraph_id"]], "sq:" + row["paragraph_id"].split("#")[0]
        answer = holding(text, text.find(row["answers"][0])) if row["answerable"] else closest(row["question"], text)
        yield from _asked(
            "squad2", group, row["question"], answer, text, row["answerable"], (row["answers"] or [""])[0]
        )


def _qed(home: Path) -> Iterator[Asked]:
    rows = list(read_lines(home / "items.jsonl"))
    for row, other in zip(rows, rows[1:] + rows[:1], strict=True):
        group = f"qed:{row['id']}"
        if row["selected_sentence"]:
            answer = row["selected_sentence"]["string"]
            yield from _asked(
                "qed", group, row["question"], answer, row["paragraph"], True, row["nq_answers"][0][0]["string"]
            )
        answer = closest(row["question"], other["paragraph"])
        yield from _asked("qed/other", group, row["question"], answer, other["paragraph"], False)


def _pubmed(home: Path) -> Iterator[Asked]:
    texts = {row["_id"]: row["text"] for row in read_lines(home / "corpus.jsonl")}
    for row in read_lines(home / "questions.jsonl"):
        yield from _asked("pubmedqa", f"pm:{row['_id']}", row["question"], row["long_answer"], texts[row["_id"]], True)


def _covid(home: Path) -> Iterator[Asked]:
    texts = {row["_id"]: re.sub(r"\s", " ", row["text"]) for row in read_lines(home / "documents.jsonl")}
    for row in read_lines(home / "questions.jsonl"):
        text, start, group = texts[row["document_id"]], row["answer_start"], f"cq:{row['document_id']}"
        first = max(0, start - PIECE // 2)
        piece = text[first : first + PIECE]
        yield from _asked("covidqa", group, row["question"], holding(piece, start - first), piece, True, row["answer"])
        away = text[first + PIECE : first + 2 * PIECE] or text[max(0, first - PIECE) : first]
        yield from _asked("covidqa/elsewhere", group, row["question"], closest(row["question"], away), away, False)
