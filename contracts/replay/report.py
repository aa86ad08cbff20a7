"""CP-3: recorded runs, and the report on their recomputation: layer by layer, byte for byte.

A recorded run is its input and, in order, the nodes that it passed with the values that each of them wrote. Two values
are equal if their JSON has the same bytes: the order of keys, `1` or `1.0`, and a trailing blank all count. Each layer
has its own verdict, because it is recomputed from its recorded input. One altered value therefore does not make every
later layer differ.
"""

import json
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from pydantic import Field

from sourcebound.contracts.base import Contract, is_absent
from sourcebound.contracts.state import JsonObject

CONTEXT: Final = 40
"""The number of characters shown on either side of the first that differs."""
ABSENT: Final = "(absent)"


class RecordedStep(Contract):
    """One node of a run and the channels that it wrote."""

    node: str
    """The name of the node. If no node made the change, the kind of change in brackets: `(update)`."""
    changes: JsonObject
    damaged: tuple[str, ...] = ()
    """The channels whose stored bytes cannot be read at all."""


class RecordedRow(Contract):
    """A stored audit record, and its place in the chain."""

    position: int | None
    previous_hash: str | None
    row_hash: str | None
    columns: JsonObject


class RecordedText(Contract):
    """The texts of one attempt, as stored with its audit record."""

    attempt: int
    question: str
    raw_model_text: str | None
    validated_answer_text: str | None
    salt: Annotated[str | None, Field(exclude_if=is_absent)] = None


class RecordedRun(Contract):
    """All recorded data of one finished run."""

    run_id: str
    start: JsonObject
    """The state before the first node: the request, or the state from which a fork began."""
    steps: tuple[RecordedStep, ...]
    records: tuple[RecordedRow, ...]
    texts: tuple[RecordedText, ...]

    def final_state(self) -> JsonObject:
        """Return the state after the last node."""
        state = dict(self.start)
        for step in self.steps:
            state.update(step.changes)
        return state


class ReplayStatus(StrEnum):
    """The result of recomputing a layer."""

    MATCH = "MATCH"
    DRIFT = "DRIFT"
    OLDER = "OLDER"
    """The run obeyed earlier rules, which are kept, and matches under them (CP-10)."""
    FORK = "FORK"
    """The run continues another one from a checkpoint, and matches from there (CP-10)."""
    EDITED = "EDITED"
    """A person changed the state of the run between two nodes (CP-11)."""
    UNREADABLE = "UNREADABLE"
    """The record cannot be read (CP-10)."""
    RECORDED = "RECORDED"
    """Not recomputed: the layer holds input from outside, on which every later layer depends."""


class Difference(Contract):
    """The first place at which two values differ, with the part of each value at that place."""

    path: str
    """The path from the channel inwards: `assembly.selected_evidence[0].sanitized_text`."""
    character: int | None = None
    """The position in a text, from 0; None if the values differ as a whole."""
    recorded: str
    computed: str


class LayerReport(Contract):
    """The verdict on one layer."""

    layer: str
    verdict: ReplayStatus
    note: str = ""
    differences: tuple[Difference, ...] = ()


class RunReport(Contract):
    """The verdict on a whole run, which matches only if every layer matches."""

    run_id: str
    verdict: ReplayStatus
    layers: tuple[LayerReport, ...]
    fork_of: Annotated[str | None, Field(exclude_if=is_absent)] = None
    """The run that it continues from a checkpoint."""


class NotReplayable(NamedTuple):
    """The reason why a run cannot be recomputed, and so has no verdict."""

    run_id: str
    code: str
    message: str
    next_step: str

    @property
    def verdict(self) -> ReplayStatus | None:
        """UNREADABLE; None for a run that was pruned or erased, or has not ended."""
        return None if self.code in ACCOUNTED_FOR else ReplayStatus.UNREADABLE


ACCOUNTED_FOR: Final = frozenset({"RUN_UNFINISHED", "RUN_REPLACED", "RUN_CANCELLED", "RUN_PRUNED", "RUN_ERASED"})
"""Codes of runs that cannot be recomputed although nothing was altered or lost."""
VERIFIED: Final = frozenset({ReplayStatus.MATCH, ReplayStatus.OLDER, ReplayStatus.FORK})
"""The verdicts that say that a run is as it was made (CP-10)."""


def judge_run(
    run_id: str, layers: tuple[LayerReport, ...], fork_of: str | None = None, *, is_older: bool = False
) -> RunReport:
    """Derive the verdict on a run from those on its layers.

    Args:
        run_id: The run.
        layers: The verdict on each layer.
        fork_of: The run that it continues, if it is a fork.
        is_older: Whether it obeyed earlier rules.
    """
    verdicts = {layer.verdict for layer in layers}
    matched = ReplayStatus.FORK if fork_of else ReplayStatus.OLDER if is_older else ReplayStatus.MATCH
    failed = (verdict for verdict in (ReplayStatus.EDITED, ReplayStatus.DRIFT) if verdict in verdicts)
    return RunReport(run_id=run_id, verdict=next(failed, matched), layers=layers, fork_of=fork_of)


def stored_json(value: object) -> bytes:
    """Return the compact JSON of a value as UTF-8, with its keys in the stored order.

    A value that is not JSON occurs only in a damaged record. It is written as its Python `repr` and so equals nothing.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
    return text.encode("utf-8", "surrogatepass")


def find_difference(path: str, recorded: object, computed: object) -> Difference | None:
    """Find the first place at which two JSON values differ.

    Args:
        path: The path of the values.
        recorded: The stored value.
        computed: The recomputed value.

    Returns:
        The place and a part of both values, or None if they are the same bytes.
    """
    if stored_json(recorded) == stored_json(computed):
        return None
    if isinstance(recorded, dict) and isinstance(computed, dict):
        return _compare_objects(path, recorded, computed)
    if isinstance(recorded, list) and isinstance(computed, list):
        for index, (one, other) in enumerate(zip(recorded, computed, strict=False)):
            if (found := find_difference(f"{path}[{index}]", one, other)) is not None:
                return found
        index = min(len(recorded), len(computed))
        return _presence_difference(f"{path}[{index}]", recorded[index:], computed[index:])
    if isinstance(recorded, str) and isinstance(computed, str):
        return _compare_texts(path, recorded, computed)
    return Difference(path=path, recorded=shorten(recorded), computed=shorten(computed))


def shorten(value: object) -> str:
    """Return a value as JSON, truncated if it is long."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 2 * CONTEXT else text[: 2 * CONTEXT - 1] + "…"


def _compare_objects(path: str, recorded: JsonObject, computed: JsonObject) -> Difference | None:
    for name in [*recorded, *(name for name in computed if name not in recorded)]:
        inner = f"{path}.{name}" if path else name
        if name not in recorded or name not in computed:
            found = [[value[name]] if name in value else [] for value in (recorded, computed)]
            return _presence_difference(inner, *found)
        if (difference := find_difference(inner, recorded[name], computed[name])) is not None:
            return difference
    return Difference(
        path=path, recorded=f"keys in the order {', '.join(recorded)}", computed=f"in the order {', '.join(computed)}"
    )


def _presence_difference(path: str, recorded: list[object], computed: list[object]) -> Difference:
    """Return the difference of a value that only one side has: the first element of each list, if there is one."""
    sides = [shorten(values[0]) if values else ABSENT for values in (recorded, computed)]
    return Difference(path=path, recorded=sides[0], computed=sides[1])


def _compare_texts(path: str, recorded: str, computed: str) -> Difference:
    pairs = enumerate(zip(recorded, computed, strict=False))
    first = next((index for index, (one, other) in pairs if one != other), min(len(recorded), len(computed)))
    return Difference(
        path=path, character=first, recorded=_excerpt(recorded, first), computed=_excerpt(computed, first)
    )


def _excerpt(text: str, first: int) -> str:
    """Return the text around the first different character as JSON, with an ellipsis at each cut."""
    start, end = max(0, first - CONTEXT), first + CONTEXT
    excerpt = json.dumps(text[start:end], ensure_ascii=False)
    return f"{'…' if start else ''}{excerpt}{'…' if end < len(text) else ''}"
