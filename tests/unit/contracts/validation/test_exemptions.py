"""R5-6 and R5-7: what needs no citation, which citations count, and which ids are leaks."""

import pytest

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.validation.answer_reading import read_answer, read_statements
from sourcebound.contracts.validation.firewall import validate
from support.builders import answer_bundle

SOURCES = [
    "The HP-200 pump takes 0.65 litres of oil. Its seal is checked every 12 hours. A failed seal is replaced.",
    "The filter of the pump is green. It was built in 1999.",
]
QUESTION = "How is the XK-9 compressor maintained?"
BUNDLE = bundle_of_texts(SOURCES, QUESTION)
SEAL = "The seal is checked every 12 hours. [C0]"


def _codes(text: str, bundle: AnswerBundle = BUNDLE, version: int = 2) -> list[str]:
    verdict = validate(text, bundle, load_shipped_policy("SOURCEBOUND_V1"), version)
    return [violation.code.value for violation in verdict.outcome.violations]


EXEMPT = {
    "a head that asks what happened": "| Part | What happened |\n|---|---|\n| seal | checked every 12 hours [C0] |",
    "a head of general words of other languages": "| Fall | Rôle |\n|---|---|\n| seal | every 12 hours [C0] |",
    "a head with another word of the family": "| Oil | Compressing |\n|---|---|\n| seal | every 12 hours [C0] |",
    "a heading of the section's words": f"# Oil and seal\n{SEAL}",
    "a heading of the question's words": f"# XK-9 compressor\n{SEAL}",
    "a heading of the order of an answer": f"## Summary\n{SEAL}\n## Key points\nThe filter is green. [C1]",
    "a numbered heading": f"## 2. Oil\n{SEAL}",
    "a heading over headings": f"# Filter\n## Oil\n{SEAL}\n## Filter\nThe filter is green. [C1]",
    "the head of a table": "| Pump | Oil |\n|---|---|\n| HP-200 | 0.65 litres [C0] |",
    "a head with the source's literal": f"# HP-200: 0.65 litres\n{SEAL}",
    "a lead-in that names the equipment": "The HP-200 has these intervals:\n- seal: every 12 hours [C0]",
    "a lead-in with a literal of the question": "For the XK-9 see:\n- seal: every 12 hours [C0]",
    "a lead-in of lead-ins": "See:\n- seal:\n- every 12 hours [C0]",
    "a connective": f"In summary,\n\n{SEAL}",
    "a heading that begins with a participle": f"# Failed seal\n{SEAL}",
    "the head of a table in general words": "| Element | Deadline |\n|---|---|\n| oil | every 12 hours [C0] |",
    "the head of a table of faults": "| Code | Fault | Remedy |\n|---|---|---|\n| HP-200 | seal | oil [C0] |",
    "the head of a table of measures": "| Pump | Ratio |\n|---|---|\n| HP-200 | 0.65 litres [C0] |",
    "the head of a table of documents": "| Guideline | Route |\n|---|---|\n| HP-200 | 0.65 litres [C0] |",
    "the head of a table of extras": "| Pump | Taking | Extra |\n|---|---|---|\n| HP-200 | 0.65 | litres [C0] |",
    "a line without a colon above its list": "The seal\n- is checked every 12 hours [C0]",
    "a species in italics": "The *C. difficile* of the pump is oil. [C0]",
    "a name that begins with a point": "A custom .HP-200 file has 0.65 litres. [C0]",
    "the strength of a source": "The seal is checked every 12 hours on failed evidence [C0].",
    "a head of plurals": "| Fristen | Betrag |\n|---|---|\n| seal | every 12 hours [C0] |",
    "a head with a verb that has no subject": "| Pump | Shows |\n|---|---|\n| HP-200 | 0.65 litres [C0] |",
    "a head that names when it holds": "| Pump | When it applies |\n|---|---|\n| HP-200 | in winter [C0] |",
    "a head that names what is asked for": "| Who gives oil | What to do |\n|---|---|\n| HP-200 | 0.65 litres [C0] |",
    "a head that asks in other words": "| Pump | Where it stands |\n|---|---|\n| HP-200 | 0.65 litres [C0] |",
    "a head of everyday words": "| Every | Job | Staff |\n|---|---|---|\n| HP-200 | 0.65 litres | seal [C0] |",
    "a bold lead-in": "**What the turbine of this kind is given:**\n- 0.65 litres of oil [C0]",
    "the head of a table with a unit": "| Pump | Oil (L) | m² |\n|---|---|---|\n| HP-200 | 0.65 litres [C0] | - |",
}
NOT_EXEMPT = {
    "a heading whose verb has a subject": (f"# Seal failed\n{SEAL}", "UNCITED_FACTUAL_STATEMENT"),
    "a heading with a verb": (f"# The oil must be green\n{SEAL}", "UNCITED_FACTUAL_STATEMENT"),
    "a heading with a negation": (f"# Never oil the pump\n{SEAL}", "UNCITED_FACTUAL_STATEMENT"),
    "a head with a verb in its second cell": (
        "| Pump | The oil must be green |\n|---|---|\n| HP-200 | 0.65 litres [C0] |",
        "UNCITED_FACTUAL_STATEMENT",
    ),
    "a heading that asks for what it takes as given": (
        f"# How often the seal is checked\n{SEAL}",
        "UNCITED_FACTUAL_STATEMENT",
    ),
    "a cell that denies": (
        "| Pump | What is not oil |\n|---|---|\n| HP-200 | 0.65 litres [C0] |",
        "UNCITED_FACTUAL_STATEMENT",
    ),
    "a cell that gives a reason": (
        "| Pump | Why oil is green |\n|---|---|\n| HP-200 | 0.65 litres [C0] |",
        "UNCITED_FACTUAL_STATEMENT",
    ),
    "the end of a word of another language": (
        "| Pump | Pressor |\n|---|---|\n| HP-200 | 0.65 litres [C0] |",
        "UNCITED_FACTUAL_STATEMENT",
    ),
    "a question with a word of no source": (f"# How often the seal explodes\n{SEAL}", "UNCITED_FACTUAL_STATEMENT"),
    "a heading that turns what stands below": (f"# Maximum\n{SEAL}", "UNCITED_FACTUAL_STATEMENT"),
    "a head that turns what stands below": (
        "| Pump | Without oil |\n|---|---|\n| HP-200 | 0.65 litres [C0] |",
        "UNCITED_FACTUAL_STATEMENT",
    ),
    "a heading of what is excepted": (f"# Exceptions\n{SEAL}", "UNCITED_FACTUAL_STATEMENT"),
    "a heading with a word of no source": (f"# Poisonous oil\n{SEAL}", "UNCITED_FACTUAL_STATEMENT"),
    "a heading of another section's words": (
        f"# Green filter\n{SEAL}\n# Oil\nThe filter is green. [C1]",
        "UNCITED_FACTUAL_STATEMENT",
    ),
    "a table's head with a word of no source": (
        "| Pump | Explosion |\n|---|---|\n| HP-200 | 0.65 litres [C0] |",
        "UNCITED_FACTUAL_STATEMENT",
    ),
    "a head with another literal": (f"# Oil: 0.75 litres\n{SEAL}", "UNSUPPORTED_LITERAL"),
    "a lead-in with another literal": ("The HP-300 has these:\n- seal: every 12 hours [C0]", "UNSUPPORTED_LITERAL"),
    "a lead-in with a literal of a chunk that no item cites": (
        "Since 1999 it has these:\n- seal: every 12 hours [C0]",
        "UNSUPPORTED_LITERAL",
    ),
    "a bold lead-in with an uncited item": (
        "**This the turbine is given:**\n- 0.65 litres of oil [C0]\n- fat",
        "UNCITED_FACTUAL_STATEMENT",
    ),
    "a bold lead-in without items": (f"**This the turbine is given:**\n\n{SEAL}", "UNCITED_FACTUAL_STATEMENT"),
    "a bold lead-in with another literal": ("**The HP-300 has:**\n- oil [C0]", "UNSUPPORTED_LITERAL"),
    "a lead-in with an uncited item": ("See:\n- seal [C0]\n- oil", "UNCITED_FACTUAL_STATEMENT"),
    "a line with a verb above its list": (
        "The seal leaks and\n- is checked every 12 hours [C0]",
        "UNCITED_FACTUAL_STATEMENT",
    ),
    "a line of another word above its list": ("The turbine\n- is checked [C0]", "UNCITED_FACTUAL_STATEMENT"),
    "a line above an uncited item": ("The seal\n- is checked [C0]\n- is green", "UNCITED_FACTUAL_STATEMENT"),
    "a sentence of an item with its marker in brackets": (
        "(a) The filter is poisonous. The seal is checked every 12 hours. [C0]",
        "UNCITED_FACTUAL_STATEMENT",
    ),
    "the evidence by its number": ("Evidence [C0] has the seal.", "FORBIDDEN_CONTENT"),
    "the evidence by its number in a later sentence": (f"{SEAL} Evidence [C0] has it.", "FORBIDDEN_CONTENT"),
    "a lead-in without items": (f"It is poisonous:\n\n{SEAL}", "UNCITED_FACTUAL_STATEMENT"),
    "a citation in a comment": ("The seal is checked. <!-- [C0] -->", "UNCITED_FACTUAL_STATEMENT"),
    "a citation in a comment that never ends": (f"{SEAL} The filter is green. <!-- [C1]", "UNCITED_FACTUAL_STATEMENT"),
    "a citation in a code span": (f"{SEAL} The filter is green `[C1]`.", "UNCITED_FACTUAL_STATEMENT"),
    "a citation in a code block": (f"{SEAL}\n```\nfilter green [C1]\n```", "UNCITED_FACTUAL_STATEMENT"),
    "a citation in a code element": (f"{SEAL} The filter is green <code>[C1]</code>.", "UNCITED_FACTUAL_STATEMENT"),
    "two merged sentences": (
        "The pump is sold in the U.S. Millions of seals are checked every 12 hours. [C0]",
        "UNCITED_FACTUAL_STATEMENT",
    ),
    "a parenthesis after the citation": (f"{SEAL[:-6]} [C0] (the filter is poisonous).", "UNCITED_FACTUAL_STATEMENT"),
    "a parenthesis between sentences": (
        f"{SEAL} (The filter is poisonous.) The filter is green. [C1]",
        "UNCITED_FACTUAL_STATEMENT",
    ),
}


@pytest.mark.contract("R5-6")
@pytest.mark.parametrize("name", EXEMPT)
def test_a_segment_that_states_nothing_needs_no_citation(name: str) -> None:
    assert _codes(EXEMPT[name]) == []


@pytest.mark.contract("R5-6")
@pytest.mark.parametrize(("head", "codes"), [("Gebühr", []), ("Strafe", ["UNCITED_FACTUAL_STATEMENT"])])
def test_a_head_may_be_the_end_of_a_compound(head: str, codes: list[str]) -> None:
    bundle = bundle_of_texts(["Die Jahresgebühr beträgt 20 €."], "Was kostet das?")
    assert _codes(f"| {head} | Betrag |\n|---|---|\n| Jahresgebühr | 20 € [C0] |", bundle) == codes


@pytest.mark.contract("R5-6")
@pytest.mark.parametrize("name", NOT_EXEMPT)
def test_a_segment_that_states_something_needs_one(name: str) -> None:
    text, code = NOT_EXEMPT[name]
    assert code in _codes(text)


@pytest.mark.contract("R5-6")
def test_a_citation_after_a_code_block_is_its_own() -> None:
    assert read_answer("```\nfilter green\n```\n[C1]", BUNDLE).statements[0].anchors == ("C1",)


@pytest.mark.contract("R5-4")
def test_an_invented_anchor_in_code_is_invented_too() -> None:
    assert _codes(f"{SEAL} It is green `[C7]`. [C1]") == ["INVALID_CITATION_REFERENCE"]


@pytest.mark.contract("CP-10")
@pytest.mark.contract("R5-6")
@pytest.mark.parametrize("name", ["a heading with a verb", "a citation in a comment", "two merged sentences"])
def test_a_run_of_the_first_version_keeps_its_exemptions(name: str) -> None:
    assert _codes(NOT_EXEMPT[name][0], version=1) == []


def test_without_a_bundle_a_heading_is_a_title() -> None:
    assert [part.needs_citation for part in read_statements("# The oil must be green\nIt is. [C0]")] == [False, True]


def _named(chunk_id: str, question: str = QUESTION) -> AnswerBundle:
    bundle = bundle_of_texts(SOURCES, question)
    first, *others = bundle.selected_evidence
    chunks = (first.model_copy(update={"chunk_id": chunk_id}), *others)
    return bundle.model_copy(update={"selected_evidence": chunks})


@pytest.mark.contract("R5-7")
@pytest.mark.parametrize(
    ("name", "text", "question", "leaks"),
    [
        ("doc-7-c0012", "The seal of doc-7-c0012 is checked. [C0]", QUESTION, True),
        ("seal", SEAL, QUESTION, False),
        ("well-known", "The well-known seal is checked. [C0]", QUESTION, False),
        ("12", "The filter takes 12. [C0]", QUESTION, False),
        ("XK-9", "The XK-9 seal is checked. [C0]", QUESTION, False),
        ("XK-9", "The XK-9 seal is checked. [C0]", "How is it checked?", True),
        ("HP-200", "The HP-200 seal is checked. [C0]", "How is it checked?", False),
        ("HP-200", "The HP-200 filter is green. [C1]", "How is it checked?", True),
    ],
)
def test_an_id_is_a_leak_where_no_cited_text_and_not_the_question_holds_it(
    name: str, text: str, question: str, leaks: bool
) -> None:
    assert ("FORBIDDEN_CONTENT" in _codes(text, _named(name, question))) is leaks


@pytest.mark.contract("R5-5")
@pytest.mark.parametrize(
    "opener", ["[", "(", "`", "``` ", "<!--", "<code>", "*", "1", "1.", "- a:\n", "# a\n## b\n", "“a", '"', "A."]
)
def test_a_long_hostile_answer_is_read_in_linear_work(opener: str) -> None:
    text = opener * (100_000 // len(opener))
    assert len(read_answer(text, BUNDLE).text) == len(text)


@pytest.mark.contract("R5-6")
@pytest.mark.parametrize(
    ("text", "uncited"),
    [
        ("**Shaft seal**\n\n- It is checked at 5 bar. [C0]", 0),
        ("1. **Shaft seal**\n   - Check it at 5 bar. [C0]\n2. **Filter**\n   - Replace it. [C1]", 0),
        ("Do this:\n- **Shaft seal**\n  - Check it at 5 bar. [C0]", 0),
        ("**Shaft seal**: never dry\n\nIt is checked at 5 bar. [C0]", 1),
        ("**The seal is dangerous**\n\nIt is checked at 5 bar. [C0]", 1),
        ("**Radioactive waste**\n\nCheck the seal at 5 bar. [C0]", 1),
    ],
)
def test_a_bold_label_is_a_heading_and_states_nothing_only_in_words_of_its_sources(text: str, uncited: int) -> None:
    statements = read_answer(text, answer_bundle()).statements
    assert sum(part.needs_citation and not part.anchors for part in statements) == uncited


@pytest.mark.contract("R5-6")
@pytest.mark.parametrize(("lead", "uncited"), [("Set it so: [C0]", 0), ("Set it so:", 2), ("It is set. [C0]", 1)])
def test_code_needs_no_citation_under_a_lead_in_that_has_one(lead: str, uncited: int) -> None:
    statements = read_answer(f"{lead}\n\n```\nhours = 12\n```", answer_bundle()).statements
    assert sum(part.needs_citation and not part.anchors for part in statements) == uncited
    text = f"{lead}\n\n```\nhours = 13\n```"
    assert any(not finding.supported for finding in read_answer(text, answer_bundle()).literals)


@pytest.mark.contract("R5-5", "R5-6")
@pytest.mark.parametrize(
    ("question", "answer", "codes"),
    [
        ("Is the seal checked?", f"Yes. {SEAL}", []),
        ("Is the seal checked, and when?", f"Yes. {SEAL}", []),
        ("Is the seal checked and how often is that?", f"Yes. {SEAL}", []),
        ("Is the seal checked?", f"Yes, it is. {SEAL}", []),
        ("Is the seal checked?", f"**Yes.** {SEAL}", []),
        ("Wird die Dichtung geprüft?", f"Ja. {SEAL}", []),
        ("Is a seal still needed?", f"Yes, you still need one. {SEAL}", []),
        ("A vedação é verificada?", f"Sim. {SEAL}", []),
        ("Is the seal always checked?", f"Not necessarily. {SEAL}", []),
        ("Is the seal always checked?", f"No, not always. {SEAL}", []),
        ("Is the seal checked?", f"Yes, but only partly. {SEAL}", []),
        ("We are at sea - is the seal checked when it fails?", f"Yes, it is. {SEAL}", []),
        ("We are at sea; when is the seal checked?", f"Yes. {SEAL}", ["UNCITED_FACTUAL_STATEMENT"]),
        ("Is the seal checked?", f"No, not by hand. {SEAL}", ["UNCITED_FACTUAL_STATEMENT"]),
        ("Is the seal checked?", f"Yes.\n\n{SEAL}", ["UNCITED_FACTUAL_STATEMENT"]),
        ("Is the seal checked?", "Yes. The seal is checked.", ["UNCITED_FACTUAL_STATEMENT"] * 2),
        ("Is the seal checked?", "Yes.", ["UNCITED_FACTUAL_STATEMENT"] * 2),
        ("When is the seal checked?", f"Yes. {SEAL}", ["UNCITED_FACTUAL_STATEMENT"]),
        ("Is it known which seal is checked?", f"Yes. {SEAL}", ["UNCITED_FACTUAL_STATEMENT"]),
        ("Tell me of the seal", f"Yes. {SEAL}", ["UNCITED_FACTUAL_STATEMENT"]),
    ],
)
def test_a_bare_yes_belongs_to_the_sentence_after_it_only_where_the_question_asks_for_one(
    question: str, answer: str, codes: list[str]
) -> None:
    assert _codes(answer, bundle_of_texts(SOURCES, question)) == codes


@pytest.mark.contract("R5-6", "CP-10")
def test_in_the_first_version_a_bare_yes_is_a_statement() -> None:
    bundle = bundle_of_texts(SOURCES, "Is the seal checked?")
    assert _codes(f"Yes. {SEAL}", bundle, version=1) == ["UNCITED_FACTUAL_STATEMENT"]


@pytest.mark.contract("R5-6")
def test_the_head_of_a_table_may_have_a_word_of_the_question_in_the_singular() -> None:
    table = "| Speed | Action |\n|---|---|\n| HP-200 | 0.65 litres [C0] |"
    assert _codes(table, bundle_of_texts(SOURCES, "What speeds does the pump have?")) == []
    assert _codes(table, bundle_of_texts(SOURCES, "What does the pump have?")) == ["UNCITED_FACTUAL_STATEMENT"]


@pytest.mark.contract("R5-6")
def test_an_english_word_is_no_end_of_a_compound() -> None:
    bundle = bundle_of_texts(["The hypertension of the pump is 5 bar."], "How high is it?")
    assert _codes("| Tension | Value |\n|---|---|\n| pump | 5 bar [C0] |", bundle) == ["UNCITED_FACTUAL_STATEMENT"]


@pytest.mark.contract("R5-6")
@pytest.mark.parametrize(
    ("head", "codes"),
    [
        ("| Model | Maximum pressure (oil included) |", []),
        ("| Model | Maximum pressure (oil excluded) |", ["UNCITED_FACTUAL_STATEMENT"]),
        ("| Model | Minimum pressure |", ["UNCITED_FACTUAL_STATEMENT"]),
    ],
)
def test_the_head_of_a_table_may_write_a_short_word_of_its_sources_out(head: str, codes: list[str]) -> None:
    source = "| Model | Max. pressure, incl. oil |\n|---|---|\n| PX | 5 bar |"
    row = "| PX | 5 bar [C0] |"
    bundle = bundle_of_texts([source], "How high is it?")
    assert _codes(f"{head}\n|---|---|\n{row}", bundle) == codes


@pytest.mark.contract("R5-6")
@pytest.mark.parametrize(
    ("head", "codes"),
    [("Dichtung | Beleg", []), ("Dichtungsöl | Beleg", []), ("Vulkan | Beleg", ["UNCITED_FACTUAL_STATEMENT"])],
)
def test_the_head_of_a_table_may_be_in_another_language_than_its_source(head: str, codes: list[str]) -> None:
    row = "Die Dichtung wird alle 12 Stunden geprüft. [C0]"
    assert _codes(f"| {head} |\n|---|---|\n| 12 hours | [C0] |\n\n{row}") == codes
