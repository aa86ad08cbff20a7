"""The repair section: what a further attempt is told, and nothing of what was rejected (contract R5-12).

Its text is a released template, one sentence a broken rule, chosen by failure code alone. The rejected text never
comes back into a prompt: an invented number that a model reads again is a number that it believes.
"""

from collections.abc import Sequence
from typing import Final

from sourcebound.contracts.outcome import FailureCode
from sourcebound.contracts.released import read_template

REPAIR_TEMPLATE: Final = "repair_v1"
"""The released section; another wording is another file, under another name."""
REPEATABLE: Final = frozenset(
    {
        FailureCode.MALFORMED_CITATION,
        FailureCode.INVALID_CITATION_REFERENCE,
        FailureCode.UNCITED_FACTUAL_STATEMENT,
        FailureCode.FORBIDDEN_CONTENT,
        FailureCode.UNSUPPORTED_LITERAL,
        FailureCode.CITATION_MISMATCH,
        FailureCode.INVALID_OUTPUT_SCHEMA,
    }
)
"""R5-3 … R5-10: what a model can mend. An empty answer, half a refusal and every fault end the run."""


def repair_section(broken: Sequence[FailureCode]) -> str:
    """The section for the rules that an attempt broke.

    Args:
        broken: The codes of its violations; each counts once, and the order does not matter.

    Returns:
        The opening line and a sentence a rule, in the order of the file; empty where nothing was broken.
    """
    if not broken:
        return ""
    opening, *rules = read_template(REPAIR_TEMPLATE).splitlines()
    sentences = dict(rule.split(": ", 1) for rule in rules)
    return "\n".join([opening, *(f"- {sentence}" for code, sentence in sentences.items() if code in broken)])
