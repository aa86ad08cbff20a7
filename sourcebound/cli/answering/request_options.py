"""Options that describe a request: filters, limits and the presentation of its response."""

from typing import TYPE_CHECKING, Any, Final

from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.contracts.policy.schema import Presentation
    from sourcebound.contracts.state import AskInput
    from sourcebound.graph.engine import Engine

PRESENTATION_HELP: Final = "plain, answer_sources, numbered_confidence or source_markers. Default: the policy's own."
COLLECTION_HELP: Final = "The collection to search. Default: SOURCEBOUND_COLLECTION."
POLICY_HELP: Final = "A released policy or a policy file."
MODEL_HELP: Final = "The generator: extractive, local:MODEL, ollama:MODEL or openai:MODEL."


def read_filters(filters: list[str]) -> dict[str, Any]:
    """Read KEY=VALUE pairs as filters (R1-8).

    Raises:
        RequestError: A key is unknown or given twice, or a value is not acceptable. The message lists the known keys.
    """
    from pydantic import ValidationError

    from sourcebound.contracts.request import Filters

    known = f"Known filters: {', '.join(Filters.model_fields)}."
    pairs: dict[str, Any] = {}
    for key, value in _pairs(filters, "filter", repeatable="knowledge_ids"):
        pairs[key] = (*pairs.get(key, ()), value) if key == "knowledge_ids" else value
    try:
        return Filters.model_validate(pairs).model_dump(mode="json", exclude_none=True)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        raise RequestError(f"the filter {detail['loc'][0]!r} is not acceptable: {detail['msg']}.", known) from error


def read_limits(limits: list[str]) -> dict[str, Any]:
    """Read KEY=VALUE pairs with numbers; the policy decides whether they tighten it (P-4).

    Raises:
        RequestError: A key is given twice, or a value is not a number.
    """
    pairs = {}
    for key, value in _pairs(limits, "limit"):
        try:
            pairs[key] = int(value) if value.lstrip("-").isdigit() else float(value)
        except ValueError as error:
            raise RequestError(
                f"the limit {key!r} is not a number: {value!r}.", "Try --limit min_sources=2."
            ) from error
    return pairs


def _pairs(texts: list[str], kind: str, repeatable: str = "") -> list[tuple[str, str]]:
    """Split KEY=VALUE texts. A repeated key is an error, because only one of its values could count."""
    pairs = [(key, value) for key, _, value in (text.partition("=") for text in texts)]
    keys = [key for key, _ in pairs if key != repeatable]
    for key in keys:
        if keys.count(key) > 1:
            raise RequestError(f"the {kind} {key!r} is given more than once.", f"Give --{kind} {key}=VALUE once.")
    return pairs


async def check_collection(engine: "Engine", request: "AskInput") -> None:
    """Check that the name of the collection is not mistyped. Any other unknown name is a refusal (R1-2).

    Raises:
        RequestError: There is no such collection, and one with a similar name. The message names it.
    """
    name = request.get("collection") or engine.ports.defaults.collection
    nearest = await engine.nearest_collection(name) if name else None
    if nearest:
        raise RequestError(
            f"there is no collection {name!r}. Did you mean {nearest!r}?",
            f"Try --collection {nearest}. `sourcebound collections` lists all.",
            code="COLLECTION_MISTYPED",
        )


def read_presentation(name: str | None, *, as_json: bool) -> "Presentation | None":
    """Look up a presentation by name (R6-8).

    Raises:
        RequestError: The name is unknown, or --json is given too.
    """
    from sourcebound.contracts.presentation.render import PRESENTATIONS

    if name is not None and as_json:
        raise RequestError("--json and --presentation exclude each other.", "--json prints the public response.")
    for known in PRESENTATIONS:
        if known == name:
            return known
    if name is not None:
        raise RequestError(
            f"there is no presentation {name!r}.",
            f"Choose one of {', '.join(PRESENTATIONS)}.",
            code="UNKNOWN_PRESENTATION",
        )
    return None
