"""The searchable text of a chunk: hyphenated words are found whole, and numbers keep their meaning."""

import time

import pytest

from sourcebound.ingest.chunking.searchable_text import join_broken_words, joined_words


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
