"""The golden set of the example manuals: its places exist and say its facts, and each kind of question is in it."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from sourcebound.contracts.corpus.document import BlockKind, Page
from sourcebound.evals.golden.items import ExpectedCitation, GoldenItem, Kind, read_items
from sourcebound.evals.natural.questions import normalize, says
from sourcebound.ingest.loaders.select import load_document
from support.places import ROOT

SETS = ROOT / "evals" / "golden" / "sets"
MANUALS = ROOT / "examples" / "manuals"
LEAST_ITEMS = 120
LEAST_OF_A_KIND = 10
MAX_BYTES = 10_000_000

FILE = read_items((SETS / "golden_set.jsonl").read_text("utf-8"), "golden_set.jsonl")


@cache
def pages_of(document: str) -> tuple[Page, ...]:
    folder = next(place for place in (MANUALS, SETS / "plant") if (place / document).is_file())
    return load_document(folder / document, MAX_BYTES).pages


def text_at(place: ExpectedCitation) -> str:
    """Return the text of a page or section; the section ends at the next heading of its level or above."""
    pages = [page for page in pages_of(place.document) if place.page in (None, page.number)]
    return "\n".join(page.text if place.section is None else section_of(page, place.section) for page in pages)


def section_of(page: Page, title: str) -> str:
    headings = [block for block in page.blocks if block.kind is BlockKind.HEADING]
    for position, heading in enumerate(headings):
        if normalize(page.text[heading.char_start : heading.char_end]) == normalize(title):
            later = (other.char_start for other in headings[position + 1 :] if other.level <= heading.level)
            return page.text[heading.char_end : next(later, len(page.text))]
    return ""


def test_the_set_is_accepted() -> None:
    assert FILE.findings == ()
    assert len(FILE.items) >= LEAST_ITEMS


def test_each_kind_of_question_is_in_the_set() -> None:
    counts = Counter(item.kind for item in FILE.items)
    assert {kind for kind, count in counts.items() if count >= LEAST_OF_A_KIND} == set(Kind) - {Kind.RATCHET}
    assert any(item.filters.equipment_id for item in FILE.items)
    assert any(item.filters.event_date_to for item in FILE.items)
    assert any(item.kind is Kind.FILTER and not item.may_answer for item in FILE.items)


@pytest.mark.parametrize("item", FILE.items, ids=lambda item: item.id)
def test_the_cited_places_say_the_facts(item: GoldenItem) -> None:
    texts = {place: text_at(place) for group in item.citations for place in group}
    assert all(text.strip() for text in texts.values()), [place for place, text in texts.items() if not text.strip()]
    unsaid = [fact for fact in item.facts if not any(says(text, fact) for text in texts.values())]
    assert not unsaid
    for group in item.citations:
        for place in group:
            assert any(says(texts[place], fact) for fact in item.facts), place


def test_every_document_of_the_set_is_asked_about() -> None:
    cited = {place.document for item in FILE.items for group in item.citations for place in group}
    documents = {path.name for path in _documents(MANUALS) | _documents(SETS / "plant")}
    assert cited == documents


def test_no_question_is_asked_twice() -> None:
    asked = Counter((item.question, item.history, item.filters) for item in FILE.items)
    assert [question for question, count in asked.items() if count > 1] == []


def _documents(folder: Path) -> set[Path]:
    return {path for path in folder.iterdir() if path.suffix != ".toml"}
