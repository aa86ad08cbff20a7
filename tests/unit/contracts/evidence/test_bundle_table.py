"""A table of candidates becomes the bundles that its rows are (R1-1, R1-10)."""

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from sourcebound.contracts.evidence.bundle_readers import MAX_ROWS, bundles_of_rows
from sourcebound.contracts.evidence.intake import check_bundle
from sourcebound.errors import ConfigurationError, RequestError
from sourcebound.store.search import candidate_tables as tables
from sourcebound.store.search.candidate_tables import bundles_from_table
from support.builders import SEAL, JsonObject, bundle, policy, row, without

COMMON = without(bundle(), "results", "request_id", "filters_applied")
FAISS = {"faiss_id": 17, "similarity": 0.91}


def flat(request_id: str, *candidates: JsonObject, **changes: Any) -> list[JsonObject]:
    """The rows of a table that hold one bundle."""
    return [{**COMMON, "request_id": request_id, **candidate, **changes} for candidate in candidates]


ROWS = [*flat("r-1", row(0), row(1)), *flat("r-2", row(0, chunk_text=SEAL))]
BUNDLES = [
    without(bundle([row(0), row(1)], request_id="r-1"), "filters_applied"),
    without(bundle([row(0, chunk_text=SEAL)], request_id="r-2"), "filters_applied"),
]


class Frame:
    """A data frame of another library, which is known by the Arrow interface alone."""

    def __init__(self, table: pyarrow.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def _arrow_file(table: pyarrow.Table, path: Path) -> Path:
    with pyarrow.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    return path


def _parquet_file(table: pyarrow.Table, path: Path) -> Path:
    pyarrow.parquet.write_table(table, path, row_group_size=2)
    return path


FORMS = {
    "table": lambda table, _: table,
    "data frame": lambda table, _: Frame(table),
    "parquet": _parquet_file,
    "arrow": _arrow_file,
}


@pytest.mark.contract("R1-1")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("batch", [1, 2, 512])
def test_a_table_is_the_bundles_of_its_requests(
    tmp_path: Path, form: str, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "BATCH_ROWS", batch)
    source = FORMS[form](pyarrow.Table.from_pylist(ROWS), tmp_path / "table")
    found = list(bundles_from_table(source))
    assert found == BUNDLES
    assert all(check_bundle(each, policy()).bundle is not None for each in found)


@pytest.mark.contract("R1-10")
def test_a_row_of_faiss_is_known_by_its_names() -> None:
    table = pyarrow.table({name: [value] for name, value in (without(row(), "similarity_score") | FAISS).items()})
    table = table.append_column("request_id", pyarrow.array(["r-1"]))
    shared = without(COMMON, "user_question") | {"user_question": "How often?"}
    (found,) = bundles_from_table(table, shared)
    checked = check_bundle(found, policy()).bundle
    assert checked is not None
    assert (checked.results[0].vector_ref, checked.results[0].similarity_score) == (17, 0.91)
    assert (checked.user_question, checked.request_id) == ("How often?", "r-1")


@pytest.mark.contract("R1-10")
@pytest.mark.parametrize(
    ("column", "value", "read"),
    [
        ("page_number", 7.0, 7),
        ("rank", 1.0, 1),
        ("faiss_id", 17.0, 17),
        ("page_number", 7.5, 7.5),
        ("similarity_score", 1.0, 1.0),
        ("similarity_score", Decimal("0.5"), 0.5),
        ("event_date", date(2024, 3, 4), "2024-03-04"),
        ("event_date", datetime(2024, 3, 4), "2024-03-04"),
        ("event_date", datetime(2024, 3, 4, 8), "2024-03-04T08:00:00"),
        ("chunk_text", b"text", {"type": "bytes"}),
        ("title", 7, 7),
    ],
)
def test_a_value_is_read_as_json_has_it(column: str, value: object, read: object) -> None:
    (found,) = bundles_of_rows(flat("r-1", row(0) | {column: value}))
    assert isinstance(found, dict)
    assert found["results"][0][column] == read
    assert type(found["results"][0][column]) is type(read)


@pytest.mark.contract("R2-V4")
@pytest.mark.parametrize("column", ["chunk_text", "similarity_score", "rank", "index_version"])
def test_null_is_the_absence_of_a_value(column: str) -> None:
    (found,) = bundles_of_rows(flat("r-1", row(0), **{column: None}))
    first = check_bundle(found, policy()).violations[0]
    assert (first.field, first.value) == (column, None)


@pytest.mark.contract("R2-V1")
def test_a_row_without_a_candidate_is_a_request_that_found_nothing() -> None:
    nothing = dict.fromkeys(row(), None)
    (found,) = bundles_of_rows(flat("r-1", nothing, retrieval_status="NO_EVIDENCE"))
    assert isinstance(found, dict)
    assert (found["results"], check_bundle(found, policy()).violations) == ([], ())


@pytest.mark.contract("R1-9")
def test_the_filters_are_a_struct_or_a_map() -> None:
    struct = pyarrow.array([{"equipment_id": "HP-200"}] * 3)
    mapped = pyarrow.array([[("equipment_id", "HP-200")]] * 3, pyarrow.map_(pyarrow.string(), pyarrow.string()))
    for column in (struct, mapped):
        found = bundles_from_table(pyarrow.Table.from_pylist(ROWS).append_column("filters_applied", column))
        assert [isinstance(each, dict) and each["filters_applied"] for each in found] == [
            {"equipment_id": "HP-200"}
        ] * 2


@pytest.mark.contract("R2-V1")
def test_rows_that_contradict_each_other_are_no_bundle() -> None:
    ambiguous = [*flat("r-1", row(0), user_question="Why?"), *flat("r-1", row(1), user_question="When?")]
    first, second = bundles_of_rows([*ambiguous, *flat("r-2", row(0))])
    (violation,) = check_bundle(first, policy()).violations
    assert violation.message == "unreadable: the rows of request 'r-1' have more than one user_question"
    assert check_bundle(second, policy()).bundle is not None


@pytest.mark.contract("R1-1")
def test_a_request_without_end_is_not_held() -> None:
    held = 0

    def endless() -> Iterator[JsonObject]:
        nonlocal held
        for held in range(1, 3 * MAX_ROWS):
            yield {"request_id": "r-1", "rank": held}

    (violation,) = check_bundle(next(bundles_of_rows(endless())), policy()).violations
    assert (violation.message, held) == (f"unreadable: request 'r-1' has more than {MAX_ROWS} rows", MAX_ROWS + 1)


@pytest.mark.contract("R1-1")
def test_bundles_come_before_the_table_has_ended() -> None:
    read = 0

    def lines() -> Iterator[JsonObject]:
        nonlocal read
        for number in range(1000):
            read += 1
            yield from flat(f"r-{number}", row(0))

    for number, _ in enumerate(bundles_of_rows(lines())):
        assert read <= number + 2


@pytest.mark.contract("R1-1")
@pytest.mark.parametrize("form", FORMS)
def test_a_request_whose_rows_stand_apart_is_not_answered_in_parts(tmp_path: Path, form: str) -> None:
    apart = pyarrow.Table.from_pylist([*flat("r-1", row(0)), *flat("r-2", row(0)), *flat("r-1", row(1))])
    with pytest.raises(RequestError, match="'r-1' are not next to each other") as raised:
        next(bundles_from_table(FORMS[form](apart, tmp_path / "table")))
    assert (raised.value.failure_code, "Sort the table" in raised.value.next_step) == ("TABLE_NOT_GROUPED", True)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"PAR1", "Parquet"), (b"ARROW1 and no more", "Arrow"), (None, "No such file")],
)
def test_a_file_that_is_no_table_says_so(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "table"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RequestError, match=said) as raised:
        next(bundles_from_table(path))
    assert raised.value.failure_code == "TABLE_UNREADABLE"


@pytest.mark.parametrize("form", FORMS)
def test_a_table_without_request_ids_says_so(tmp_path: Path, form: str) -> None:
    table = pyarrow.Table.from_pylist(ROWS).drop_columns(["request_id"])
    with pytest.raises(RequestError, match="no column request_id"):
        next(bundles_from_table(FORMS[form](table, tmp_path / "table")))


def test_without_pyarrow_the_way_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ConfigurationError, match="pyarrow") as raised:
        next(bundles_from_table("table.parquet"))
    assert (raised.value.failure_code, "pip install 'pyarrow" in raised.value.next_step) == ("EXTRA_MISSING", True)
