"""The base of every contract model: frozen, and closed to fields that the contract does not name.

JSON schemas for values that stay plain dicts: a form shows what a field may hold, and nothing is validated by it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self, SupportsIndex

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


class ModelJson(dict[str, Any]):
    """The JSON form of a contract model, as a channel of the state holds it (CP-1).

    What a layer has read of it is kept beside it, so that no layer after it need read the same again. That goes with no
    copy, and a checkpoint stores the form alone: whoever goes on from either reads it anew. A layer changes no form.
    """

    __slots__ = ("read",)
    read: object

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """As a plain dict, for whoever copies it."""
        return dict, (), None, None, iter(self.items())


class Contract(BaseModel):
    """An immutable value of a layer's contract; unknown fields are an error, not a surprise later."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def to_json(self) -> ModelJson:
        """Its JSON form, to be written into a channel."""
        return ModelJson(self.model_dump(mode="json"))

    @classmethod
    def from_json(cls, form: Mapping[str, Any] | None) -> Self:
        """The model of a JSON form; of one that this model was read of before, what was read.

        Args:
            form: What a channel holds.

        Raises:
            pydantic.ValidationError: It is no form of this model.
        """
        known = getattr(form, "read", None)
        if type(known) is cls:
            return known
        model = cls.model_validate(form)
        if isinstance(form, ModelJson):
            form.read = model
        return model


class JsonSchemaHint:
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
