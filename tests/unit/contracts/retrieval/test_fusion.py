"""R1-4 … R1-6: rankings become one, by rank alone, whatever their order; then what is alike makes room."""

from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.retrieval.fusion import (
    Ranking,
    diversify,
    fuse_reciprocal_rank,
    fuse_scores,
    merge_best,
    relevance_of,
)

ITEMS = st.lists(st.sampled_from("abcdefgh"), unique=True)
WEIGHTS = st.sampled_from([0.1, 0.3, 1.0, 1.5, 7.0])
RANKINGS = st.lists(st.builds(Ranking, ITEMS, WEIGHTS), max_size=6)


@pytest.mark.contract("R1-5")
@given(rankings=RANKINGS, k=st.integers(1, 60))
def test_an_item_scores_its_weighted_reciprocal_ranks(rankings: list[Ranking], k: int) -> None:
    fused = fuse_reciprocal_rank(rankings, k)
    for item, score in fused.items():
        assert score == fsum(
            ranking.weight / (k + ranking.items.index(item) + 1) for ranking in rankings if item in ranking.items
        )
    assert set(fused) == {item for ranking in rankings for item in ranking.items}
    assert list(fused) == sorted(fused, key=lambda item: (-fused[item], item))


@pytest.mark.contract("R1-5")
@given(rankings=RANKINGS, mixed=st.randoms())
def test_the_order_of_the_rankings_does_not_matter(rankings: list[Ranking], mixed: object) -> None:
    shuffled = sorted(rankings, key=lambda _: mixed.random())  # type: ignore[attr-defined]
    assert list(fuse_reciprocal_rank(rankings, 20).items()) == list(fuse_reciprocal_rank(shuffled, 20).items())


@pytest.mark.contract("R1-5")
def test_a_heavier_list_decides_between_two_first_places() -> None:
    def first(dense: float, lexical: float) -> str:
        return next(iter(fuse_reciprocal_rank([Ranking("ab", dense), Ranking("ba", lexical)], 20)))

    assert (first(1.0, 1.5), first(1.5, 1.0), first(1.0, 1.0)) == ("b", "a", "a")


@pytest.mark.contract("R1-5")
def test_scores_are_added_by_weight_and_a_list_that_lacks_an_item_adds_nothing() -> None:
    fused = fuse_scores([({"a": 0.8, "b": 0.4, "d": 0.4}, 0.5), ({"b": 1.0, "c": 0.2}, 0.25)])
    assert list(fused.items()) == [("b", 0.45), ("a", 0.4), ("d", 0.2), ("c", 0.05)]
    assert list(fuse_scores([({"y": 0.5}, 1.0), ({"x": 0.5}, 1.0)])) == ["x", "y"]


def test_a_small_constant_lets_first_places_win_and_a_large_one_agreement() -> None:
    rankings = [Ranking("auvb"), Ranking("cwxb")]
    assert next(iter(fuse_reciprocal_rank(rankings, 60))) == "b"
    assert list(fuse_reciprocal_rank(rankings, 1))[:2] == ["a", "c"]


@pytest.mark.contract("R1-4")
@given(lists=st.lists(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([-1.0, 0.0, 0.5, 2.0]))))
def test_merged_lists_keep_the_best_score_of_each_item(lists: list[dict[str, float]]) -> None:
    given_lists = [dict(scores) for scores in lists]
    merged = merge_best(lists, 4)
    assert lists == given_lists
    best = {item: max(scores[item] for scores in lists if item in scores) for scores in lists for item in scores}
    assert list(merged.items()) == sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))[:4]
    assert merged == merge_best(lists[::-1], 4)


def test_relevance_is_a_share_of_the_best() -> None:
    assert relevance_of({"a": 0.08, "b": 0.02, "c": 0.0}) == {"a": 1.0, "b": 0.25, "c": 0.0}
    assert relevance_of({"a": 0.0}) == {"a": 0.0}
    assert relevance_of({}) == {}


def _alike(first: str, second: str) -> float:
    """Items are alike by their letter."""
    return 0.95 if first[0] == second[0] else 0.1


@pytest.mark.contract("R1-6")
@pytest.mark.parametrize(
    ("mmr_lambda", "expected"),
    [(1.0, ["a1", "a2", "b1"]), (0.9, ["a1", "a2", "b1"]), (0.6, ["a1", "b1", "c1"]), (0.0, ["a1", "b1", "c1"])],
)
def test_diversity_passes_over_what_is_like_the_chosen(mmr_lambda: float, expected: list[str]) -> None:
    relevance = {"a1": 1.0, "a2": 0.95, "b1": 0.8, "c1": 0.7}
    assert diversify(relevance, _alike, mmr_lambda, 3) == expected


@pytest.mark.contract("R1-6")
@given(st.dictionaries(st.sampled_from(["a1", "a2", "b1", "b2", "c1"]), st.floats(0, 1)), st.floats(0, 1))
def test_diversity_chooses_each_item_once_and_begins_with_the_best(scores: dict[str, float], share: float) -> None:
    ordered = dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))
    assert sorted(diversify(ordered, _alike, share, 9)) == sorted(scores)
    assert diversify(ordered, _alike, 1.0, 9) == list(ordered)
    assert diversify(ordered, _alike, share, 1) == list(ordered)[:1] or share == 0.0
