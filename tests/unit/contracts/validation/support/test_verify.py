"""The verifier's scores: what they do with copies, changes and strange text, and their frozen weights."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.validation.support.candidates import Place, Shown
from sourcebound.contracts.validation.support.passages import read_passage
from sourcebound.contracts.validation.support.verify import read_support, score_answering, score_subject, score_support
from sourcebound.contracts.validation.support.weights import read_weights, verifier_digest
from support.places import ROOT

DATA = ROOT.parent / "shared" / "data"
FOLDER = ROOT / "contracts" / "validation" / "support"
CHUNK = (
    "The feed pump starts at 5 bar. The inlet valve must be closed before the pump is serviced. "
    "Anna Smith repaired the motor for Peter Miller in 2019. The tank holds 40 litres of water."
)
OTHER = "Penguins breed on the ice in winter. The male keeps the egg warm for two months."
QUESTION = "When may the pump be serviced?"
DIGEST = "1ab486ea6c56448b6ee68f0617a3d1538a2bcb48971517caf66b4952afcd3eed"


def score(statement: str, *chunks: str) -> int:
    return score_support(statement, "", QUESTION, chunks or (CHUNK,))


@pytest.mark.parametrize("sentence", [CHUNK[part.start : part.end] for part in read_passage(CHUNK).sentences])
def test_a_copied_sentence_scores_high(sentence: str) -> None:
    assert score(sentence) > 900
    assert score(f"The document states that {sentence[0].lower()}{sentence[1:]}") > 600


@pytest.mark.parametrize(
    "changed",
    [
        "The feed pump starts at 6 bar.",
        "The feed pump does not start at 5 bar.",
        "The inlet valve must not be closed before the pump is serviced.",
        "The inlet valve must be open before the pump is serviced.",
        "Anna Brown repaired the motor for Peter Miller in 2019.",
        "The inlet valve must be closed before the",
    ],
)
def test_a_small_change_of_the_evidence_scores_lower_than_the_evidence(changed: str) -> None:
    copies = [CHUNK[part.start : part.end] for part in read_passage(CHUNK).sentences]
    assert score(changed) + 100 < min(map(score, copies))


@pytest.mark.parametrize("filler", ["Pumps are a complex subject.", "Safety is important for everyone at work."])
def test_filler_and_a_copy_of_another_chunk_score_low(filler: str) -> None:
    assert score(filler) < 600
    assert score("Penguins breed on the ice in winter.") < 300
    assert score("Penguins breed on the ice in winter.", CHUNK, OTHER) > 900


def test_a_further_chunk_that_shares_no_word_changes_no_coverage() -> None:
    alone, together = read_support(CHUNK[:30], "", "", [CHUNK]), read_support(CHUNK[:30], "", "", [CHUNK, OTHER])
    assert alone == together


def test_the_compared_sentences_are_those_closest() -> None:
    reading = read_support("The tank holds 40 litres.", "", "", [OTHER, CHUNK])
    (compared,) = reading.compared
    assert compared.chunk == 1
    assert CHUNK[compared.start : compared.end] == "The tank holds 40 litres of water."


def test_a_copy_of_long_text_that_repeats_itself_still_scores_high() -> None:
    table = "pump valve " * 1000
    assert score(table[: len(table) // 4], table) > 600


def test_an_answer_about_another_thing_answers_less() -> None:
    answer = "The inlet valve must be closed before the pump is serviced."
    assert score_subject(answer, "What must be closed before the pump is serviced?", [CHUNK]) > score_subject(
        answer, "How often does the compressor of the freezer need new oil?", [CHUNK]
    )


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80), st.lists(st.text(max_size=200), max_size=3))
def test_any_text_has_one_score_in_thousandths(statement: str, previous: str, question: str, chunks: list[str]) -> None:
    reading = read_support(statement, previous, question, chunks)
    read_passage.cache_clear()
    assert reading == read_support(statement, previous, question, chunks)
    assert 0 <= reading.score == min(reading.coverage, reading.alteration) <= 1000
    assert 0 <= score_subject(statement, question, chunks) <= 1000
    said = [Place(*part) for part in reading.compared]
    assert 0 <= score_answering(statement, question, chunks, [Shown(each, "") for each in chunks], said) <= 1000
    for part in reading.compared:
        assert 0 <= part.start < part.end <= len(chunks[part.chunk])


def test_the_weights_are_frozen() -> None:
    assert verifier_digest() == DIGEST


def test_every_weight_is_a_whole_number() -> None:
    def leaves(form: object) -> list[object]:
        if isinstance(form, dict):
            return [leaf for value in form.values() for leaf in leaves(value)]
        return [leaf for value in form for leaf in leaves(value)] if isinstance(form, list) else [form]

    for name in ("support_v1.json", "rarity_v1.json"):
        assert {type(leaf) for leaf in leaves(json.loads((FOLDER / name).read_bytes()))} <= {int, str}
    assert list(read_weights().cuts) == sorted(set(read_weights().cuts))
    assert len(read_weights().cuts) == 999


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason="the external evaluation data is not here")
def test_the_scores_keep_their_floors_on_judged_statements() -> None:
    evidence = {}
    with (DATA / "support" / "evidence.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            evidence[row["id"]] = row["texts"]
    scores: dict[tuple[str, bool], list[int]] = {}
    with (DATA / "support" / "statements.jsonl").open(encoding="utf-8") as lines:
        for number, row in enumerate(map(json.loads, lines)):
            name = row["kind"] if row["set"] == "synthetic" else row["set"]
            if name in FLOORS and number % 5 == 0:
                value = score_support(
                    row["statement"], (row["context"] or "")[-300:], row["question"] or "", evidence[row["evidence_id"]]
                )
                scores.setdefault((name, row["label"] == "supported"), []).append(value)
    supported = sorted(value for (name, good), values in scores.items() if good and name in LLM for value in values)
    least = supported[len(supported) // 20]
    for name, floor in FLOORS.items():
        bad = scores[name, False]
        assert sum(value < least for value in bad) / len(bad) >= floor, name


LLM = ("ragtruth/qa", "lfqa_verif")
FLOORS = {
    "ragtruth/qa": 0.25,
    "lfqa_verif": 0.35,
    "negation_flip": 0.7,
    "antonym_flip": 0.6,
    "number_swap": 0.6,
    "role_swap": 0.45,
    "other_document": 0.97,
}
"""The share of unsupported statements under the minimum that rejects one in twenty supported ones."""


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("chunk", "statement", "quoted"),
    [
        ("The cover is red. Turn the shaft by hand\nevery 14 days.", "Turn the shaft by hand every 14 days.", True),
        ("Part: plug; Torque: 18 N·m\nPart: seal; Torque: 9 N·m", "Part: seal; Torque: 9 N·m", True),
        ("Title\n\nKeep the valve shut", "Keep the valve shut", True),
        ("Under no condition may you\nopen the red valve.", "open the red valve.", False),
        ("Open the red valve\nonly when it is cold.", "Open the red valve", False),
        ("Open the red valve. Then wait.", "Open the green valve.", False),
    ],
)
def test_whole_sentences_word_for_word_have_the_highest_score(chunk: str, statement: str, quoted: bool) -> None:
    reading = read_support(statement, "", "", [chunk])
    assert (reading.score == 1000) is quoted
    if quoted:
        start, end = reading.compared[0].start, reading.compared[-1].end
        assert chunk[start:end].split() == statement.split()
