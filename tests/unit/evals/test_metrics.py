"""The measures of a ranking against values computed by hand."""

from math import log2, sqrt
from pathlib import Path

import pytest

from sourcebound.evals.metrics import (
    Span,
    align,
    estimate,
    ndcg,
    paired_difference,
    rank_once,
    recall,
    reciprocal_rank,
    share_by_group,
    span_precision,
    span_recall,
)
from sourcebound.evals.retrieval import read_records

GRADED = {"a": 3.0, "b": 2.0, "c": 0.0, "d": 1.0}


def test_a_document_ranks_where_its_best_chunk_does() -> None:
    assert rank_once(["b", "a", "b", "c", "a"]) == ("b", "a", "c")
    assert rank_once([]) == ()


@pytest.mark.parametrize(
    ("ranked", "k", "expected"),
    [
        ("abd", 10, 1.0),
        ("bad", 10, (2 + 3 / log2(3) + 1 / 2) / (3 + 2 / log2(3) + 1 / 2)),
        ("cab", 3, (3 / log2(3) + 2 / 2) / (3 + 2 / log2(3) + 1 / 2)),
        ("xxa", 2, 0.0),
        ("da", 2, (1 + 3 / log2(3)) / (3 + 2 / log2(3))),
        ("a", 10, 3 / (3 + 2 / log2(3) + 1 / 2)),
        ("", 10, 0.0),
    ],
)
def test_ndcg_has_linear_gains_over_the_best_order_of_as_many(ranked: str, k: int, expected: float) -> None:
    assert ndcg(list(ranked), GRADED, k) == pytest.approx(expected)


def test_ndcg_does_not_care_for_the_order_of_equal_grades() -> None:
    equal = {"a": 1.0, "b": 1.0}
    assert ndcg(["a", "b"], equal, 10) == ndcg(["b", "a"], equal, 10) == 1.0
    assert ndcg(["x", "b"], equal, 10) == pytest.approx((1 / log2(3)) / (1 + 1 / log2(3)))


def test_ndcg_of_many_relevant_documents_reaches_1_within_k() -> None:
    many = {str(number): 1.0 for number in range(20)}
    assert ndcg([str(number) for number in range(5)], many, 5) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("ranked", "k", "expected"),
    [("abd", 10, 1.0), ("xabd", 3, 2 / 3), ("cxx", 3, 0.0), ("a", 10, 1 / 3), ("", 10, 0.0), ("bda", 1, 1 / 3)],
)
def test_recall_is_the_share_of_the_relevant_that_were_found(ranked: str, k: int, expected: float) -> None:
    assert recall(list(ranked), GRADED, k) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("ranked", "k", "expected"),
    [("abd", 10, 1.0), ("cxb", 10, 1 / 3), ("cxb", 2, 0.0), ("", 10, 0.0), ("cc", 10, 0.0)],
)
def test_the_reciprocal_rank_is_that_of_the_first_relevant(ranked: str, k: int, expected: float) -> None:
    assert reciprocal_rank(list(ranked), GRADED, k) == pytest.approx(expected)


@pytest.mark.parametrize("relevance", [{}, {"a": 0.0}])
def test_where_nothing_is_relevant_every_measure_is_0(relevance: dict[str, float]) -> None:
    assert ndcg(["a"], relevance, 10) == 0.0
    assert recall(["a"], relevance, 10) == 0.0
    assert reciprocal_rank(["a"], relevance, 10) == 0.0


def test_spans_count_each_character_once_and_only_in_its_own_document() -> None:
    wanted = [Span("a", 10, 20), Span("a", 15, 30)]
    retrieved = [Span("a", 0, 15), Span("a", 5, 15), Span("b", 10, 30)]
    assert span_recall(retrieved, wanted) == pytest.approx(5 / 20)
    assert span_precision(retrieved, wanted) == pytest.approx(5 / 35)
    assert span_recall([Span("a", 0, 100)], wanted) == 1.0
    assert span_precision([Span("a", 12, 18)], wanted) == 1.0


def test_no_spans_are_no_division_by_zero() -> None:
    assert span_recall([Span("a", 0, 5)], []) == 0.0
    assert span_precision([], [Span("a", 0, 5)]) == 0.0


def test_the_bootstrap_error_of_a_mean_is_near_the_formula() -> None:
    values = [0.0, 1.0] * 100
    found = estimate(values)
    assert found.mean == 0.5
    assert found.error == pytest.approx(0.5 / sqrt(200), rel=0.08)
    assert estimate(values) == found
    assert estimate([0.25] * 9) == (0.25, 0.0)
    assert estimate([]) == (0.0, 0.0)


def test_a_paired_difference_is_taken_question_by_question() -> None:
    first, second = [0.9, 0.5, 0.1, 0.7], [0.8, 0.4, 0.0, 0.6]
    found = paired_difference(first, second)
    assert found.mean == pytest.approx(0.1)
    assert found.error < 1e-9 < estimate(first).error
    assert paired_difference(first, first) == (0.0, 0.0)
    with pytest.raises(ValueError, match="shorter"):
        paired_difference(first, second[:3])


def test_a_text_is_found_again_behind_its_markup() -> None:
    original = "# Title\n\nOne  *two*\r\nthree."
    text = "Title\nOne two\nthree."
    offsets = align(text, original)
    assert [original[offset] for offset, character in zip(offsets, text, strict=True) if character.strip()] == [
        character for character in text if character.strip()
    ]
    assert offsets == sorted(offsets)
    assert original[offsets[text.index("two")] :].startswith("two*")


def test_a_text_of_something_else_is_not_aligned() -> None:
    with pytest.raises(ValueError, match="are not in the original"):
        align("zzz", "abc")
    with pytest.raises(ValueError, match="are not in the original"):
        align("b", "a" * 60 + "b")
    assert align("b", "a" * 59 + "b") == [59]


def test_a_record_ends_at_a_line_feed_alone(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(
        '{"text": "one\u2028two\x85three\u2029four"}\r\n\n{"text": "five\x0csix"}\n'.replace("\x0c", "\\f"), "utf-8"
    )
    assert [record["text"] for record in read_records(path)] == ["one\u2028two\x85three\u2029four", "five\x0csix"]


def test_a_share_by_group_varies_with_the_groups_and_not_with_the_items() -> None:
    assert share_by_group([(1, 2), (2, 2)]).mean == 0.75
    assert share_by_group([]) == (0.0, 0.0, 0.0)
    assert share_by_group([(5, 5)] * 9) == (1.0, 1.0, 1.0)
    even, uneven = share_by_group([(5, 10)] * 20), share_by_group([(0, 10), (10, 10)] * 10)
    assert even == (0.5, 0.5, 0.5)
    assert uneven.low < 0.35 < 0.65 < uneven.high
