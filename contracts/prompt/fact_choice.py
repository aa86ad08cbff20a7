"""The output profile `relevant_facts`: which facts a model finds relevant, as JSON by schema (contract R3-9)."""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from sourcebound.contracts.base import Contract
from sourcebound.contracts.text.strict_json import bare_schema

PROFILE: Final = "relevant_facts"


def _check_quote(quote: str) -> str:
    if not any(character.isalnum() for character in quote):
        raise ValueError("a quote says something")
    return quote


class RelevantFact(Contract):
    """A row of a reply: the key of a fact of phase A, and its relevant words."""

    quote: Annotated[str, Field(strict=True), AfterValidator(_check_quote)]
    pdf: Annotated[str, Field(strict=True)]
    page: Annotated[int, Field(strict=True)] | None
    chunk_id: Annotated[str, Field(strict=True)]


class RelevantFacts(Contract):
    """A reply; without rows if no fact is relevant."""

    relevant_facts: tuple[RelevantFact, ...]


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of a reply, for providers that accept one."""
    return bare_schema(RelevantFacts)
