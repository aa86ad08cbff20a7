"""The searchable text of a chunk: hyphenated words are found whole, and numbers keep their meaning."""

import hashlib
import time

import pytest

from sourcebound.contracts.languages.english import language_of_text, read_translations
from sourcebound.ingest.chunking.searchable_text import further_words, in_english, join_broken_words, joined_words
from support.places import ROOT


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The extin-\nguisher is red.", "extinguisher"),
        ("The extin-  \n   guisher is red.", "extinguisher"),
        ("The extin\u2010\nguisher is red.", "extinguisher"),
        ("The extin\u00ad\nguisher and the ex\u00adtin\u00adguisher.", "extinguisher"),
        ("The extin-guisher is red.", "extinguisher"),
        ("The co-operation and the co-operation.", "cooperation"),
        ("Die Größen-\nänderung", "Größenänderung"),
    ],
)
def test_a_broken_word_is_found_whole(text: str, words: str) -> None:
    assert joined_words(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "Engine IO-470 and part 12-\n34",
        "Smith-Jones and HP-\nLOVECRAFT",
        "a state-of-the-art pump",
        "5 - 10 bar, on - off",
        "plain text",
        "",
    ],
)
def test_what_is_no_broken_word_is_left_alone(text: str) -> None:
    assert joined_words(text) == ""


@pytest.mark.parametrize(
    "text", ["a" * 300_000, "a\u00ad" * 100_000, "a-" * 100_000, "ab-\n" * 50_000, "ab-" + "\n" * 100_000]
)
def test_hostile_text_takes_no_time(text: str) -> None:
    began = time.perf_counter()
    joined_words(text)
    join_broken_words(text)
    assert time.perf_counter() - began < 2


def test_an_embedder_reads_whole_words_and_compounds_as_they_are() -> None:
    text = "The extin-\nguisher is well-known; ex\u00adtin\u00adguish it. Engine HP-\n200."
    assert join_broken_words(text) == "The extinguisher is well-known; extinguish it. Engine HP-\n200."


GERMAN = "Das Sieb der Maschine wird jeden Monat gereinigt, und der Ölfilter ist zu prü-\nfen."


@pytest.mark.contract("R1-5")
def test_a_chunk_in_another_language_is_found_by_its_english_words_too() -> None:
    words = further_words(GERMAN, "structure_v2:320").split()
    assert words[0] == "prüfen"
    assert [word for word in ("machine", "month", "oil", "filter", "clean") if word not in words] == []
    assert [word for word in ("the", "is", "and") if word in words] == []
    assert len(words) == len(set(words))
    translations = read_translations(GERMAN)
    assert any(len(each) > 2 for each in translations)
    assert set(words[1:]) <= {word for each in translations for word in each[:2]}
    assert further_words("The fil-\nter is red.", "structure_v2:320") == "filter"


@pytest.mark.contract("R1-5")
def test_an_embedder_that_knows_english_only_reads_it_in_english() -> None:
    assert "oil filter" in in_english(f"Manual - Pflege\n{GERMAN}", "structure_v2:320")
    assert in_english("The filter is red.", "structure_v2:320") == "The filter is red."
    names = "Filter Pumpe Motor Ventil Sieb Maschine Monat Jahr Woche Stunde Druck und"
    assert (in_english(names, "structure_v2:320"), language_of_text(names)) == (names, "de")


@pytest.mark.contract("R1-5")
def test_collections_with_other_stems_and_earlier_ones_stay_as_they_are() -> None:
    assert further_words(GERMAN, "structure_v1:320") == joined_words(GERMAN) == "prüfen"
    assert in_english(GERMAN, "structure_v1:320") == GERMAN


@pytest.mark.contract("IX-3")
def test_what_a_version_adds_to_a_chunk_is_frozen() -> None:
    """Stored chunks are compared with it, so other words or another English text need a new name of the chunker."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "evals/natural/foreign").rglob("*.md")):
        for part in path.read_text("utf-8").split("\n\n"):
            for chunker in ("structure_v1:320", "structure_v2:320"):
                digest.update(f"{further_words(part, chunker)}\n{in_english(part, chunker)}\n".encode())
    assert digest.hexdigest() == "2747262de5ad6fdf5ca4f2496ed0ef76c9c1c93bf5140abe4201aedf6cffef68"
