"""The serialization of a state: strict msgpack, with long values compressed (CP-2).

The serializer knows no class of this project and never unpickles. State is JSON-ready, so a class in it is an error
here, not a surprise when an old run is read. The evidence of a run is in its state three times; compressed here, it
takes less space than PostgreSQL's own compression, and a fraction of the time.
"""

import threading
from typing import Any, Final

import zstandard
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

PLAIN: Final = "msgpack"
PACKED: Final = "msgpack+zstd"
LONG: Final = 2000
"""The size in bytes from which PostgreSQL would compress a row."""
_own: Final = threading.local()


class StateSerializer(JsonPlusSerializer):
    """LangGraph's serializer in strict mode, with compression of long values."""

    def __init__(self) -> None:
        super().__init__(pickle_fallback=False, allowed_msgpack_modules=None)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return the type and the bytes of a value."""
        kind, payload = super().dumps_typed(obj)
        return (PACKED, _compressor().compress(payload)) if kind == PLAIN and len(payload) >= LONG else (kind, payload)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Restore a value.

        Raises:
            ValueError: The bytes are damaged.
        """
        kind, payload = data
        if kind != PACKED:
            return super().loads_typed(data)
        try:
            return super().loads_typed((PLAIN, zstandard.decompress(payload)))
        except zstandard.ZstdError as error:
            raise ValueError("the value is damaged") from error


def _compressor() -> zstandard.ZstdCompressor:
    """Return the compressor of this thread; it must not be shared, and is costly to create."""
    if not hasattr(_own, "compressor"):
        _own.compressor = zstandard.ZstdCompressor(level=1, write_checksum=True)
    compressor: zstandard.ZstdCompressor = _own.compressor
    return compressor
