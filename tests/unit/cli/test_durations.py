"""Durations: three units, and everything else is said to be none."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.cli.options import parse_duration


@given(st.integers(0, 9999), st.sampled_from([("h", 1), ("d", 24), ("w", 168)]))
def test_a_duration_is_its_number_of_its_unit(number: int, unit: tuple[str, int]) -> None:
    assert parse_duration(f" {number}{unit[0]} ") == timedelta(hours=number * unit[1])


@pytest.mark.parametrize(
    "text", ["", "30", "d", "30 d", "-1d", "1.5d", "30D", "1d12h", "30m", "10000d", "٣d", "30d\nx", "1e3d", "∞w"]
)
def test_anything_else_is_none_and_the_message_says_how_to_write_one(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration: write a whole number \(max 9999\) followed by h, d or w"):
        parse_duration(text)
