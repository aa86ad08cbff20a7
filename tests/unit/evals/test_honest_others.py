"""Replies that were written and judged once, before the firewall was mended for them: a gate of the release."""

from functools import partial
from typing import Final

import pytest

from sourcebound.evals.honest import FAITHFUL, UNFAITHFUL, render
from support.honest_replies import check_citations, verdicts_of

verdicts = partial(verdicts_of, "others")
LEAST_FAITHFUL_RELEASED: Final = 444
"""The number reached. Raise it with the firewall, never lower it."""
MOST_NUMBERS_RELEASED: Final = 9
"""The number of replies with another number that are released. Lower it with the firewall, never raise it."""


@pytest.mark.contract("R5-8", "R5-17")
def test_honest_replies_of_others_are_released() -> None:
    released = [item for item in verdicts() if item.reply.label == FAITHFUL and item.released]
    assert len(released) >= LEAST_FAITHFUL_RELEASED, render(verdicts())


@pytest.mark.contract("R5-8")
def test_another_number_in_a_reply_of_others_is_rejected() -> None:
    released = [item for item in verdicts() if item.reply.kind == "number" and item.released]
    assert len(released) <= MOST_NUMBERS_RELEASED, render(verdicts())


def test_each_bundle_has_replies_of_both_kinds() -> None:
    replies = [item.reply for item in verdicts()]
    assert len({reply.bundle for reply in replies}) == 240
    for label in (FAITHFUL, UNFAITHFUL):
        assert {reply.bundle for reply in replies if reply.label == label} == {reply.bundle for reply in replies}
    check_citations(replies)
