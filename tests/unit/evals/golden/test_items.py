"""A golden set is read whole or not at all, and each fault names its line and field."""

import json
from typing import Any

import pytest

from sourcebound.contracts.outcome import Status
from sourcebound.evals.golden.items import GoldenItem, read_items, write_items

ANSWERED: dict[str, Any] = {
    "id": "turning-1",
    "kind": "answerable_one",
    "question": "How often is the shaft turned?",
    "status": ["OK"],
    "citations": [[{"document": "hp-200-manual-rev-c.pdf", "page": 16}]],
    "facts": [["14 days", "two weeks"]],
}
REFUSED: dict[str, Any] = {"id": "opera-1", "kind": "off_topic", "question": "Who sang?", "status": ["NO_EVIDENCE"]}


def to_lines(*items: dict[str, Any]) -> str:
    return "".join(json.dumps(item) + "\n" for item in items)


def test_items_are_read_in_order() -> None:
    items, findings = read_items(to_lines(ANSWERED) + "\n" + to_lines(REFUSED), "golden.jsonl")
    assert findings == ()
    assert [item.id for item in items] == ["turning-1", "opera-1"]
    assert items[0].facts == (("14 days", "two weeks"),)
    assert items[0].must_answer
    assert not items[1].may_answer
    assert items[1].status == (Status.NO_EVIDENCE,)


def test_written_items_are_read_unchanged() -> None:
    perturbed = ANSWERED | {"id": "turning-1~typo", "perturbation": {"of": "turning-1", "kind": "typo", "seed": 3}}
    filtered = ANSWERED | {"id": "turning-2", "filters": {"equipment_id": "HP-200", "event_date_from": "2024-01-01"}}
    items = read_items(to_lines(perturbed, filtered, REFUSED), "a").items
    assert len(items) == 3
    assert read_items(write_items(items), "b").items == items


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"kind": "easy"}, "kind: "),
        ({"question": "  "}, "question: "),
        ({"status": []}, "status: "),
        ({"status": ["ok"]}, "status.0: "),
        ({"status": ["OK", "OK"]}, "status names a status twice"),
        ({"citations": [[{"document": "a.pdf", "page": 0}]]}, "citations.0.0.page: "),
        ({"citations": []}, "an item that may be answered"),
        ({"facts": [[]]}, "facts.0: "),
        ({"status": ["NO_EVIDENCE"]}, "no other item has any"),
        ({"fact": []}, "fact: "),
        ({"filters": {"equipment": "HP-200"}}, "filters.equipment: "),
        ({"documents": ["../secret"]}, "documents.0: "),
        ({"history": ["Before?"]}, "history belongs to the kind follow_up"),
        ({"kind": "follow_up"}, "needs a history"),
        ({"perturbation": {"of": "x", "kind": "typo"}}, "perturbation.seed: "),
        ({"frozen": {"policy": "P", "bundle": {}}, "documents": ["d"]}, "a frozen item has its evidence"),
    ],
)
def test_a_fault_names_file_line_and_field(change: dict[str, Any], fault: str) -> None:
    file = read_items(to_lines(REFUSED, ANSWERED | change), "golden.jsonl")
    assert [item.id for item in file.items] == ["opera-1"]
    assert file.findings[0].startswith("golden.jsonl, line 2: ")
    assert fault in file.findings[0]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "golden.jsonl, line 1: is not JSON"),
        ("[]", "golden.jsonl, line 1: is not a JSON object"),
        ('{"id": "a", "id": "b"}', "golden.jsonl, line 1: is not JSON (a key is there twice)"),
        ("[" * 100_000, "golden.jsonl, line 1: is not JSON"),
        ("\n", "golden.jsonl: it has no item"),
        (to_lines(REFUSED, REFUSED), "golden.jsonl, line 2: id: 'opera-1' is the id of line 1 too"),
    ],
)
def test_a_file_that_is_not_a_set_says_so(text: str, fault: str) -> None:
    assert read_items(text, "golden.jsonl").findings[0].startswith(fault)


def test_every_fault_of_a_line_is_named() -> None:
    findings = read_items(to_lines(ANSWERED | {"kind": "easy", "status": "OK"}), "g").findings
    assert [finding.split(": ")[1] for finding in findings] == ["kind", "status"]


def test_an_item_is_frozen() -> None:
    item = GoldenItem.model_validate(REFUSED)
    with pytest.raises(ValueError, match="frozen"):
        item.id = "other"  # type: ignore[misc]
