"""R4-9: what questions of support and of reference works ask for, and what is no answer to them."""

from collections.abc import Sequence

import pytest

from sourcebound.contracts.extractive.answer import answer
from sourcebound.contracts.extractive.answer_types import find_type, needs_type
from sourcebound.contracts.extractive.features import Reading
from sourcebound.contracts.extractive.question import Asked, Form, Question, read_question
from sourcebound.contracts.extractive.ranking import rank
from sourcebound.contracts.extractive.sentences import Sentence, read_evidence
from sourcebound.contracts.extractive.sides import read_sides
from sourcebound.contracts.extractive.subjects import is_of_another_ordinal
from sourcebound.contracts.extractive.wording.keyword_queries import ask_keywords
from sourcebound.contracts.prompt.build import EvidencePart, PromptParts

pytestmark = pytest.mark.contract("R4-9")


def texts(question: str, text: str) -> list[str]:
    """Return the quoted sentences for a question on one chunk."""
    return [each.text for each in answer(PromptParts({}, (EvidencePart("C0", "notes.md", text),), question))]


def has_type(question: str, text: str) -> bool | None:
    """Return whether a sentence has the asked kind; None if the kind has no form."""
    (sentence,) = read_evidence((EvidencePart("C0", "notes.md", text),))
    found = find_type(read_question(question), sentence)
    return None if found is None else bool(found)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("How much is the standard plan per month?", Asked.MONEY),
        ("How much was the ticket?", Asked.MONEY),
        ("How much do we pay for a guest?", Asked.MONEY),
        ("What does the bank charge for a transfer?", Asked.MONEY),
        ("How much is the daily dose?", Asked.MEASURE),
        ("How much is left in the tank?", Asked.MEASURE),
        ("How much was paid in 2022?", Asked.MEASURE),
        ("How quickly must the notice be issued?", Asked.DURATION),
        ("How far in advance do I have to tell them?", Asked.DURATION),
        ("How far may it be moved?", Asked.MEASURE),
    ],
)
def test_the_kind_of_a_question(question: str, asked: Asked) -> None:
    assert read_question(question).asked is asked


@pytest.mark.parametrize(
    ("query", "question"),
    [
        ("student discount percentage", "what percentage student discount"),
        ("release date of the pump", "what date of the pump release"),
        ("commercial licence price", "what price commercial licence"),
        ("is VAT included in the price", "is VAT included in the price"),
        ("What is the price?", "What is the price?"),
        ("price list download", "price list download"),
        ("licence price?", "what price licence"),
        ("which licence price", "which licence price"),
        ("we are in Germany, is VAT in the price", "we are in Germany, is VAT in the price"),
    ],
)
def test_a_query_of_keywords_asks_for_its_last_noun(query: str, question: str) -> None:
    assert " ".join(ask_keywords(query).split()) == question


def test_a_query_of_keywords_is_answered_by_what_it_asks_for() -> None:
    text = "There are two types of student discount. Each student discount gives 40% off the add-on services."
    assert texts("student discount percentage", text) == ["Each student discount gives 40% off the add-on services."]


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("What percentage of members voted?", "Two members voted.", False),
        ("What percentage of members voted?", "82% of the members voted.", True),
        ("By what date must it be reported?", "It is reported 60 days after the end of the year.", True),
        ("By what date must it be reported?", "It is reported to the authority.", False),
        ("Who led the project after Bruce?", "Bruce led the project from April until December.", False),
        ("Who led the project after Bruce?", "Ian led the project from January.", True),
        ("How many books does it own?", "1. The library consists of books and maps.", False),
        ("How soon must I report it?", "Report it immediately to the police.", True),
    ],
)
def test_what_has_the_asked_kind(question: str, text: str, expected: bool) -> None:
    assert needs_type(read_question(question))
    assert has_type(question, text) is expected


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("What was the turnout of the second referendum?", "The first referendum had a turnout of 82%.", True),
        ("What was the turnout of the second referendum?", "The second referendum had a turnout of 60%.", False),
        ("What was the turnout of the second referendum?", "After the first referendum, the second failed.", False),
        ("What was the turnout of the second referendum?", "The first president ordered a referendum.", False),
        ("What was the turnout of the referendum?", "The first referendum had a turnout of 82%.", False),
        ("What is the 2nd step?", "The third step is to wait.", True),
    ],
)
def test_a_sentence_about_another_in_the_order_is_no_answer(question: str, text: str, expected: bool) -> None:
    (sentence,) = read_evidence((EvidencePart("C0", "notes.md", text),))
    assert is_of_another_ordinal(read_question(question), sentence) is expected


def test_a_question_about_the_second_is_not_answered_from_the_first() -> None:
    text = "The first referendum had a turnout of 82%."
    assert texts("What was the turnout of the first referendum?", text) == [text]
    assert texts("What was the turnout of the second referendum?", text) == []


@pytest.mark.parametrize(("sure", "place"), [(350, 1), (250, 1), (150, 0)])
def test_how_often_is_answered_by_a_number_before_a_vague_word(sure: int, place: int) -> None:
    vague, precise = "The program saves the open note at regular intervals.", "All of it is saved every 10 minutes."
    odds = {vague: 300, precise: sure}

    def read(question: Question, chunks: Sequence[tuple[EvidencePart, Sequence[Sentence]]]) -> list[list[Reading]]:
        return [[Reading(odds[each.text], 500) for each in part] for _, part in chunks]

    prompt = PromptParts(
        {}, (EvidencePart("C0", "notes.md", f"{vague} {precise}"),), "How often is the open note saved?"
    )
    ranked = rank(prompt, read_question(prompt.question), read).ranked
    assert [each.sentence.text for each in ranked][place] == vague
    assert has_type(prompt.question, "It saves regularly.") is True


def test_commands_are_compared_too() -> None:
    question = read_question("weechat /ignore vs /filter")
    assert question.form is Form.SIDES
    text = "The /ignore command deletes messages in weechat. The /filter command hides messages in weechat."
    assert len(texts(question.text, text)) == 2
    assert read_sides(question) == []


def test_a_sentence_that_its_list_goes_on_with_is_not_quoted_alone() -> None:
    text = "The tax exemption is granted to the owners of\n\n1. dogs that guard a herd.\n2. dogs that rescue people."
    lead, *items = read_evidence((EvidencePart("C0", "notes.md", text),))
    assert lead.leads
    assert texts("Who is granted the tax exemption?", text) == [lead.text, *(each.text for each in items)]


@pytest.mark.parametrize(
    ("question", "text", "quoted"),
    [
        (
            "Why should the machine not be shut down early?",
            "- The machine should not be shut down early in a case. Much evidence may be lost.\n- Copy the disk.",
            ["- The machine should not be shut down early in a case.", "Much evidence may be lost."],
        ),
        (
            "Why should the machine not be shut down early?",
            "Do not shut down the machine early because evidence may be lost. Copy the disk.",
            ["Do not shut down the machine early because evidence may be lost."],
        ),
        (
            "Why did the backups get slower in this version?",
            "The permissions are preserved now.\n\nTherefore the backups are slower in this version.",
            ["The permissions are preserved now.", "Therefore the backups are slower in this version."],
        ),
        (
            "Compare how long payroll records and time cards have to be kept.",
            "Employers preserve payroll records for three years. The time cards are retained for two years.",
            [
                "Employers preserve payroll records for three years.",
                "The time cards are retained for two years.",
            ],
        ),
    ],
)
def test_a_reason_and_the_other_side_are_quoted_too(question: str, text: str, quoted: list[str]) -> None:
    assert texts(question, text) == quoted


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("How quickly must the notice be issued?", "It is issued in the 12-month leave year.", False),
        ("How quickly must the notice be issued?", "It is issued within five business days.", True),
        ("How many lessons does the course have?", "The 17-year-old has completed the course.", False),
        ("How many lessons does the course have?", "The course has 12 of them.", True),
    ],
)
def test_a_number_within_a_word_counts_nothing(question: str, text: str, expected: bool) -> None:
    assert has_type(question, text) is expected


def test_a_list_with_an_open_mark_of_code_is_refused_whole() -> None:
    text = "The platforms of the probe are:\n\n- the ``kernel'' of Linux\n- the kernel of Windows"
    question = "Which platforms does the probe have?"
    assert texts(question, text) == []
    closed = text.replace("``kernel''", "`kernel`")
    assert texts(question, closed) == [each.strip() for each in closed.split("\n") if each]


def test_an_open_mark_of_code_is_not_quoted_with_another_line() -> None:
    first, second = (
        "The ``floating widget'' adds foam in a can by nitrogen.",
        "The ``rocket widget'' can do so in a bottle.",
    )
    assert texts("Why does the floating widget add foam?", f"{first} {second}") == [first]


def test_a_sentence_about_another_error_is_no_answer() -> None:
    text = "Error 40 means that the bell button was pressed for too long."
    assert texts("What does error 40 mean?", text) == [text]
    assert texts("What does error 23 mean?", text) == []


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("What must the notice contain?", Form.LIST),
        ("What does the kit of the pump include?", Form.LIST),
        ("What contains the oil?", Form.SENTENCE),
    ],
)
def test_what_something_contains_is_a_list(question: str, form: Form) -> None:
    assert read_question(question).form is form


@pytest.mark.parametrize("question", ["Which three men ran the shifts?", "Which people may enter?"])
def test_men_and_people_are_persons(question: str) -> None:
    assert read_question(question).asked is Asked.PERSON


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("Set PUMP_OFFLINE=1 to keep it from the network.", True),
        ("With PATH the tool finds the program.", True),
        ("It reads http_proxy and `NO_PROXY` first.", True),
        ("With TZ it knows the time.", True),
        ("The package works without a network.", False),
        ("Call `pip install` first.", False),
    ],
)
def test_a_sentence_without_the_name_of_a_variable_names_no_environment_variable(text: str, has: bool) -> None:
    question = "Which environment variables keep the tool from the network?"
    assert has_type(question, text) is has
    assert needs_type(read_question(question))


def test_a_variable_may_be_a_word_of_the_question_in_capitals() -> None:
    assert (
        has_type("Which environment variable sets the port?", "The variable PORT sets the port of the server.") is True
    )
