"""Lists with their lead-ins, and code with what leads to it, as an extractive answer quotes them (R4-9)."""

import pytest

from sourcebound.contracts.extractive.answer import answer
from sourcebound.contracts.extractive.pieces.code import read_pieces, write_code
from sourcebound.contracts.extractive.pieces.lists import MOST_ITEMS
from sourcebound.contracts.extractive.question import Form, read_question
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.policy.releases import template_digest
from sourcebound.contracts.prompt.build import build_prompt, read_prompt
from sourcebound.contracts.text.segments import SegmentKind
from sourcebound.contracts.validation.firewall import validate
from sourcebound.models.extractive import _write_answer
from support.builders import answer_bundle, policy

PLATFORMS = (
    "## Support\n\nThe probe supports the following platforms:\n\n- **Linux**\n- macOS\n- **AIX**\n\nIt weighs 3 kg."
)
INSTALL = (
    "## Installation\n\nInstall the probe with pip:\n\n```shell\n$ pip install probe\n```\n\n"
    "Or, to include the optional trace support, use:\n\n```shell\n$ pip install probe[trace]\n```\n\n"
    "The probe requires Python 3.12."
)
STRICT = (
    "Validation\n\nBy default only the range of each field is checked.\n\n"
    "Use ``strict=True`` to enable the validation that rejects impossible dates::\n\n"
    "    >>> probe.check(1)\n    >>> probe.check(2)\n    >>> probe.check(3)"
)


def texts(question: str, *chunks: str) -> list[str]:
    """Return the quoted sentences for a question on these chunks."""
    prompt = build_prompt(answer_bundle(*chunks, question=question), policy()).prompt
    return [sentence.text for sentence in answer(read_prompt(prompt.messages))]


@pytest.mark.contract("R4-9")
def test_a_list_is_quoted_whole_with_its_lead_in_and_its_single_words() -> None:
    assert texts("Which platforms does the probe support?", PLATFORMS) == [
        "The probe supports the following platforms:", "- **Linux**", "- macOS", "- **AIX**"
    ]  # fmt: skip


@pytest.mark.contract("R4-9", "R5-6")
@pytest.mark.parametrize("as_json", [False, True])
def test_a_quoted_list_is_released(*, as_json: bool) -> None:
    question = "Which platforms does the probe support?"
    template = {"template": "answer_sentences_v1", "template_sha256": template_digest("answer_sentences_v1")}
    rules = policy(prompt={"output_profile": "answer_sentences", **template}) if as_json else policy()
    bundle = answer_bundle(PLATFORMS, question=question)
    sentences = answer(read_prompt(build_prompt(bundle, policy()).prompt.messages))
    result = validate(_write_answer(sentences, as_json=as_json), bundle, rules)
    assert result.outcome.status is Status.OK, result.outcome
    assert "AIX" in result.validated_answer_text


@pytest.mark.contract("R4-9")
def test_a_long_list_is_cut_and_no_other_list_joins_it() -> None:
    items = "\n".join(f"- Part number {number} of the kit" for number in range(40))
    text = f"The service kit has these parts:\n\n{items}\n\nOther kits have:\n\n- A seal\n- A ring"
    quoted = texts("Which parts are in the service kit?", text)
    assert quoted[0] == "The service kit has these parts:"
    assert len(quoted) == 1 + MOST_ITEMS
    assert all("kit" in each for each in quoted)


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("Which libraries does the probe need?", Form.LIST),
        ("What exceptions can the parser raise?", Form.LIST),
        ("Which four principles shape the design?", Form.LIST),
        ("In which order are the sources read?", Form.LIST),
        ("What causes the alarm?", Form.REASON),
        ("How do I set the clock from the menu?", Form.STEPS),
        ("What is the main reason for the alarm?", Form.REASON),
        ("What was the root cause of the alarm?", Form.SENTENCE),
        ("Which of the pumps runs?", Form.SENTENCE),
        ("What does the probe do?", Form.SENTENCE),
        ("Which process is used?", Form.SENTENCE),
    ],
)
def test_a_question_for_a_plural_asks_for_a_list(question: str, form: Form) -> None:
    assert read_question(question).form is form


@pytest.mark.contract("R4-9")
def test_a_sentence_above_a_list_that_answers_is_quoted_with_it() -> None:
    text = (
        "Errors\n\nAll errors that the parser raises derive from `ParserError`.\n\n"
        "- `EndError` is raised by the parser at an early end.\n- `TypeError` is raised by the parser for a wrong type."
    )
    quoted = texts("Which errors does the parser raise?", text)
    assert quoted[0].startswith("All errors")
    assert len(quoted) == 3


@pytest.mark.contract("R4-9")
def test_an_explanation_is_quoted_with_what_follows_it() -> None:
    text = (
        "The regulator holds the pressure with a bleed valve. It opens the valve above the setting. "
        "The valve closes again below it. The regulator weighs 3 kg. It is green."
    )
    assert len(texts("How does the regulator hold the pressure?", text)) == 3
    assert texts("How much does the regulator weigh?", text) == ["The regulator weighs 3 kg."]


@pytest.mark.contract("R4-9")
def test_a_lead_in_is_quoted_with_the_short_code_below_it() -> None:
    assert texts("How do I install the probe with trace support?", INSTALL) == [
        "Or, to include the optional trace support, use: `pip install probe[trace]`"
    ]


@pytest.mark.contract("R4-9")
def test_a_lead_in_is_quoted_with_the_link_below_it() -> None:
    text = (
        "Thanks for the list of pumps. To check the names, use the following page:\n\nhttps://example.org/names\n\nBye."
    )
    assert texts("Where can I check the names?", text) == [
        "To check the names, use the following page: https://example.org/names"
    ]


@pytest.mark.contract("R4-9")
def test_questions_are_quoted_as_the_items_of_a_list() -> None:
    text = "The memo answers these questions:\n\n- Who saw the essay?\n- How long did it take?\n- What is next?"
    assert texts("Which questions does the memo answer?", text) == [
        "The memo answers these questions:", "- Who saw the essay?", "- How long did it take?", "- What is next?"
    ]  # fmt: skip


@pytest.mark.contract("R4-9")
def test_a_lead_in_to_long_code_is_quoted_if_it_says_what_to_do() -> None:
    assert texts("How can the probe reject impossible dates?", STRICT) == [
        "Use ``strict=True`` to enable the validation that rejects impossible dates"
    ]
    assert not texts(
        "How does the probe reject dates?", "This is how the probe rejects dates::\n\n    a = 1\n    b = 2\n    c"
    )


@pytest.mark.contract("R4-9")
def test_a_paragraph_after_a_title_may_begin_with_a_small_letter() -> None:
    assert texts("How much faster is quickd?", "Performance\n\nquickd is three times faster than threads.") == [
        "quickd is three times faster than threads."
    ]


def kinds(text: str) -> list[tuple[SegmentKind, str]]:
    """Return the pieces of a chunk with their kinds."""
    return [(piece.kind, piece.text) for piece in read_pieces(text)]


@pytest.mark.contract("R4-9")
def test_code_is_a_piece_of_its_own() -> None:
    code, sentence = SegmentKind.CODE, SegmentKind.SENTENCE
    assert kinds("Run it::\n\n    a = 1\n\n    b = 2\n\nIt ends.") == [
        (sentence, "Run it::"), (code, "    a = 1\n\n    b = 2"), (sentence, "It ends.")
    ]  # fmt: skip
    assert kinds("$ tool --all\n\nIt ends.") == [(code, "$ tool --all"), (sentence, "It ends.")]
    assert kinds("    An indented paragraph is text.") == [(sentence, "An indented paragraph is text.")]


@pytest.mark.contract("R4-9")
def test_the_first_fence_of_a_chunk_may_close_one() -> None:
    pieces = kinds("tool --verbose\n```\n\nIn this mode, press F3.\n\n```bash\ntool --end\n```")
    assert [kind for kind, _ in pieces] == [SegmentKind.CODE, SegmentKind.SENTENCE, SegmentKind.CODE]
    assert pieces[1][1] == "In this mode, press F3."


@pytest.mark.contract("R4-9")
def test_the_line_below_a_heading_is_no_fence() -> None:
    assert kinds("How to mark it\n``````````````\n\nMark it with a tag.") == [
        (SegmentKind.SENTENCE, "How to mark it"), (SegmentKind.SENTENCE, "Mark it with a tag.")
    ]  # fmt: skip
    assert kinds("```\nkey\n```\n\nIt ends.")[-1] == (SegmentKind.SENTENCE, "It ends.")


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("code", "written"),
    [
        ("```bash\n# all of it\n$ tool --all\nthe output\n```", "`tool --all`"),
        (">>> a()\n1\n>>> b()", "`a()` `b()`"),
        ("git clone https://example.org/a.git", "git clone https://example.org/a.git"),
        ("one\ntwo\nthree", ""),
        ("echo `date`", ""),
        ("x" * 200, ""),
    ],
)
def test_short_code_is_written_in_one_line(code: str, written: str) -> None:
    assert write_code(code) == written
