"""How a state is stored: strict msgpack, of which long values are packed (contract CP-2).

The serializer knows no class of ours and never unpickles: state is JSON-ready, and a class that strayed into it would
be an error here, not a surprise when an old run is read. The texts of a run's evidence stand in its state three times
over; packed here they take less than what PostgreSQL makes of them, and a fraction of its time.
"""

import threading
from typing import Any, Final

import zstandard
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

PLAIN: Final = "msgpack"
PACKED: Final = "msgpack+zstd"
LONG: Final = 2000
"""Bytes from which on PostgreSQL would pack a row by itself."""
_own: Final = threading.local()


class StateSerializer(JsonPlusSerializer):
    """LangGraph's serializer, strict; long values are packed."""

    def __init__(self) -> None:
        super().__init__(pickle_fallback=False, allowed_msgpack_modules=None)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The type and the bytes of a value."""
        kind, form = super().dumps_typed(obj)
        return (PACKED, _compressor().compress(form)) if kind == PLAIN and len(form) >= LONG else (kind, form)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value again.

        Raises:
            ValueError: The bytes are not those that were stored.
        """
        kind, form = data
        if kind != PACKED:
            return super().loads_typed(data)
        try:
            return super().loads_typed((PLAIN, zstandard.decompress(form)))
        except zstandard.ZstdError as error:
            raise ValueError("the value is damaged") from error


def _compressor() -> zstandard.ZstdCompressor:
    """One a thread: it may not be used by two at once, and costs more to make than to use."""
    if not hasattr(_own, "compressor"):
        _own.compressor = zstandard.ZstdCompressor(level=1, write_checksum=True)
    compressor: zstandard.ZstdCompressor = _own.compressor
    return compressor
