"""The stored state: plain values, compressed if they are long, and never a class (CP-1, CP-2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.graph.serializer import LONG, PACKED, PLAIN, StateSerializer

SERIALIZER = StateSerializer()
TEXT = "The shaft of a stored HP-200 is turned by hand every 14 days. " * 50
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.contract("CP-1")
@given(value=JSON, length=st.integers(0, 80))
def test_a_value_comes_back_as_it_was_however_long_it_is(value: object, length: int) -> None:
    state = {"value": value, "text": "\x00 every 14 days " * length * 10}
    assert SERIALIZER.loads_typed(SERIALIZER.dumps_typed(state)) == state


@pytest.mark.contract("CP-2")
def test_long_values_are_packed_and_earlier_ones_are_read_as_they_are() -> None:
    (short, _), (long, packed) = SERIALIZER.dumps_typed({"text": "x"}), SERIALIZER.dumps_typed({"text": TEXT})
    assert (short, long, len(packed) < LONG < len(TEXT)) == (PLAIN, PACKED, True)
    plain = super(StateSerializer, SERIALIZER).dumps_typed({"text": TEXT})
    assert (plain[0], SERIALIZER.loads_typed(plain)) == (PLAIN, {"text": TEXT})


@pytest.mark.contract("CP-3")
@pytest.mark.parametrize("place", [0, 10, -1])
def test_a_packed_value_of_which_a_byte_was_changed_is_damaged(place: int) -> None:
    kind, packed = SERIALIZER.dumps_typed({"text": TEXT})
    changed = bytearray(packed)
    changed[place] ^= 1
    with pytest.raises(ValueError, match="damaged"):
        SERIALIZER.loads_typed((kind, bytes(changed)))
