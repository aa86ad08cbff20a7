"""Honest replies pass the firewall and false ones do not, on the hand-made set: the gate of a release."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Final

import pytest

from sourcebound.evals.honest import (
    FAITHFUL,
    UNFAITHFUL,
    Reply,
    Verdict,
    judge,
    list_failures,
    load_replies,
    part_of,
    released_share,
    render,
)
from support.honest_replies import check_citations
from support.places import ROOT

SET: Final = ROOT / "tests" / "assets" / "honest"
POLICY: Final = "SOURCEBOUND_V2"

LEAST_FAITHFUL_RELEASED: Final = 0.95
"""What the release needs. Raise the bar with the firewall, never lower it."""
MOST_CHANGED_LITERALS_RELEASED: Final = 0
"""What the release needs."""
MOST_WRONG_CITATIONS_RELEASED: Final = 0
"""What the release needs."""


@cache
def replies() -> tuple[Reply, ...]:
    return load_replies(SET)


@cache
def verdicts() -> tuple[Verdict, ...]:
    return tuple(judge(replies(), POLICY))


def of_kind(kind: str) -> list[Verdict]:
    return [item for item in verdicts() if item.reply.kind == kind]


@pytest.mark.contract("R5-5", "R5-6", "R5-8")
def test_honest_replies_are_released() -> None:
    share = released_share(item for item in verdicts() if item.reply.label == FAITHFUL)
    assert share.mean >= LEAST_FAITHFUL_RELEASED, render(verdicts())


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("kind", "most"),
    [("changed_literal", MOST_CHANGED_LITERALS_RELEASED), ("wrong_citation", MOST_WRONG_CITATIONS_RELEASED)],
)
def test_replies_with_a_literal_that_their_source_lacks_are_not_released(kind: str, most: int) -> None:
    assert sum(item.released for item in of_kind(kind)) <= most, render(verdicts())


@pytest.mark.contract("R5-16")
def test_a_reply_that_repeats_itself_is_not_released() -> None:
    assert not any(item.released for item in of_kind("loop")), render(verdicts())


def test_the_set_is_spread_over_domains_languages_forms_and_faults() -> None:
    labels = Counter(item.label for item in replies())
    kinds = Counter((item.label, item.kind) for item in replies())
    assert labels[FAITHFUL] >= 240
    assert labels[UNFAITHFUL] >= 110
    assert kinds[UNFAITHFUL, "changed_literal"] >= 60
    assert {item.domain for item in replies()} == {"manuals", "filings", "medicine", "law", "code"}
    assert {item.language for item in replies()} == {"en", "de", "fr", "es", "it"}
    assert min(Counter(item.part for item in replies()).values()) >= 150


def test_each_bundle_has_evidence_of_a_real_length_and_five_replies() -> None:
    assert set(Counter(item.bundle for item in replies()).values()) == {5}
    check_citations(replies())
    for item in replies():
        assert 2 <= len(item.evidence) <= 4, item.id
        assert all(60 <= len(text.split()) <= 200 for text in item.evidence), item.id


def made(kind: str, label: str, text: str, bundle: str = "man-en-02") -> Reply:
    evidence = ("The valve of the pump opens at 5 bar and is blue.",)
    return Reply(
        f"{bundle}-{kind}",
        bundle,
        "manuals",
        "en",
        part_of(bundle),
        evidence,
        "Which?",
        text,
        label,
        kind,
        "why",
        bundle,
    )


def table_and_failures(rows: Sequence[Reply]) -> tuple[str, str]:
    judged = judge(rows, POLICY)
    return render(judged), list_failures(judged)


def test_the_table_counts_released_replies_by_label_and_kind() -> None:
    table, failures = table_and_failures(
        [
            made("plain", FAITHFUL, "The valve opens at 5 bar [C0]."),
            made("units", FAITHFUL, "The valve opens at 6 bar [C0]."),
            made("scope", UNFAITHFUL, "The valve opens wide at 5 bar [C0]."),
        ]
    )
    assert "| **faithful** | 1/2 | 50.0% | 50.0%–50.0% |" in table
    assert "| unfaithful, kind scope | 1/1 |" in table
    assert failures.splitlines() == [
        "man-en-02-units (units): UNSUPPORTED_LITERAL: 6 bar",
        "man-en-02-scope (scope): released although why",
    ]


def test_failures_of_the_held_part_are_not_listed() -> None:
    held = next(f"bundle-{number}" for number in range(99) if part_of(f"bundle-{number}") == "held")
    _, failures = table_and_failures([made("units", FAITHFUL, "The valve opens at 6 bar [C0].", held)])
    assert failures == ""
