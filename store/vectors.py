"""Vectors as pgvector reads them."""

from collections.abc import Sequence

from pgvector import Vector


def vector_text(vector: Sequence[float]) -> str:
    """A vector as pgvector reads it."""
    return str(Vector(list(vector)).to_text())
