"""What an answer must not leave out: what denies its items, a warning between its steps, the rest of a list (R4-9)."""

import pytest

from sourcebound.contracts.extractive.answer import answer
from sourcebound.contracts.extractive.sentences import read_evidence
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.policy.releases import template_digest
from sourcebound.contracts.prompt.build import EvidencePart, build_prompt, read_prompt
from sourcebound.contracts.validation.firewall import validate
from sourcebound.models.extractive import _write_answer
from support.builders import answer_bundle, policy

TEMPLATE = {"template": "answer_sentences_v1", "template_sha256": template_digest("answer_sentences_v1")}
SOLVENTS = "- Acetone\n- Benzene\n- Toluene and other aromatic solvents"
WHICH = "Which solvents are used on the housing?"
STEPS = (
    "## Replacing the filter\n\nTo replace the filter of the pump:\n\n1. Stop the pump.\n2. Close the inlet valve.\n"
    "3. Open the filter housing.\n\n{}\n\n4. Remove the filter.\n5. Insert the new filter.\n6. Start the pump."
)
HOW = "How do I replace the filter of the pump?"


def texts(question: str, *chunks: str) -> list[str]:
    """Return the quoted sentences for a question, which must be released in both forms."""
    bundle = answer_bundle(*chunks, question=question)
    chosen = answer(read_prompt(build_prompt(bundle, policy()).prompt.messages))
    for rules in (policy(), policy(prompt={"output_profile": "answer_sentences", **TEMPLATE})):
        as_json = rules.prompt.output_profile == "answer_sentences"
        result = validate(_write_answer(chosen, as_json=as_json), bundle, rules)
        assert not chosen or result.outcome.status is Status.OK, result.outcome
    return [sentence.text for sentence in chosen]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("lead", "question"),
    [
        ("The following solvents must not be used on the housing:\n\n", WHICH),
        ("The following solvents must not be used on the housing:\n\n", "Can toluene be used on the housing?"),
        ("Never clean the housing with these\n", "Can toluene be used on the housing?"),
        ("# Solvents that must not be used on the housing\n\n", WHICH),
    ],
)
def test_an_item_is_quoted_below_what_denies_it(lead: str, question: str) -> None:
    quoted = texts(question, f"Cleaning\n\n{lead}{SOLVENTS}")
    assert quoted[0] == lead.strip("# \n")
    assert quoted[-1] == "- Toluene and other aromatic solvents"


@pytest.mark.contract("R4-9")
def test_json_has_what_denies_its_items() -> None:
    text = f"The following solvents must not be used on the housing:\n\n{SOLVENTS}"
    prompt = build_prompt(answer_bundle(text, question=WHICH), policy()).prompt
    assert "must not be used" in _write_answer(answer(read_prompt(prompt.messages)), as_json=True)


@pytest.mark.contract("R4-9")
def test_a_single_item_is_quoted_below_what_denies_it() -> None:
    text = "Cleaning\n\nDo not use on the housing:\n\n- Toluene and other aromatic solvents"
    assert texts(WHICH, text) == ["Do not use on the housing:", "- Toluene and other aromatic solvents"]


@pytest.mark.contract("R4-9")
def test_nested_items_are_quoted_below_theirs() -> None:
    text = "Use these solvents on the housing:\n\n- Alcohol\n- Do not use these:\n  - Acetone\n  - Benzene\n- Water"
    assert texts(WHICH, text) == [
        "Use these solvents on the housing:", "- Alcohol", "- Do not use these:", "- Acetone", "- Benzene", "- Water"
    ]  # fmt: skip
    (*_, acetone, _, water) = read_evidence([EvidencePart("C0", "notes.txt", text)])
    assert (acetone.lead, water.lead) == (2, 0)


@pytest.mark.contract("R4-9")
def test_a_list_with_blank_lines_between_its_items_is_quoted_whole() -> None:
    text = "The probe supports the following platforms:\n\n- Linux\n\n- macOS\n\n- AIX\n\nIt weighs 3 kg."
    assert texts("Which platforms does the probe support?", text)[1:] == ["- Linux", "- macOS", "- AIX"]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    "note", ["WARNING: The oil may be hot.", "> **CAUTION** HOT OIL!", "   Wait 20 minutes first."]
)
@pytest.mark.parametrize("question", [HOW, "How do I insert the new filter?"])
def test_steps_go_on_after_a_note_and_it_is_quoted_with_them(note: str, question: str) -> None:
    quoted = texts(question, STEPS.format(note))
    assert [each[0] for each in quoted if each[0].isdigit()] == [*"123456"]
    assert quoted[quoted.index("3. Open the filter housing.") + 1] == note.strip("> ")


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize("between", ["## Filling", "```\na\nb\nc\n```", "Other steps:\n\n1. Go."])
def test_the_steps_of_another_list_do_not_join(between: str) -> None:
    quoted = texts(HOW, STEPS.format(between))
    assert quoted[-1] == "3. Open the filter housing."


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize("warning", ["Warning: The oil may be hot.", "DANGER: HIGH VOLTAGE.", "Caution: Hot!"])
def test_a_warning_between_steps_in_a_paragraph_is_quoted(warning: str) -> None:
    text = f"To replace the filter of the pump, stop the pump. Close the valve. {warning} Open the housing."
    assert texts(HOW, text)[2:] == [warning, "Open the housing."]
