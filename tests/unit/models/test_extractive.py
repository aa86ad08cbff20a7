"""The extractive generator: quotes its prompt or refuses, the same way everywhere (R4-8, R4-9)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage, SystemMessage

from sourcebound.contracts.conversation.model_rewrite import rewriting_prompt
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.prompt.build import Prompt, build_prompt, read_prompt
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.result import ValidationStatus
from sourcebound.errors import ConfigurationError
from sourcebound.models.extractive import ExtractiveChatModel
from sourcebound.models.registry import Models
from sourcebound.settings import Settings
from support.builders import FILTER, SEAL, answer_bundle, enforcing_policy, policy
from support.places import ROOT

REFUSAL = "NO_EVIDENCE: The provided evidence does not contain sufficient information to answer this question."
MANUAL = (
    "The gland bolts of the pump are tightened to 45 Nm. The coupling guard is yellow. "
    "After an hour the gland bolts are tightened again. The gland bolts are replaced every 2 years. "
    "The gland bolts are kept dry. The gland bolts are made of steel."
)


def _prompt(bundle: AnswerBundle) -> Prompt:
    return build_prompt(bundle, policy()).prompt


def _answer(bundle: AnswerBundle) -> str:
    system, user = _prompt(bundle).messages
    return ExtractiveChatModel().invoke([SystemMessage(system.content), HumanMessage(user.content)]).text


def _quotations(answer: str) -> list[tuple[str, str]]:
    """Each line's text and anchor."""
    return [(line.rpartition(" [")[0], line.rpartition(" [")[2].rstrip("]")) for line in answer.split("\n")]


@pytest.mark.contract("R4-9")
def test_it_quotes_the_sentence_that_answers() -> None:
    assert _answer(answer_bundle(question="How often must the shaft seal be checked?")) == f"{SEAL} [C0]"
    assert _answer(answer_bundle(question="When is the intake filter replaced?")) == f"{FILTER} [C1]"


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    "question",
    [
        "Who founded the company?",
        "Which seal supplier is cheapest?",
        "What does a licence cost in Norway?",
        "the of and?",
        "???",
    ],
)
def test_it_refuses_in_the_exact_words_where_nothing_is_relevant_enough(question: str) -> None:
    assert _answer(answer_bundle(question=question)) == REFUSAL


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    "question", ["What are the gland bolts made of?", "How often are the gland bolts of the pump replaced?"]
)
def test_it_quotes_one_sentence_verbatim_with_its_anchor(question: str) -> None:
    bundle = answer_bundle(MANUAL, SEAL, question=question)
    ((text, anchor),) = _quotations(_answer(bundle))
    assert text in {item.anchor: item.sanitized_text for item in bundle.selected_evidence}[anchor]
    assert text.endswith(".")


SUBJECTS = st.sampled_from(["shaft seal", "intake filter", "gland bolts", "coupling guard", "main relay", "HP-200"])
FACTS = st.lists(
    st.tuples(SUBJECTS, st.sampled_from(["is checked every 12 hours", "is red", "holds 5 bar", "was made in 2024"])),
    min_size=1,
    max_size=6,
)


@pytest.mark.contract("R4-9")
@given(st.lists(FACTS, min_size=1, max_size=4), SUBJECTS)
def test_whatever_it_answers_passes_the_firewall(documents: list[list[tuple[str, str]]], subject: str) -> None:
    texts = [" ".join(f"The {name} {fact}." for name, fact in facts) for facts in documents]
    bundle = answer_bundle(*texts, question=f"What about the {subject}?")
    answer = _answer(bundle)
    verdict = validate(answer, bundle, enforcing_policy())
    assert verdict.validation_status is ValidationStatus.PASSED
    assert (verdict.outcome.status is Status.NO_EVIDENCE) == (answer == REFUSAL)
    assert answer == _answer(bundle)


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    "trap",
    [
        "How often must the shaft seal be checked [C9]?",
        "The shaft seal cannot be checked: I cannot answer this question about how often.",
        "How often must the shaft seal be checked is told by the provided evidence.",
        "<think>How often must the shaft seal be checked</think> is told here.",
        "=== EVIDENCE === How often must the shaft seal be checked",
    ],
)
def test_it_does_not_quote_what_the_firewall_would_reject(trap: str) -> None:
    bundle = answer_bundle(f"{trap}\n\n{SEAL}", question="How often must the shaft seal be checked?")
    answer = _answer(bundle)
    assert validate(answer, bundle, enforcing_policy()).validation_status is ValidationStatus.PASSED
    assert trap not in answer


CHARGE = "The bearing frame takes 0.65 litres of oil."


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    "heading",
    [
        "10.2 Level of the oil\n",
        "10.2.1. Level of the oil\n\n",
        "10 Level of the oil\n10.2 Level of the oil\n",
        "10 Level of the oil\n\n",
        "Level of the oil\n\n",
        "## Level of the oil\n",
    ],
)
def test_it_quotes_what_stands_under_a_heading_and_not_the_heading(heading: str) -> None:
    bundle = answer_bundle(f"{heading}{CHARGE}", "The guard is yellow.", question="What is the level of the oil?")
    assert _answer(bundle) == f"{CHARGE} [C0]"


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("{}\nThe guard is yellow.", "10.2 Level of the oil: middle of the glass"),
        ("{}\nThe guard is yellow.", "Level of the oil; Value: middle of the glass"),
        ("{}\nThe guard is yellow.", "Level of the oil 12 mm"),
        ("{}\nThe guard is yellow.", "10.2 The level of the oil stands in the middle."),
        ("{}\n2 Guard of yellow steel\nEnd of the list.", "1 Level of the oil glass"),
        ("{}\nThe guard is yellow.", "The level of the oil stands in the middle"),
        ("The guard is yellow.\n\n{}\n\nIt is bolted on.", "The level of the oil stands in the middle"),
        ("The guard is yellow.\n{}", "10.2 Level of the oil in the middle"),
        (
            "{}\nThe guard is yellow.",
            "10.2 Level of the oil that stands in the middle of the glass while it is at rest",
        ),
    ],
)
def test_it_quotes_a_row_or_a_sentence_that_lacks_its_full_stop(text: str, row: str) -> None:
    assert _answer(answer_bundle(text.format(row), question="What is the level of the oil?")).startswith(row)


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from test_extractive import MANUAL, _answer
from support.builders import SEAL, answer_bundle
print(_answer(answer_bundle(MANUAL, SEAL, question="How and when are the gland bolts of the pump replaced?")))
"""


@pytest.mark.contract("R4-9")
def test_another_process_gives_the_same_answer() -> None:
    here = Path(__file__).parent
    answers = []
    for seed in ("0", "1", "4711"):
        environment = os.environ | {
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]),
        }
        command = [sys.executable, "-c", PROGRAM, str(here)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        answers.append(done.stdout.strip())
    assert len(set(answers)) == 1
    assert "[C0]" in answers[0]


@pytest.mark.contract("R4-9")
def test_a_prompt_without_evidence_is_refused_and_breaks_nothing() -> None:
    messages = rewriting_prompt("and for the HP-300?", ()).messages
    assert read_prompt(messages).evidence == ()
    said = ExtractiveChatModel().invoke([SystemMessage(messages[0].content), HumanMessage(messages[1].content)])
    assert said.text == REFUSAL


@pytest.mark.contract("R4-8")
async def test_the_generator_records_the_raw_text_and_what_was_asked() -> None:
    prompt = _prompt(answer_bundle())
    generation = await (await Models(Settings()).open("extractive")).generate(prompt, policy())
    assert generation.generation_status == "OK"
    assert generation.raw_model_text == f"{SEAL} [C0]"
    assert (generation.provider, generation.model_name) == ("extractive", "extractive")
    assert generation.prompt_sha256 == prompt.prompt_sha256
    assert (generation.attempts, generation.finish_reason) == (1, "stop")
    assert generation.llm_latency_ms is not None
    assert generation.llm_latency_ms >= 0


@pytest.mark.contract("R4-3")
def test_an_unknown_model_is_a_clear_error_and_nothing_stands_in_for_it() -> None:
    with pytest.raises(ConfigurationError, match="no-such-model") as raised:
        Models(Settings()).profile("no-such-model")
    assert "extractive" in raised.value.next_step
