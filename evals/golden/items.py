"""A golden item, one line of a golden set: a question and the outcome that it must have (contract §11).

A set is JSON Lines. `read_items` accepts a file whole or not at all, and names the line and field of every fault.
"""

import json
from collections.abc import Iterable
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Any, NamedTuple, Self

from pydantic import AfterValidator, Field, StringConstraints, ValidationError, model_validator

from sourcebound.contracts.base import Contract
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.request import MAX_QUESTION_CHARACTERS, Filters

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Question = Annotated[Text, Field(max_length=MAX_QUESTION_CHARACTERS)]
ItemId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._~-]{0,79}$")]


def check_path(path: str) -> str:
    """Return the path of a file or folder of a set, which is relative to its folder and stays in it.

    Raises:
        ValueError: It is absolute, empty, or leaves the folder.
    """
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts:
        raise ValueError("a path is relative to the folder of the set and stays in it")
    return path


FilePath = Annotated[str, AfterValidator(check_path)]
"""The path of a file or folder, relative to the folder of the set."""


class Kind(StrEnum):
    """The kind of a question, by which refusals and passes are counted."""

    ANSWERABLE_ONE = "answerable_one"
    """One place of the documents answers it."""
    ANSWERABLE_TWO = "answerable_two"
    """It needs two places."""
    TABLE = "table"
    """A table answers it."""
    NEAR_TOPIC = "near_topic"
    """The documents have its topic and not its answer."""
    OFF_TOPIC = "off_topic"
    """The documents have nothing about it."""
    FILTER = "filter"
    """Its filters decide the outcome."""
    FOLLOW_UP = "follow_up"
    """It is understood from the earlier questions of its conversation."""
    ADVERSARIAL = "adversarial"
    """A document or the question tries to make the answer say something else."""
    RATCHET = "ratchet"
    """A recorded run that went wrong."""


class ExpectedCitation(Contract):
    """A place that the answer may cite."""

    document: Text
    """The `knowledge_id` of the document."""
    page: Annotated[int, Field(ge=1)] | None = None
    """Any page if it is None."""
    section: Text | None = None
    """A heading that the citation's section path must contain; any section if it is None."""


class Perturbation(Contract):
    """The origin of an item that was made from another one."""

    of: ItemId
    """The id of the item that it was made from."""
    kind: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z_]*$")]
    seed: int


class FrozenRun(Contract):
    """The recorded evidence of a run, from which the item is replayed without a database."""

    policy: Text
    """The version of the policy of the run."""
    bundle: dict[str, Any]
    """The retrieval bundle, as it enters at R2 (R1-1)."""
    reply: str | None = None
    """The raw text of the recorded model. None if the model of the evaluation generates the answer."""


class GoldenItem(Contract):
    """A question and the outcome that it must have."""

    id: ItemId
    kind: Kind
    question: Question
    history: tuple[Question, ...] = ()
    """The earlier questions of the conversation, in order."""
    filters: Filters = Filters()
    status: Annotated[tuple[Status, ...], Field(min_length=1)]
    """The statuses that are right."""
    citations: tuple[Annotated[tuple[ExpectedCitation, ...], Field(min_length=1)], ...] = ()
    """The places that an answer must cite. Each has one or more alternatives."""
    facts: tuple[Annotated[tuple[Text, ...], Field(min_length=1)], ...] = ()
    """The facts that an answer must say. Each has one or more spellings."""
    forbidden: tuple[Text, ...] = ()
    """The texts that no answer may say, such as the trigger of an injected instruction."""
    documents: tuple[FilePath, ...] = ()
    """Files or folders next to the set that are documents for this item alone, such as distractors."""
    perturbation: Perturbation | None = None
    frozen: FrozenRun | None = None
    note: Text | None = None
    """A remark for readers of the set."""

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if self.may_answer != bool(self.facts) or self.may_answer != bool(self.citations):
            raise ValueError(
                "an item that may be answered (status OK) has facts and citations, and no other item has any"
            )
        if len(set(self.status)) < len(self.status):
            raise ValueError("status names a status twice")
        if self.history and self.kind is not Kind.FOLLOW_UP and self.frozen is None:
            raise ValueError("history belongs to the kind follow_up")
        if self.kind is Kind.FOLLOW_UP and not self.history:
            raise ValueError("the kind follow_up needs a history")
        if self.frozen and (self.documents or self.filters != Filters() or self.history):
            raise ValueError("a frozen item has its evidence, and no history, filters or documents")
        return self

    @property
    def may_answer(self) -> bool:
        """Whether an answer is right."""
        return Status.OK in self.status

    @property
    def must_answer(self) -> bool:
        """Whether only an answer is right."""
        return self.status == (Status.OK,)


class ItemFile(NamedTuple):
    """The items of a file, and its faults."""

    items: tuple[GoldenItem, ...]
    findings: tuple[str, ...]
    """A sentence for each fault; empty if the file can be used."""


def read_items(text: str, name: str) -> ItemFile:
    """Read a golden set.

    Args:
        text: The JSON Lines. Only a line feed ends a line, and empty lines are skipped.
        name: The name of the file, for the findings.

    Returns:
        The items in order, and the faults: an invalid line, a repeated id, no item.
    """
    items: dict[str, tuple[int, GoldenItem]] = {}
    findings: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        result = _read_line(line)
        if not isinstance(result, GoldenItem):
            findings.extend(f"{name}, line {number}: {fault}" for fault in result)
        elif result.id in items:
            findings.append(f"{name}, line {number}: id: {result.id!r} is the id of line {items[result.id][0]} too")
        else:
            items[result.id] = number, result
    if not items and not findings:
        findings.append(f"{name}: it has no item")
    return ItemFile(tuple(item for _, item in items.values()), tuple(findings))


def write_items(items: Iterable[GoldenItem]) -> str:
    """Write items as JSON Lines, without the fields that have their default."""
    return "".join(
        json.dumps(item.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False) + "\n" for item in items
    )


def _read_line(line: str) -> GoldenItem | list[str]:
    try:
        value = json.loads(line, object_pairs_hook=_reject_repeated_keys)
    except (ValueError, RecursionError) as error:
        return [f"is not JSON ({error})"]
    if not isinstance(value, dict):
        return ["is not a JSON object"]
    try:
        return GoldenItem.model_validate(value)
    except ValidationError as error:
        return [
            ": ".join(filter(None, (".".join(map(str, detail["loc"])), detail["msg"].removeprefix("Value error, "))))
            for detail in error.errors(include_url=False)
        ]


def _reject_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key is there twice")
    return value
