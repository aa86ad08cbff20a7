"""JSON that a model wrote, read whole or not at all (contract R5-10, R3-9).

Nothing is mended: a code fence, a word around the JSON, a key twice, NaN, a field too many or of another type makes the
whole text invalid, because a row that was dropped or repaired is a row that nobody wrote.
"""

import json
from typing import Any, Final, NoReturn, TypeVar, cast

from pydantic import ValidationError

from sourcebound.contracts.base import Contract
from sourcebound.contracts.text.sanitize import to_storable

Model = TypeVar("Model", bound=Contract)
WORDS: Final = ("title", "description")
"""What pydantic writes into a schema for people."""
SHOWN: Final = 200
"""Characters of an explanation that a violation keeps."""


def read_strict(raw: str, model: type[Model]) -> Model | str:
    """Reads a model's text as one JSON value of a contract.

    Args:
        raw: The text as it came.
        model: What it must be.

    Returns:
        The value; or why there is none, as a text that can be stored.
    """
    try:
        value = json.loads(raw, object_pairs_hook=_unique, parse_constant=_reject_constant)
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        reason = ": ".join(filter(None, (where, first["msg"])))
    except RecursionError:
        reason = "the JSON is nested too deeply"
    except ValueError as error:
        reason = str(error)
    shown: str = to_storable(reason)
    return shown[:SHOWN]


def bare_schema(model: type[Contract]) -> dict[str, Any]:
    """The JSON schema of a contract, for providers that take one (R3-7).

    It has no title and no description: a model would read them, and they are not in the prompt (R4-1).
    """
    return cast("dict[str, Any]", _without_words(model.model_json_schema()))


def _without_words(schema: Any) -> Any:
    if isinstance(schema, dict):
        kept = {key: value for key, value in schema.items() if not (key in WORDS and isinstance(value, str))}
        return {key: _without_words(value) for key, value in kept.items()}
    return [_without_words(item) for item in schema] if isinstance(schema, list) else schema


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("the JSON has a key twice")
    return value


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
