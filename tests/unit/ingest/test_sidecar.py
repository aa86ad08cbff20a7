"""Sidecars: every key is read, and a mistake is an error that says what the keys are."""

from datetime import date
from pathlib import Path

import pytest

from sourcebound.contracts.corpus.collection import KnownDocument
from sourcebound.errors import DocumentError
from sourcebound.ingest.changes import Change, ChangeDetector, Unchanged
from sourcebound.ingest.discovery import FoundFiles, Skipped, SourceFile
from sourcebound.ingest.loaders.sidecar import Sidecar, read_sidecar, sidecar_path
from sourcebound.ingest.summary import Tally


def _write(folder: Path, text: str) -> Path:
    document = folder / "pump manual.pdf"
    sidecar_path(document).write_text(text, encoding="utf-8")
    return document


def test_sidecar_stands_beside_its_document() -> None:
    assert sidecar_path(Path("a/pump.v2.pdf")) == Path("a/pump.v2.pdf.meta.toml")


def test_no_sidecar_says_nothing(tmp_path: Path) -> None:
    assert read_sidecar(tmp_path / "manual.pdf") == Sidecar()


def test_every_key_is_read(tmp_path: Path) -> None:
    document = _write(
        tmp_path,
        'knowledge_id = "KB-7"\ntitle = "Pump manual"\nrevision = "C"\nevent_date = 2024-03-01\n'
        'equipment_id = "P-101"\nknowledge_type = "manual"\nauthority = "OEM"\nsource_reference = "dms://7"\n'
        'labels = ["qa", "hr", "qa"]\n',
    )
    assert read_sidecar(document) == Sidecar(
        knowledge_id="KB-7",
        title="Pump manual",
        revision="C",
        event_date=date(2024, 3, 1),
        equipment_id="P-101",
        knowledge_type="manual",
        authority="OEM",
        source_reference="dms://7",
        labels=("hr", "qa"),
    )


def test_a_date_may_be_an_iso_string(tmp_path: Path) -> None:
    assert read_sidecar(_write(tmp_path, 'event_date = "2024-03-01"')).event_date == date(2024, 3, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('tittle = "x"', "unknown key 'tittle'"),
        ("title = ", "is not valid TOML"),
        ('event_date = "last spring"', "invalid event_date"),
        ("revision = 3", "invalid revision"),
        ('title = ""', "invalid title"),
        ('label = "qa"', "unknown key 'label'"),
        ('labels = "qa"', "invalid labels: it is not a list of at most 32 labels; a label has at most 64"),
        ('labels = ["two words"]', "invalid labels: it is not a list"),
        ("labels = [7]", "invalid labels: it is not a list"),
        (f"labels = {[f'l{n}' for n in range(33)]}", "invalid labels: it is not a list"),
    ],
)
def test_mistakes_name_the_file_and_list_the_keys(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(DocumentError, match=r"pump manual\.pdf\.meta\.toml") as raised:
        read_sidecar(_write(tmp_path, text))
    assert raised.value.failure_code == "BAD_SIDECAR"
    assert expected in raised.value.message
    assert "knowledge_id, title, revision, event_date, equipment_id" in raised.value.next_step


def test_a_sidecar_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    document = tmp_path / "a.txt"
    sidecar_path(document).write_bytes(b'title = "\xff"')
    with pytest.raises(DocumentError) as raised:
        read_sidecar(document)
    assert raised.value.failure_code == "BAD_SIDECAR"


@pytest.mark.contract("R6-7")
def test_labels_reach_a_stored_document_whose_file_is_now_too_large(tmp_path: Path) -> None:
    document = _write(tmp_path, 'labels = ["qa"]')
    document.write_bytes(b"12345")
    file = SourceFile(document, "manual", str(document))
    known = {"manual": KnownDocument("manual", str(document), b"")}
    detector, tally = ChangeDetector(known, Sidecar(), "chunker", max_bytes=4), Tally(known, FoundFiles([file], []))
    (result,) = detector.classify([file])
    assert isinstance(result, Skipped)
    assert result.code == "TOO_LARGE"
    assert tally.find_with_other_sidecar(detector.labels) == {("qa",): ["manual"]}
    assert tally.relabelled == {"manual"}


@pytest.mark.contract("R6-7")
def test_a_sidecar_gives_no_label_to_a_document_that_its_caller_may_not_see(tmp_path: Path) -> None:
    document = _write(tmp_path, "labels = []")
    document.write_bytes(b"12345")
    file = SourceFile(document, "manual", str(document))
    detector = ChangeDetector(
        {"manual": KnownDocument("manual", str(document), b"", ["qa"])}, Sidecar(), "chunker", 99, held=["hr"]
    )
    (result,) = detector.classify([file])
    assert isinstance(result, Skipped)
    assert result.code == "KNOWLEDGE_ID_TAKEN"
    assert detector.labels == {}


def test_a_copy_of_an_older_version_leaves_the_id_to_the_file_of_the_document(tmp_path: Path) -> None:
    own, copy = tmp_path / "pump.md", tmp_path / "old" / "pump.md"
    copy.parent.mkdir()
    own.write_text("It runs at 7 bar.")
    copy.write_text("It runs at 5 bar.")
    digest = ChangeDetector({}, Sidecar(), "chunker", 99).digest(copy.read_bytes(), Sidecar())
    detector = ChangeDetector({"pump": KnownDocument("pump", str(own), digest)}, Sidecar(), "chunker", 99)
    found = detector.classify([SourceFile(each, "pump", str(each)) for each in (copy, own)])
    assert [type(each) for each in found] == [Unchanged, Change]
