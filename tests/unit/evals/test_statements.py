"""Labelled statements and answers: how they are read, judged and split in halves."""

import json
from pathlib import Path

import pytest

from sourcebound.evals.statements import Case, half_of, judge, list_failures, load_cases, render

PUMP = "The main pump runs at 60 bar in winter. The relief valve opens at 40 bar."
READ, HELD = (next(f"d{number}" for number in range(99) if half_of(f"d{number}") == half) for half in ("read", "held"))


def case(text: str, group: str = "made", document: str = READ, *, supported: bool = True) -> Case:
    return Case(text, group, document, "", text, (PUMP,), supported)


RIGHT = case("The main pump runs at 60 bar in winter.")
WRONG = case("The main pump runs at 70 bar in winter.", supported=False)


@pytest.mark.contract("R5-8", "R5-17")
def test_the_table_shows_what_each_rule_rejects_of_each_label() -> None:
    table = render(list(judge([RIGHT, WRONG])))
    assert "| made | supported | 1 | 0.0 % (0.0–0.0) | 0.0 % (0.0–0.0) | 0.0 % (0.0–0.0) |" in table
    assert "| made | not supported | 1 | 100.0 % (100.0–100.0) |" in table


def test_only_failures_of_the_half_that_may_be_read_are_listed() -> None:
    bad = "The main pump runs at 80 bar in winter."
    failures = list_failures(judge([RIGHT, WRONG, case(bad), case(bad, document=HELD), case(bad, "other")]), "made")
    assert failures == f"{bad}: UNSUPPORTED_LITERAL 80 bar | {bad}"


def test_statements_and_answers_are_read_with_their_evidence(tmp_path: Path) -> None:
    shared = {"evidence_id": "e", "question": None, "doc": READ}
    files: dict[str, list[dict[str, object]]] = {
        "evidence": [{"id": "e", "texts": [PUMP]}],
        "statements": [
            {**shared, "id": f"s{n}", "set": name, "kind": "number_swap", "statement": "S.", "label": label}
            for n, (name, label) in enumerate([("ragtruth/qa", "supported"), ("synthetic", "contradicted")])
        ],
        "answers": [{**shared, "id": "a", "set": "lfqa", "answer": "A.", "answer_label": "unsupported"}],
    }
    for name, rows in files.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    cases = load_cases(tmp_path)
    assert {(each.group, each.text, each.supported) for each in cases} == {
        ("ragtruth/qa", "S.", True),
        ("synthetic number_swap", "S.", False),
        ("answers of lfqa", "A.", False),
    }
    assert {each.sources[0] for each in cases} == {PUMP, f"passage 1:\n{PUMP}"}
    assert load_cases(tmp_path, "held") == []
    assert len(load_cases(tmp_path, "read", most=0)) == 0
