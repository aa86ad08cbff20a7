"""A recorded run becomes an item that says what should have happened."""

import json
from pathlib import Path
from typing import Any

import pytest

from sourcebound.errors import RequestError
from sourcebound.evals.golden.items import read_items
from sourcebound.evals.golden.ratchet import Expectation, append_item, freeze_run
from support.builders import bundle, run
from support.golden import golden_item

RIGHT = Expectation(("OK",), ("12 hours|twice a day",), ("doc-0:7|doc-1",))


def state(**changes: Any) -> dict[str, Any]:
    form: dict[str, Any] = {
        "run": run(model="openai:gpt-x").model_dump(mode="json"),
        "outcome": {"status": "FAILED", "failure_code": "UNSUPPORTED_LITERAL"},
        "retrieval": bundle(),
        "generation": {"raw_model_text": "Every 13 hours. [C0]"},
    }
    return form | changes


def test_the_item_has_the_candidates_the_reply_and_the_reason() -> None:
    item = freeze_run(state(), RIGHT, [])
    assert item.frozen is not None
    assert (item.id, item.kind, item.question) == ("run-run1", "ratchet", state()["run"]["question"])
    assert item.facts == (("12 hours", "twice a day"),)
    assert [(each.document, each.page) for each in item.citations[0]] == [("doc-0", 7), ("doc-1", None)]
    assert item.frozen.reply == "Every 13 hours. [C0]"
    assert item.frozen.bundle["results"] == bundle()["results"]
    assert item.note == "FAILED UNSUPPORTED_LITERAL"


def test_a_follow_up_is_frozen_as_its_search_query() -> None:
    asked = state()["run"] | {"search_query": "How often must the seal of the HP-200 be checked?"}
    assert freeze_run(state(run=asked), RIGHT, []).question == asked["search_query"]


@pytest.mark.parametrize(
    ("model", "keeps", "has_reply"),
    [("openai:x", None, True), ("openai:x", False, False), ("extractive", None, False), ("extractive", True, True)],
)
def test_the_reply_of_a_language_model_is_kept(model: str, keeps: bool | None, has_reply: bool) -> None:
    changed = state(run=run(model=model).model_dump(mode="json"))
    item = freeze_run(changed, RIGHT._replace(keeps_reply=keeps), [])
    assert item.frozen is not None
    assert (item.frozen.reply is not None) is has_reply


@pytest.mark.parametrize(
    ("changes", "expected", "reason"),
    [
        ({"outcome": {"status": "OK"}}, RIGHT, "did not fail"),
        ({"retrieval": None}, RIGHT, "no candidates"),
        ({"retrieval": bundle([])}, RIGHT, "no candidates"),
        ({"generation": None}, RIGHT._replace(keeps_reply=True), "no reply"),
        ({}, Expectation(("OK",)), "facts and citations"),
        ({}, Expectation(("WRONG",)), "status.0: "),
    ],
)
def test_what_is_missing_is_said(changes: dict[str, Any], expected: Expectation, reason: str) -> None:
    with pytest.raises(RequestError) as caught:
        freeze_run(state(**changes), expected, [])
    assert reason in caught.value.message


def test_a_thumbs_down_makes_an_answer_wrong() -> None:
    item = freeze_run(state(outcome={"status": "OK"}), Expectation(("NO_EVIDENCE",)), ["It is another pump", ""])
    assert item.note == "OK; thumbs-down: It is another pump; thumbs-down"


def test_items_are_appended_once_and_lines_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "ratchet.jsonl"
    append_item(path, golden_item(id="first"))
    path.write_text(path.read_text("utf-8").rstrip("\n"), "utf-8")
    append_item(path, golden_item(id="second"))
    assert [item.id for item in read_items(path.read_text("utf-8"), path.name).items] == ["first", "second"]
    with pytest.raises(RequestError, match="'second' already"):
        append_item(path, golden_item(id="second"))
    path.write_text(json.dumps({"id": "x"}), "utf-8")
    with pytest.raises(RequestError, match="line 1: kind"):
        append_item(path, golden_item(id="third"))
