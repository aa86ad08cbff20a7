"""The verifier's features: each sees the one difference that it is for."""

import pytest

from sourcebound.contracts.validation.support.answering import answering_features
from sourcebound.contracts.validation.support.features import support_features
from sourcebound.contracts.validation.support.words import read_words

CHUNK = (
    "Anna Smith gave the pump to Peter Miller in March. The valve is not opened before the pump stops. "
    "The old tank holds 40 litres of water and the new tank holds 90 litres."
)


def features(statement: str, question: str = "", previous: str = "") -> dict[str, int]:
    return support_features(statement, previous, question, [CHUNK])[0]


@pytest.mark.parametrize(
    ("statement", "feature"),
    [
        ("Anna Smith never gave the pump to Peter Miller in March.", "negation_added"),
        ("Anna Smith never gave the pump to Peter Miller in March.", "negated_only_here"),
        ("The valve is opened before the pump stops.", "negation_removed"),
        ("The valve is opened before the pump stops.", "negated_only_there"),
        ("The valve is not closed before the pump stops.", "opposites"),
        ("Anna Brown gave the pump to Peter Miller in March.", "exchanged_names"),
        ("Peter Miller gave the pump to Anna Smith in March.", "pairs_reversed"),
        ("The old tank holds 50 litres of water.", "literals_missing"),
        ("The old tank holds 50 litres of water.", "exchanged_numbers"),
        ("The valve is not opened before the pump", "no_end"),
        ("The valve is not opened before the", "cut_short"),
        ("The old tank holds the old tank holds the old tank holds.", "looped"),
        ("The old freezer holds 40 litres of water.", "missing_rarest"),
    ],
)
def test_a_change_raises_its_feature(statement: str, feature: str) -> None:
    copies = [
        "Anna Smith gave the pump to Peter Miller in March.",
        "The valve is not opened before the pump stops.",
        "The old tank holds 40 litres of water.",
    ]
    assert all(features(copy)[feature] == 0 for copy in copies)
    assert features(statement)[feature] > 0


@pytest.mark.parametrize("feature", ["covered", "covered_3", "pairs_ordered", "equal_share", "agreement_mean"])
def test_a_copy_is_covered_whole_and_another_subject_is_not(feature: str) -> None:
    assert features("The valve is not opened before the pump stops.")[feature] == 1000
    assert features("Penguins breed on Antarctic ice.")[feature] < 200


def test_words_that_name_the_source_do_not_count() -> None:
    plain = features("The old tank holds 40 litres of water.")
    assert features("According to the provided passages, the old tank holds 40 litres of water.") == plain
    assert features("2. The old tank holds 40 litres of water.") == plain


def test_a_word_of_the_question_or_the_statement_before_is_not_new() -> None:
    statement = "The freezer holds 40 litres of water."
    assert features(statement)["missing_new_rarest"] > 0
    assert features(statement, question="What does the freezer hold?")["missing_new_rarest"] == 0
    assert features(statement, previous="The freezer is old.")["missing_new_rarest"] == 0


def test_a_contraction_is_a_negation() -> None:
    assert [word.form for word in read_words("It isn't open, and they can’t stop.")][1:3] == ["is", "not"]
    assert features("The valve isn't opened before the pump stops.")["negation_added"] == 0


@pytest.mark.parametrize(
    ("question", "feature"),
    [
        ("Who gave the pump to Robert Jones?", "asked_names_missing"),
        ("What holds 70 litres?", "asked_literals_missing"),
        ("When was the pump sold?", "asked_missing_rarest"),
        ("How many tanks are there?", "kind_missing"),
    ],
)
def test_a_question_that_the_chunk_does_not_answer_raises_its_feature(question: str, feature: str) -> None:
    answer = "Anna Smith gave the pump to Peter Miller in March."
    assert answering_features(answer, "Who gave the pump to Peter Miller?", [CHUNK])[feature] == 0
    assert answering_features(answer, question, [CHUNK])[feature] > 0
