"""R4-9: evidence in another language is read in English, and quoted as it is."""

from collections.abc import Sequence

import pytest

from sourcebound.contracts.extractive.answer import answer
from sourcebound.contracts.extractive.features import Reading
from sourcebound.contracts.extractive.foreign_evidence import in_language_of, read_in_english
from sourcebound.contracts.extractive.question import Question
from sourcebound.contracts.extractive.sentences import Sentence, read_evidence
from sourcebound.contracts.prompt.build import EvidencePart, PromptParts
from sourcebound.models.extractive import open_reader

pytestmark = pytest.mark.contract("R4-9")

GERMAN = """# Waschmaschine

## Pflege

**Das Sieb.** Das Flusensieb wird alle zwei Monate gereinigt, weil es sonst verstopft. Bei der Störung E07 ist der
Druck gefallen.

- Schalten Sie das Gerät aus.
- Ziehen Sie den Stecker aus der Dose.

| Programm | Dauer |
|---|---|
| Wolle | 45 Minuten |
| Baumwolle | 2 Stunden |
"""
DUTCH = "Het filter van de droger wordt elke week schoongemaakt. De machine staat in de kelder van het huis."
ENGLISH = "The lint screen of the dryer is cleaned every week. It is in the basement of the house."
LIST = (
    "- [flake8-return](https://pypi.org/project/flake8-return/)\n- [flake8-self](https://pypi.org/project/flake8-self/)"
)


def parts_of(*texts: str) -> tuple[EvidencePart, ...]:
    return tuple(EvidencePart(f"C{number}", f"manual-{number}.md", text) for number, text in enumerate(texts))


def test_each_english_sentence_is_quoted_as_the_evidence_has_it() -> None:
    evidence = parts_of(ENGLISH, GERMAN)
    english = read_in_english(evidence, "")
    assert english
    own = {each.text for each in read_evidence(evidence)}
    read = read_evidence(english.evidence)
    assert {each.text for each in english.quote(read)} == own
    (cleaned,) = [each for each in read if "two month" in each.text]
    assert [each.text for each in english.quote([cleaned])] == [
        "Das Flusensieb wird alle zwei Monate gereinigt, weil es sonst verstopft."
    ]
    (wool,) = [each for each in read if "Wool" in each.text]
    (row,) = english.quote([wool, wool])
    assert (row.text, row.anchor, row.kind) == ("Programm: Wolle; Dauer: 45 Minuten", "C1", wool.kind)


def test_headings_items_and_rows_stay_what_they_are() -> None:
    english = read_in_english(parts_of(GERMAN), "")
    assert english
    assert [each.kind for each in read_evidence(english.evidence)] == [
        each.kind for each in read_evidence(parts_of(GERMAN))
    ]
    assert english.evidence[0].text.startswith("# Washing machine\n")


def test_the_words_of_the_question_are_taken() -> None:
    german = parts_of("Der Preis der Karte ist auf der Tafel, und sie gilt nur für die Fahrt am Tag des Kaufs.")
    texts = [
        read.evidence[0].text
        for asked in ("", "What does the ticket cost?")
        if (read := read_in_english(german, asked))
    ]
    assert ["ticket" in text for text in texts] == [False, True]


def test_evidence_in_english_and_lists_of_names_are_not_translated() -> None:
    assert read_in_english(parts_of(ENGLISH, LIST), "") is None
    mixed = read_in_english(parts_of(ENGLISH, DUTCH, LIST), "")
    assert mixed
    assert [text for text in (ENGLISH, LIST) if text not in [each.text for each in mixed.evidence]] == []
    assert mixed.evidence[1].text != DUTCH


@pytest.mark.parametrize(
    ("question", "anchors"),
    [
        ("Wie oft wird das Sieb gereinigt?", ["C1"]),
        ("Hoe vaak wordt het filter schoongemaakt?", ["C2"]),
        ("How often is the screen cleaned?", ["C0", "C1", "C2"]),
        ("Combien de fois faut-il nettoyer le filtre ?", ["C0", "C1", "C2"]),
    ],
)
def test_evidence_in_the_language_of_the_question_comes_alone(question: str, anchors: list[str]) -> None:
    assert [part.anchor for part in in_language_of(question, parts_of(ENGLISH, GERMAN, DUTCH))] == anchors


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Wie oft muss ich das Flusensieb reinigen?", "alle zwei Monate"),
        ("How often is the lint screen cleaned?", "alle zwei Monate"),
        ("Wie lange dauert das Programm Wolle?", "45 Minuten"),
        ("How long does the wool programme take?", "45 Minuten"),
    ],
)
def test_questions_in_its_language_and_in_english_are_answered(question: str, said: str) -> None:
    (quoted,) = answer(PromptParts({}, parts_of(GERMAN), question), open_reader())
    assert said in quoted.text


def test_what_the_evidence_does_not_say_is_refused() -> None:
    for question in ("Was kostet ein neuer Motor?", "Who repairs the motor of the machine?"):
        assert answer(PromptParts({}, parts_of(GERMAN), question), open_reader()) == []


def test_the_tower_is_that_of_the_documents_in_the_language_of_the_question() -> None:
    french = "Depuis 1911, la tour a des bandes rouges. Elle se trouve dans la baie avec le phare et un quai."
    german = "Die roten Streifen am Turm der Insel sind von 1958. Er steht auf Pfählen aus Eiche und ist hoch."
    prompt = PromptParts({}, parts_of(french, german), "Seit wann hat der Turm rote Streifen?")
    assert "C0" not in [each.anchor for each in answer(prompt, open_reader())]
    assert [each.anchor for each in answer(prompt._replace(evidence=parts_of(french)), open_reader())] == ["C0"]


def test_the_reader_gets_a_whole_question_and_whole_sentences() -> None:
    seen: list[str] = []

    def read(question: Question, chunks: Sequence[tuple[EvidencePart, Sequence[Sentence]]]) -> list[list[Reading]]:
        seen.extend([question.text, *(part.text for part, _ in chunks)])
        return [[Reading(0, 0) for _ in sentences] for _, sentences in chunks]

    answer(PromptParts({}, parts_of(DUTCH), "Hoe vaak wordt het filter van de droger schoongemaakt?"), read)
    assert seen[0].startswith("how often is the filter from the dryer")
    assert "The filter from the dryer is" in seen[1]


def test_without_a_reader_evidence_is_read_as_it_stands() -> None:
    assert answer(PromptParts({}, parts_of(GERMAN), "How often is the lint screen cleaned?")) == []
    (quoted,) = answer(PromptParts({}, parts_of(GERMAN), "Wie oft wird das Flusensieb gereinigt?"))
    assert "alle zwei Monate" in quoted.text
