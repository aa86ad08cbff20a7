"""The stored state: plain values in LangGraph's own form, and never a class (CP-1, CP-2, CP-9)."""

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from sourcebound.graph import serializer
from sourcebound.graph.serializer import COMPRESSED, StateSerializer

SERIALIZER = StateSerializer()
TEXT = {"text": "The shaft of a stored HP-200 is turned by hand every 14 days. " * 50}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def _compressed(value: object) -> tuple[str, bytes]:
    """Return a value as an earlier version stored it."""
    return COMPRESSED, zstandard.ZstdCompressor(write_checksum=True).compress(SERIALIZER.dumps_typed(value)[1])


@pytest.mark.contract("CP-1")
@pytest.mark.contract("CP-9")
@given(value=JSON, length=st.integers(0, 80))
def test_a_value_comes_back_as_it_was_by_the_stock_serializer_too(value: object, length: int) -> None:
    state = {"value": value, "text": "\x00 every 14 days " * length * 10}
    stored = SERIALIZER.dumps_typed(state)
    assert SERIALIZER.loads_typed(stored) == state
    assert JsonPlusSerializer().loads_typed(stored) == state


@pytest.mark.contract("CP-10")
def test_a_value_that_an_earlier_version_compressed_is_read() -> None:
    assert SERIALIZER.loads_typed(_compressed(TEXT)) == TEXT


@pytest.mark.contract("CP-3")
@pytest.mark.parametrize("place", [0, 10, -1])
def test_a_compressed_value_of_which_a_byte_was_changed_is_damaged(place: int) -> None:
    kind, compressed = _compressed(TEXT)
    changed = bytearray(compressed)
    changed[place] ^= 1
    with pytest.raises(ValueError, match=r"damaged|more than"):
        SERIALIZER.loads_typed((kind, bytes(changed)))


@pytest.mark.contract("S-4")
def test_a_value_is_decompressed_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serializer, "MAX_BYTES", 1000)
    with pytest.raises(ValueError, match="more than 1000 bytes"):
        SERIALIZER.loads_typed(_compressed(TEXT))


@pytest.mark.contract("S-4")
@pytest.mark.parametrize(
    "stored",
    [("pickle", b"\x80\x04N."), ("msgpack", b"\xc1"), ("json", b"{"), ("msgpack", b"\xdc\xff"), ("unknown", b"")],
    ids=["pickle", "no msgpack", "no json", "cut off", "unknown"],
)
def test_a_value_that_no_run_writes_is_one_kind_of_error(stored: tuple[str, bytes]) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        SERIALIZER.loads_typed(stored)
