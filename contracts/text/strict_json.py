"""Reads JSON from a model, whole or not at all (R5-10, R3-9).

Nothing is repaired: a code fence, a word around the JSON, a repeated key, NaN, an extra field or another type makes the
whole text invalid, because a dropped or repaired row is a row that the model did not write.
"""

import json
from typing import Any, Final, NoReturn, TypeVar, cast

from pydantic import ValidationError

from sourcebound.contracts.base import Contract
from sourcebound.contracts.text.sanitize import to_storable

Model = TypeVar("Model", bound=Contract)
DESCRIPTION_KEYS: Final = ("title", "description")
"""The keys that pydantic writes into a schema for readers."""
MAX_REASON_CHARACTERS: Final = 200
"""The most characters of a reason that a violation keeps."""


def read_strict(raw: str, model: type[Model]) -> Model | str:
    """Read a model's text as one JSON value of a contract.

    Args:
        raw: The raw text.
        model: The contract of the value.

    Returns:
        The value, or the reason why it is invalid, as a text that can be stored.
    """
    try:
        value = json.loads(raw, object_pairs_hook=_reject_repeated_keys, parse_constant=_reject_constant)
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        location = ".".join(str(part) for part in first["loc"])
        reason = ": ".join(filter(None, (location, first["msg"])))
    except RecursionError:
        reason = "the JSON is nested too deeply"
    except ValueError as error:
        reason = str(error)
    storable_reason: str = to_storable(reason)
    return storable_reason[:MAX_REASON_CHARACTERS]


def bare_schema(model: type[Contract]) -> dict[str, Any]:
    """Return the JSON schema of a contract, for providers that accept one (R3-7).

    It has no title and no description, because a model would read them and they are not in the prompt (R4-1).
    """
    return cast("dict[str, Any]", _drop_descriptions(model.model_json_schema()))


def _drop_descriptions(schema: Any) -> Any:
    if isinstance(schema, dict):
        values = {
            key: value for key, value in schema.items() if not (key in DESCRIPTION_KEYS and isinstance(value, str))
        }
        return {key: _drop_descriptions(value) for key, value in values.items()}
    return [_drop_descriptions(item) for item in schema] if isinstance(schema, list) else schema


def _reject_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("the JSON has a key twice")
    return value


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
