"""The versions that a run records, so that a later version knows which rules it obeyed (CP-10).

A contract gets a new number when its layer computes something else from the same recorded input. The rules of every
earlier number stay in force for the runs that name it.
"""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Annotated, Final

from pydantic import Field

from sourcebound.contracts.base import Contract

CODE: Final = version("sourcebound")
"""The version of this code."""
CONTRACTS: Final[Mapping[str, int]] = {
    "retrieval": 1,
    "evidence": 2,
    "prompt": 1,
    "execution": 1,
    "validation": 2,
    "conversation": 2,
    "audit": 2,
    "response": 2,
}
"""The version of each layer's contract.

Conversation 2 asks an unclear follow-up back, and completes follow-ups in a chat (CP-6). Evidence 2 leaves no room
empty for its cap (R2-S5) and keeps a near-duplicate that adds something (R2-S4). Audit 2 binds the texts by salted
digests, validation 2 rejects degenerate answers (R5-16), and response 2 says what to try (R6-1). A run without versions
is of 0.1.0, and every contract of that release has the number 1.
"""


class Versions(Contract):
    """The code and the contracts that made a run."""

    code: str
    contracts: dict[str, Annotated[int, Field(ge=1)]]


THIS_VERSION: Final = Versions(code=CODE, contracts=dict(CONTRACTS))


def contract_version(made_by: Versions | None, layer: str) -> int:
    """Return the number of a layer's contract under which a run was made; without versions, that of 0.1.0."""
    return made_by.contracts.get(layer, 1) if made_by else 1


def is_newer(made_by: Versions) -> bool:
    """Whether a run obeyed a contract that this version does not know."""
    return any(number > CONTRACTS.get(layer, 0) for layer, number in made_by.contracts.items())


def is_older(made_by: Versions | None) -> bool:
    """Whether a run obeyed rules that have a newer version; None is a run of 0.1.0."""
    return made_by is None or any(made_by.contracts.get(layer, 1) < number for layer, number in CONTRACTS.items())
