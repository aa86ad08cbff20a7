"""R1-4: which words of a question may be mistyped, and what they may have been meant to be."""

import pytest

from sourcebound.contracts.text.spelling import best_spelling, doubtful_words, respell, slips

pytestmark = pytest.mark.contract("R1-4")


def test_names_ids_numbers_quotations_and_abbreviations_are_as_they_were_meant() -> None:
    question = (
        "Does the HP-200 show “Fliter” or `presure_low` at 16bar, says the SOPX in manaul.pdf, after weeks, Temur?"
    )
    assert doubtful_words(question) == ["does", "show", "says", "after", "weeks"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [("fliter", "filter"), ("presure", "pressure"), ("maximun", "maximum"), ("exxact", "exact"), ("fühlr", "fühler")],
)
def test_a_slip_is_one_letter_or_two_that_changed_places(word: str, meant: str) -> None:
    assert meant in slips(word)
    assert best_spelling(word, {meant: 1}) == meant


@pytest.mark.parametrize(("word", "other"), [("filter", "filter"), ("pump", "lump"), ("flter", "filtre")])
def test_the_word_itself_another_first_letter_and_two_slips_are_none(word: str, other: str) -> None:
    assert best_spelling(word, {other: 9}) is None


def test_a_short_word_may_only_be_a_question_word_or_have_letters_in_the_wrong_order() -> None:
    assert best_spelling("wich", {"which": 1, "wish": 9}) == "which"
    assert best_spelling("leek", {"leak": 9}) is None
    assert best_spelling("laek", {"leak": 9}) == "leak"


def test_changed_places_come_first_and_then_the_more_frequent_word() -> None:
    assert best_spelling("fliter", {"filter": 1, "flitter": 9}) == "filter"
    assert best_spelling("sealy", {"seals": 2, "seal": 3}) == "seal"
    assert best_spelling("requiered", {"requirred": 3, "required": 3}) == "required"


def test_only_the_named_words_change_and_never_inside_quotation_marks() -> None:
    question = 'How often is the (Fliter) of "fliter" unit changed, fliter?'
    assert respell(question, {"fliter": "filter"}) == 'How often is the (filter) of "fliter" unit changed, filter?'
    assert respell(question, {}) == question


def test_a_very_long_word_is_not_looked_up_because_its_slips_would_fill_the_memory() -> None:
    assert doubtful_words(f"what is {'ab' * 15}") == ["what", "ab" * 15]
    assert doubtful_words(f"what is {'ab' * 15}c {'a' + '漢' * 1_999}") == ["what"]
    assert len(slips("".join(map(chr, range(0x4E00, 0x4E00 + 30))))) < 4_000
