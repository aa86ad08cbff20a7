"""Vectors in pgvector's text and binary formats. The binary format takes a tenth of the work on both sides."""

from collections.abc import Sequence
from typing import Final

import psycopg
from pgvector import Vector
from psycopg.adapt import Dumper
from psycopg.pq import Format

UNKNOWN_TYPE: Final = 0


class PackedVector(bytes):
    """A vector in pgvector's binary format: the number of dimensions, two unused bytes, and the numbers."""

    @property
    def text(self) -> str:
        """The vector in pgvector's text format."""
        return str(Vector.from_binary(self).to_text())


class _PackedVectorDumper(Dumper):
    """Sends the bytes unchanged.

    The statement casts the parameter to `vector`, because the type's OID differs from database to database.
    """

    format = Format.BINARY
    oid = UNKNOWN_TYPE

    def dump(self, obj: PackedVector) -> bytes:
        return obj


psycopg.adapters.register_dumper(PackedVector, _PackedVectorDumper)


def vector_text(vector: Sequence[float]) -> str:
    """Return a vector in pgvector's text format."""
    return str(Vector(list(vector)).to_text())


def pack_vector(vector: Sequence[float]) -> PackedVector:
    """Return a vector in pgvector's binary format."""
    return PackedVector(Vector(list(vector)).to_binary())
