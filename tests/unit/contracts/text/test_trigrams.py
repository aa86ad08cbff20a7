"""R2-S4: two texts are compared by their trigrams, whatever the pre-filter says."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sourcebound.contracts.text import trigrams as overlap
from sourcebound.contracts.text.trigrams import NearDuplicateFilter, is_near_duplicate, trigram_set, word_trigrams

WORDS = st.sampled_from(
    ["seal", "Seal", "pump", "the", "of", "12", "größe", "GRÖSSE", "a_b", "x-y", ",", "№", "a{b", "a`b", "a^b~"]
)
TEXTS = st.lists(WORDS, max_size=14).map(" ".join)
THRESHOLDS = st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 2 / 3, 0.8, 1.0])


def _trigrams(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    if len(words) < 3:
        return {tuple(words)} if words else set()
    return {tuple(words[start : start + 3]) for start in range(len(words) - 2)}


def _ratio(first: str, second: str) -> float:
    one, other = _trigrams(first), _trigrams(second)
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0


@pytest.mark.contract("R2-S4")
@given(first=TEXTS, second=TEXTS, threshold=THRESHOLDS)
@example(first="", second="seal", threshold=0.0)
def test_texts_overlap_where_the_ratio_of_their_trigrams_reaches_the_threshold(
    first: str, second: str, threshold: float
) -> None:
    assert word_trigrams(first) == _trigrams(first)
    assert is_near_duplicate(trigram_set(first), trigram_set(second), threshold) == (_ratio(first, second) >= threshold)


@pytest.mark.contract("R2-S4")
@given(first=TEXTS, second=TEXTS, threshold=THRESHOLDS, hashes=st.integers(1, 4))
def test_trigrams_that_share_a_hash_change_nothing(first: str, second: str, threshold: float, hashes: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlap, "hash", lambda trigram: len("".join(trigram)) % hashes, raising=False)
        assert is_near_duplicate(trigram_set(first), trigram_set(second), threshold) == (
            _ratio(first, second) >= threshold
        )


@pytest.mark.contract("R2-S4")
def test_many_shared_trigrams_of_one_hash_are_not_taken_for_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "hash", lambda trigram: max(ord(trigram[-1]), ord("d")), raising=False)
    first, second = (
        trigram_set("a b c d e f g h i j w x"),
        trigram_set("a b c d e f g h i j y z"),
    )  # eight of ten are shared
    assert len(first.hashes & second.hashes) / len(first.hashes) < 0.8
    assert is_near_duplicate(first, second, 0.8)
    distinct = NearDuplicateFilter(0.8)
    assert [distinct.add(text.text) for text in (first, second)] == [True, False]


@pytest.mark.contract("R2-S4")
def test_texts_that_share_no_trigram_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = trigram_set("the seal of the pump is worn"), trigram_set("a filter of the pump is new")
    monkeypatch.delattr(overlap, "word_trigrams")
    assert not is_near_duplicate(first, second, 0.8)


@pytest.mark.contract("R2-S4")
def test_a_text_is_counted_once_however_many_it_is_compared_with(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = list[str]()

    def count(text: str) -> frozenset[overlap.Trigram]:
        counted.append(text)
        return word_trigrams(text)

    monkeypatch.setattr(overlap, "word_trigrams", count)
    texts = [trigram_set(f"n/a n/a n/a n/a n/a n/a n/a n/a {number} n/a") for number in range(5)]
    assert all(is_near_duplicate(one, other, 0.2) for one in texts for other in texts)
    assert sorted(counted) == sorted(text.text for text in texts)


@pytest.mark.contract("R2-S4")
@given(texts=st.lists(TEXTS, max_size=6), threshold=THRESHOLDS, hashes=st.sampled_from([1, 2, 4, 1 << 60]))
@example(texts=["", "seal", "seal"], threshold=0.8, hashes=1 << 60)
@example(texts=["seal", "", ""], threshold=0.0, hashes=1 << 60)
@example(texts=["the seal of the pump", "seal of the", "12 x-y"], threshold=0.8, hashes=1 << 60)
@example(texts=["seal of the", "12 x-y a_b pump", "the seal of the pump"], threshold=0.8, hashes=1 << 60)
@example(texts=["the seal of the", "seal of the pump"], threshold=0.5, hashes=1 << 60)
def test_a_text_is_added_where_it_overlaps_none_of_those_before_it(
    texts: list[str], threshold: float, hashes: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlap, "hash", lambda trigram: hash(trigram) % hashes, raising=False)
        distinct, kept = NearDuplicateFilter(threshold), list[str]()
        for text in texts:
            is_new = all(_ratio(text, other) < threshold for other in kept)
            assert distinct.add(text) == is_new
            kept += [text] if is_new else []


@pytest.mark.contract("R2-S4")
def test_a_text_that_shares_little_with_all_of_them_is_not_compared_with_each(monkeypatch: pytest.MonkeyPatch) -> None:
    distinct = NearDuplicateFilter(0.8)
    assert distinct.add("the seal of the pump is worn")
    monkeypatch.delattr(overlap, "is_near_duplicate")
    assert distinct.add("a filter of the pump is new")
    assert distinct.add("the valve of the tank is open")
    with pytest.raises(NameError):
        distinct.add("the seal of the pump is worn now")
