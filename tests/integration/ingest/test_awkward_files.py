"""Real, awkward files: each loads or is refused as their manifest says, and real reports keep their pages."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sourcebound.contracts.corpus.document import ParsedDocument
from sourcebound.errors import DocumentError
from sourcebound.ingest.chunking.chunker import chunk_document
from sourcebound.ingest.loaders.pdf.load import load_pdf
from sourcebound.ingest.loaders.select import load_document
from support.places import ROOT
from support.processes.databases import PARSER

DOCUMENTS = ROOT.parent / "shared" / "data" / "documents"
LIMIT = 50_000_000
_WORD = re.compile(r"\w+")

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DOCUMENTS.is_dir(), reason="the external evaluation data is not beside the repository"),
]

REFUSALS = {
    "no_text": {"NO_TEXT"},
    "reject": {"UNREADABLE", "UNSUPPORTED", "EMPTY"},
    "reject_or_no_text": {"UNREADABLE", "NO_TEXT"},
    "reject_or_ask_password": {"UNREADABLE", "ENCRYPTED"},
}


class Reading(NamedTuple):
    """Differences from the extractor that wrote the manifest, with the reason for each."""

    manifest: str
    ours: str


READINGS = (
    # PDFium spells typographic ligatures out, so that a search for "differently" finds the word.
    Reading("see things diﬀerently.", "see things differently."),
    # The reference drops Word's no-break hyphen; in a part number that would be another part.
    Reading("no-break hyphen here:and hard page-break", "no-break hyphen here:-and hard page-break"),
)


class WordCounter:
    def count_tokens(self, text: str) -> int:
        return len(text.split())


def _records(relative: str) -> list[dict[str, Any]]:
    path = DOCUMENTS / relative
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _collapse(text: str) -> str:
    return " ".join(text.split())


def _expected(snippet: str) -> str:
    text = _collapse(snippet)
    for reading in READINGS:
        text = text.replace(reading.manifest, reading.ours)
    return text


def _text(document: ParsedDocument, page: int | None) -> str:
    pages = document.pages if page is None else (document.pages[page - 1],)
    return _collapse(" ".join(found.text for found in pages))


def _read(path: Path) -> ParsedDocument:
    """Load a file as the product does: in a child process, from its bytes."""
    return PARSER.parse(path, path.read_bytes(), LIMIT)


MANIFEST = _records("ingestion/manifest.jsonl")
LOADABLE = [record for record in MANIFEST if record["expected"] not in REFUSALS]
REFUSED = [record for record in MANIFEST if record["expected"] in REFUSALS]
REPORTS = [
    (f"{folder}/{record['file']}", record["pages"])
    for folder in ("financebench", "ntsb")
    for record in _records(f"{folder}/documents.jsonl")
]


@pytest.mark.parametrize("record", LOADABLE, ids=lambda record: record["id"])
def test_file_loads_with_its_text_on_its_pages(record: dict[str, Any]) -> None:
    document = _read(DOCUMENTS / "ingestion" / record["file"])
    missing = [s["text"] for s in record["must_contain"] if _expected(s["text"]) not in _text(document, s.get("page"))]
    unwanted = [text for text in record["must_not_contain"] if _collapse(text) in _text(document, None)]
    assert (missing, unwanted) == ([], [])
    assert record["pages"] in (None, len(document.pages))


@pytest.mark.parametrize("record", REFUSED, ids=lambda record: record["id"])
def test_file_is_refused_with_a_reason(record: dict[str, Any]) -> None:
    with pytest.raises(DocumentError) as raised:
        _read(DOCUMENTS / "ingestion" / record["file"])
    assert raised.value.failure_code in REFUSALS[record["expected"]]
    assert Path(record["file"]).name in raised.value.message


@pytest.mark.parametrize(("file", "pages"), REPORTS, ids=lambda value: str(value))
def test_report_keeps_its_pages_and_its_chunks_their_places(file: str, pages: int) -> None:
    document = load_document(DOCUMENTS / file, LIMIT)
    chunks = chunk_document(document, "KB", WordCounter(), 120)
    assert [page.number for page in document.pages] == list(range(1, pages + 1))
    assert {chunk.page_number for chunk in chunks} == {page.number for page in document.pages if page.text}
    assert all(document.pages[c.page_index].text[c.char_start : c.char_end] == c.text for c in chunks)


def _words(text: str) -> set[str]:
    """The words of a text without the marks that a table's rows are written with, `Header: value; Header: value`."""
    return {word.rstrip(":;") for word in text.split()}


@pytest.mark.parametrize(("file", "pages"), REPORTS, ids=lambda value: str(value))
def test_the_tables_of_a_report_keep_every_word(file: str, pages: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = DOCUMENTS / file
    written = load_pdf(path, path.read_bytes())
    monkeypatch.setattr("sourcebound.ingest.loaders.pdf.load.replace_tables", list)
    for page, plain in zip(written.pages, load_pdf(path, path.read_bytes()).pages, strict=True):
        assert not Counter(_WORD.findall(plain.text)) - Counter(_WORD.findall(page.text)), page.number
        assert set(_WORD.findall(page.text)) <= set(_WORD.findall(plain.text)), page.number


def test_the_tables_of_real_reports_are_found_and_carry_their_headers() -> None:
    rows = {}
    for file, _ in REPORTS:
        pages = load_document(DOCUMENTS / file, LIMIT).pages
        found = [page.text[b.char_start : b.char_end] for page in pages for b in page.blocks if b.kind == "table_row"]
        rows[Path(file).stem] = [text for text in found if "; " in text]
    assert (
        "Gross profit; January 28, 2023: 9,912; January 29, 2022: 11,640; January 30, 2021: 10,573"
        in (rows["BESTBUY_2023_10K"])
    )
    assert (
        "Regional Operations; Three months ended December 31, 2022: 991,452; Three months ended December 31, 2021: "
        "899,607; Twelve months ended December 31, 2022: 3,815,885; Twelve months ended December 31, 2021: 3,392,363"
    ) in rows["MGMRESORTS_2022Q4_EARNINGS"]
    assert not [text for name, texts in rows.items() if name.isalnum() for text in texts], "forms are no tables"


QUESTIONS = _records("financebench/questions.jsonl")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["id"])
def test_evidence_is_on_the_page_that_the_annotators_gave(question: dict[str, Any]) -> None:
    document = load_document(DOCUMENTS / "financebench" / "pdfs" / f"{question['doc_name']}.pdf", LIMIT)
    shares = []
    for evidence in question["evidence"]:
        words = _words(evidence["text"])
        found = words & _words(document.pages[evidence["page_index"]].text)
        shares.append(len(found) / len(words))
    assert min(shares) > 0.9
