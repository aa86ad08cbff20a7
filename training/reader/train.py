"""Trains the network that reads sentences: `python training/reader/train.py PASSAGES OUT [EPOCHS]`.

`PASSAGES` is the file that `passages.py` writes. `questions.tsv` has the questions: the digest of a passage, the first
characters of the sentences that answer (none if nothing in the passage does), and the question. `statements.tsv` has
statements in the same form, with the sentences that support them. The passages of `written/` and those of `tables.py`
bring their own. Of most kinds, some passages are never learnt from: they measure how often the highest score is a right
sentence, and how well the score tells the questions with an answer from those that only look like them (AUROC).

The loss of a question is that of a choice among its sentences and "none". Some questions are also read with another
passage of the same package that MiniLM finds near, as if it had no answer.
"""

import asyncio
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from network import SentenceNetwork, write_input
from safetensors.torch import load_file, save_file
from statements import Span, choose_sentences, leave_out
from tables import draw_tables
from tokenizers import Tokenizer
from torch import Tensor, nn
from written import Written, read_written

from sourcebound.contracts.extractive.labels import NAME_PART
from sourcebound.models.embedders.minilm import TOKENIZER, WEIGHTS, check_file, installed_weights, shared_minilm

QUESTIONS: Final = Path(__file__).with_name("questions.tsv")
STATEMENTS: Final = Path(__file__).with_name("statements.tsv")
EPOCHS: Final = 3
BATCH: Final = 4096
"""The word-pieces of a batch."""
RATE, HEAD_RATE, WARM = 1e-4, 5e-4, 60
ROOMS, MEASURED_ROOM = (80, 112, 144), 112
"""The word-pieces of the sentences that a statement is read with."""
WITHOUT: Final = 0.25
"""The share of supported statements that are also read without what supports them."""
UNTITLED, NAMED = 0.2, 0.3
"""The share of questions that are read without the title, and with one like the name of a file."""
TABLES, TABLES_SEED = 1000, 11
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
    questions = [each for each in questions if not each.is_statement]
    for asked in questions:
        own[asked.question].add(asked.digest)
    for asked, vector in zip(questions, embed([each.question for each in questions]), strict=True):
        package = passages[asked.digest]["package"]
        order = (packages[package][place] for place in np.argsort(-(vectors[package] @ vector)))
        near[asked.question] = list(islice((each for each in order if each not in own[asked.question]), NEAR))
    return near


def add_written(passages: dict[str, Row], questions: list[Asked]) -> None:
    """Add the passages that were written for the training, and tables that are drawn."""
    tables = [Written("tables", False, *drawn) for drawn in draw_tables(TABLES_SEED, TABLES)]
    for number, each in enumerate([*read_written(), *tables]):
        digest = f"{each.package}-{number}"
        starts = [start for start, _ in each.sentences]
        passages[digest] = {**each._asdict(), "digest": digest}
        questions += [
            Asked(digest, frozenset(starts[number] for number in numbers), text, is_statement)
            for said, is_statement in ((each.questions, False), (each.statements, True))
            for numbers, text in said
        ]


class Trainer:
    """Draws the examples of each epoch.

    Args:
        tokenizer: The tokenizer of MiniLM.
        passages: The passages by digest.
        questions: The questions about them.
    """

    def __init__(self, tokenizer: Tokenizer, passages: dict[str, Row], questions: list[Asked]) -> None:
        self._tokenizer, self._passages, self._questions = tokenizer, passages, questions
        self._near = find_near(passages, questions)
        self._draw = random.Random(1)

    def batches(self, *, held: bool, are_statements: bool | None = None) -> Iterator[list[Row]]:
        """Yield batches of examples of about the same length, in random order.

        Args:
            held: Those that are only measured on.
            are_statements: Only statements, or only questions; both if it is None.
        """
        chosen = [each for each in self._questions if are_statements in (None, each.is_statement)]
        rows = sorted(self._rows(chosen, held), key=lambda row: len(row["ids"]) + self._draw.uniform(-8, 8))
        made: list[list[Row]] = [[]]
        for row in rows:
            if (len(made[-1]) + 1) * len(row["ids"]) > BATCH:
                made.append([])
            made[-1].append(row)
        self._draw.shuffle(made)
        yield from made

    def _rows(self, questions: list[Asked], held: bool) -> Iterator[Row]:
        for asked in questions:
            if self._passages[asked.digest]["held"] is not held:
                continue
            if asked.is_statement:
                yield from self._statement(asked, held)
                continue
            yield from self._example(asked)
            if not held and self._draw.random() < (NEAR_ANSWERED if asked.answers else NEAR_OPEN):
                others = [each for each in self._near[asked.question] if not self._passages[each]["held"]]
                if others:
                    yield from self._example(Asked(self._draw.choice(others), frozenset(), asked.question))

    def _example(self, asked: Asked) -> Iterator[Row]:
        passage = self._passages[asked.digest]
        title = draw_title(self._draw, passage["title"])
        row: Row = write_input(self._tokenizer, asked.question, title, passage["text"], passage["sentences"])
        row["labels"] = [start in asked.answers for start, _ in passage["sentences"]]
        read = [label for label, span in zip(row["labels"], row["spans"], strict=True) if span]
        if read and (any(read) or not asked.answers):
            yield row

    def _statement(self, asked: Asked, held: bool) -> Iterator[Row]:
        """Yield a statement with the sentences nearest to it, and some without those that support it."""
        passage = self._passages[asked.digest]
        text, spans = passage["text"], [span for span in passage["sentences"] if span[0] in asked.answers]
        yield from self._stated(asked.question, text, spans, MEASURED_ROOM if held else self._draw.choice(ROOMS))
        if spans and self._draw.random() < WITHOUT:
            yield from self._stated(asked.question, leave_out(text, spans), [], self._draw.choice(ROOMS))

    def _stated(self, statement: str, text: str, supporting: list[Span], room: int) -> Iterator[Row]:
        chosen = choose_sentences(self._tokenizer, statement, text, room)
        read = " ".join(text[start:end] for start, end in chosen)
        spans, labels, at = list[Span](), list[bool](), 0
        for start, end in chosen:
            spans.append((at, at + end - start))
            labels.append(any(start < last and first < end for first, last in supporting))
            at += end - start + 1
        if chosen and sum(labels) >= len(supporting):
            yield {**write_input(self._tokenizer, statement, "", read, spans), "labels": labels}


def draw_title(draw: random.Random, title: str) -> str:
    """Return a title as it stands, as the name of a file would have it, or none."""
    chance = draw.random()
    if chance < UNTITLED:
        return ""
    return " ".join(NAME_PART.findall(title)) if chance < UNTITLED + NAMED else title


def tensors(rows: list[Row]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return word-pieces, segments, mask, spans and labels of a batch."""
    longest = max(len(row["ids"]) for row in rows)

    def pad(name: str) -> Tensor:
        return torch.tensor([row[name] + [0] * (longest - len(row[name])) for row in rows])

    spans = [
        (number, *span, label)
        for number, row in enumerate(rows)
        for span, label in zip(row["spans"], row["labels"], strict=True)
        if span
    ]
    places = torch.tensor(spans)
    return pad("ids"), pad("segments"), pad("ids") != 0, places[:, :3], places[:, 3].bool()


def loss_of(scores: Tensor, nothing: Tensor, spans: Tensor, labels: Tensor) -> Tensor:
    """Return the mean loss of the choice among each passage's sentences and none."""
    count = len(nothing)
    passage = torch.cat([torch.arange(count), spans[:, 0]])
    answered = torch.zeros(count, dtype=torch.bool).index_fill(0, spans[:, 0][labels], value=True)
    wanted = torch.cat([~answered, labels])
    logits = torch.cat([nothing, scores])
    highest = torch.full((count,), -1e9).scatter_reduce(0, passage, logits.detach(), "amax")
    shares = (logits - highest[passage]).exp()
    total = torch.zeros(count).index_add(0, passage, shares)
    right = torch.zeros(count).index_add(0, passage, shares * wanted)
    return (total.log() - right.clamp_min(1e-9).log()).mean()


def run(network: SentenceNetwork, batch: list[Row]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the scores, those of none, the spans and the labels of a batch."""
    ids, segments, mask, spans, labels = tensors(batch)
    with torch.autocast("cpu", torch.bfloat16):
        scores, nothing = network(ids, segments, mask, spans)
    return scores.float(), nothing.float(), spans, labels


def measure(network: SentenceNetwork, batches: list[list[Row]]) -> str:
    """Return the share of right sentences, and the area under the curve of answered and open questions."""
    network.eval()
    right, answered, open_ = 0, [], []
    with torch.no_grad():
        for batch in batches:
            scores, nothing, spans, labels = run(network, batch)
            for number in range(len(batch)):
                own = spans[:, 0] == number
                odds = float(scores[own].max() - nothing[number])
                if labels[own].any():
                    right += bool(labels[own][scores[own].argmax()])
                    answered.append(odds)
                else:
                    open_.append(odds)
    network.train()
    area = (np.array(answered)[:, None] > np.array(open_)[None]).mean()
    return f"right {right} of {len(answered)}, area {area:.3f} over {len(open_)} without an answer"


def train(network: SentenceNetwork, trainer: Trainer, epochs: int) -> None:
    """Train with a rate that rises for a few steps and then falls evenly to nothing."""
    heads = [*network.mid.parameters(), *network.head.parameters(), *network.none.parameters()]
    chosen = set(map(id, heads))
    rest = [each for each in network.parameters() if each.requires_grad and id(each) not in chosen]
    groups = [{"params": heads, "lr": HEAD_RATE}, {"params": rest, "lr": RATE}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01, betas=(0.9, 0.98))
    rates = [group["lr"] for group in groups]
    held = [list(trainer.batches(held=True, are_statements=each)) for each in (False, True)]
    plan = [batch for _ in range(epochs) for batch in trainer.batches(held=False)]
    network.train()
    for step, batch in enumerate(plan):
        part = min(1, (step + 1) / WARM) * max(0.02, 1 - step / len(plan))
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * part
        scores, nothing, spans, labels = run(network, batch)
        loss = loss_of(scores, nothing, spans, labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        if step % 200 == 0:
            print(
                step, "of", len(plan), f"loss {loss.item():.3f}", *(measure(network, each) for each in held), flush=True
            )
    print("questions:", measure(network, held[0]))
    print("statements:", measure(network, held[1]))


def main() -> None:
    """Train and write the tensors."""
    torch.manual_seed(0)
    folder = installed_weights()
    tokenizer = Tokenizer.from_file(str(check_file(folder, TOKENIZER)))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    with Path(sys.argv[1]).open("rb") as file:
        passages = {row["digest"]: row for row in map(json.loads, file)}
    questions = [
        *read_questions(QUESTIONS, passages),
        *read_questions(STATEMENTS, passages, are_statements=True),
    ]
    add_written(passages, questions)
    print(len(questions), "questions about", len(passages), "passages")
    network = SentenceNetwork(load_file(check_file(folder, WEIGHTS)))
    train(network, Trainer(tokenizer, passages, questions), int(sys.argv[3]) if len(sys.argv) > 3 else EPOCHS)
    trained = {name: value.contiguous() for name, value in network.state_dict().items() if name != "words.weight"}
    save_file(trained, sys.argv[2])


if __name__ == "__main__":
    main()
