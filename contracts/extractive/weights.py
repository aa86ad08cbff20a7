"""The weights of the extractive generator, whole numbers in a file, and their sums (R4-9)."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

WEIGHTS_FILE: Final = "extractive_v2.json"
MILLION: Final = 1_000_000
"""A logit, in the unit of the sums."""


class Linear(NamedTuple):
    """A sum of features in thousandths, in millionths of a logit."""

    bias: int
    weights: tuple[tuple[str, int], ...]

    def sum(self, features: Mapping[str, int]) -> int:
        """Return the sum."""
        return self.bias + sum(weight * features[name] for name, weight in self.weights)


class Weights(NamedTuple):
    """The weights with a reader, or without one."""

    ranking: Linear
    """Orders the sentences of a prompt."""
    answering: Linear
    """Says whether the first sentence answers the question."""
    minimum: int
    """The sum of `answering` from which the sentence is quoted."""


@cache
def read_weights(*, embedded: bool) -> Weights:
    """Read the weights that ship with the product, for sentences that are read or for words alone."""
    form = json.loads((files(__package__) / WEIGHTS_FILE).read_bytes())["embedded" if embedded else "lexical"]
    return Weights(_linear(form["ranking"]), _linear(form["answering"]), int(form["minimum"]))


def _linear(form: Mapping[str, object]) -> Linear:
    weights = form["weights"]
    assert isinstance(weights, dict)
    return Linear(int(str(form["bias"])), tuple(weights.items()))


class Bounds(NamedTuple):
    """The least shares of an English question's weight that an answer and its chunk hold, in thousandths."""

    own: int
    """The least share that a sentence itself holds, if the reader takes it for less likely than `SURE_ODDS`."""
    subject: int
    """The least share that the chunk of an answer and its title hold."""
    likely: int
    """The odds from which the chunk may hold less."""


NARROW: Final = Bounds(own=300, subject=450, likely=350)
WIDE: Final = Bounds(own=250, subject=350, likely=200)
"""Those of words alone."""
NO_BOUNDS: Final = Bounds(own=0, subject=0, likely=0)
"""Those of a question in another language: its words are translated, often by another word for the same thing."""
