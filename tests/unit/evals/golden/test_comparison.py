"""Two evaluations are compared on the same items, and a change needs the right comparison."""

from pathlib import Path

import pytest

from sourcebound.cli.evals.compare import render
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.errors import RequestError
from sourcebound.evals.golden.comparison import (
    Comparison,
    check_index_change,
    check_policy_change,
    compare,
    find_predecessor,
    read_comparison,
)
from sourcebound.evals.golden.results import ItemResult
from support.golden import circumstances, item_result, refused_result

OLD, NEW = load_shipped_policy("SOURCEBOUND_V1"), load_shipped_policy("SOURCEBOUND_V2")


def compared(first: list[ItemResult], second: list[ItemResult]) -> Comparison:
    before = circumstances(policy_version=OLD.policy_version, policy_sha256=OLD.sha256)
    after = circumstances(policy_version=NEW.policy_version, policy_sha256=NEW.sha256, index_versions={"eval": "ix-2"})
    return compare(before, first, after, second)


@pytest.mark.contract("EV-2")
def test_flipped_items_are_listed_with_their_runs() -> None:
    first = [item_result("a"), item_result("b", passed=False), item_result("c"), item_result("gone")]
    lost = item_result("a", run_id="new-a", passed=False, status=Status.NO_EVIDENCE, code="model_refused")
    second = [lost, item_result("b"), item_result("c"), item_result("added")]
    found = compared(first, second)
    assert (found.items, found.only_before, found.only_after) == (3, ("gone",), ("added",))
    assert [(each.item, each.before, each.after, each.run_before, each.run_after) for each in found.lost] == [
        ("a", "passed, OK", "model_refused", "run-a", "new-a")
    ]
    assert [each.item for each in found.won] == ["b"]
    passed = next(each for each in found.differences if each.metric == "passed")
    assert (passed.items, round(passed.before, 3), round(passed.change, 3)) == (3, 0.667, 0.0)
    assert passed.low < 0 < passed.high
    assert not found.is_worse


def test_the_interval_of_a_difference_is_that_of_the_pairs() -> None:
    first = [item_result(f"{number}") for number in range(40)]
    second = [item_result(f"{number}", passed=number >= 10) for number in range(40)]
    (passed, *_) = compared(first, second).differences
    assert (passed.before, passed.after, passed.change) == (1.0, 0.75, -0.25)
    assert -0.45 < passed.low < -0.3 < passed.high < -0.1
    assert compared(first, second).is_worse
    assert not compared(second, first).is_worse


def test_a_new_hallucination_is_worse() -> None:
    first = [refused_result(f"{number}") for number in range(40)]
    second = [refused_result("0", status=Status.OK, hallucinated=True, passed=False), *first[1:]]
    assert compared(first, second).is_worse


def test_an_item_that_failed_before_and_hallucinates_now_is_worse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = [item_result(f"{number}") for number in range(40)]
    missed = item_result("a", passed=False, status=Status.NO_EVIDENCE, code="model_refused")
    wrong = item_result("a", run_id="new-a", passed=False, hallucinated=True)
    found = compared([missed, *kept], [wrong, *kept])
    assert (found.lost, found.won) == ((), ())
    assert [(each.item, each.before, each.after) for each in found.hallucinations] == [
        ("a", "model_refused", "hallucinated")
    ]
    assert found.is_worse
    render(found)
    assert "1 items hallucinated after and not before:\n  a  model_refused → hallucinated" in capsys.readouterr().out
    assert not compared([wrong, *kept], [wrong, *kept]).is_worse
    assert not compared([wrong, *kept], [missed, *kept]).is_worse


def test_an_item_that_asks_something_else_is_not_compared() -> None:
    with pytest.raises(RequestError, match="no item in common"):
        compared([item_result("a")], [item_result("a", question="Something else?")])


@pytest.mark.parametrize(
    ("name", "predecessor"),
    [
        ("MINE_V3", "MINE_V2"),
        ("MINE_V12", "MINE_V10"),
        ("MINE_V1", None),
        ("OTHER_V2", None),
        ("NOT_MINE_V2", "NOT_MINE_V1"),
    ],
)
def test_the_policy_before_a_version(name: str, predecessor: str | None) -> None:
    released = ["MINE_V1", "MINE_V2", "MINE_V9", "MINE_V10", "NOT_MINE_V1", "MINE_V20"]
    assert find_predecessor(name, released) == predecessor


@pytest.mark.contract("EV-2")
def test_a_policy_needs_the_comparison_with_the_one_before_it() -> None:
    found = compared([item_result()], [item_result()])
    check_policy_change(NEW, OLD, [found])
    with pytest.raises(RequestError, match="no comparison is given"):
        check_policy_change(NEW, OLD, [])
    with pytest.raises(RequestError, match="SOURCEBOUND_V1 was not compared with SOURCEBOUND_V2"):
        check_policy_change(OLD, NEW, [found])
    edited = NEW.model_copy(update={"description": "edited since"})
    with pytest.raises(RequestError, match="in other versions"):
        check_policy_change(edited, OLD, [found])


@pytest.mark.contract("EV-2")
def test_an_index_needs_the_comparison_with_the_one_it_replaces() -> None:
    found = compared([item_result()], [item_result()])
    check_index_change("ix-1", "ix-2", [found])
    for old, new in (("ix-2", "ix-1"), ("ix-1", "ix-3"), ("ix-0", "ix-2")):
        with pytest.raises(RequestError) as caught:
            check_index_change(old, new, [found])
        assert caught.value.failure_code == "COMPARISON_MISSING"


def test_a_file_that_is_no_comparison_says_so(tmp_path: Path) -> None:
    path = tmp_path / "comparison.json"
    with pytest.raises(RequestError, match="cannot be read"):
        read_comparison(path)
    path.write_text('{"version": "comparison_v2"}', "utf-8")
    with pytest.raises(RequestError, match="is not a comparison"):
        read_comparison(path)
    path.write_text(compared([item_result()], [item_result()]).model_dump_json(), "utf-8")
    assert read_comparison(path).items == 1
