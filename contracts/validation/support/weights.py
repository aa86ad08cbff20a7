"""The frozen weights of the verifier, and their arithmetic in whole numbers (R5-17).

No sum depends on a processor's floating point, so a replay finds the same score on another machine.
"""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from sourcebound.contracts.validation.support.words import RARITY_FILE

VERIFIER: Final = "support_v1"
"""The version of the rules and weights. A policy names the version that applies."""
WEIGHTS_FILE: Final = f"{VERIFIER}.json"
ANSWERS_FILE: Final = "answers_v1.json"
LEAF: Final = -1


class Linear(NamedTuple):
    """A sum of features, in millionths of a logit."""

    bias: int
    weights: tuple[tuple[str, int], ...]

    def sum(self, features: Mapping[str, int]) -> int:
        """Return the sum for these features."""
        return self.bias + sum(weight * features[name] for name, weight in self.weights)


class Node(NamedTuple):
    """A node of a tree: a feature, the highest value that goes left, and both branches; or a leaf with its value."""

    feature: int
    value: int
    left: int
    right: int


class Trees(NamedTuple):
    """A sum over decision trees, in millionths of a logit."""

    bias: int
    features: tuple[str, ...]
    trees: tuple[tuple[Node, ...], ...]

    def sum(self, features: Mapping[str, int]) -> int:
        """Return the sum for these features."""
        values = [features[name] for name in self.features]
        return self.bias + sum(_descend(tree, values) for tree in self.trees)


class Weights(NamedTuple):
    """All weights of a verifier."""

    coverage: Linear
    alteration: Trees
    subject: Linear
    """Whether an answer and its chunks are about what the question asks for."""
    order: Linear
    """Orders the sentences of the shown evidence (`candidates.py`)."""
    answering: Linear
    """Joins the subject and the best sentence to the second score (R5-18)."""
    cuts: tuple[int, ...]
    """For each thousandth from 1 to 999 the least sum that reaches it, in millionths of a logit."""

    def to_thousandths(self, total: int) -> int:
        """Return a sum as a number from 0 to 999, as the logistic function orders it."""
        return bisect_right(self.cuts, total)


@cache
def read_weights() -> Weights:
    """Read the weights that ship with the product."""
    form = json.loads((files(__package__) / WEIGHTS_FILE).read_bytes())
    answers = json.loads((files(__package__) / ANSWERS_FILE).read_bytes())
    return Weights(
        _linear(form["coverage"]),
        _trees(form["alteration"]),
        _linear(form["answering"]),
        _linear(answers["order"]),
        _linear(answers["answering"]),
        tuple(form["cuts"]),
    )


@cache
def verifier_digest() -> str:
    """Return the SHA-256 of the verifier's data: its weights and its table of rare words."""
    folder, names = files(__package__), (WEIGHTS_FILE, RARITY_FILE, ANSWERS_FILE)
    return hashlib.sha256(b"".join((folder / name).read_bytes() for name in names)).hexdigest()


def _linear(form: Mapping[str, object]) -> Linear:
    weights = form["weights"]
    assert isinstance(weights, dict)
    return Linear(int(str(form["bias"])), tuple(weights.items()))


def _trees(form: Mapping[str, list[list[list[int]]]]) -> Trees:
    return Trees(
        int(str(form["bias"])),
        tuple(map(str, form["features"])),
        tuple(tuple(Node(*node) for node in tree) for tree in form["trees"]),
    )


def _descend(tree: tuple[Node, ...], values: list[int]) -> int:
    node = tree[0]
    while node.feature != LEAF:
        node = tree[node.left if values[node.feature] <= node.value else node.right]
    return node.value
