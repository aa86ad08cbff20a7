"""S-4: the form of a request, checked at the door before anything of it is stored.

A value that no record can hold (a number that is not finite, an object of a program, endless nesting) is replaced by a
text that says so; the layer that reads the field then fails the run with its name. A field that no request has, or an
identity of the wrong type, is an error: no run can be recorded under it.
"""

import re
from collections.abc import Mapping
from datetime import date
from math import isfinite
from typing import Any, Final, cast

from sourcebound.contracts.response.chat_messages import merge_messages
from sourcebound.contracts.state import AskInput
from sourcebound.contracts.text.sanitize import to_storable

FIELDS: Final = tuple(AskInput.__annotations__)
IDENTITIES: Final = ("request_id", "run_id", "conversation_id")
"""Fields that name a record."""
MAX_DEPTH: Final = 100
"""The most levels of lists and objects in a field."""
MAX_BITS: Final = 63
"""The most bits of an integer, without its sign."""


def find_form_error(request: Mapping[str, object]) -> str | None:
    """Return why no run can be recorded for a request; None if one can.

    Args:
        request: The input of a caller.
    """
    unknown = [name for name in request if name not in FIELDS]
    if unknown:
        return f"the request has an unknown field {unknown[0]!r}; the fields are {', '.join(FIELDS)}"
    for name in IDENTITIES:
        if not isinstance(request.get(name), str | None):
            return f"the field {name} is not a text"
    messages: Any = request.get("messages")
    try:
        merge_messages(None, messages or [])
    except ValueError as error:
        return f"the field messages is not a list of chat messages: {error}"
    reason = find_unstorable(messages, "messages")
    return f"the field {reason}" if reason else None


def to_recordable(request: Mapping[str, object]) -> AskInput:
    """Return a request as it can be stored: unstorable characters are gone, dates are texts, unstorable fields say so.

    Args:
        request: The input of a caller, without a form error.

    Returns:
        The same fields. A field that cannot be stored is a text with the place and the reason.
    """
    fields = {name: _recordable(value) for name, value in request.items()}
    return cast("AskInput", fields)


def find_unstorable(value: object, place: str = "", depth: int = 0) -> str | None:
    """Return the place and kind of the first part of a value that a record cannot hold; None if it can hold all."""
    name = place or "the value"
    if depth > MAX_DEPTH:
        return f"{re.split(r'[.[]', place)[0] or 'the value'} is nested deeper than {MAX_DEPTH} levels"
    if value is None or isinstance(value, str | bool | date):
        return None
    if isinstance(value, int):
        return f"{name} is an integer of over {MAX_BITS} bits" if value.bit_length() > MAX_BITS else None
    if isinstance(value, float):
        return None if isfinite(value) else f"{name} is a number that is not finite"
    if isinstance(value, list | tuple):
        parts: Any = ((f"{place}[{index}]", item) for index, item in enumerate(value))
    elif isinstance(value, dict) and all(isinstance(field, str) for field in value):
        parts = ((f"{place}.{field}" if place else field, item) for field, item in value.items())
    else:
        return f"{name} is of the type {type(value).__name__}, which JSON does not have"
    return next((found for part, item in parts if (found := find_unstorable(item, part, depth + 1))), None)


def _recordable(value: object) -> object:
    reason = find_unstorable(value)
    return to_storable(_plain(value)) if reason is None else reason


def _plain(value: object) -> object:
    """Return a storable value with lists for tuples and texts for dates."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value.isoformat() if isinstance(value, date) else value
