"""CP-4, CP-5: what differs between two runs over the same candidates, layer by layer."""

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
"""What of a layer's record is compared besides its own lists; times and ids differ between any two runs."""


class FieldChange(Contract):
    """One thing that two runs have otherwise."""

    layer: str
    what: str
    before: str
    after: str


class RunDiff(Contract):
    """Two runs beside each other."""

    changes: tuple[FieldChange, ...]
    diff: tuple[str, ...]
    """The texts, a sentence a line: `  ` in both, `- ` only before, `+ ` only after."""


def diff_runs(before: JsonObject, after: JsonObject, texts: tuple[str, str]) -> RunDiff:
    """Puts two states beside each other.

    Args:
        before: The state of a run, or the part of one that is to be compared.
        after: That of another.
        texts: What each of them says.

    Returns:
        The values that differ, in the order of the layers, and the texts sentence by sentence.
    """
    sides = [dict(_values(state)) for state in (before, after)]
    changes = []
    for layer, what in dict.fromkeys([*sides[0], *sides[1]]):
        was, is_now = (side.get((layer, what), ABSENT) for side in sides)
        if was != is_now:
            changes.append(FieldChange(layer=layer, what=what, before=was, after=is_now))
    return RunDiff(changes=tuple(changes), diff=diff_texts(*texts))


def diff_texts(before: str, after: str) -> tuple[str, ...]:
    """Two texts sentence by sentence; the lines that only guide the eye are left out."""
    was, is_now = ([part.text for part in segment(text)] for text in (before, after))
    return tuple(line for line in ndiff(was, is_now) if not line.startswith("? "))


def _values(state: JsonObject) -> Iterator[tuple[tuple[str, str], str]]:
    """Everything that is compared, by layer and name."""
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
    """The values of an object that are no objects themselves, under dotted names."""
    if not isinstance(value, dict):
        yield path, str(value)
        return
    for name, inner in value.items():
        yield from _leaves(f"{path}.{name}" if path else name, inner)
