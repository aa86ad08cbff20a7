"""The serialization of a state: LangGraph's own msgpack in strict mode, which every stock saver reads (CP-1, CP-9).

The serializer knows no class of this project and never unpickles. State is JSON-ready, so a class in it is an error
here, not a surprise when an old run is read. Earlier versions compressed long values; those stay readable.
"""

from typing import Any, Final

import zstandard
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

PLAIN: Final = "msgpack"
COMPRESSED: Final = "msgpack+zstd"
"""The type of a value that an earlier version compressed."""
MAX_BYTES: Final = 64 << 20
"""The most bytes of a decompressed value; a larger one was not written by a run."""


class StateSerializer(JsonPlusSerializer):
    """LangGraph's serializer in strict mode, which also reads the compressed values of earlier versions."""

    def __init__(self) -> None:
        super().__init__(pickle_fallback=False, allowed_msgpack_modules=None)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Restore a value.

        Raises:
            ValueError: The bytes are damaged, too large, or of a type that no run writes.
        """
        kind, payload = data
        if kind != COMPRESSED:
            return _load(super().loads_typed, data)
        return _load(super().loads_typed, (PLAIN, _decompress(payload)))


def _load(loads_typed: Any, data: tuple[str, bytes]) -> Any:
    try:
        return loads_typed(data)
    except Exception as error:  # the decoder of a foreign format raises errors of many kinds
        raise ValueError(f"the value of type {data[0]!r} cannot be read") from error


def _decompress(payload: bytes) -> bytes:
    try:
        if not 0 <= zstandard.frame_content_size(payload) <= MAX_BYTES:
            raise ValueError(f"the value has more than {MAX_BYTES} bytes, or does not say how many")
        return zstandard.decompress(payload)
    except zstandard.ZstdError as error:
        raise ValueError("the value is damaged") from error
