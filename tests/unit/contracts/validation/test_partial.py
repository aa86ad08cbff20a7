"""A partial answer: cited statements and one exact line that names what is not in the evidence (R3-10, R5-2)."""

import json

import pytest

from sourcebound.contracts.outcome import Status
from sourcebound.contracts.policy.releases import load_shipped_policy, read_template
from sourcebound.contracts.presentation.answer_view import AnswerView
from sourcebound.contracts.presentation.render import present
from sourcebound.contracts.prompt.answer_sentences import CLOSING_MARKER
from sourcebound.contracts.response.public import package_response
from sourcebound.contracts.validation.firewall import check_answer, validate
from sourcebound.contracts.validation.partial import read_partial
from sourcebound.contracts.validation.result import ValidationResult
from support.builders import FILTER, SEAL, answer_bundle, run

PROSE, SENTENCES = load_shipped_policy("SOURCEBOUND_V2"), load_shipped_policy("SOURCEBOUND_SENTENCES_V2")
QUESTION = "How often is the shaft seal checked, and who does it on the HP-500?"
BODY = f"{SEAL} [C0] {FILTER} [C1]"
MISSING = "who checks the seal of the HP-500"
LINE = f"{CLOSING_MARKER}{MISSING}"


def judge(text: str) -> ValidationResult:
    return validate(text, answer_bundle(question=QUESTION), PROSE)


def judge_rows(*rows: tuple[str, list[str]]) -> ValidationResult:
    form = [{"sentence": sentence, "anchors": anchors} for sentence, anchors in rows]
    raw = json.dumps({"answer_sentences": form, "confidence": "High"})
    return validate(raw, answer_bundle(question=QUESTION), SENTENCES)


@pytest.mark.contract("R3-10")
@pytest.mark.contract("R5-2")
@pytest.mark.contract("R5-13")
@pytest.mark.parametrize(
    "text", [f"{BODY}\n{LINE}", f"{BODY}\n\n{LINE}\n", f"{BODY.removesuffix('.')}\n{LINE}", f"- {SEAL} [C0]\n{LINE}"]
)
def test_a_cited_answer_with_the_closing_line_is_released_and_says_what_is_missing(text: str) -> None:
    verdict = judge(text)
    assert (verdict.generation_status, verdict.missing) == (Status.OK, MISSING)
    assert verdict.validated_answer_text == text
    assert (verdict.statements[-1].text, verdict.statements[-1].needs_citation) == (LINE, False)
    assert text[verdict.statements[-1].start : verdict.statements[-1].end] == LINE
    assert verdict.grounding_metrics.attribution_coverage == 1.0
    assert not verdict.grounding_metrics.refusal_detected


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize(
    "text",
    [
        LINE,
        f"\n{LINE}\n",
        f"{LINE}\n{BODY}",
        f"{SEAL} [C0]\n{LINE}\n{FILTER} [C1]",
        f"{BODY} {LINE}",
        f"{BODY}\n{LINE}\n{LINE}",
        f"{BODY}\n{LINE} [C1]",
        f"{BODY}\n- {LINE}",
        f"{BODY}\n**{LINE}**",
        f"{BODY}\nNOT IN EVIDENCE:",
        f"{BODY}\nNOT IN EVIDENCE: -",
        f"{BODY}\nNOT IN EVIDENCE - {MISSING}",
        f"{BODY}\nNOT IN THE EVIDENCE: {MISSING}",
        f"{BODY}\nNot in evidence: {MISSING}",
        f"{BODY}\nNot in the evidence: {MISSING}",
        f"{BODY}\nNot stated in the sources: {MISSING}",
        f"{BODY}\nNOT  IN EVIDENCE: {MISSING}",
        f"{BODY}\n{LINE}. The seal is green.",
        f"{SEAL}\n{LINE}",
    ],
)
def test_the_line_alone_or_elsewhere_or_inexact_is_a_malformed_refusal(text: str) -> None:
    verdict = judge(text)
    assert (verdict.failure_reason, verdict.missing) == ("INVALID_REFUSAL_FORMAT", None)
    assert verdict.validated_answer_text == ""


@pytest.mark.contract("R5-2")
@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("missing", "failure"),
    [
        ("the check of the HP-500", None),
        ("the check after 12 hours at 5 bar", None),
        ("the check after 13 hours", "UNSUPPORTED_LITERAL"),
        ("the check of the HP-900", "UNSUPPORTED_LITERAL"),
        ("the text of chunk-0000", "FORBIDDEN_CONTENT"),
        ("what (C0) says", "MALFORMED_CITATION"),
    ],
)
def test_the_line_states_nothing_that_the_question_and_the_sources_do_not_hold(
    missing: str, failure: str | None
) -> None:
    assert judge(f"{SEAL} [C0]\n{CLOSING_MARKER}{missing}").failure_reason == failure


@pytest.mark.contract("R5-2")
def test_the_words_of_a_refusal_in_the_line_are_no_refusal() -> None:
    assert judge(f"{BODY}\n{CLOSING_MARKER}there is no information about the HP-500").missing is not None
    assert judge(f"{BODY} There is no information about the HP-500.\n{LINE}").failure_reason == "INVALID_REFUSAL_FORMAT"


@pytest.mark.contract("R3-10")
@pytest.mark.parametrize("name", ["SOURCEBOUND_V1", "SOURCE_BOUNDED_V1"])
def test_a_policy_whose_template_does_not_ask_for_the_line_does_not_know_it(name: str) -> None:
    assert load_shipped_policy(name).validation.partial_answers is None
    verdict = check_answer(answer_bundle(question=QUESTION), f"{BODY}\n{LINE}", name)
    assert (verdict.failure_reason, verdict.missing) == ("UNCITED_FACTUAL_STATEMENT", None)
    assert "missing" not in verdict.to_json()


@pytest.mark.contract("R3-10")
@pytest.mark.contract("R5-10")
def test_in_the_json_profile_the_line_is_a_last_row_without_anchors() -> None:
    verdict = judge_rows((SEAL, ["C0"]), (FILTER, ["C1"]), (LINE, []))
    assert (verdict.generation_status, verdict.missing) == (Status.OK, MISSING)
    assert verdict.validated_answer_text == f"{BODY}\n{LINE}"
    assert [statement.anchors for statement in verdict.statements] == [("C0",), ("C1",), ()]


@pytest.mark.contract("R5-2")
@pytest.mark.contract("R5-10")
@pytest.mark.parametrize(
    ("rows", "failure"),
    [
        ([(LINE, [])], "INVALID_REFUSAL_FORMAT"),
        ([(LINE, []), (SEAL, ["C0"])], "INVALID_REFUSAL_FORMAT"),
        ([(SEAL, ["C0"]), (LINE, ["C0"])], "INVALID_REFUSAL_FORMAT"),
        ([(SEAL, ["C0"]), (LINE, []), (LINE, [])], "INVALID_REFUSAL_FORMAT"),
        ([(SEAL, ["C0"]), (f"Not in the evidence: {MISSING}", [])], "INVALID_REFUSAL_FORMAT"),
        ([(SEAL, ["C0"]), (f"{CLOSING_MARKER}13 hours", [])], "UNSUPPORTED_LITERAL"),
        ([(SEAL, ["C0"]), (FILTER, [])], "INVALID_OUTPUT_SCHEMA"),
    ],
)
def test_any_other_row_without_anchors_is_rejected(rows: list[tuple[str, list[str]]], failure: str) -> None:
    assert judge_rows(*rows).failure_reason == failure


@pytest.mark.contract("R3-10")
@pytest.mark.contract("R6-1")
def test_the_public_response_says_what_is_missing_and_only_then_has_the_field() -> None:
    shown = answer_bundle(question=QUESTION)
    for text, missing in ((f"{BODY}\n{LINE}", MISSING), (BODY, None)):
        verdict = judge(text)
        response = package_response(run(), verdict.outcome, shown, None, verdict, 1.0)
        assert response.missing == missing
        assert ("missing" in response.to_json()) is (missing is not None)
        view = AnswerView(
            question=QUESTION,
            response=response,
            presentation="plain",
            statements=verdict.statements,
            evidence=shown.selected_evidence,
        )
        for presentation in ("plain", "answer_sources", "numbered_confidence"):
            assert (LINE in present(view, presentation)) is (missing is not None)


@pytest.mark.contract("R3-10")
@pytest.mark.parametrize(("policy", "form"), [(PROSE, "prose"), (SENTENCES, "answer_sentences")])
def test_the_example_of_the_template_is_a_partial_answer_with_two_anchors(policy: object, form: str) -> None:
    text = read_template({"prose": "prose_v2", "answer_sentences": "sentences_v2"}[form])
    example = text.split("Answer:\n")[1].split("\n<<<MESSAGE BREAK>>>")[0]
    chosen = PROSE if form == "prose" else SENTENCES
    sources = ("Vint Ormel built the Zorbal mast.", "The Zorbal mast is 41 m tall.")
    question = "How tall is the Zorbal mast, who built it, and what did it cost?"
    assert question in text
    verdict = validate(example, answer_bundle(*sources, question=question), chosen)
    assert (verdict.failure_reason, verdict.validated_citations) == (None, ("C1", "C0"))
    assert verdict.missing == "what the Zorbal mast cost"


@pytest.mark.contract("R3-10")
@pytest.mark.contract("R5-16")
def test_the_words_of_the_example_are_no_answer() -> None:
    echoed = "The Zorbal mast is 41 m tall. Vint Ormel built it. [C0]"
    assert validate(echoed, answer_bundle(), PROSE).generation_status is Status.FAILED


@pytest.mark.contract("CP-10")
@pytest.mark.parametrize(("version", "look_alikes"), [(1, ["(C++14)"]), (2, [])])
def test_the_closing_line_is_read_by_the_version_of_the_answer(version: int, look_alikes: list[str]) -> None:
    reading = read_partial(f"{BODY}\n{LINE} (C++14)", answer_bundle(question=QUESTION), version)
    assert [each.text for each in reading.look_alikes] == look_alikes
