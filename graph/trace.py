"""How long each node of a run took, read off its checkpoints."""

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from langgraph.types import StateSnapshot


class NodeTrace(NamedTuple):
    """One node of a run."""

    node: str
    status: str
    milliseconds: float


def trace_nodes(history: Sequence[StateSnapshot], is_meant: Callable[[StateSnapshot], bool]) -> list[NodeTrace]:
    """Each node with its status and the time from the checkpoint before it to its own.

    Args:
        history: The checkpoints of a thread, newest first.
        is_meant: Whether a checkpoint is of the run that is meant.

    Returns:
        The nodes in order.
    """
    return [
        NodeTrace(before.next[0], after.values["outcome"]["status"], _milliseconds(before, after))
        for before, after in pairwise(history[::-1])
        if before.next and before.next != ("__start__",) and is_meant(after)
    ]


def _milliseconds(before: StateSnapshot, after: StateSnapshot) -> float:
    began, ended = (datetime.fromisoformat(each.created_at) for each in (before, after) if each.created_at)
    return (ended - began).total_seconds() * 1000
