"""Replies to the evidence of real prompts: honest ones pass and changed values do not, as a gate of the release."""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Final

import pytest

from sourcebound.evals.honest import FAITHFUL, UNFAITHFUL, Reply, Verdict, judge, load_replies, released_share, render
from support.honest_replies import check_citations
from support.places import ROOT

SET: Final = ROOT / "tests" / "assets" / "honest" / "prompts"
LEAST_FAITHFUL_RELEASED: Final = 0.93
"""The rate reached. Raise it with the firewall, never lower it."""
CHANGED: Final = frozenset({"changed_literal", "changed_unit", "changed_word"})
"""The kinds of replies with a value, a unit or a word of direction that their source lacks."""
MOST_CHUNKS: Final = 12


@cache
def replies() -> tuple[Reply, ...]:
    return load_replies(SET)


@cache
def verdicts() -> tuple[Verdict, ...]:
    return tuple(judge(replies()))


def of(label: str) -> Iterable[Verdict]:
    return (item for item in verdicts() if item.reply.label == label)


@pytest.mark.contract("R5-5", "R5-6", "R5-8")
def test_honest_replies_to_real_prompts_are_released() -> None:
    assert released_share(of(FAITHFUL)).mean >= LEAST_FAITHFUL_RELEASED, render(verdicts())


@pytest.mark.contract("R5-8")
def test_replies_with_a_changed_value_are_not_released() -> None:
    changed = [item for item in of(UNFAITHFUL) if item.reply.kind in CHANGED]
    assert len(changed) >= 20
    assert [item.reply.id for item in changed if item.released] == []


def test_the_set_has_true_and_false_replies_to_the_same_evidence() -> None:
    labels, parts = (Counter(getattr(item, field) for item in replies()) for field in ("label", "part"))
    assert labels[FAITHFUL] >= 60
    assert labels[UNFAITHFUL] >= 70
    assert min(parts.values()) >= 60
    assert {(item.bundle, label) for item in replies() for label in labels} == {
        (item.bundle, item.label) for item in replies()
    }
    assert len({item.document for item in replies()}) >= 20
    assert all(len({item.part for item in replies() if item.document == name}) == 1 for name in documents())


def documents() -> frozenset[str]:
    return frozenset(item.document for item in replies())


def test_each_reply_cites_evidence_of_its_prompt() -> None:
    check_citations(replies())
    for item in replies():
        assert 1 <= len(item.evidence) <= MOST_CHUNKS, item.id
