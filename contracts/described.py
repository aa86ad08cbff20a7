"""JSON schemas for values that stay plain dicts: a form shows what a field may hold, and nothing is validated by it."""

from collections.abc import Sequence
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


class Described:
    """Annotates a field with the JSON schema of another type.

    Args:
        described: The type that a node will validate the value into.
        properties: Names that the value may have, where the type itself does not say.
    """

    def __init__(self, described: Any, properties: Sequence[str] = ()) -> None:
        self._described = described
        self._properties = properties

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The schema of the annotated type itself, so that nothing is validated."""
        return handler(source)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of the described type."""
        form = handler(TypeAdapter(self._described).core_schema)
        if self._properties:
            number = form.pop("additionalProperties")
            form |= {"properties": dict.fromkeys(self._properties, number), "additionalProperties": False}
        return form
