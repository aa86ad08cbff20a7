"""The record as Delta, Parquet and JSON lines: added to, never over a schema or a chain that is not ours (R5P-5)."""

import asyncio
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import deltalake
import psycopg
import pyarrow
import pyarrow.parquet
import pytest

from sourcebound.contracts.audit.hash_chain import ChainedRow, audit_columns, verify_chain
from sourcebound.contracts.audit.record import ADDED
from sourcebound.errors import ConfigurationError, RequestError, StoreError
from sourcebound.store.audit.export import EXPORT_LOCK, Exported, export_records
from sourcebound.store.audit.export_formats import FORMATS, open_target
from sourcebound.wiring import Services
from support.builders import audit_entry, run
from support.processes.commands import Program
from support.processes.databases import rows

PLACE = ["position", "previous_hash", "row_hash"]
ENTRIES = {
    1: audit_entry(1, timestamp_utc="2024-01-01T00:00:00+00:00", llm_latency_ms=0.1 + 0.2, total_tokens=320),
    2: audit_entry(2, timestamp_utc="2024-02-01T00:00:00.000001+00:00", validated_citations=["C0", "C3"]),
    3: audit_entry(3, timestamp_utc="2024-03-01T00:00:00+00:00", model_name="µ, \n,"),
}


async def _append(services: Services, *numbers: int) -> None:
    for number in numbers:
        entry = ENTRIES.get(number) or audit_entry(number)
        await services.audit_log.append(entry, run(run_id=entry.run_id, request_id=entry.request_id), "", "")


@pytest.fixture
async def two(services: Services) -> Services:
    """Services over two records."""
    await _append(services, 1, 2)
    return services


async def _export(services: Services, form: str, output: Path, since: datetime | None = None) -> Exported:
    return await export_records(services.pool, open_target(form, str(output)), since)


def _read(form: str, output: Path) -> list[dict[str, Any]]:
    """Return the rows of an export by position, read with a general reader of its format."""
    if form == "jsonl":
        return [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    table = pyarrow.parquet.read_table(output) if form == "parquet" else deltalake.DeltaTable(output).to_pyarrow_table()
    found: list[dict[str, Any]] = table.sort_by("position").to_pylist()
    for row in found:
        row["timestamp_utc"] = row["timestamp_utc"].astimezone(UTC).isoformat(timespec="microseconds")
    return found


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.contract("R5P-4")
@pytest.mark.contract("R5P-5")
@pytest.mark.parametrize("form", FORMATS)
async def test_an_export_holds_every_record_and_its_chain(two: Services, tmp_path: Path, form: str) -> None:
    output = tmp_path / "audit"
    exported = await _export(two, form, output)
    found = _read(form, output)
    assert (exported.records, exported.end) == (2, (2, found[-1]["row_hash"]))
    assert [list(row)[:3] for row in found] == [PLACE] * 2
    chained = [ChainedRow(row.pop("position"), row.pop("previous_hash"), row.pop("row_hash"), row) for row in found]
    absent = dict.fromkeys(ADDED)  # columns that records of an earlier version do not have
    assert [row.columns for row in chained] == [{**audit_columns(ENTRIES[number]), **absent} for number in (1, 2)]
    assert verify_chain(chained) is None


@pytest.mark.contract("R5P-5")
@pytest.mark.parametrize("form", FORMATS)
async def test_another_export_adds_what_is_not_there_yet(two: Services, tmp_path: Path, form: str) -> None:
    output = tmp_path / "audit"
    await _export(two, form, output)
    first = _files(tmp_path)
    assert (await _export(two, form, output)).records == 0
    assert _files(tmp_path) == first
    await _append(two, 3)
    exported = await _export(two, form, output)
    assert (exported.records, exported.end.position) == (1, 3)
    assert [row["position"] for row in _read(form, output)] == [1, 2, 3]
    kept = _files(tmp_path)
    if form != "parquet":
        assert [kept[name][: len(data)] for name, data in first.items()] == list(first.values())
    assert len(kept) == {"jsonl": 1, "parquet": 1, "delta": len(first) + 2}[form]


@pytest.mark.contract("R5P-5")
@pytest.mark.parametrize("form", FORMATS)
async def test_what_is_older_can_be_left_out(two: Services, tmp_path: Path, form: str) -> None:
    await _append(two, 3)
    output = tmp_path / "audit"
    exported = await _export(two, form, output, datetime(2024, 2, 1, tzinfo=UTC))
    assert (exported.records, [row["position"] for row in _read(form, output)]) == (2, [2, 3])


@pytest.mark.contract("R5P-5")
@pytest.mark.parametrize("form", FORMATS)
async def test_an_empty_record_exports_nothing(services: Services, tmp_path: Path, form: str) -> None:
    exported = await _export(services, form, tmp_path / "audit")
    assert (exported.records, exported.end.position, _files(tmp_path)) == (0, 0, {})


@pytest.mark.contract("R5P-5")
@pytest.mark.parametrize("form", FORMATS)
async def test_many_records_are_exported_in_batches(
    two: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr("sourcebound.store.audit.export.BATCH", 2)
    await _append(two, 3, 4, 5)
    assert (await _export(two, form, tmp_path / "audit")).records == 5
    assert [row["position"] for row in _read(form, tmp_path / "audit")] == [1, 2, 3, 4, 5]
    await _append(two, 6)
    await _export(two, form, tmp_path / "audit")
    assert [row["position"] for row in _read(form, tmp_path / "audit")] == [1, 2, 3, 4, 5, 6]


def _retyped(table: pyarrow.Table) -> pyarrow.Table:
    """The same values, in a type that Delta would take ours for without a word."""
    at = table.schema.get_field_index("citation_count")
    return table.set_column(at, "citation_count", table["citation_count"].cast(pyarrow.string()))


def _wider(table: pyarrow.Table) -> pyarrow.Table:
    at = table.schema.get_field_index("attempt")
    return table.set_column(
        at, pyarrow.field("attempt", pyarrow.int64(), nullable=False), table["attempt"].cast("int64")
    )


def _nullable(table: pyarrow.Table) -> pyarrow.Table:
    at = table.schema.get_field_index("model_name")
    return table.set_column(at, pyarrow.field("model_name", pyarrow.string()), table["model_name"])


def _narrower(table: pyarrow.Table) -> pyarrow.Table:
    return table.drop_columns(["support_level"])


def _extended(table: pyarrow.Table) -> pyarrow.Table:
    return table.append_column("remark", pyarrow.array(["", ""]))


def _reordered(table: pyarrow.Table) -> pyarrow.Table:
    return table.select([*table.column_names[::-1]])


CHANGES = [_retyped, _wider, _nullable, _narrower, _extended, _reordered]
NAMED = ["citation_count", "attempt", "model_name", "support_level", "remark", "order"]


@pytest.mark.contract("R5P-5")
@pytest.mark.parametrize(("change", "named"), list(zip(CHANGES, NAMED, strict=True)))
@pytest.mark.parametrize("form", ["parquet", "delta"])
async def test_a_table_of_another_schema_is_left_as_it_is(
    two: Services, tmp_path: Path, form: str, change: Any, named: str
) -> None:
    await _export(two, "parquet", tmp_path / "ours")
    output = tmp_path / "theirs"
    table = change(pyarrow.parquet.read_table(tmp_path / "ours"))
    if form == "delta":
        deltalake.write_deltalake(output, table)
    else:
        pyarrow.parquet.write_table(table, output)
    before = _files(tmp_path)
    await _append(two, 3)
    with pytest.raises(RequestError) as raised:
        await _export(two, form, output)
    assert raised.value.failure_code == f"{form.upper()}_SCHEMA_MISMATCH"
    assert named in raised.value.message
    assert _files(tmp_path) == before


@pytest.mark.contract("R5P-5")
async def test_the_schema_is_compared_before_every_append(two: Services, tmp_path: Path) -> None:
    output = tmp_path / "audit"
    await _export(two, "delta", output)
    target = open_target("delta", str(output))
    end = target.find_end()
    deltalake.DeltaTable(output).alter.add_columns(deltalake.Field("remark", deltalake.schema.PrimitiveType("string")))
    before = _files(tmp_path)
    with pytest.raises(RequestError) as raised:
        target.append(await two.audit_log.find_records("run-1"))
    assert (raised.value.failure_code, end is not None) == ("DELTA_SCHEMA_MISMATCH", True)
    assert _files(tmp_path) == before


@pytest.mark.contract("R5P-5")
async def test_the_delta_table_itself_refuses_changes(two: Services, tmp_path: Path) -> None:
    output = tmp_path / "audit"
    await _export(two, "delta", output)
    with pytest.raises(deltalake.exceptions.CommitFailedError, match="append-only"):
        deltalake.DeltaTable(output).delete()
    assert len(_read("delta", output)) == 2


@pytest.mark.contract("R5P-5")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('{"position": 1, "row_hash": "a"}\n', "JSONL_SCHEMA_MISMATCH"),
        ('{"position": 1}\n', "EXPORT_UNREADABLE"),
        ("[1]\n", "EXPORT_UNREADABLE"),
        ("3\n", "EXPORT_UNREADABLE"),
        ("a text\n", "EXPORT_UNREADABLE"),
        ('{"position": 1, "row_ha', "EXPORT_UNREADABLE"),
    ],
)
async def test_a_file_of_other_lines_is_left_as_it_is(two: Services, tmp_path: Path, line: str, code: str) -> None:
    output = tmp_path / "audit.jsonl"
    output.write_text(line)
    with pytest.raises(RequestError) as raised:
        await _export(two, "jsonl", output)
    assert (raised.value.failure_code, output.read_text()) == (code, line)


@pytest.mark.parametrize("form", ["parquet", "delta"])
async def test_something_else_at_the_path_is_left_as_it_is(two: Services, tmp_path: Path, form: str) -> None:
    output = tmp_path / "audit"
    output.write_text("mine")
    with pytest.raises(RequestError) as raised:
        await _export(two, form, output)
    assert (raised.value.failure_code, output.read_text()) == ("EXPORT_UNREADABLE", "mine")


async def test_a_folder_that_is_no_table_is_left_as_it_is(two: Services, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    for form in FORMATS:
        with pytest.raises((RequestError, StoreError)) as raised:
            await _export(two, form, tmp_path)
        assert raised.value.failure_code == "EXPORT_UNREADABLE"
    assert _files(tmp_path) == {str(tmp_path / "mine"): b"mine"}


async def test_a_damaged_table_is_a_fault(two: Services, tmp_path: Path) -> None:
    log = tmp_path / "audit" / "_delta_log" / "00000000000000000000.json"
    log.parent.mkdir(parents=True)
    log.write_text("{")
    with pytest.raises(StoreError) as raised:
        await _export(two, "delta", tmp_path / "audit")
    assert raised.value.failure_code == "EXPORT_FAILED"
    assert ("Truncated record" in raised.value.message, "unknown" in raised.value.message) == (True, False)


@pytest.mark.parametrize("form", FORMATS)
async def test_a_place_that_cannot_be_written_is_a_fault(two: Services, tmp_path: Path, form: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises((StoreError, RequestError)) as raised:
        await _export(two, form, tmp_path / "file" / "audit")
    assert raised.value.failure_code in {"EXPORT_FAILED", "EXPORT_UNREADABLE"}
    assert raised.value.next_step


@pytest.mark.contract("R5P-5")
@pytest.mark.parametrize("form", FORMATS)
async def test_the_records_of_another_chain_are_not_continued(
    two: Services, database: str, tmp_path: Path, form: str
) -> None:
    output = tmp_path / "audit"
    await _export(two, form, output)
    before = _files(tmp_path)
    with psycopg.connect(database) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("UPDATE validations SET row_hash = repeat('a', 64) WHERE position = 2")
    await _append(two, 3)
    with pytest.raises(RequestError) as raised:
        await _export(two, form, output)
    assert (raised.value.failure_code, _files(tmp_path)) == ("EXPORT_FOREIGN", before)


@pytest.mark.contract("R5P-5")
async def test_exports_at_once_add_each_record_once(two: Services, database: str, tmp_path: Path) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (EXPORT_LOCK,))
        with pytest.raises(StoreError) as raised:
            await _export(two, "delta", tmp_path / "audit")
        assert raised.value.failure_code == "EXPORT_BUSY"
    exports = (_export(two, "delta", tmp_path / "audit") for _ in range(4))
    done = await asyncio.gather(*exports, return_exceptions=True)
    assert sum(found.records for found in done if isinstance(found, Exported)) == 2
    assert [row["position"] for row in _read("delta", tmp_path / "audit")] == [1, 2]


async def test_a_record_whose_time_is_none_is_named(two: Services, database: str, tmp_path: Path) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("UPDATE validations SET timestamp_utc = 'infinity' WHERE position = 2")
    for form in ("parquet", "delta"):
        with pytest.raises(StoreError, match="position 2") as raised:
            await _export(two, form, tmp_path / form)
        assert "audit verify" in raised.value.next_step
    assert _files(tmp_path) == {}


@pytest.mark.parametrize("form", ["parquet", "delta"])
@pytest.mark.parametrize("package", ["deltalake", "pyarrow"])
def test_a_format_whose_package_is_missing_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, form: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigurationError) as raised:
        open_target(form, "audit")
    assert raised.value.failure_code == "EXTRA_MISSING"
    assert f"{sys.executable} -m pip install 'deltalake" in raised.value.next_step
    assert open_target("jsonl", "audit")


def test_an_unknown_format_is_an_error() -> None:
    with pytest.raises(RequestError, match="'xlsx'") as raised:
        open_target("xlsx", "audit")
    assert "jsonl, parquet, delta" in raised.value.next_step


async def test_records_from_before_the_chain_are_not_exported(two: Services, database: str, tmp_path: Path) -> None:
    rows(database, "ALTER TABLE validations DROP CONSTRAINT validations_chained")
    with psycopg.connect(database) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("UPDATE validations SET position = NULL WHERE position = 1")
    await _export(two, "jsonl", tmp_path / "audit")
    assert [row["position"] for row in _read("jsonl", tmp_path / "audit")] == [2]


@pytest.mark.contract("R5P-4")
@pytest.mark.contract("R5P-5")
async def test_a_broken_chain_is_exported_only_on_request(two: Services, database: str, tmp_path: Path) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("UPDATE validations SET model_name = 'another' WHERE position = 2")
    program, output = Program({"DATABASE_URL": database}), tmp_path / "audit.jsonl"
    refused = program("audit", "export", "--output", output)
    assert (refused.code, refused.stdout) == (1, "")
    assert "broken at position 2, run run-2" in refused.stderr
    assert "[AUDIT_BROKEN]" in refused.stderr
    assert not output.exists()
    exported = program("audit", "export", "--output", output, "--unverified")
    assert (exported.code, exported.stderr.startswith("Unverified: the audit chain is broken at position 2")) == (
        0,
        True,
    )
    assert len(_read("jsonl", output)) == 2
