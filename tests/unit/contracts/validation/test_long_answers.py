"""R5-1: a text that is too long is not read, and the work for any other grows with its length alone."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.answer_sentences import LIKE_THE_MARKER
from sourcebound.contracts.validation import firewall
from sourcebound.contracts.validation.answer_reading import AnswerReading, read_answer
from sourcebound.contracts.validation.firewall import MAX_CHARACTERS, validate

BUNDLE = bundle_of_texts(["The pump runs at 60 bar in winter. It was built in 1999."], "How is the pump built?")
PROSE, ROWS = load_shipped_policy("SOURCEBOUND_V2"), load_shipped_policy("SOURCEBOUND_SENTENCES_V2")
SHAPES = {
    "digits": "1", "groups": "12 345 ", "brackets": "[", "broken citations": "[C0 ", "citations": "[C0] ",
    "asterisks": "*", "backticks": "`", "fences": "```\n", "comments": "<!--", "list lines": "- a\n",
    "numbered lines": "1. a\n", "pipes": "|", "table rules": "|---|---|\n", "table rows": "| 1 | a |\n", "quotes": '"',
    "opened quotes": "“a ", "abbreviations": "e.g. U.S. ", "full stops": ".", "ends": "! ", "line breaks": "\n",
    "ideographs": "漢字。", "accents": "a\u0301", "headings": "# a\n", "dates": "1 May 2024 ", "labels": "zone B ",
    "statements": "The pump runs at 40 bar. [C0] ", "words of quantity": "one of the last hours ", "code": "`a_b` ",
}  # fmt: skip
SIZE = 2500


class Work:
    """The number of calls of a piece of work, of Python functions and of built-in ones."""

    calls = 0


@contextmanager
def counted() -> Iterator[Work]:
    work = Work()

    def count(_: FrameType, event: str, __: object) -> None:
        work.calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        yield work
    finally:
        sys.setprofile(None)


@pytest.mark.contract("R5-1", "R5-5", "R5-8")
@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_text_is_about_twice_the_work(shape: str) -> None:
    calls = []
    for size in (SIZE, 2 * SIZE):
        text = (SHAPES[shape] * size)[:size]
        with counted() as work:
            validate(text, BUNDLE, PROSE)
        calls.append(work.calls)
    assert calls[1] <= 2.2 * calls[0] + 500


@pytest.mark.contract("R5-1")
@pytest.mark.parametrize("policy", [PROSE, ROWS], ids=lambda policy: policy.policy_version)
def test_a_text_over_the_limit_is_rejected_unread(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def remember(text: str, *rest: Any) -> AnswerReading:
        read.append(text)
        return read_answer(text, *rest)

    monkeypatch.setattr(firewall, "read_answer", remember)
    verdict = validate("x" * (MAX_CHARACTERS + 1), BUNDLE, policy)
    (violation,) = verdict.outcome.violations
    assert (violation.code, violation.clause) == ("ANSWER_TOO_LONG", "R5-1")
    assert str(MAX_CHARACTERS + 1) in violation.message
    assert verdict.grounding_metrics.length_ratio_flag
    assert not verdict.validated_answer_text
    assert read == [""]


@pytest.mark.contract("R5-1", "CP-10")
def test_the_limit_itself_and_the_first_version_are_read() -> None:
    assert validate("x" * MAX_CHARACTERS, BUNDLE, PROSE).failure_reason == "UNCITED_FACTUAL_STATEMENT"
    assert validate("x" * (MAX_CHARACTERS + 1), BUNDLE, PROSE, 1).failure_reason == "UNCITED_FACTUAL_STATEMENT"


@pytest.mark.contract("R5-2")
def test_the_search_for_an_inexact_closing_line_is_bounded() -> None:
    assert LIKE_THE_MARKER.search("It is.\n\n* Not in the sources: the price")
    assert LIKE_THE_MARKER.search("It is." + " " * 40 + "Not in the sources: the price")
    assert not LIKE_THE_MARKER.search("It is." + " " * 41 + "Not in the sources: the price")
