"""The sentences of the shown evidence against the question: their features, and how far an answer is ahead (R5-18)."""

import pytest

from sourcebound.contracts.validation.support.candidates import Place, Shown, best_features, read_candidates
from sourcebound.contracts.validation.support.weights import Linear, read_weights

PUMP = "The pump is blue. The seal of the pump is replaced in 2021. The pump stands in hall 4. It is heavy."
MOTOR = "The motor hums. Its bearings are greased. The seal of the pump is replaced each year."
QUESTION = "When is the seal of the pump replaced?"
SEALED = PUMP.index("The seal")
ORDER = Linear(0, (("own_local", 10_000),))


def said(chunk: int, start: int) -> list[Place]:
    return [Place(chunk, start, start + 10)]


def share_of(*texts: str, places: list[Place]) -> int:
    return best_features(read_candidates(QUESTION, [Shown(text, "") for text in texts]), places, ORDER)["share"]


@pytest.mark.contract("R5-18")
def test_every_shown_sentence_is_described_in_order() -> None:
    candidates = read_candidates(QUESTION, [Shown(PUMP, ""), Shown(MOTOR, "")])
    assert [each.place.chunk for each in candidates] == [0, 0, 0, 0, 1, 1, 1]
    sealed, yearly = candidates[1].features, candidates[6].features
    assert (sealed["own"], sealed["kind"], sealed["kind_missing"]) == (1000, 1000, 0)
    assert (yearly["own"], yearly["kind"], yearly["kind_missing"]) == (1000, 0, 1000)
    assert (sealed["rank"], yearly["rank"]) == (1000, 500)


@pytest.mark.contract("R5-18")
def test_a_title_and_the_sentences_before_say_what_a_sentence_is_about() -> None:
    plain, titled = (read_candidates(QUESTION, [Shown("It lasts.", title)]) for title in ("", "Seal of the pump"))
    assert plain[0].features["around_local"] < titled[0].features["around_local"]
    heavy = read_candidates(QUESTION, [Shown(PUMP, "")])[3].features
    assert heavy["own_local"] < heavy["around_local"]


@pytest.mark.contract("R5-18")
def test_an_answer_has_less_of_a_share_where_another_sentence_is_as_near() -> None:
    alone, among = (share_of(*texts, places=said(0, SEALED)) for texts in ([PUMP], [PUMP, MOTOR]))
    assert among < alone
    assert among in range(450, 551)


@pytest.mark.contract("R5-18")
def test_an_answer_that_says_both_has_the_share_of_both() -> None:
    both = said(0, SEALED) + said(1, MOTOR.index("The seal"))
    assert share_of(PUMP, MOTOR, places=both) > 900


@pytest.mark.contract("R5-18")
def test_the_sentences_next_to_the_answer_do_not_compete() -> None:
    seal = "The seal of the pump is replaced in 2021."
    beside, apart = (f"{seal} {seal}", f"{seal} It is heavy. {seal}")
    assert share_of(beside, places=said(0, 0)) == 1000
    assert share_of(apart, places=said(0, 0)) < 600


@pytest.mark.contract("R5-18")
def test_an_answer_that_says_no_sentence_has_no_share() -> None:
    candidates = read_candidates(QUESTION, [Shown(PUMP, "")])
    features = best_features(candidates, [], read_weights().order)
    assert features == best_features([], [], read_weights().order)
    assert set(features.values()) == {0}
    assert features.keys() == candidates[0].features.keys() | {"share"}
