"""Draws that are the same on every machine and in every version of Python.

A draw is a hash of the seed and of names. It depends on no other draw, so that a new item or kind changes no other
one.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Draws(NamedTuple):
    """The draws of one item under one kind of perturbation."""

    seed: int
    kind: str
    item: str

    def number(self, name: str, below: int) -> int:
        """Return a number from 0 to `below` - 1.

        Args:
            name: The name of the draw.
            below: At least 1.
        """
        digest = hashlib.sha256(f"{self.seed}\0{self.kind}\0{self.item}\0{name}".encode()).digest()
        return int.from_bytes(digest, "big") % below

    def pick(self, name: str, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[self.number(name, len(options))]
