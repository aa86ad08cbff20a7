"""The token estimate: deterministic, and not under what real tokenizers count (R2-S7, R3-6)."""

from itertools import product
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.text import tokens as of_tokens
from sourcebound.contracts.text.tokens import CACHED_LENGTHS, PIECE, _piece_cost, estimate_tokens, token_cost

PUBLISHED = [
    # OpenAI's cookbook, "How to count tokens with tiktoken", cl100k_base
    ("antidisestablishmentarianism", 6),
    ("2 + 2 = 4", 7),
    ("お誕生日おめでとう", 9),
]


@pytest.mark.contract("R3-6")
@pytest.mark.parametrize(("text", "tokens"), PUBLISHED)
def test_the_estimate_is_not_under_a_published_count(text: str, tokens: int) -> None:
    assert tokens <= estimate_tokens(text) <= 2 * tokens


@pytest.mark.contract("R2-S7")
def test_nothing_costs_nothing() -> None:
    assert estimate_tokens("") == 0


@pytest.mark.contract("R2-S7")
@given(st.text(min_size=1).filter(lambda text: bool(text.strip())))
def test_anything_visible_costs_something_and_twice_as_much_is_not_cheaper(text: str) -> None:
    once = estimate_tokens(text)
    assert isinstance(once, int)
    assert once >= 1
    assert estimate_tokens(text + "\n" + text) >= once


@pytest.mark.contract("R2-S7")
@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=30))
def test_digits_cost_a_token_for_every_three_at_least(numbers: list[int]) -> None:
    text = ", ".join(map(str, numbers))
    assert estimate_tokens(text) >= sum(ceil(len(str(number)) / 3) for number in numbers)


@pytest.mark.contract("R2-S7")
@given(st.text(alphabet=st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1))
def test_letters_of_a_dense_script_cost_a_token_each(text: str) -> None:
    assert estimate_tokens(text) >= len(text)


@pytest.mark.parametrize(
    ("text", "least"),
    [("PUMP", 2), ("a   b", 3), ("a\nb", 3), ("!?!?", 4), ("unbelievably", 2), ("HTTPSERVERERROR", 5)],
)
def test_what_tokenizers_split_is_counted_in_pieces(text: str, least: int) -> None:
    assert estimate_tokens(text) >= least


@pytest.mark.contract("R2-S7")
def test_a_text_costs_what_its_pieces_cost() -> None:
    for size in range(6):
        for text in map("".join, product("aZ1 \t\n\r.", repeat=size)):
            assert token_cost(text) == sum(map(_piece_cost, PIECE.findall(text))), text


@pytest.mark.contract("R2-S7")
@pytest.mark.parametrize("size", [CACHED_LENGTHS.start - 1, CACHED_LENGTHS.start, CACHED_LENGTHS.stop])
def test_a_line_costs_the_same_whether_it_is_kept_or_not(size: int) -> None:
    line = ("The seal, no. 12, is WORN.  " * size)[:size]
    assert token_cost(line) == token_cost(line) == sum(map(_piece_cost, PIECE.findall(line)))


def test_lines_that_are_long_or_never_end_are_not_kept() -> None:
    of_tokens._cached_line_cost.cache_clear()
    text = "Seal 12 is worn now. " * 400
    for end in range(len(text) - 50, len(text)):
        token_cost(text[:end])
    assert of_tokens._cached_line_cost.cache_info().currsize == 0
    token_cost(text[: CACHED_LENGTHS.start])
    assert of_tokens._cached_line_cost.cache_info().currsize == 1
    assert of_tokens._cached_line_cost.cache_info().maxsize


def test_no_more_words_are_kept_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_tokens, "CACHED_PIECES", 10)
    costs = of_tokens._SpacedCosts()
    for number in range(100):
        assert costs[f"pump{number}"] == costs[f"pump{number}"] == token_cost(f" pump{number}")
        assert len(costs) <= 10
