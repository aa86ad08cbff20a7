"""The check of the chunks that a search returns against their digests (IX-3), and damage that stops a search."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from sourcebound.contracts.corpus.digests import SealedChunk
from sourcebound.contracts.outcome import FailureCode
from sourcebound.errors import StoreError
from sourcebound.store.connection.database import Row

NAMED: Final = 5
"""The number of altered chunks that an error names."""


def check_seals(rows: Sequence[Row], found: Iterable[str]) -> None:
    """Check that each chunk is what its ingest stored, and that each found chunk exists.

    Args:
        rows: Rows of the query `candidate_rows`.
        found: The ids of chunks that must be among them.

    Raises:
        StoreError: A chunk was altered or is gone (`CHUNK_ALTERED`).
    """
    altered = [row["chunk_id"] for row in rows if row["digest"] != to_sealed(row).digest]
    there = {row["chunk_id"] for row in rows}
    altered += [chunk_id for chunk_id in found if chunk_id not in there]
    if altered:
        named = ", ".join(altered[:NAMED]) + (f" and {len(altered) - NAMED} more" if len(altered) > NAMED else "")
        raise StoreError(
            f"the index does not hold what was ingested: altered or gone is {named}.",
            "Run `sourcebound index check --contents`, which names everything that was altered. Then remove those "
            "documents with `sourcebound documents remove`, and ingest them again. That removes their labels: give "
            "those that it prints to `sourcebound ingest` again (--label).",
            code=FailureCode.CHUNK_ALTERED,
        )


def to_sealed(row: Row) -> SealedChunk:
    """Convert a row that has every value that the digest of a chunk binds."""
    return SealedChunk._make(row[name] for name in SealedChunk._fields)


@contextmanager
def damaged_index(collection: str) -> Iterator[None]:
    """Convert the errors that altered vectors, postings or counts cause into a `StoreError` with a stable code."""
    try:
        yield
    except (ValueError, ArithmeticError) as error:
        raise StoreError(
            f"vectors, postings or counts of the collection {collection!r} are damaged.",
            f"Run `sourcebound index check --contents --collection {collection}`.",
            code="INDEX_DAMAGED",
        ) from error
