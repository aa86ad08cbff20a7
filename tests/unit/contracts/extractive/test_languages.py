"""R4-9: a question in one of six languages but English about evidence in the same language, by words alone."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from sourcebound.contracts.extractive.answer import answer
from sourcebound.contracts.extractive.question import Asked, read_question
from sourcebound.contracts.extractive.ranking import Ranked, Ranking
from sourcebound.contracts.extractive.sentences import read_evidence
from sourcebound.contracts.extractive.weights import WIDE
from sourcebound.contracts.extractive.wording.stemming import in_language
from sourcebound.contracts.languages.stems import stem_in
from sourcebound.contracts.prompt.build import EvidencePart, PromptParts
from sourcebound.contracts.validation.support.words import read_words

MANUALS = {
    "de": "Der Ölfilter der Pumpe wird alle 6 Monate gewechselt. Vor dem Wechsel muss die Pumpe mindestens 30 Minuten "
    "abkühlen, weil das Öl sonst heiß austritt. Der Alarm A12 darf nur vom Schichtleiter quittiert werden.",
    "fr": "Le filtre à gaz est remplacé tous les deux ans par un technicien agréé. Il faut couper l'alimentation "
    "électrique avant l'intervention afin d'éviter tout risque d'électrocution. Le service se trouve à Lyon.",
    "es": "El aceite se cambia cada 500 horas de funcionamiento. La bomba debe enfriarse durante 20 minutos para "
    "evitar quemaduras. El jefe de turno autoriza el arranque de la bomba.",
    "it": "L'olio viene sostituito ogni 400 ore di funzionamento. La pompa deve raffreddarsi per 15 minuti per "
    "evitare ustioni. Il produttore ha sede a Modena.",
    "nl": "De olie van de pomp wordt om de 500 uur ververst. De pomp moet twintig minuten afkoelen om brandwonden te "
    "vermijden. De ploegleider geeft toestemming voor het starten van de pomp.",
    "pt": "O óleo da bomba é trocado a cada 500 horas. A bomba deve arrefecer durante vinte minutos para evitar "
    "queimaduras. O chefe de turno autoriza o arranque da bomba.",
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
        ("nl", "Hoe lang moet de pomp afkoelen?", Asked.DURATION, "twintig minuten"),
        ("nl", "Wie geeft toestemming voor het starten van de pomp?", Asked.PERSON, "De ploegleider"),
        ("pt", "Durante quanto tempo deve a bomba arrefecer?", Asked.DURATION, "vinte minutos"),
        ("pt", "Quem autoriza o arranque da bomba?", Asked.PERSON, "O chefe de turno"),
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


@pytest.mark.parametrize(
    ("language", "question", "text"),
    [
        ("de", "Wie viele Hunde dürfen die Halter führen?", "Ein Halter darf höchstens drei Hunden die Leine lösen."),
        ("fr", "Combien de capteurs recharges-tu ?", "Il faut recharger les deux capteurs de la montre."),
        ("es", "¿Cuántos libros prestados permite la biblioteca?", "La biblioteca permite prestar tres libros."),
        ("nl", "Hoeveel stemmen mag een lid gebruiken?", "Ieder lid gebruikt bij een stemming twee machtigingen."),
    ],
)
def test_other_endings_of_a_word_are_the_same_word(language: str, question: str, text: str) -> None:
    asked = read_question(question)
    assert asked.language == language
    read, (sentence,) = in_language(asked, read_evidence((EvidencePart("C0", "manual.pdf", text),)))
    assert len(read.weights.keys() & sentence.stems) > len(asked.weights.keys() & read_words_of(text))


def read_words_of(text: str) -> frozenset[str]:
    """Return the stems of a text as the verifier reads them."""
    return frozenset(word.stem for word in read_words(text))


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Un membre qui démissionne en cours d'année récupère-t-il sa cotisation ?", Asked.OTHER),
        ("Cosa succede a chi riporta i libri in ritardo?", Asked.OTHER),
        ("A chi va consegnato il libro?", Asked.PERSON),
        ("Qual é o número de telefone da garantia?", Asked.CONTACT),
        ("Welche Telefonnummer hat die Zentrale?", Asked.CONTACT),
    ],
)
def test_a_relative_clause_asks_for_nobody(question: str, asked: Asked) -> None:
    assert read_question(question).asked is asked


def test_a_question_in_english_keeps_its_stems() -> None:
    question, sentences = read_question("How often is the oil changed?"), read_evidence(())
    assert in_language(question, sentences) == (question, sentences)


def test_a_question_is_answered_in_other_endings_of_its_words() -> None:
    text = "Haltern ist das Führen von höchstens drei Hunden erlaubt. Katzen werden nicht gezählt."
    part = EvidencePart("C0", "satzung.pdf", text)
    (quoted,) = answer(PromptParts({}, (part,), "Wie viele Hunde führt ein Halter?"))
    assert "drei Hunden" in quoted.text


def test_threads_find_the_same_stems() -> None:
    beginnings = ("verbind", "einschalt", "prüf", "mess", "öff", "schließ", "ersetz", "reinig", "halt", "führ")
    endings = ("ungen", "en", "er", "est", "ung", "bar", "lich", "keit", "lichkeiten", "ern")
    text = " ".join(beginning + ending for beginning in beginnings for ending in endings)
    asked = read_question("Wie oft wird der Ölfilter gewechselt?")
    sentences = read_evidence((EvidencePart("C0", "manual.pdf", text),))
    (expected,) = in_language(asked, sentences)[1]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            for _ in range(20):
                stem_in.cache_clear()
                found = list(pool.map(lambda _: in_language(asked, sentences)[1][0].stems, range(8)))
                assert found == [expected.stems] * 8
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize(("own", "expected"), [(500, True), (499, False)])
def test_a_sentence_needs_half_of_a_question_in_another_language(own: int, expected: bool) -> None:
    question = read_question("Wie oft wird der Ölfilter gewechselt?")
    (sentence,) = read_evidence((EvidencePart("C0", "manual.pdf", "Der Ölfilter wird alle 6 Monate gewechselt."),))
    ranked = Ranked(sentence, {"own": own, "type_missing": 0, "aspect_own": 1000}, 0)
    assert Ranking(question, (sentence,), (ranked,), 1, 0, WIDE).answers is expected


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Wie oft wird der Ölfilter der Pumpe gewechselt?", "every 6 months"),
        ("Wie lange muss die Pumpe abkühlen?", "30 minutes"),
        ("Wer darf den Alarm A12 quittieren?", "shift leader"),
        ("À quelle fréquence faut-il changer le filtre à huile de la pompe ?", "every 6 months"),
        ("¿Cuánto tiempo debe enfriarse la bomba?", "30 minutes"),
        ("Ogni quanto si cambia il filtro dell'olio della pompa?", "every 6 months"),
        ("Hoe lang moet de pomp afkoelen?", "30 minutes"),
        ("Quanto tempo deve a bomba arrefecer?", "30 minutes"),
    ],
)
def test_a_question_in_another_language_is_answered_from_english_evidence(question: str, said: str) -> None:
    manual = (
        "The oil filter of the pump is changed every 6 months. The pump must cool down for 30 minutes before the oil "
        "is changed. Only the shift leader may acknowledge the alarm A12."
    )
    (quoted,) = answer(PromptParts({}, (EvidencePart("C0", "manual.pdf", manual),), question))
    assert said in quoted.text
    assert answer(PromptParts({}, (EvidencePart("C0", "a.pdf", "The motor is cooled by a fan."),), question)) == []


@pytest.mark.parametrize(
    "question", ["Welcher Druck gilt für Pumpe C?", "¿Cuál es la presión de la bomba C?", "pump C pressure"]
)
def test_a_label_of_one_letter_tells_the_thing(question: str) -> None:
    text = "The pressure of pump A is 3 bar. The pressure of pump B is 5 bar. The pressure of pump C is 7 bar."
    quoted = answer(PromptParts({}, (EvidencePart("C0", "manual.pdf", text),), question))
    assert [each.text for each in quoted] in ([], ["The pressure of pump C is 7 bar."])
