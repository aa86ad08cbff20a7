"""Vectors as pgvector reads them, and as it receives them: the same numbers, a tenth of the work for both sides."""

from collections.abc import Sequence
from typing import Final

import psycopg
from pgvector import Vector
from psycopg.adapt import Dumper
from psycopg.pq import Format

UNKNOWN: Final = 0


class PackedVector(bytes):
    """A vector as pgvector receives it: how many numbers, two bytes of nothing, and the numbers."""

    @property
    def text(self) -> str:
        """As pgvector reads it."""
        return str(Vector.from_binary(self).to_text())


class _PackedVectorDumper(Dumper):
    """Sends it as it is; the statement says that it is a vector, whose number differs from database to database."""

    format = Format.BINARY
    oid = UNKNOWN

    def dump(self, obj: PackedVector) -> bytes:
        return obj


psycopg.adapters.register_dumper(PackedVector, _PackedVectorDumper)


def vector_text(vector: Sequence[float]) -> str:
    """A vector as pgvector reads it."""
    return str(Vector(list(vector)).to_text())


def pack_vector(vector: Sequence[float]) -> PackedVector:
    """A vector as pgvector receives it."""
    return PackedVector(Vector(list(vector)).to_binary())
