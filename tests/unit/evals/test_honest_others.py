"""Replies of others that were judged once before the firewall was mended for them: a gate of the release."""

import pytest

from sourcebound.evals.honest import FAITHFUL, UNFAITHFUL, render
from support.honest_replies import check_citations, verdicts_of


@pytest.mark.contract("R5-8", "R5-17")
@pytest.mark.parametrize(
    ("name", "least"),
    [("others", 451), ("further", 140), ("languages", 166), ("wording", 447), ("foreign", 30)],
)
def test_honest_replies_of_others_are_released(name: str, least: int) -> None:
    """The numbers are those reached. Raise them with the firewall, never lower them."""
    released = [item for item in verdicts_of(name) if item.reply.label == FAITHFUL and item.released]
    assert len(released) >= least, render(verdicts_of(name))


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("name", "kinds", "most"),
    [
        ("others", {"number"}, 9),
        ("further", {"number", "unit", "date"}, 2),
        ("languages", {"number", "unit_date"}, 8),
        ("wording", {"number", "unit", "date"}, 11),
        ("foreign", {"number", "unit", "date"}, 1),
    ],
)
def test_another_value_in_a_reply_of_others_is_rejected(name: str, kinds: set[str], most: int) -> None:
    """The numbers are those of the released replies. Lower them with the firewall, never raise them."""
    changed = [item for item in verdicts_of(name) if item.reply.kind in kinds]
    assert {item.reply.kind for item in changed} == kinds
    assert sum(item.released for item in changed) <= most, render(verdicts_of(name))


@pytest.mark.parametrize(
    ("name", "bundles"), [("others", 240), ("further", 80), ("languages", 30), ("wording", 160), ("foreign", 20)]
)
def test_each_bundle_has_replies_of_both_kinds(name: str, bundles: int) -> None:
    replies = [item.reply for item in verdicts_of(name)]
    assert len({reply.bundle for reply in replies}) == bundles
    for label in (FAITHFUL, UNFAITHFUL):
        assert {reply.bundle for reply in replies if reply.label == label} == {reply.bundle for reply in replies}
    check_citations(replies)
