"""R4-9: a question in German, French, Spanish or Italian about evidence in the same language, by words alone."""

import pytest

from sourcebound.contracts.extractive.answer import answer
from sourcebound.contracts.extractive.question import Asked, read_question
from sourcebound.contracts.prompt.build import EvidencePart, PromptParts

MANUALS = {
    "de": "Der Ölfilter der Pumpe wird alle 6 Monate gewechselt. Vor dem Wechsel muss die Pumpe mindestens 30 Minuten "
    "abkühlen, weil das Öl sonst heiß austritt. Der Alarm A12 darf nur vom Schichtleiter quittiert werden.",
    "fr": "Le filtre à gaz est remplacé tous les deux ans par un technicien agréé. Il faut couper l'alimentation "
    "électrique avant l'intervention afin d'éviter tout risque d'électrocution. Le service se trouve à Lyon.",
    "es": "El aceite se cambia cada 500 horas de funcionamiento. La bomba debe enfriarse durante 20 minutos para "
    "evitar quemaduras. El jefe de turno autoriza el arranque de la bomba.",
    "it": "L'olio viene sostituito ogni 400 ore di funzionamento. La pompa deve raffreddarsi per 15 minuti per "
    "evitare ustioni. Il produttore ha sede a Modena.",
}

pytestmark = pytest.mark.contract("R4-9")


@pytest.mark.parametrize(
    ("language", "question", "asked", "said"),
    [
        ("de", "Wie oft wird der Ölfilter gewechselt?", Asked.FREQUENCY, "alle 6 Monate"),
        ("de", "Warum muss die Pumpe vor dem Wechsel abkühlen?", Asked.REASON, "weil das Öl"),
        ("de", "Wer darf den Alarm A12 quittieren?", Asked.PERSON, "vom Schichtleiter"),
        ("fr", "À quelle fréquence le filtre à gaz est-il remplacé ?", Asked.FREQUENCY, "tous les deux ans"),
        ("fr", "Où se trouve le service ?", Asked.PLACE, "à Lyon"),
        ("es", "¿Cada cuánto se cambia el aceite?", Asked.FREQUENCY, "cada 500 horas"),
        ("es", "¿Quién autoriza el arranque de la bomba?", Asked.PERSON, "jefe de turno"),
        ("it", "Ogni quanto viene sostituito l'olio?", Asked.FREQUENCY, "ogni 400 ore"),
        ("it", "Dove ha sede il produttore?", Asked.PLACE, "a Modena"),
    ],
)
def test_a_question_is_answered_in_the_language_of_its_evidence(
    language: str, question: str, asked: Asked, said: str
) -> None:
    read = read_question(question)
    assert (read.language, read.asked) == (language, asked)
    (quoted,) = answer(PromptParts({}, (EvidencePart("C0", "manual.pdf", MANUALS[language]),), question))
    assert said in quoted.text


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("de", "Wann wird die Dichtung des Verdichters gewechselt?"),
        ("fr", "Combien de brûleurs contient le four ?"),
        ("es", "¿Cuántos cilindros tiene el compresor?"),
        ("it", "Chi ha scritto il romanzo?"),
        ("de", "How often is the oil filter changed?"),
    ],
)
def test_an_absent_subject_and_a_question_in_another_language_are_refused(language: str, question: str) -> None:
    assert answer(PromptParts({}, (EvidencePart("C0", "manual.pdf", MANUALS[language]),), question)) == []


def test_an_english_question_is_english_whatever_names_it_has() -> None:
    for question in ("Who was Charles de Gaulle?", "What is the capital of El Salvador?", "why is a die a die"):
        assert read_question(question).language == "en"
    assert read_question("HP-300 torque").language == ""
