"""Ingest: what is stored once is not stored again, what cannot be read is named and does not stop the rest."""

import io
import os
import pwd
import signal
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fpdf import FPDF

from sourcebound.errors import ConfigurationError
from sourcebound.wiring import Services
from support.fakes import FakeEmbedder
from support.processes.commands import Program, end
from support.processes.databases import COLLECTION, MANUALS, MAX_BYTES, ingest, rows, single
from support.processes.homes import reachable_folder, wait_until

ORDINARY_UID = pwd.getpwnam("daemon").pw_uid
CONTENT = "SELECT document_id, ordinal, text FROM chunks ORDER BY document_id, ordinal"
DOCUMENTS = "SELECT knowledge_id FROM documents ORDER BY knowledge_id"
HALF_WRITTEN = """
    SELECT knowledge_id FROM documents d
    WHERE NOT EXISTS (SELECT FROM pages p WHERE p.document_id = d.document_id)
       OR NOT EXISTS (SELECT FROM chunks k WHERE k.document_id = d.document_id)
"""
IN_MIDDLE = 24
"""Documents of an ingest that a signal ends; the embedder needs seconds for them."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pump.md").write_text("# Pump\n\nThe pump runs at 5 bar.\n")
    (tmp_path / "valve.txt").write_text("The valve is closed by hand.\n")
    return tmp_path


def _pdf(write: Callable[[FPDF], None], prepare: Callable[[FPDF], None] = lambda pdf: None) -> bytes:
    pdf = FPDF()
    prepare(pdf)
    pdf.add_page()
    write(pdf)
    return bytes(pdf.output())


def _write_text(pdf: FPDF) -> None:
    pdf.set_font("Helvetica", size=12)
    pdf.cell(0, 10, "The pump runs at 5 bar.")


def _draw(pdf: FPDF) -> None:
    pdf.rect(20, 20, 100, 100, style="F")


def _truncated_word_document() -> bytes:
    return (MANUALS / "wfi-1-sanitisation-sop.docx").read_bytes()[:2000]


def _archive() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("word/document.xml", "<not xml")
    return data.getvalue()


def _archive_with_a_broken_name() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("word/é.xml", "<a/>")
    return data.getvalue().replace("é".encode(), b"\xd7\xd7")


def _counts(database: str) -> tuple[int, int, int]:
    names = ("documents", "pages", "chunks")
    documents, pages, chunks = (single(database, f"SELECT count(*) FROM {name}") for name in names)
    return documents, pages, chunks


async def test_the_same_files_again_are_left_as_they_are(services: Services, database: str, folder: Path) -> None:
    first = await ingest(services, folder)
    before = rows(database, "SELECT *, xmin::text FROM documents ORDER BY document_id")
    version = rows(database, "SELECT documents_digest, xmin::text FROM collections")
    again = await ingest(services, folder)
    assert (first.added, first.unchanged, first.replaced) == (2, 0, 0)
    assert (again.added, again.unchanged, again.replaced, again.chunks) == (0, 2, 0, 0)
    assert rows(database, "SELECT *, xmin::text FROM documents ORDER BY document_id") == before
    assert rows(database, "SELECT documents_digest, xmin::text FROM collections") == version


async def test_a_changed_file_is_replaced_and_the_rest_is_not_touched(
    services: Services, database: str, folder: Path
) -> None:
    await ingest(services, folder)
    kept = rows(database, "SELECT document_id FROM documents WHERE knowledge_id = 'valve.txt'")
    (folder / "pump.md").write_text("# Pump\n\nThe pump runs at 7 bar.\n")
    summary = await ingest(services, folder)
    assert (summary.added, summary.replaced, summary.unchanged) == (0, 1, 1)
    assert rows(database, "SELECT document_id FROM documents WHERE knowledge_id = 'valve.txt'") == kept
    assert {text for _, _, text in rows(database, CONTENT)} == {
        "Pump\n\nThe pump runs at 7 bar.",
        "The valve is closed by hand.",
    }


async def test_two_files_of_one_name_do_not_replace_each_other(services: Services, database: str, folder: Path) -> None:
    other = folder / "other" / "pump.md"
    other.parent.mkdir()
    other.write_text("# Another pump\n\nIt runs at 9 bar.\n")
    await ingest(services, folder / "pump.md")
    before = rows(database, CONTENT)
    summary = await ingest(services, other)
    assert [skipped.code for skipped in summary.skipped] == ["KNOWLEDGE_ID_TAKEN"]
    assert "pump.md.meta.toml" in summary.skipped[0].next_step
    assert rows(database, CONTENT) == before
    other.with_name("pump.md.meta.toml").write_text('knowledge_id = "second-pump"\n')
    assert (await ingest(services, other)).added == 1
    assert rows(database, DOCUMENTS) == [("pump.md",), ("second-pump",)]


async def test_a_copy_of_a_file_is_the_same_document(services: Services, database: str, folder: Path) -> None:
    await ingest(services, folder / "pump.md")
    before = rows(database, CONTENT)
    copy = folder / "other" / "pump.md"
    copy.parent.mkdir()
    copy.write_bytes((folder / "pump.md").read_bytes())
    summary = await ingest(services, copy)
    assert (summary.unchanged, summary.skipped, rows(database, CONTENT)) == (1, (), before)
    copy.with_name("pump.md.meta.toml").write_text('title = "The other pump"\n')
    assert [skipped.code for skipped in (await ingest(services, copy)).skipped] == ["KNOWLEDGE_ID_TAKEN"]


async def test_two_files_of_one_name_in_one_ingest_do_not_replace_each_other(
    services: Services, database: str, folder: Path
) -> None:
    other = folder / "other" / "pump.md"
    other.parent.mkdir()
    other.write_text("# Another pump\n\nIt runs at 9 bar.\n")
    summary = await ingest(services, folder / "pump.md", other)
    assert (summary.added, [skipped.code for skipped in summary.skipped]) == (1, ["KNOWLEDGE_ID_TAKEN"])
    assert [text for _, _, text in rows(database, CONTENT)] == ["Pump\n\nThe pump runs at 5 bar."]


async def test_files_of_one_folder_are_named_by_their_place_in_it(
    services: Services, database: str, folder: Path
) -> None:
    other = folder / "other" / "pump.md"
    other.parent.mkdir()
    other.write_text("# Another pump\n\nIt runs at 9 bar.\n")
    assert (await ingest(services, folder)).added == 3
    assert rows(database, DOCUMENTS) == [("other/pump.md",), ("pump.md",), ("valve.txt",)]


async def test_a_moved_file_keeps_its_document(services: Services, database: str, folder: Path, tmp_path: Path) -> None:
    await ingest(services, folder / "pump.md")
    moved = tmp_path / "elsewhere" / "pump.md"
    moved.parent.mkdir()
    (folder / "pump.md").rename(moved)
    summary = await ingest(services, moved)
    assert (summary.added, summary.unchanged, summary.skipped) == (0, 1, ())
    moved.write_text("# Pump\n\nThe pump runs at 7 bar.\n")
    assert (await ingest(services, moved)).replaced == 1
    assert rows(database, "SELECT knowledge_id, source_path FROM documents") == [("pump.md", str(moved))]


async def test_metadata_comes_from_the_file_its_sidecar_and_the_flags_in_rising_strength(
    services: Services, database: str, folder: Path
) -> None:
    (folder / "pump.md.meta.toml").write_text(
        'equipment_id = "HP-1"\nknowledge_type = "manual"\nevent_date = 2024-03-04\nsource_reference = "Pump manual"\n'
    )
    await ingest(services, folder, equipment_id="HP-2")
    columns = "knowledge_id, title, equipment_id, knowledge_type, event_date::text, source_reference"
    assert rows(database, f"SELECT {columns} FROM documents ORDER BY knowledge_id") == [
        ("pump.md", "Pump", "HP-2", "manual", "2024-03-04", "Pump manual"),
        ("valve.txt", "valve", "HP-2", "document", None, "valve.txt"),
    ]


async def test_a_changed_sidecar_alone_replaces_the_document(services: Services, database: str, folder: Path) -> None:
    await ingest(services, folder)
    (folder / "pump.md.meta.toml").write_text('equipment_id = "HP-1"\n')
    summary = await ingest(services, folder)
    assert (summary.replaced, summary.unchanged) == (1, 1)
    assert single(database, "SELECT equipment_id FROM documents WHERE knowledge_id = 'pump.md'") == "HP-1"


BAD_FILES = [
    pytest.param("empty.md", b"", "EMPTY", "is empty", id="empty"),
    pytest.param("blank.txt", b" \n\t\n", "EMPTY", "is empty", id="blank"),
    pytest.param(
        "secret.pdf",
        _pdf(_write_text, lambda pdf: pdf.set_encryption("owner", "user")),
        "ENCRYPTED",
        "password",
        id="encrypted",
    ),
    pytest.param("scan.pdf", _pdf(_draw), "NO_TEXT", "no text: needs OCR", id="picture"),
    pytest.param("cut.docx", _truncated_word_document(), "UNREADABLE", "damaged", id="cut-word"),
    pytest.param("odd.docx", _archive(), "UNREADABLE", "odd.docx", id="broken-word"),
    pytest.param("name.docx", _archive_with_a_broken_name(), "UNREADABLE", "is a damaged archive", id="broken-name"),
    pytest.param("cut.pdf", _pdf(_write_text)[:300], "UNREADABLE", "not a readable PDF", id="cut-pdf"),
    pytest.param("large.txt", b"word " * (MAX_BYTES // 5 + 1), "TOO_LARGE", "the limit is", id="large"),
    pytest.param("garbage.txt", bytes(range(256)) * 20, "UNREADABLE", "is not text", id="garbage"),
    pytest.param("garbage.pdf", bytes(range(256)) * 20, "UNREADABLE", "is not a PDF", id="garbage-pdf"),
    pytest.param("nul.txt", b"one\0two three four", "UNREADABLE", "is not text", id="nul"),
]


@pytest.mark.parametrize(("name", "data", "code", "words"), BAD_FILES)
async def test_a_file_that_cannot_be_read_is_named_and_the_rest_is_stored(
    services: Services, database: str, folder: Path, name: str, data: bytes, code: str, words: str
) -> None:
    (folder / name).write_bytes(data)
    summary = await ingest(services, folder)
    (skipped,) = summary.skipped
    assert (skipped.code, skipped.path.name) == (code, name)
    assert words in skipped.message
    assert skipped.next_step
    assert summary.added == 2
    assert rows(database, DOCUMENTS) == [("pump.md",), ("valve.txt",)]
    assert _counts(database) == (2, 2, 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title = [", "is not valid TOML"),
        ('colour = "red"', "unknown key 'colour'"),
        ('title = "a\\u0000b"', "NUL"),
        ("equipment_id = 5", "invalid equipment_id"),
    ],
)
async def test_a_file_with_a_bad_sidecar_is_named_and_the_rest_is_stored(
    services: Services, database: str, folder: Path, text: str, words: str
) -> None:
    (folder / "pump.md.meta.toml").write_text(text)
    summary = await ingest(services, folder)
    (skipped,) = summary.skipped
    assert (skipped.code, summary.added) == ("BAD_SIDECAR", 1)
    assert words in skipped.message
    assert "Known keys" in skipped.next_step
    assert rows(database, DOCUMENTS) == [("valve.txt",)]


async def test_a_file_that_became_unreadable_leaves_its_document(
    services: Services, database: str, folder: Path
) -> None:
    await ingest(services, folder)
    before = rows(database, CONTENT)
    (folder / "pump.md").write_bytes(b"")
    summary = await ingest(services, folder)
    assert (summary.unchanged, [skipped.code for skipped in summary.skipped]) == (1, ["EMPTY"])
    assert rows(database, CONTENT) == before


async def test_a_file_whose_name_is_no_text_is_named_and_the_rest_is_stored(
    services: Services, database: str, folder: Path
) -> None:
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("# Coffee\n\nIt is hot.\n")
    summary = await ingest(services, folder)
    assert (summary.added, [skipped.code for skipped in summary.skipped]) == (2, ["BAD_NAME"])
    assert rows(database, DOCUMENTS) == [("pump.md",), ("valve.txt",)]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("latin.txt", "Die Größe der Öffnung beträgt 5 µm bei 20 °C.".encode("latin-1")),
        ("wide.txt", "Die Größe der Öffnung beträgt 5 µm bei 20 °C.".encode("utf-16")),
        ("marked.txt", "Die Größe der Öffnung beträgt 5 µm bei 20 °C.".encode("utf-8-sig")),
    ],
)
async def test_text_in_another_encoding_is_read(
    services: Services, database: str, folder: Path, name: str, data: bytes
) -> None:
    (folder / name).write_bytes(data)
    assert (await ingest(services, folder / name)).added == 1
    assert single(database, "SELECT text FROM chunks") == "Die Größe der Öffnung beträgt 5 µm bei 20 °C."


async def test_a_path_that_is_not_there_is_named_and_the_rest_is_stored(
    services: Services, database: str, folder: Path
) -> None:
    summary = await ingest(services, folder / "missing.pdf", folder)
    (skipped,) = summary.skipped
    assert (skipped.code, skipped.next_step, summary.added) == ("PATH_MISSING", "Check the path.", 2)
    assert str(folder / "missing.pdf") in skipped.message


async def test_a_folder_without_any_document_says_what_is_supported(services: Services, tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (skipped,) = (await ingest(services, tmp_path)).skipped
    assert skipped.code == "NOTHING_FOUND"
    assert ".pdf" in skipped.next_step


@pytest.mark.contract("IX-1")
@pytest.mark.parametrize("data", [None, b"\x89PNG", _truncated_word_document()])
async def test_an_ingest_that_stores_nothing_makes_no_collection(
    services: Services, tmp_path: Path, data: bytes | None
) -> None:
    path = tmp_path / "only.docx"
    if data is not None:
        path.write_bytes(data)
    summary = await ingest(services, path)
    assert (len(summary.skipped), summary.added) == (1, 0)
    assert await services.index.list_collections() == []


async def test_a_collection_of_another_embedder_is_left_alone(services: Services, database: str, folder: Path) -> None:
    await ingest(services, folder / "pump.md")
    before = rows(database, CONTENT)
    with pytest.raises(ConfigurationError) as raised:
        await ingest(services, folder, embedder="minilm")
    assert raised.value.failure_code == "INDEX_EMBEDDER_MISMATCH"
    assert "SOURCEBOUND_EMBEDDER=lexical" in raised.value.next_step
    assert rows(database, CONTENT) == before


async def test_a_file_that_takes_too_long_to_cut_is_named_and_the_rest_is_stored(
    services: Services, database: str, folder: Path
) -> None:
    embedder = FakeEmbedder(slow="flow")
    services._embedders["fake"] = embedder
    (folder / "long.txt").write_text("The flow is 3 l/s.\n\n" * 31)
    (folder / "short.txt").write_text("The flow is 4 l/s.\n\n" * 9)
    summary = await ingest(services, folder, embedder="fake", clock=embedder.clock)
    (skipped,) = summary.skipped
    assert (skipped.code, skipped.path.name) == ("TOO_SLOW", "long.txt")
    assert skipped.message == "long.txt was not cut into chunks within 30 seconds."
    assert "SOURCEBOUND_PARSE_SECONDS" in skipped.next_step
    assert rows(database, DOCUMENTS) == [("pump.md",), ("short.txt",), ("valve.txt",)]


async def test_three_thousand_small_files_are_all_stored(services: Services, database: str, tmp_path: Path) -> None:
    for number in range(3000):
        path = tmp_path / f"{number % 10}" / f"note-{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"Note {number} says that valve {number} is closed.\n")
    summary = await ingest(services, tmp_path)
    assert (summary.added, summary.chunks, summary.skipped) == (3000, 3000, ())
    assert _counts(database) == (3000, 3000, 3000)


@contextmanager
def ordinary_account() -> Iterator[None]:
    """Makes root an ordinary account for a while; any other account is one already."""
    uid = os.geteuid()
    os.seteuid(ORDINARY_UID if uid == 0 else uid)
    try:
        yield
    finally:
        os.seteuid(uid)


async def test_what_permissions_keep_back_is_named_and_the_rest_is_stored(services: Services, database: str) -> None:
    with reachable_folder() as folder:
        (folder / "open.md").write_text("# Open\n\nThis may be read.\n")
        await ingest(services, folder / "open.md", collection="loads every module while this is still root")
        (folder / "closed.md").write_text("# Closed\n\nThis may not.\n")
        (folder / "closed.md").chmod(0)
        (folder / "vault").mkdir(mode=0)
        with ordinary_account():
            summary = await ingest(services, folder)
        (folder / "vault").chmod(0o700)
    assert {(skipped.code, skipped.message) for skipped in summary.skipped} == {
        ("UNREADABLE", f"{folder / 'closed.md'} cannot be read: Permission denied."),
        ("UNREADABLE", f"{folder / 'vault'} cannot be read: Permission denied."),
    }
    assert {skipped.next_step for skipped in summary.skipped} == {"Check its permissions."}
    assert summary.added == 1
    assert single(database, "SELECT count(*) FROM documents WHERE knowledge_id <> 'open.md'") == 0


@pytest.fixture
def program(database: str) -> Program:
    return Program({"DATABASE_URL": database, "SOURCEBOUND_COLLECTION": COLLECTION})


@pytest.fixture
def many(tmp_path: Path) -> Path:
    text = (MANUALS / "shift-handover-policy.txt").read_text()
    for number in range(IN_MIDDLE):
        (tmp_path / f"policy-{number:02}.txt").write_text(f"Policy {number}\n\n{text}")
    return tmp_path


def _stored(database: str) -> int:
    return int(single(database, "SELECT count(*) FROM documents"))


def test_an_ingest_that_is_killed_goes_on_where_it_was(database: str, program: Program, many: Path) -> None:
    process = program.start("ingest", many)
    wait_until(lambda: _stored(database) > 0)
    assert end(process, signal.SIGKILL).code == -signal.SIGKILL
    stored = _stored(database)
    assert 0 < stored < IN_MIDDLE
    assert rows(database, HALF_WRITTEN) == []
    done = program("ingest", many)
    assert done.code == 0, done.stderr
    unchanged = _stored(database) - int(done.stdout.split(": ")[1].split(" added")[0])
    assert f"{unchanged} unchanged" in done.stdout
    assert unchanged >= stored
    per_document = "SELECT count(DISTINCT n) FROM (SELECT count(*) AS n FROM chunks GROUP BY document_id) AS c"
    assert (_stored(database), single(database, per_document)) == (IN_MIDDLE, 1)
    assert single(database, "SELECT count(*) = count(DISTINCT (text, document_id)) FROM chunks")
    assert rows(database, HALF_WRITTEN) == []


def test_an_ingest_that_is_interrupted_keeps_what_is_finished(database: str, program: Program, many: Path) -> None:
    process = program.start("ingest", many)
    wait_until(lambda: _stored(database) > 0)
    done = end(process, signal.SIGINT)
    assert done.code == 130, done.stderr
    assert "Interrupted. Finished work is stored" in done.stderr
    assert "Traceback" not in done.stderr
    assert 0 < _stored(database) < IN_MIDDLE
    assert rows(database, HALF_WRITTEN) == []
