"""The report stands alone: it has its charts, its figures and its failing items, and refers to no other file."""

import re
import sys
from functools import cache
from html.parser import HTMLParser

import pytest

from sourcebound.contracts.outcome import Status
from sourcebound.errors import ConfigurationError
from sourcebound.evals.golden.results import ItemResult
from sourcebound.evals.report.page import Evaluation, render_report
from support.golden import circumstances, item_result, refused_result

TITLES = [
    "Calibration of the scores",
    "Refusal trade-off",
    "Ranking",
    "Latency of each node",
    "Reasons",
    "Drift",
]


def results() -> list[ItemResult]:
    scored = {"support": 950, "answers_question": 700, "question_coverage": 0.9, "nodes": {"retrieve": 9.0}}
    wrong = {"passed": False, "facts_said": 0, "question": "Is 3 < 4 & <b>bold</b>?"}
    return [
        item_result("right", **scored),
        item_result("wrong", **(scored | wrong)),
        refused_result("moon", question_coverage=0.2),
        item_result("lost", perturbation="typo", of="right", status=Status.FAILED, code="LOST", passed=False),
    ]


def evaluations(count: int) -> list[Evaluation]:
    return [
        Evaluation(circumstances(items=4, started_at=f"2026-01-0{number + 1}T00:00:00+00:00"), results())
        for number in range(count)
    ]


@cache
def report_of_two() -> str:
    return render_report(evaluations(2))


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.charts: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values[name] for name in ("href", "src", "xlink:href") if name in values]
        self.charts += [values["aria-label"]] if tag == "svg" else []

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_report_has_every_chart_and_refers_to_nothing_else() -> None:
    text = report_of_two()
    page = Page(text)
    assert page.charts == TITLES
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links} <= set(page.ids), "a link leads out of the page"
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(page.ids)
    assert "@import" not in text


def test_the_report_says_what_did_not_pass_and_escapes_it() -> None:
    page = Page(render_report(evaluations(1)))
    assert page.charts == TITLES[:-1]
    assert "gates_v1: not every gate is passed" in page.text
    assert "Is 3 < 4 & <b>bold</b>?" in page.text
    assert "run-wrong" in page.text
    assert "built-in method" not in page.text
    assert "LOST" in page.text


def test_a_set_without_scores_has_the_charts_that_it_can_have() -> None:
    only = [Evaluation(circumstances(items=1), [refused_result()])]
    assert Page(render_report(only)).charts == []


def test_without_matplotlib_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigurationError, match="matplotlib is not installed") as caught:
        render_report(evaluations(1))
    assert "sourcebound[report]" in caught.value.next_step


def test_equal_evaluations_make_equal_reports() -> None:
    assert render_report(evaluations(2)) == report_of_two()
