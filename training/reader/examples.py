"""Writes what the network that reads sentences learns from: `python training/reader/examples.py PASSAGES OUT [NEW…]`.

`PASSAGES` is the file that `passages.py` writes. `questions.tsv` has the questions: the digest of a passage, the first
characters of the sentences that answer (none if nothing in the passage does), and the question. `statements.tsv` has
statements in the same form, with the sentences that support them. `pairs.tsv` has questions with a twin that nothing
answers. The passages of `written/` and those of `tables.py` bring their own. Of most kinds, some passages are never
learnt from: they are only measured on.

Some questions are also read with another passage of the same package that MiniLM finds near, as if it had no answer.
The examples of `DRAWS` epochs are written, because titles and such passages are drawn anew for each.

With `NEW`, the first letters of files of `written/`, they are for a network that knows the other passages: one epoch
with all questions of these files and a share of the others (`KNOWN`).
"""

import asyncio
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from pairs import read_pairs
from statements import Span, choose_sentences, leave_out
from tables import draw_tables
from tokenizers import Encoding, Tokenizer
from written import Written, read_written

from sourcebound.contracts.extractive.labels import NAME_PART
from sourcebound.models.embedders.minilm import SEP, TOKENIZER, check_file, installed_weights, shared_minilm
from sourcebound.models.sentence_reader import MOST_TOKENS, write_head

QUESTIONS: Final = Path(__file__).with_name("questions.tsv")
STATEMENTS: Final = Path(__file__).with_name("statements.tsv")
DRAWS: Final = 2
ROOMS, MEASURED_ROOM = (80, 112, 144), 112
"""The word-pieces of the sentences that a statement is read with."""
WITHOUT: Final = 0.25
"""The share of supported statements that are also read without what supports them."""
UNTITLED, NAMED = 0.2, 0.3
"""The share of questions that are read without the title, and with one like the name of a file."""
TABLES, TABLES_SEED = 1000, 11
KNOWN: Final = {"chunks": 0.5, "written": 0.57, "tables": 0.25, "pairs": 0.45}
"""The share of the questions of each kind that is learnt again beside new ones."""
NEAR: Final = 6
NEAR_ANSWERED, NEAR_OPEN = 0.5, 0.15
"""The share of questions, with an answer and without one, that are also read with another passage."""
Row = dict[str, Any]


class Asked(NamedTuple):
    """A question about a passage, or a statement."""

    digest: str
    answers: frozenset[int]
    """Where the sentences begin that answer or support."""
    question: str
    is_statement: bool = False
    in_pair: bool = False
    """Whether it is a question of a pair, or its twin."""


class Example(NamedTuple):
    """A question or a statement with what it is read with."""

    ids: list[int]
    """The word-pieces."""
    asked: int
    """The number of those up to the end of the question."""
    spans: list[tuple[int, int, bool]]
    """Of each sentence: the first word-piece, the end, and whether it answers or supports."""
    is_statement: bool


def read_questions(path: Path, passages: dict[str, Row], *, are_statements: bool = False) -> list[Asked]:
    """Read what is asked or said about these passages, if its sentences are still where they were."""
    found = []
    for line in path.read_text("utf-8").splitlines():
        digest, answers, question = line.split("\t")
        if digest in passages:
            asked = Asked(digest, frozenset(map(int, filter(None, answers.split(",")))), question, are_statements)
            if asked.answers <= {start for start, _ in passages[digest]["sentences"]}:
                found.append(asked)
    return found


def find_near(passages: dict[str, Row], questions: list[Asked]) -> dict[str, list[str]]:
    """Return the passages of the same package that MiniLM finds nearest to each question, without its own."""

    def embed(texts: list[str]) -> np.ndarray[Any, Any]:
        return np.array(asyncio.run(shared_minilm().embed_documents(texts)), dtype=np.float32)

    packages = defaultdict(list)
    for digest, row in passages.items():
        packages[row["package"]].append(digest)
    vectors = {
        package: embed([f"{passages[each]['title']}. {passages[each]['text']}" for each in digests])
        for package, digests in packages.items()
    }
    near: dict[str, list[str]] = {}
    own = defaultdict(set)
    questions = [each for each in questions if not (each.is_statement or each.in_pair)]
    for asked in questions:
        own[asked.question].add(asked.digest)
    for asked, vector in zip(questions, embed([each.question for each in questions]), strict=True):
        package = passages[asked.digest]["package"]
        order = (packages[package][place] for place in np.argsort(-(vectors[package] @ vector)))
        near[asked.question] = list(islice((each for each in order if each not in own[asked.question]), NEAR))
    return near


def add_written(passages: dict[str, Row], questions: list[Asked]) -> None:
    """Add the passages that were written for the training, and tables that are drawn."""
    drawn = enumerate(draw_tables(TABLES_SEED, TABLES))
    tables = [Written(f"tables#{number}", "tables", False, *table) for number, table in drawn]
    for each in [*read_written(), *tables]:
        starts = [start for start, _ in each.sentences]
        passages[each.digest] = each._asdict()
        questions += [
            Asked(each.digest, frozenset(starts[number] for number in numbers), text, is_statement)
            for said, is_statement in ((each.questions, False), (each.statements, True))
            for numbers, text in said
        ]


def add_pairs(passages: dict[str, Row], questions: list[Asked]) -> None:
    """Add the questions of pairs and their twins, if the sentences that answer are still where they were."""
    for digest, pairs in read_pairs().items():
        starts = {start for start, _ in passages[digest]["sentences"]} if digest in passages else set[int]()
        for pair in pairs:
            if pair.answers <= starts:
                questions.append(Asked(digest, pair.answers, pair.question, in_pair=True))
                questions.append(Asked(digest, frozenset(), pair.twin, in_pair=True))


def choose_further(passages: dict[str, Row], questions: list[Asked], new: tuple[str, ...]) -> list[Asked]:
    """Return the questions about new passages, those that are only measured on, and a sample of the others.

    Args:
        passages: The passages by digest.
        questions: The questions about them. Those of a pair stand one after the other and stay together.
        new: The first letters of the packages that are new.
    """
    draw, chosen, pools = random.Random(0), list[Asked](), defaultdict[str, list[Asked]](list)
    for asked in questions:
        package = passages[asked.digest]["package"]
        if asked.is_statement:
            continue
        if asked.in_pair:
            pools["pairs"].append(asked)
        elif passages[asked.digest]["held"] or package.startswith(new):
            chosen.append(asked)
        else:
            kind = "tables" if package == "tables" else "written" if "#" in asked.digest else "chunks"
            pools[kind].append(asked)
    for kind, pool in pools.items():
        size = 2 if kind == "pairs" else 1
        groups = list(zip(*(pool[place::size] for place in range(size)), strict=True))
        chosen += [each for group in draw.sample(groups, round(KNOWN[kind] * len(groups))) for each in group]
    return chosen


class Writer:
    """Draws the examples of an epoch.

    Args:
        tokenizer: The tokenizer of MiniLM.
        passages: The passages by digest.
        questions: The questions about them.
    """

    def __init__(self, tokenizer: Tokenizer, passages: dict[str, Row], questions: list[Asked]) -> None:
        self._tokenizer, self._passages, self._questions = tokenizer, passages, questions
        self._near = find_near(passages, questions)
        self._draw = random.Random()

    def examples(self, epoch: int) -> Iterator[Example]:
        """Yield the examples of an epoch. Epoch 0 has those that are only measured on."""
        self._draw.seed(epoch)
        held = epoch == 0
        for asked in self._questions:
            if self._passages[asked.digest]["held"] is not held:
                continue
            if asked.is_statement:
                yield from self._statement(asked, held)
                continue
            yield from self._question(asked)
            if not (held or asked.in_pair) and self._draw.random() < (NEAR_ANSWERED if asked.answers else NEAR_OPEN):
                others = [each for each in self._near[asked.question] if not self._passages[each]["held"]]
                if others:
                    yield from self._question(Asked(self._draw.choice(others), frozenset(), asked.question))

    def _question(self, asked: Asked) -> Iterator[Example]:
        passage = self._passages[asked.digest]
        title = draw_title(self._draw, passage["title"])
        answers = [start in asked.answers for start, _ in passage["sentences"]]
        example = write_example(self._tokenizer, asked, title, passage["text"], passage["sentences"], answers)
        if example.spans and (any(label for *_, label in example.spans) or not asked.answers):
            yield example

    def _statement(self, asked: Asked, held: bool) -> Iterator[Example]:
        """Yield a statement with the sentences nearest to it, and some without those that support it."""
        passage = self._passages[asked.digest]
        text, spans = passage["text"], [span for span in passage["sentences"] if span[0] in asked.answers]
        yield from self._stated(asked, text, spans, MEASURED_ROOM if held else self._draw.choice(ROOMS))
        if spans and self._draw.random() < WITHOUT:
            yield from self._stated(asked, leave_out(text, spans), [], self._draw.choice(ROOMS))

    def _stated(self, asked: Asked, text: str, supporting: list[Span], room: int) -> Iterator[Example]:
        chosen = choose_sentences(self._tokenizer, asked.question, text, room)
        read = " ".join(text[start:end] for start, end in chosen)
        spans, labels, at = list[Span](), list[bool](), 0
        for start, end in chosen:
            spans.append((at, at + end - start))
            labels.append(any(start < last and first < end for first, last in supporting))
            at += end - start + 1
        if chosen and sum(labels) >= len(supporting):
            yield write_example(self._tokenizer, asked, "", read, spans, labels)


def draw_title(draw: random.Random, title: str) -> str:
    """Return a title as it stands, as the name of a file would have it, or none."""
    chance = draw.random()
    if chance < UNTITLED:
        return ""
    return " ".join(NAME_PART.findall(title)) if chance < UNTITLED + NAMED else title


def write_example(
    tokenizer: Tokenizer, asked: Asked, source: str, text: str, sentences: Sequence[Span], labels: Sequence[bool]
) -> Example:
    """Return the word-pieces as the product writes them, without the sentences that are cut off."""

    def encode(text: str) -> Encoding:
        return tokenizer.encode(text, add_special_tokens=False)

    head, end_of_question = write_head(encode, asked.question, source)
    passage = encode(text)
    ids = passage.ids[: MOST_TOKENS - len(head) - 1]
    starts = [start for start, _ in passage.offsets[: len(ids)]]
    spans = []
    for (first, end), label in zip(sentences, labels, strict=True):
        inside = [place for place, start in enumerate(starts) if first <= start < end]
        if inside:
            spans.append((len(head) + inside[0], len(head) + inside[-1] + 1, label))
    return Example([*head, *ids, SEP], end_of_question, spans, asked.is_statement)


def pack(epochs: Iterable[Sequence[Example]]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the examples of each epoch as arrays, one after the other. Epoch 0 has those that are only measured on."""
    rows = [(epoch, each) for epoch, examples in enumerate(epochs) for each in examples]
    return {
        "ids": np.array([piece for _, each in rows for piece in each.ids], np.uint16),
        "lengths": np.array([len(each.ids) for _, each in rows], np.uint16),
        "asked": np.array([each.asked for _, each in rows], np.uint16),
        "spans": np.array([span for _, each in rows for span in each.spans], np.uint16),
        "sentences": np.array([len(each.spans) for _, each in rows], np.uint16),
        "statements": np.array([each.is_statement for _, each in rows]),
        "epochs": np.array([epoch for epoch, _ in rows], np.uint8),
        "most_tokens": np.array(MOST_TOKENS),
    }


def load_tokenizer() -> Tokenizer:
    """Return the tokenizer of MiniLM, which neither cuts nor fills up."""
    tokenizer = Tokenizer.from_file(str(check_file(installed_weights(), TOKENIZER)))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def main() -> None:
    """Write the examples."""
    with Path(sys.argv[1]).open("rb") as file:
        passages = {row["digest"]: row for row in map(json.loads, file)}
    questions = [
        *read_questions(QUESTIONS, passages),
        *read_questions(STATEMENTS, passages, are_statements=True),
    ]
    add_written(passages, questions)
    add_pairs(passages, questions)
    new = tuple(sys.argv[3:])
    if new:
        questions = choose_further(passages, questions, new)
    writer = Writer(load_tokenizer(), passages, questions)
    epochs = [list(writer.examples(epoch)) for epoch in range(1 + (1 if new else DRAWS))]
    np.savez_compressed(sys.argv[2], **pack(epochs))
    print(len(questions), "questions and statements about", len(passages), "passages:", [len(each) for each in epochs])


if __name__ == "__main__":
    main()
