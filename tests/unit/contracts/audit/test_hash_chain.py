"""The hash chain of the audit record: anyone can compute it, and nothing can be changed in it unseen (R5P-4)."""

import hashlib
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sourcebound.contracts.audit.hash_chain import (
    GENESIS,
    START,
    BrokenRow,
    ChainedRow,
    Column,
    audit_columns,
    link_of,
    record_hash,
    verify_chain,
)
from support.builders import audit_entry

VALUES: st.SearchStrategy[Column] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**31), 2**31 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=3),
)
NAMES = ("run_id", "failure_reason", "citation_count", "llm_latency_ms", "validated_citations", "refusal_detected")
RECORDS = st.lists(st.fixed_dictionaries({name: VALUES for name in NAMES}), min_size=1, max_size=6)


def chain(records: list[dict[str, Column]]) -> list[ChainedRow]:
    """The records in a chain of their own."""
    rows: list[ChainedRow] = []
    for number, record in enumerate(records, 1):
        previous = str(rows[-1].row_hash) if rows else GENESIS
        rows.append(ChainedRow(number, previous, record_hash(record, previous), record))
    return rows


@pytest.mark.contract("R5P-4")
def test_the_hash_of_a_record_is_that_of_its_canonical_json() -> None:
    record: dict[str, Column] = {
        "run_id": "µ-1",
        "attempt": 1,
        "support_level": None,
        "refusal_detected": False,
        "llm_latency_ms": 12.0,
        "suspicious_new_ids": ["P-7", '"'],
    }
    text = (
        '{"attempt":1,"llm_latency_ms":12.0,"previous_hash":"' + "0" * 64 + '","refusal_detected":false,'
        '"run_id":"µ-1","suspicious_new_ids":["P-7","\\""]}'
    )
    assert record_hash(record, GENESIS) == hashlib.sha256(text.encode()).hexdigest()
    assert record_hash(record, GENESIS) == "d6baa73dbeef838f8cf7d3aa044daf73239032ce7ad9053285e9079d8690688e"
    assert record_hash(record | {"of_a_later_version": None}, GENESIS) == record_hash(record, GENESIS)


@pytest.mark.contract("R5P-4")
def test_the_columns_of_a_record_are_flat_and_complete() -> None:
    record = audit_entry(llm_latency_ms=3, validated_citations=["C0"])
    columns = audit_columns(record)
    form = record.model_dump(mode="json")
    metrics = form.pop("grounding_metrics")
    assert columns == form | metrics | {"timestamp_utc": "2024-03-03T12:00:05.000000+00:00"}
    assert json.dumps(columns["llm_latency_ms"]) == "3.0"


@pytest.mark.contract("R5P-4")
@pytest.mark.parametrize(
    "written",
    [
        "2024-03-03T12:00:05+00:00",
        "2024-03-03T12:00:05.000000Z",
        "2024-03-03T17:30:05+05:30",
        "2024-03-03T12:00:05",
        "2024-03-03 12:00:05.0",
    ],
)
def test_a_moment_has_one_form_however_it_was_written(written: str) -> None:
    assert audit_columns(audit_entry(timestamp_utc=written))["timestamp_utc"] == "2024-03-03T12:00:05.000000+00:00"


@pytest.mark.contract("R5P-4")
@given(RECORDS)
def test_an_untouched_chain_holds_whole_and_in_pieces(records: list[dict[str, Column]]) -> None:
    rows = chain(records)
    assert verify_chain(rows) is None
    half = len(rows) // 2
    assert verify_chain(rows[half:], link_of(rows[half - 1]) if half else START) is None
    assert all(row.previous_hash == before.row_hash for before, row in pairwise(rows))


@pytest.mark.contract("R5P-4")
@given(RECORDS, st.data())
def test_a_changed_column_is_found_in_its_record(records: list[dict[str, Column]], data: st.DataObject) -> None:
    rows = chain(records)
    at = data.draw(st.integers(0, len(rows) - 1))
    name, value = data.draw(st.sampled_from(NAMES)), data.draw(VALUES)
    assume(json.dumps(value) != json.dumps(records[at][name]))
    rows[at] = rows[at]._replace(columns=rows[at].columns | {name: value})
    broken = verify_chain(rows)
    assert broken == (
        at + 1,
        str(rows[at].columns["run_id"]),
        "its columns do not give its row_hash: one of them was changed",
    )


@pytest.mark.contract("R5P-4")
@given(RECORDS, st.data())
def test_a_changed_record_with_a_hash_that_fits_it_breaks_the_next(
    records: list[dict[str, Column]], data: st.DataObject
) -> None:
    rows = chain([*records, {"run_id": "the last"}])
    at = data.draw(st.integers(0, len(records) - 1))
    changed = rows[at].columns | {"run_id": "another", "citation_count": 99}
    assume(changed != rows[at].columns)
    rows[at] = rows[at]._replace(columns=changed, row_hash=record_hash(changed, str(rows[at].previous_hash)))
    assert _broken(rows) == (at + 2, "its previous_hash is not the row_hash of the record before it")


@pytest.mark.contract("R5P-4")
@given(RECORDS, st.data())
def test_a_removed_record_is_found_at_the_next(records: list[dict[str, Column]], data: st.DataObject) -> None:
    rows = chain([*records, {"run_id": "the last"}])
    at = data.draw(st.integers(0, len(records) - 1))
    del rows[at]
    assert _broken(rows) == (at + 2, f"position {at + 1} is missing before it")
    renumbered = [row._replace(position=number) for number, row in enumerate(rows, 1)]
    assert _broken(renumbered) == (at + 1, "its previous_hash is not the row_hash of the record before it")


@pytest.mark.contract("R5P-4")
@given(RECORDS, st.data())
def test_swapped_records_are_found(records: list[dict[str, Column]], data: st.DataObject) -> None:
    assume(len(records) > 1)
    rows = chain(records)
    at = data.draw(st.integers(0, len(rows) - 2))
    rows[at], rows[at + 1] = rows[at + 1]._replace(position=at + 1), rows[at]._replace(position=at + 2)
    broken = _broken(rows)
    assert broken == (at + 1, "its previous_hash is not the row_hash of the record before it")


@pytest.mark.contract("R5P-4")
@pytest.mark.parametrize(
    ("at", "change", "finding"),
    [
        (0, {"previous_hash": "1" * 64}, "its previous_hash is not the row_hash of the record before it"),
        (1, {"previous_hash": None}, "its previous_hash is not the row_hash of the record before it"),
        (1, {"row_hash": "0" * 64}, "its columns do not give its row_hash: one of them was changed"),
        (1, {"row_hash": None}, "its columns do not give its row_hash: one of them was changed"),
        (1, {"position": 1}, "it stands where position 2 should"),
        (1, {"position": 3}, "position 2 is missing before it"),
        (1, {"columns": {"run_id": "two", "x": float("nan")}}, "one of its columns holds a number that is none"),
    ],
)
def test_each_part_of_a_place_is_checked(at: int, change: dict[str, Any], finding: str) -> None:
    rows = chain([{"run_id": "one"}, {"run_id": "two"}, {"run_id": "three"}])
    rows[at] = rows[at]._replace(**change)
    assert verify_chain(rows) == (rows[at].position, ("one", "two")[at], finding)


@pytest.mark.contract("R5P-4")
def test_a_record_without_a_place_is_none_of_the_chain() -> None:
    row = ChainedRow(None, None, None, {"run_id": "old"})
    assert verify_chain([row]) == BrokenRow(0, "old", "it stands where position 1 should")
    with pytest.raises(ValueError, match="no place"):
        link_of(row)


def _broken(rows: list[ChainedRow]) -> tuple[int, str] | None:
    found = verify_chain(rows)
    return (found.position, found.finding) if found else None
