"""R4-9: questions that a chunk repeats, such as those of an FAQ or an error message, are answered from below."""

from collections.abc import Sequence

import pytest

from sourcebound.contracts.extractive.answer import answer
from sourcebound.contracts.extractive.features import Reading
from sourcebound.contracts.extractive.pieces.problems import is_echo, read_below
from sourcebound.contracts.extractive.question import Question, read_question
from sourcebound.contracts.extractive.sentences import Sentence, read_evidence
from sourcebound.contracts.prompt.build import EvidencePart, PromptParts

FAQ = """(FAQ 9) After I start the firewall, ps shows no firewall process.
What is the daemon called?

Answer: It is a tool and no daemon. It configures the kernel once.

(FAQ 10) The rules are gone after a reboot.

Answer: Enable the service."""

ERROR = """"The encryption module is not part of the validated algorithms."

Cause: The operating system enforces a policy. The module has no certificate.

Solution: Disable the policy in the control panel. Then restart the program.

Other messages

The disk is full."""

pytestmark = pytest.mark.contract("R4-9")


def prompt_of(question: str, text: str) -> PromptParts:
    """Return a prompt with one chunk."""
    return PromptParts({}, (EvidencePart("C0", "help.md", text),), question)


def read_by_words(question: Question, chunks: Sequence[tuple[EvidencePart, Sequence[Sentence]]]) -> list[list[Reading]]:
    """Read each sentence as likelier, the more of the question it repeats."""

    def reading(sentence: Sentence) -> Reading:
        held = 1000 * len(sentence.stems & question.weights.keys()) // max(1, len(question.weights))
        return Reading(held - 300, held)

    return [[reading(each) for each in part] for _, part in chunks]


def texts(question: str, text: str) -> list[str]:
    """Return the quoted sentences."""
    return [each.text for each in answer(prompt_of(question, text), read_by_words)]


@pytest.mark.parametrize(
    ("question", "text", "quoted"),
    [
        (
            "I start the firewall and ps shows no firewall process, what is wrong?",
            FAQ,
            ["Answer: It is a tool and no daemon."],
        ),
        (
            "What does it mean: the encryption module is not part of the validated algorithms?",
            ERROR,
            ["Cause: The operating system enforces a policy."],
        ),
        (
            "Why does it say that the encryption module is not part of the validated algorithms?",
            ERROR,
            ["Cause: The operating system enforces a policy.", "The module has no certificate."],
        ),
        (
            "The encryption module is not part of the validated algorithms. How do I fix that?",
            ERROR,
            ["Solution: Disable the policy in the control panel.", "Then restart the program."],
        ),
    ],
)
def test_what_stands_below_a_repeated_question_answers_it(question: str, text: str, quoted: list[str]) -> None:
    assert texts(question, text) == quoted


@pytest.mark.parametrize(("weight", "odds"), [(0, 300), (1, 0)])
def test_a_place_that_is_not_sure_answers_nothing(weight: int, odds: int) -> None:
    asked = "What does it mean: the encryption module is not part of the validated algorithms?"
    if not weight:
        asked += " It came after we moved the servers, printers and telephones of both offices to another town in May."

    def read(question: Question, chunks: Sequence[tuple[EvidencePart, Sequence[Sentence]]]) -> list[list[Reading]]:
        return [[each._replace(odds=odds) for each in part] for part in read_by_words(question, chunks)]

    assert answer(prompt_of(asked, ERROR), read) == []


def sentences_of(text: str) -> list[Sentence]:
    """Return the sentences of one chunk."""
    return read_evidence((EvidencePart("C0", "help.md", text),))


def test_nothing_is_read_beyond_the_next_question_or_heading() -> None:
    question = read_question("Which process shows that the rules are gone after a reboot?")
    listed = sentences_of("(FAQ 9) No process is shown.\n\n(FAQ 10) The rules are gone.\n\nEnable the service.")
    assert read_below(question, listed, listed[0]) == []
    headed = sentences_of("The rules are gone after a reboot.\n\n## Updates\n\nEnable the service.")
    assert read_below(question, headed, headed[0]) == []


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("Why are the rules gone?", "The rules are gone.", True),
        ("Why are the rules gone?", "The rules are gone without the service.", False),
        ("Why are the rules gone?", "Question 7: a service is enabled.", True),
        ("Are the rules gone?", "The rules are gone.", False),
        ("How do I restart the pump?", "Restart the pump.", False),
    ],
)
def test_an_echo_says_nothing_beyond_its_question(question: str, text: str, expected: bool) -> None:
    assert is_echo(read_question(question), sentences_of(text)[0]) is expected


def test_a_question_of_a_list_of_questions_is_never_quoted() -> None:
    text = 'Q. I get the message "GSM link never went true" when I run the program.\n\nQ. What else?'
    assert texts("Which message do I get when I run the program with the GSM link?", text) == []
