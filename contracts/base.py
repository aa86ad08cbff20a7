"""The base of every contract model: frozen, without unknown fields.

`JsonSchemaHint` gives plain dicts a JSON schema, from which hosts build forms. It validates nothing.
"""

from collections.abc import Mapping, Sequence, Sized
from typing import Any, Self, SupportsIndex

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


class ModelJson(dict[str, Any]):
    """The JSON of a contract model, as a channel of the state holds it (CP-1).

    It caches the parsed model, so that later layers do not parse it again. The cache is neither copied nor stored: a
    copy or a checkpoint is parsed again. No layer changes such a value.
    """

    __slots__ = ("read",)
    read: object
    """The parsed model, if any layer parsed it."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """Copy as a plain dict."""
        return dict, (), None, None, iter(self.items())


class Contract(BaseModel):
    """An immutable value of a layer's contract; an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def to_json(self) -> ModelJson:
        """Return the JSON of the model, for a channel of the state."""
        return ModelJson(self.model_dump(mode="json"))

    @classmethod
    def from_json(cls, json_object: Mapping[str, Any] | None) -> Self:
        """Return the model of a JSON value, from its cache if possible.

        Args:
            json_object: The value of a channel.

        Raises:
            pydantic.ValidationError: The value does not fit this model.
        """
        cached = getattr(json_object, "read", None)
        if type(cached) is cls:
            return cached
        model = cls.model_validate(json_object)
        if isinstance(json_object, ModelJson):
            json_object.read = model
        return model


def is_absent(value: object) -> bool:
    """Whether an optional field is left out of the JSON: one that a later version added is not in earlier records."""
    return value is None


def is_empty(value: Sized) -> bool:
    """Whether an optional list is left out of the JSON, like an optional field that is absent."""
    return not value


class JsonSchemaHint:
    """An annotation that gives a field the JSON schema of another type.

    Args:
        described: The type into which a node validates the value.
        properties: Allowed keys, if the type itself does not list them.
    """

    def __init__(self, described: Any, properties: Sequence[str] = ()) -> None:
        self._described = described
        self._properties = properties

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the annotated type, so that nothing is validated."""
        return handler(source)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema of the described type."""
        json_object = handler(TypeAdapter(self._described).core_schema)
        if self._properties:
            number = json_object.pop("additionalProperties")
            json_object |= {"properties": dict.fromkeys(self._properties, number), "additionalProperties": False}
        return json_object
