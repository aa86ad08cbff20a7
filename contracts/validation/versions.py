"""The versions of the validation contract, so that a recorded run is judged by the rules that it obeyed (CP-10)."""

from typing import Final

from sourcebound.contracts.versions import CONTRACTS

VERSION: Final = CONTRACTS["validation"]
"""The version in force."""
SECOND: Final = 2
"""The version that reads literals, exemptions and ids as they are meant, and rejects degenerate answers (R5-16)."""
