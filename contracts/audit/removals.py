"""R5P-7: the chain of erasures and prunings, which anyone can recompute.

The hash of a removal is the SHA-256 of five lines, joined by line feeds: `previous_hash`, `position`, `kind`, the time
in UTC with six decimal places of the second and `+00:00`, and `run_id`. The function `note_removals` of the database
computes the same.
"""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from sourcebound.contracts.audit.hash_chain import START, BrokenRow, Link


class Removal(NamedTuple):
    """A stored erasure or pruning of a run, unchecked."""

    position: int
    run_id: str
    kind: str
    """`erased` or `pruned`."""
    removed_at: str
    previous_hash: str
    row_hash: str


def removal_hash(removal: Removal) -> str:
    """Compute the hash of a removal from its other values: 64 hexadecimal digits."""
    values = (removal.previous_hash, removal.position, removal.kind, removal.removed_at, removal.run_id)
    return hashlib.sha256("\n".join(map(str, values)).encode()).hexdigest()


def find_broken_removal(removals: Iterable[Removal]) -> BrokenRow | None:
    """Recompute the chain of removals; return the first that does not fit, or None.

    Args:
        removals: All of them, by position.
    """
    end = START
    for removal in removals:
        if (removal.position, removal.previous_hash) != (end.position + 1, end.row_hash):
            finding = f"it does not follow position {end.position}: a removal before it is missing or was changed"
            return BrokenRow(removal.position, removal.run_id, finding)
        if removal.row_hash != removal_hash(removal):
            return BrokenRow(removal.position, removal.run_id, "its values do not give its row_hash")
        end = Link(removal.position, removal.row_hash)
    return None
