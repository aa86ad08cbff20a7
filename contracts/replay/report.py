"""CP-3: what a recorded run is, and what computing it again found: layer by layer, byte for byte.

A run is its input and, in order, the nodes it passed with the values that each of them wrote. Two values are the same
where their JSON is the same bytes: the order of keys, `1` beside `1.0` and a trailing blank all count. A verdict is
about one layer: each is computed from the input that was recorded for it, so that one altered value does not blame
every layer after it.
"""

import json
from enum import StrEnum
from typing import Final, NamedTuple

from sourcebound.contracts.base import Contract
from sourcebound.contracts.state import JsonObject

CONTEXT: Final = 40
"""Characters that are shown on either side of the first that differs."""
ABSENT: Final = "(absent)"


class RecordedStep(Contract):
    """One node of a run and the channels that it wrote."""

    node: str
    """Its name; the kind of the change in brackets where no node made it: `(update)`."""
    changes: JsonObject
    damaged: tuple[str, ...] = ()
    """Channels whose stored bytes cannot be read at all."""


class RecordedRow(Contract):
    """An audit record as it is stored, and its place in the chain."""

    position: int | None
    previous_hash: str | None
    row_hash: str | None
    columns: JsonObject


class RecordedText(Contract):
    """The texts of one attempt, as they are kept beside its audit record."""

    attempt: int
    question: str
    raw_model_text: str | None
    validated_answer_text: str | None


class RecordedRun(Contract):
    """Everything that was recorded of one finished run."""

    run_id: str
    start: JsonObject
    """The state before the first node: what was asked, or where a fork began."""
    steps: tuple[RecordedStep, ...]
    records: tuple[RecordedRow, ...]
    texts: tuple[RecordedText, ...]

    def final_state(self) -> JsonObject:
        """The state after the last node."""
        state = dict(self.start)
        for step in self.steps:
            state.update(step.changes)
        return state


class ReplayStatus(StrEnum):
    """What became of a layer that was computed again."""

    MATCH = "MATCH"
    DRIFT = "DRIFT"
    RECORDED = "RECORDED"
    """Not computed again: it is what the outside said, and every later layer stands on it."""


class Difference(Contract):
    """The first place at which two values differ, and what stands there in each."""

    path: str
    """From the channel inwards: `assembly.selected_evidence[0].sanitized_text`."""
    character: int | None = None
    """Where in a text, from 0; None where the values differ whole."""
    recorded: str
    computed: str


class LayerReport(Contract):
    """One layer."""

    layer: str
    verdict: ReplayStatus
    note: str = ""
    differences: tuple[Difference, ...] = ()


class RunReport(Contract):
    """A whole run: it matches only if every layer does."""

    run_id: str
    verdict: ReplayStatus
    layers: tuple[LayerReport, ...]


class NotReplayable(NamedTuple):
    """Why a run cannot be computed again at all; no verdict on it."""

    run_id: str
    code: str
    message: str
    next_step: str


def judge_run(run_id: str, layers: tuple[LayerReport, ...]) -> RunReport:
    """The verdict on a run, from those on its layers."""
    drifted = any(layer.verdict is ReplayStatus.DRIFT for layer in layers)
    return RunReport(run_id=run_id, verdict=ReplayStatus.DRIFT if drifted else ReplayStatus.MATCH, layers=layers)


def canonical(value: object) -> bytes:
    """The JSON of a value in the order in which it was stored, compact, as UTF-8.

    What is no JSON value, which only a damaged record holds, is written as its Python form and so equals nothing.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
    return text.encode("utf-8", "surrogatepass")


def find_difference(path: str, recorded: object, computed: object) -> Difference | None:
    """The first place at which two JSON values differ.

    Args:
        path: What the values are called.
        recorded: The value that was stored.
        computed: The value as it is computed now.

    Returns:
        The place and a part of both values, or None where they are the same bytes.
    """
    if canonical(recorded) == canonical(computed):
        return None
    if isinstance(recorded, dict) and isinstance(computed, dict):
        return _in_objects(path, recorded, computed)
    if isinstance(recorded, list) and isinstance(computed, list):
        for index, (one, other) in enumerate(zip(recorded, computed, strict=False)):
            if (found := find_difference(f"{path}[{index}]", one, other)) is not None:
                return found
        index = min(len(recorded), len(computed))
        return _whole(f"{path}[{index}]", recorded[index:], computed[index:])
    if isinstance(recorded, str) and isinstance(computed, str):
        return _in_texts(path, recorded, computed)
    return Difference(path=path, recorded=shorten(recorded), computed=shorten(computed))


def shorten(value: object) -> str:
    """A value as JSON, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 2 * CONTEXT else text[: 2 * CONTEXT - 1] + "…"


def _in_objects(path: str, recorded: JsonObject, computed: JsonObject) -> Difference | None:
    for name in [*recorded, *(name for name in computed if name not in recorded)]:
        inner = f"{path}.{name}" if path else name
        if name not in recorded or name not in computed:
            found = [[value[name]] if name in value else [] for value in (recorded, computed)]
            return _whole(inner, *found)
        if (difference := find_difference(inner, recorded[name], computed[name])) is not None:
            return difference
    return Difference(
        path=path, recorded=f"keys in the order {', '.join(recorded)}", computed=f"in the order {', '.join(computed)}"
    )


def _whole(path: str, recorded: list[object], computed: list[object]) -> Difference:
    """A value that only one of the two has; the first of each list, if there is one."""
    sides = [shorten(values[0]) if values else ABSENT for values in (recorded, computed)]
    return Difference(path=path, recorded=sides[0], computed=sides[1])


def _in_texts(path: str, recorded: str, computed: str) -> Difference:
    pairs = enumerate(zip(recorded, computed, strict=False))
    place = next((index for index, (one, other) in pairs if one != other), min(len(recorded), len(computed)))
    return Difference(path=path, character=place, recorded=_around(recorded, place), computed=_around(computed, place))


def _around(text: str, place: int) -> str:
    """The text about a place as JSON, with marks where it was cut."""
    start, end = max(0, place - CONTEXT), place + CONTEXT
    cut = json.dumps(text[start:end], ensure_ascii=False)
    return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"
