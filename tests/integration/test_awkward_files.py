"""Real, awkward files: each loads, or is refused, as the manifest beside them says; real reports keep their pages."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from databases import PARSER

from sourcebound.contracts.document import ParsedDocument
from sourcebound.errors import DocumentError
from sourcebound.ingest.chunking import chunk_document
from sourcebound.ingest.loader import load_document

DOCUMENTS = Path(__file__).parents[2].parent / "shared" / "data" / "documents"
LIMIT = 50_000_000

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
    """Where our text differs from the extractor that wrote the manifest, and why ours is kept."""

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
    """What the product reads: in a child process, out of the file's bytes."""
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


QUESTIONS = _records("financebench/questions.jsonl")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["id"])
def test_evidence_is_on_the_page_that_the_annotators_gave(question: dict[str, Any]) -> None:
    document = load_document(DOCUMENTS / "financebench" / "pdfs" / f"{question['doc_name']}.pdf", LIMIT)
    shares = []
    for evidence in question["evidence"]:
        words = set(evidence["text"].split())
        found = words & set(document.pages[evidence["page_index"]].text.split())
        shares.append(len(found) / len(words))
    assert min(shares) > 0.9
