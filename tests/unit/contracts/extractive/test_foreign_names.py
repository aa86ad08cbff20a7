"""A question about a company or product that nothing in the evidence names gets no answer (R4-9)."""

import pytest

from sourcebound.contracts.extractive.answer import answer
from sourcebound.contracts.extractive.foreign_names import has_foreign_name
from sourcebound.contracts.extractive.question import read_question
from sourcebound.contracts.extractive.sentences import read_evidence
from sourcebound.contracts.prompt.build import EvidencePart, build_prompt, read_prompt
from support.builders import answer_bundle, policy

EARNINGS = "In fiscal 2023, Best Buy had net earnings of $1,419 million. Sales in Turkey and Zürich rose to 46 million."


def texts(question: str, text: str = EARNINGS) -> list[str]:
    """Return the quoted sentences for a question on a chunk."""
    prompt = build_prompt(answer_bundle(text, question=question), policy()).prompt
    return [sentence.text for sentence in answer(read_prompt(prompt.messages))]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    "question",
    [
        "What net earnings did Walmart have in fiscal 2023?",
        "What net earnings did Best Buy and Walmart have in fiscal 2023?",
        "To what did the sales of Siemens in Turkey rise?",
    ],
)
def test_a_name_that_no_evidence_has_is_not_answered_about(question: str) -> None:
    assert texts(question) == []


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    "question",
    [
        "What net earnings did Best Buy have in fiscal 2023?",
        "What net earnings did BestBuy have in fiscal 2023?",  # a name in another spelling
        "What net earnings did Bst Buy have in fiscal 2023?",  # a part of the name is mistyped
        "What net earnings did BB have in fiscal 2023?",  # an abbreviation
        "Hi Leopoldine, what net earnings did Best Buy have in fiscal 2023?",
        "What net earnings did the French have in fiscal 2023?",  # a frequent name
        "what net earnings did walmart have in fiscal 2023?",  # nothing tells a name
        "What Net Earnings Did They Have In Fiscal 2023?",  # capitals tell no name
        "WHAT NET EARNINGS DID THEY HAVE IN FISCAL 2023?",
        "Did the Turkish sales in Zurich rise to 46 million?",
    ],
)
def test_a_name_in_other_words_is_answered_about(question: str) -> None:
    assert len(texts(question)) == 1


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "text"),
    [
        (
            "How is Node.js installed on the server?",
            "The server has NodeJS, which is installed with the package manager.",
        ),
        ("Who made the printers of Hewlett-Packard?", "HP made the printers in the office in 1990 in Texas."),
        ("Where is the Wi-Fi switched on?", "The wifi is switched on in the settings."),
        ("Who made the valves of Simens?", "Siemens made the valves."),
        ("How is a Galaxy reset?", "The SamsungGalaxyS10 is reset in the settings."),
        ("Is it open on Tues and Wed?", "It is open on 2023-03-14."),
        ("How hot in Fahrenheit is the oil?", "The oil has 80 °C."),
        ("How is the X200s cleaned?", "The pump is cleaned by hand."),
        ("Where is the pump of Koln?", "The pump is in Köln."),
        ("How Is The Pump Lubricated?", "The pump has oil."),
    ],
)
def test_a_name_in_another_form_is_known(question: str, text: str) -> None:
    sentences = read_evidence([EvidencePart("C0", "notes.md", text)])
    assert not has_foreign_name(read_question(question), sentences)


@pytest.mark.contract("R4-9")
def test_a_month_is_no_name() -> None:
    assert texts("When in March was the valve of the pump checked?", "The valve of the pump was checked on 2023-03-14.")
