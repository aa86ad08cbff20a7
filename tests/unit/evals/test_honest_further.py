"""Replies to documents of all kinds, judged once before the firewall was mended for them: a gate of the release."""

from functools import partial
from typing import Final

import pytest

from sourcebound.evals.honest import FAITHFUL, UNFAITHFUL, render
from support.honest_replies import check_citations, verdicts_of

verdicts = partial(verdicts_of, "further")
LEAST_FAITHFUL_RELEASED: Final = 124
"""The number reached. Raise it with the firewall, never lower it."""
MOST_LITERALS_RELEASED: Final = 2
"""The number of replies with another number, unit or date that are released. Lower it, never raise it."""


@pytest.mark.contract("R5-8", "R5-17")
def test_honest_replies_to_further_documents_are_released() -> None:
    released = [item for item in verdicts() if item.reply.label == FAITHFUL and item.released]
    assert len(released) >= LEAST_FAITHFUL_RELEASED, render(verdicts())


@pytest.mark.contract("R5-8")
def test_another_number_unit_or_date_is_rejected() -> None:
    literals = [item for item in verdicts() if item.reply.kind in {"number", "unit", "date"}]
    assert len(literals) == 24
    assert sum(item.released for item in literals) <= MOST_LITERALS_RELEASED, render(verdicts())


def test_each_bundle_has_two_honest_replies_and_a_false_one() -> None:
    replies = [item.reply for item in verdicts()]
    bundles = {reply.bundle for reply in replies}
    assert len(bundles) == 80
    for label, count in ((FAITHFUL, 2), (UNFAITHFUL, 1)):
        found = [reply.bundle for reply in replies if reply.label == label]
        assert all(found.count(bundle) == count for bundle in bundles)
    check_citations(replies)
