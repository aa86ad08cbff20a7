"""The base of every contract model: frozen, and closed to fields that the contract does not name."""

from collections.abc import Mapping
from typing import Any, Self, SupportsIndex

from pydantic import BaseModel, ConfigDict


class Form(dict[str, Any]):
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

    def to_form(self) -> Form:
        """Its JSON form, to be written into a channel."""
        return Form(self.model_dump(mode="json"))

    @classmethod
    def from_form(cls, form: Mapping[str, Any] | None) -> Self:
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
        if isinstance(form, Form):
            form.read = model
        return model
