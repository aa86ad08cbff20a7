"""R1-4, R4-9: questions in other languages, word by word in English."""

from time import process_time

import pytest

from sourcebound.contracts.languages.detection import foreign_language
from sourcebound.contracts.languages.english import (
    foreign_language_of_chunk,
    read_translations,
    read_wordings,
    translate,
    translate_evidence,
    write_english,
)

MANUAL = (
    "The oil of the pump is changed every 6 months. The shift leader checks the relief valve. Store label rolls dry."
)


@pytest.mark.contract("R1-4")
@pytest.mark.parametrize(
    ("question", "english"),
    [
        ("Wie oft muss das Öl der HP-200 gewechselt werden?", "how often must oil HP-200 changed?"),
        ("Wer prüft das Ventil, und wann?", "who checks valve, and when?"),
        ("Combien de temps faut-il garder les étiquettes ?", "how long does one have to keep label?"),
        ("¿Quién controla la válvula de alivio?", "who checks valve relief?"),
        ("Ogni quanti mesi si cambia l'olio della pompa?", "each months shift oil pump?"),
        ("Hoe vaak wordt de olie van de pomp vervangen?", "how often is oil pump changed?"),
        ("Com que frequência se troca o óleo da bomba?", "how often changed oil pump?"),
    ],
)
def test_a_question_is_translated_in_the_words_of_the_documents(question: str, english: str) -> None:
    assert translate(question, [MANUAL]) == english


@pytest.mark.parametrize(
    "text", ["How often is the oil of the pump changed?", "HP-200", "", "?!", "Jak często wymienia się olej w pompie?"]
)
def test_english_and_unknown_languages_stay(text: str) -> None:
    assert translate(text, [MANUAL]) is None


@pytest.mark.parametrize(
    "text",
    [
        *(
            "pump C pressure",
            "Model Y range",
            "vitamin C dose",
            "die casting temperature",
            "OS version",
            "UNO card count",
        ),
        *(
            "El Niño frequency",
            "When was Ursula von der Leyen born?",
            "Tour de France winner 2003",
            "Die Hard",
            "door width",
        ),
        *(
            "Was man in space in 1961?",
            "DIN EN ISO 13849 category",
            "MIT licence",
            "war memorial",
            "amazon.de",
            "ls -la",
        ),
        *(
            "foo@bar.de",
            'git commit -m "x"',
            "10 a.m. to 5 p.m.",
            "O-ring size",
            "La Casa del Sol guests use the pool.",
        ),
    ],
)
def test_a_few_foreign_words_make_no_foreign_question(text: str) -> None:
    assert foreign_language(text) is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Was kostet Versand?", "de"),
        ("Öffnungszeiten Sonntag", "de"),
        ("Was heißt HTTP 404?", "de"),
        ("Prezzo spedizione", "it"),
        ("Preço do envio", "pt"),
        ("¿Cuál es la presión de la bomba B?", "es"),
        ("À quoi sert le filtre ?", "fr"),
        ("Hoeveel?", "nl"),
    ],
)
def test_a_short_question_has_the_language_of_its_words(text: str, language: str) -> None:
    assert foreign_language(text) == language


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Welcher Druck gilt für Pumpe C?", "C"),
        ("Sind 3,5 % oder 27 N·m erlaubt?", "3,5 %"),
        ("Sind 3,5 % oder 27 N·m erlaubt?", "27 N·m"),
        ("Kostet das 1.000 € oder mehr?", "1.000 €"),
        ("Ist die Pumpe bei -20 °C erlaubt?", "-20 °C"),
        ("Ist um 14:30 Uhr offen?", "14:30"),
        ("Wer ist info@example.de?", "info@example.de"),
        ("Was ist https://example.com/a?b=1 ?", "https://example.com/a?b=1"),
        ("Was macht --no-cache?", "--no-cache"),
        ("Ist C++ oder C# besser?", "C++ or C#"),
        ("Chi è Mario Rossi?", "Mario Rossi"),
        ("Wie groß ist der Druck von 3 bar?", "3 bar"),
        ("Salve. Quando si cambia l'olio della pompa?", "when"),
        ("Quelle est la pompe ?", "what is pump?"),
    ],
)
def test_labels_values_addresses_and_names_stay(text: str, kept: str) -> None:
    assert kept in str(translate(text, [MANUAL]))


def test_evidence_in_the_language_of_the_question_is_asked_in_it() -> None:
    german = "Das Öl der Pumpe wird alle 6 Monate gewechselt."
    question = "Wie oft wird das Öl der Pumpe gewechselt?"
    assert translate(question, [german]) is None
    assert translate(question, [MANUAL, german]) is None
    assert translate(question, [MANUAL]) is not None


def test_names_identifiers_and_quotations_stay() -> None:
    english = translate('Combien de règles "anti-gel" Ruff a-t-il pour la HP-200 et python-dotenv ?', ["rules"])
    assert english is not None
    assert {"Ruff", "HP-200", "python-dotenv", '"anti-gel"', "rules"} <= set(english.rstrip("?").split())


def test_parts_behind_a_hyphen_are_words() -> None:
    assert translate("Was wiegt die HP-200-Pumpe?", ["pump"]) == "what weigh HP-200 pump?"


def test_a_prefix_at_the_end_of_a_clause_belongs_to_its_verb() -> None:
    assert translate("Wie schalte ich die Pumpe ab?", ["switch off the pump"]) == "how switch off pump?"
    assert "off" not in str(translate("Ab wann schalte ich die Pumpe?", ["switch off the pump"]))


def test_words_that_say_nothing_are_left_out_and_a_denial_is_not() -> None:
    assert translate("Warum ist die Pumpe nicht ohne Öl zu starten?", [MANUAL + " start"]) == (
        "why is pump not without oil start?"
    )


def test_a_text_without_function_words_is_in_the_language_around_it() -> None:
    assert foreign_language("HP-200: Filter") is None
    assert foreign_language("HP-200: Filter", "de") == "de"
    assert translate("HP-200: Filter", [MANUAL], "de") == "HP-200: filter"
    assert translate("The oil is checked", [MANUAL], "de") is None


def test_languages_with_the_same_function_words_are_told_apart_by_the_lexicon() -> None:
    assert foreign_language("Chi ha salvato la ricetta del formaggio durante la guerra?") == "it"
    assert foreign_language("¿Quién salvó la receta del queso durante la guerra?") == "es"


def test_a_second_translation_is_taken_where_the_documents_have_two() -> None:
    wordings = read_wordings("de", "Wer zahlt die Gebühr?")
    held = {"who", "fee", "charge", "pays", "pay"}

    def find(phrase: str) -> str | None:
        return phrase if phrase in held else None

    first, second = (write_english(wordings, find, choice) for choice in (0, 1))
    assert first != second
    assert {first.split()[-1], second.split()[-1]} == {"fee?", "charge?"}
    assert write_english(wordings, lambda _: None) == write_english(wordings, lambda _: None, 1)


def test_a_translation_without_content_is_none() -> None:
    assert translate("Wer ist das?", [MANUAL]) is None


@pytest.mark.contract("R5-17")
def test_a_chunk_is_translated_line_by_line_and_cell_by_cell() -> None:
    chunk = "| Bauteil | Intervall |\n|---|---|\n| Filter | alle 3 Monate |\nDer Filter wird nicht gewaschen."
    assert translate_evidence(chunk, "de") == (
        "| part | interval |\n| --- | --- |\n| filter | all 3 month |\nfilter not wash."
    )
    assert translate_evidence(chunk, "fr") is None
    assert translate_evidence("The filter is washed.", "de") is None
    assert translate_evidence("The filter is washed.", None) is None


@pytest.mark.contract("R5-17")
def test_a_chunk_is_translated_in_the_words_of_what_is_said_of_it() -> None:
    chunk = "Die Leitung wird am Gerät geprüft."
    assert translate_evidence(chunk, None) == "cable device check."
    assert translate_evidence(chunk, None, "The pipe is inspected at the appliance.") == "pipe appliance inspected."


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("language", "text", "english"),
    [
        ("de", "Der Filter wird alle zwei Monate geprüft.", "the filter is every two month check."),
        ("fr", "Combien de filtres y a-t-il dans la pompe ?", "how many filter is there in the pump?"),
        ("de", "Die Firma Blorfkamp prüft den Filter.", "the firm Blorfkamp check the filter."),
        ("nl", "Hoeveel olie mag ik in de pomp doen?", "how many oil may into the pump put?"),
    ],
)
def test_a_whole_sentence_keeps_its_function_words(language: str, text: str, english: str) -> None:
    assert write_english(read_wordings(language, text, is_whole=True), lambda _: None) == english


@pytest.mark.contract("R1-4")
@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Das Sieb der Maschine wird jeden Monat gereinigt, und der Filter ist zu prüfen.", "de"),
        ("Het filter van de droger wordt elke week schoongemaakt.", "nl"),
        ("The filter is cleaned every month.", None),
        (
            "- [flake8-return](https://pypi.org/project/flake8-return/)\n- [flake8-self](https://pypi.org/project/flake8-self/)",
            None,
        ),
        ("Filtret i tørretumbleren skal renses hver uge, og det er ikke for stort.", None),
        ("He said: die, der, das. The other words of this text are English, so it is in English.", None),
        ("do as a no me a as do os o filtro", None),
        ("Filter Pumpe Motor Ventil Sieb Maschine Monat Jahr Woche Stunde Druck und", None),
        ("Der Blorf und der Zwick sind im Grunkel, und die Wampf ist am Schnork.", None),
        ("HP-200 HP-300 17,5", None),
        ("", None),
    ],
)
def test_a_chunk_is_foreign_only_if_it_surely_is(text: str, language: str | None) -> None:
    assert foreign_language_of_chunk(text) == language
    assert bool(read_translations(text)) is (language is not None)


@pytest.mark.contract("R1-4")
@pytest.mark.parametrize("text", ["*" * 100_000, "a@" * 50_000, "der und die " * 5_000, "ab, " * 20_000])
def test_hostile_text_takes_no_time(text: str) -> None:
    began = process_time()
    read_wordings("de", text, is_whole=True)
    foreign_language_of_chunk(text)
    assert process_time() - began < 5
