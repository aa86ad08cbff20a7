"""The base of every contract model: frozen, and closed to fields that the contract does not name."""

from pydantic import BaseModel, ConfigDict


class Contract(BaseModel):
    """An immutable value of a layer's contract; unknown fields are an error, not a surprise later."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
