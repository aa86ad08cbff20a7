"""CP-4, CP-5: the differences between two runs over the same candidates, layer by layer."""

from collections.abc import Iterator
from difflib import ndiff
from typing import Final

from sourcebound.contracts.base import Contract
from sourcebound.contracts.replay.report import ABSENT
from sourcebound.contracts.state import JsonObject
from sourcebound.contracts.text.segments import segment

FIELDS: Final = {
    "assembly": ("assembly_status", "outcome.refusal_code", "outcome.failure_code"),
    "prompt": ("prompt_sha256", "prompt_tokens", "outcome.failure_code"),
    "generation": (
        "model_name",
        "generation_status",
        "outcome.failure_code",
        "finish_reason",
        "completion_tokens_actual",
    ),
    "validation": ("validation_status", "outcome.refusal_code", "outcome.failure_code", "validated_citations"),
    "response": ("status", "refusal_code", "failure_code", "support_level"),
}
"""The compared fields of each layer, besides its lists. Times and ids are not compared: any two runs differ in them."""


class FieldChange(Contract):
    """One value that differs between two runs."""

    layer: str
    what: str
    before: str
    after: str


class RunDiff(Contract):
    """The comparison of two runs."""

    changes: tuple[FieldChange, ...]
    diff: tuple[str, ...]
    """The sentences of both texts, one a line: `  ` in both, `- ` only before, `+ ` only after."""


def diff_runs(before: JsonObject, after: JsonObject, texts: tuple[str, str]) -> RunDiff:
    """Compare the states of two runs.

    Args:
        before: The state of a run, or the part of it to compare.
        after: The same of another run.
        texts: The answer text of each run.

    Returns:
        The values that differ, in the order of the layers, and the texts sentence by sentence.
    """
    sides = [dict(_compared_values(state)) for state in (before, after)]
    changes = []
    for layer, what in dict.fromkeys([*sides[0], *sides[1]]):
        old, new = (side.get((layer, what), ABSENT) for side in sides)
        if old != new:
            changes.append(FieldChange(layer=layer, what=what, before=old, after=new))
    return RunDiff(changes=tuple(changes), diff=diff_texts(*texts))


def diff_texts(before: str, after: str) -> tuple[str, ...]:
    """Compare two texts sentence by sentence, without the hint lines (`? `) of `ndiff`."""
    old, new = ([part.text for part in segment(text)] for text in (before, after))
    return tuple(line for line in ndiff(old, new) if not line.startswith("? "))


def _compared_values(state: JsonObject) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield every compared value, by layer and name."""
    for name, value in _leaves("", state.get("policy") or {}):
        yield ("policy", name), value
    for layer, names in FIELDS.items():
        leaves = dict(_leaves("", state.get(layer) or {}))
        yield from (((layer, name), leaves[name]) for name in names if name in leaves)
        if layer == "assembly":
            for entry in (state.get(layer) or {}).get("drop_ledger", []):
                yield (layer, f"rank {entry['rank']} {entry['chunk_id']}"), entry["outcome"]
        if layer == "generation":
            call = (state.get(layer) or {}).get("call") or {}
            yield from (((layer, f"call.{name}"), value) for name, value in _leaves("", call))


def _leaves(path: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield the values of an object that are not objects themselves, under dotted names."""
    if not isinstance(value, dict):
        yield path, str(value)
        return
    for name, inner in value.items():
        yield from _leaves(f"{path}.{name}" if path else name, inner)
