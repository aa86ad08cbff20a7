"""The labelled statements of the training: which may be in shipped weights, and a split by source document.

Every script takes the data's folder as an argument; nothing is copied into the repository.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from sourcebound.contracts.validation.refusals import find_refusal

SHIPPABLE: Final = frozenset({"fm2", "scifact", "wice", "fever_symmetric", "esnli"})
"""The sets whose licences allow weights that everyone may use."""
SHIPPABLE_TEXTS: Final = frozenset({"sq", "qed", "pm", "cq"})
"""The documents under synthetic statements of which the same holds: SQuAD, QED, PubMedQA, COVID-QA."""
MODEL_ANSWERS: Final = ("ragtruth/qa", "ragtruth/summary", "faithjudge/qa", "lfqa_verif", "attributionbench/id")
"""The sets of statements that language models wrote from given evidence."""
TALK: Final = re.compile(
    r"hope this helps|let me know|feel free|happy to help|i can help|^(?:sure|certainly)\b|\bunclear\b|unable to answer"
    r"|\b(?:not|n't|no|cannot|without)\b.{0,60}\b(?:mention|provide|specif|stat|clear|contain|information|passage"
    r"|context|evidence|document|article)|\b(?:passage|context|document|text|article)s?\b.{0,50}\b(?:not|n't|no)\b",
    re.IGNORECASE,
)
"""Courtesies, and sentences about what the evidence lacks, which other checks of the product reject or exempt."""
NO_STATEMENT: Final = re.compile(r"[:：][*_ ]*$|\bpassages?\b|^\W*(?:\w+\W+){0,2}\w+\W*$", re.IGNORECASE)
"""Lead-ins, words about the passages and labels. In an answer of the product they need no citation or are rejected."""
TRAIN, CHOOSE, UNSEEN = "train", "choose", "unseen"


class Example(NamedTuple):
    """A labelled statement."""

    id: str
    source: str
    """The set, with the kind of change if it is synthetic."""
    group: str
    """The connected documents; a group is in one part of the split."""
    part: str
    ships: bool
    """Whether it may be in shipped weights."""
    question: str
    previous: str
    statement: str
    texts: tuple[str, ...]
    supported: bool
    is_talk: bool
    """Whether it is a courtesy or about what the evidence lacks; such statements are not counted."""


class Whole(NamedTuple):
    """A whole answer."""

    source: str
    group: str
    part: str
    question: str
    answer: str
    texts: tuple[str, ...]
    supported: bool


def read_answers(folder: Path) -> list[Whole]:
    """Read the whole answers. An answer is in the part of its document."""
    evidence = read_evidence(folder)
    groups = _group_documents(list(read_lines(folder / "support" / "statements.jsonl")))
    return [
        Whole(
            source=row["set"],
            group=groups.find(_document(row["doc"])),
            part=part_of(groups.find(_document(row["doc"])), ships=False),
            question=row["question"] or "",
            answer=row["answer"],
            texts=evidence[row["evidence_id"]],
            supported=row["answer_label"] == "supported",
        )
        for row in read_lines(folder / "support" / "answers.jsonl")
    ]


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines."""
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def read_evidence(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the texts of each piece of evidence."""
    return {row["id"]: tuple(row["texts"]) for row in read_lines(folder / "support" / "evidence.jsonl")}


def part_of(group: str, ships: bool = True) -> str:
    """Return the part of a group: seven tenths to train, one to choose with, two unseen.

    A group that may not be in shipped weights is for choosing thresholds, or unseen, by halves.
    """
    number = int.from_bytes(hashlib.sha256(f"support:{group}".encode()).digest()[:4], "big") % 10
    if not ships:
        return CHOOSE if number < 5 else UNSEEN
    return TRAIN if number < 7 else CHOOSE if number == 7 else UNSEEN


def read_examples(folder: Path) -> list[Example]:
    """Read every labelled statement.

    Args:
        folder: The folder of the evaluation data.

    Returns:
        The statements in the order of the file. Statements whose documents or evidence are the same share a group.
    """
    rows = list(read_lines(folder / "support" / "statements.jsonl"))
    evidence, groups, owners = read_evidence(folder), _group_documents(rows), _owners(rows)
    return [_to_example(row, evidence, groups.find(_document(row["doc"])), owners) for row in rows]


def _group_documents(rows: list[dict[str, Any]]) -> "_Groups":
    groups = _Groups()
    for row in rows:
        groups.join(_document(row["doc"]), f"ev:{row['evidence_id']}")
    return groups


def _owners(rows: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Return the sets that each piece of evidence is from; synthetic statements have no evidence of their own."""
    owners: dict[str, set[str]] = {}
    for row in rows:
        if row["set"] != "synthetic":
            owners.setdefault(row["evidence_id"], set()).add(row["set"])
    return owners


def _document(name: str) -> str:
    """Return a document's name; the paragraphs of one article are one document."""
    return name.split("#")[0]


def _to_example(
    row: dict[str, Any], evidence: dict[str, tuple[str, ...]], group: str, owners: dict[str, set[str]]
) -> Example:
    kind, document = row.get("kind"), row["doc"]
    is_synthetic = row["set"] == "synthetic"
    sets = owners.get(document.removeprefix("ev:"), set()) if document.startswith("ev:") else set()
    ships = (
        row["set"] in SHIPPABLE
        or (is_synthetic and document.split(":")[0] in SHIPPABLE_TEXTS)
        or (is_synthetic and bool(sets) and sets <= SHIPPABLE)
    )
    return Example(
        id=row["id"],
        source=f"synthetic/{kind}" if is_synthetic else row["set"],
        group=group,
        part=part_of(group, ships),
        ships=ships,
        question=row["question"] or "",
        previous=row["context"] or "",
        statement=row["statement"],
        texts=evidence[row["evidence_id"]],
        supported=row["label"] == "supported",
        is_talk=bool(TALK.search(row["statement"])) or find_refusal(row["statement"]) is not None,
    )


class _Groups:
    """Disjoint sets of names."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def find(self, name: str) -> str:
        """Return the representative of a name's set: its first name in the alphabet."""
        parent = self._parents.setdefault(name, name)
        while parent != self._parents[parent]:
            parent = self._parents[parent]
        self._parents[name] = parent
        return parent

    def join(self, first: str, second: str) -> None:
        """Unite the sets of two names."""
        low, high = sorted((self.find(first), self.find(second)))
        self._parents[high] = low
