"""The nodes of a run and their times, from the checkpoints of its thread."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from langgraph.types import StateSnapshot


class NodeTrace(NamedTuple):
    """One node of a run."""

    node: str
    status: str
    milliseconds: float


def trace_nodes(history: Sequence[StateSnapshot], run_id: str | None) -> list[NodeTrace]:
    """Return each node with its status and the time between the previous checkpoint and its own.

    Args:
        history: The checkpoints of a thread, newest first.
        run_id: The run, if the thread may have several.

    Returns:
        The nodes in order.
    """
    return [
        NodeTrace(before.next[0], after.values["outcome"]["status"], _milliseconds(before, after))
        for before, after in pairwise(history[::-1])
        if before.next and before.next != ("__start__",) and not belongs_to_another_run(after, run_id)
    ]


def belongs_to_another_run(snapshot: StateSnapshot, run_id: str | None) -> bool:
    """Whether a state belongs to another run than `run_id`; False if that is None."""
    run = snapshot.values.get("run")
    return run_id is not None and run is not None and run["run_id"] != run_id


def _milliseconds(before: StateSnapshot, after: StateSnapshot) -> float:
    began, ended = (datetime.fromisoformat(each.created_at) for each in (before, after) if each.created_at)
    return (ended - began).total_seconds() * 1000
