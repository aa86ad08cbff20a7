"""The firewall: an answer passes byte for byte or not at all (R5-1 … R5-15)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.outcome import FailureCode, Status, proceed, refuse
from sourcebound.contracts.outcome import RefusalCode as Code
from sourcebound.contracts.outcome import RefusalSource as Source
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.response.public import package_response
from sourcebound.contracts.validation.answer_reading import read_answer
from sourcebound.contracts.validation.checks import CHECKS
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.result import SupportLevel, ValidationResult, ValidationStatus, skip_validation
from support.builders import FILTER, SEAL, answer_bundle, chunk, enforcing_policy, policy, run

CHECKED = "The seal is inspected. [C0]"


def _validate(text: str, bundle: AnswerBundle | None = None, chosen: Policy | None = None) -> ValidationResult:
    return validate(text, bundle or answer_bundle(), chosen or enforcing_policy())


def _code(text: str) -> str | None:
    return _validate(text).failure_reason


@pytest.mark.contract("R5-1")
@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u200b", "[C0]", "[C0] [C1].", "- [C0]", "…"])
def test_a_text_that_says_nothing_is_empty(text: str) -> None:
    assert _code(text) == "EMPTY_ANSWER"


@pytest.mark.contract("R5-13")
@pytest.mark.parametrize(
    "text",
    [
        f"{SEAL} [C0]",
        f"  {SEAL} [C0]\n\n",
        f"{SEAL}[C0]\r\n{FILTER}[C1]",
        f"## Seals\n\n1. {SEAL} [C0]\n2. {FILTER} [C1]",
        REFUSAL,
        f"\n{REFUSAL} ",
    ],
)
def test_a_text_that_passes_is_released_byte_for_byte(text: str) -> None:
    verdict = _validate(text)
    assert verdict.validation_status is ValidationStatus.PASSED
    assert verdict.validated_answer_text == text
    assert verdict.failure_reason is None


BROKEN = [
    ("", "EMPTY_ANSWER"),
    ("I cannot answer this question. [C0]", "INVALID_REFUSAL_FORMAT"),
    ("The seal is inspected. [c0]", "MALFORMED_CITATION"),
    ("The seal is inspected. [C7]", "INVALID_CITATION_REFERENCE"),
    ("The seal is inspected.", "UNCITED_FACTUAL_STATEMENT"),
    ("The seal is inspected, says doc-0. [C0]", "FORBIDDEN_CONTENT"),
    ("The seal is inspected every 13 hours. [C0]", "UNSUPPORTED_LITERAL"),
]


@pytest.mark.contract("R5-13")
@pytest.mark.parametrize(("text", "code"), BROKEN)
def test_a_text_that_fails_is_not_released(text: str, code: str) -> None:
    verdict = _validate(text)
    assert verdict.failure_reason == code
    assert verdict.generation_status == "FAILED"
    assert verdict.validation_status is ValidationStatus.FAILED
    assert verdict.validated_answer_text == ""
    assert verdict.validated_citations == ()
    assert verdict.support_level is None


@pytest.mark.contract("R5-13")
def test_the_first_check_that_fails_names_the_reason() -> None:
    whole = "I cannot answer this question. [c0] [C7]\nNothing is cited, says doc-0.\nIt takes 13 hours. [C0]"
    found = [violation.code.value for violation in _validate(whole).outcome.violations]
    order = [code for _, code in BROKEN[1:]]
    assert list(dict.fromkeys(found)) == order
    assert _code(whole) == order[0]


@pytest.mark.contract("R5-13")
@pytest.mark.parametrize(("text", "code"), BROKEN)
def test_each_violation_names_its_clause(text: str, code: str) -> None:
    clauses = {
        "EMPTY_ANSWER": "R5-1", "INVALID_REFUSAL_FORMAT": "R5-2", "MALFORMED_CITATION": "R5-3",
        "INVALID_CITATION_REFERENCE": "R5-4", "UNCITED_FACTUAL_STATEMENT": "R5-6", "FORBIDDEN_CONTENT": "R5-7",
        "UNSUPPORTED_LITERAL": "R5-8",
    }  # fmt: skip
    first = _validate(text).outcome.violations[0]
    assert (first.code.value, first.clause) == (code, clauses[code])


@pytest.mark.contract("R5-6")
@pytest.mark.parametrize(
    "text",
    [
        f"## Seals\n{CHECKED}",
        f"In summary,\n\n{CHECKED}",
        f"However:\n{CHECKED}",
        "Do this:\n- Check the rotor. [C0]\n- Replace the filter. [C1]",
        "Do this:\n\n1. Check the rotor. [C0]\n2. Replace the filter. [C1]",
        "The limits are:\n\n| part | value |\n|---|---|\n| seal | inspected [C0] |",
        "The seal is inspected.\n[C0]",
        "Do this: [C0]\n```\ninspect seal\n```",
    ],
)
def test_headings_lead_ins_with_cited_items_and_connectives_need_no_citation(text: str) -> None:
    verdict = _validate(text)
    assert verdict.failure_reason is None
    assert verdict.grounding_metrics.uncited_sentence_count == 0


@pytest.mark.contract("R5-6")
@pytest.mark.parametrize(
    "text",
    [
        SEAL,
        f"The pump is safe. {CHECKED}",
        f"{CHECKED} The pump is safe.",
        f"{CHECKED}\n\nThe pump is safe.",
        f"In summary, the pump is safe. {CHECKED}",
        f"Yes. {CHECKED}",
        "Do this:\n- Check the rotor. [C0]\n- Replace the filter.",
        f"The pump is safe:\n\n{CHECKED}",
        "The pump is safe:",
        f"The pump is safe:\n## Seals\n{CHECKED}",
        "| part | state |\n|---|---|\n| seal | checked |",
        f"{CHECKED}\n```\nrm -rf pump\n```",
        "# The pump is safe",
        f"> The pump is safe.\n\n{CHECKED}",
        f"The pump is safe.\n## Sources\n{CHECKED}",
    ],
)
def test_any_other_segment_without_a_citation_is_an_uncited_statement(text: str) -> None:
    assert _code(text) == "UNCITED_FACTUAL_STATEMENT"


@pytest.mark.contract("R5-7")
@pytest.mark.parametrize(
    "text",
    [
        "As chunk-0000 says, the seal is inspected. [C0]",
        "As `chunk-0001` says, the seal is inspected. [C0]",
        "As doc-0 says, the seal is inspected. [C0]",
        "The seal (doc-1) is checked. [C0]",
        "The seal has chunk_id=9 and is checked. [C0]",
        "The seal has knowledge_id = 9 and is checked. [C0]",
        "According to the evidence, the seal is inspected. [C0]",
        "The evidence states that the seal is inspected. [C0]",
        "The provided evidence shows that the seal is inspected. [C0]",
        "Evidence: the seal is inspected. [C0]",
        "=== EVIDENCE === [C0]\nThe seal is inspected. [C0]",
        "=== OUTPUT REQUIREMENTS === [C0]\nThe seal is inspected. [C0]",
        "<think>The seal [C0]</think> The seal is inspected. [C0]",
        "<reasoning> The seal is inspected. [C0]",
        "The seal is inspected. [C0] </think> [C0]",
    ],
)
def test_what_belongs_to_the_system_has_no_place_in_an_answer(text: str) -> None:
    assert _code(text) == "FORBIDDEN_CONTENT"


@pytest.mark.contract("R5-7")
@pytest.mark.parametrize(
    "text",
    [
        "There is evidence of wear at the seal. [C0]",
        "The chunk of metal is removed. [C0]",
        "I think the seal is inspected. [C0]".replace("I think", "Mostly,"),
        "The user question form is filed. [C0]",
    ],
)
def test_ordinary_words_are_not_forbidden(text: str) -> None:
    assert _code(text) is None


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The seal is inspected every 12 hours. [C0]", None),
        ("The seal is inspected every 12 hours. [C1]", "UNSUPPORTED_LITERAL"),
        ("The seal is inspected every 12 hours. [C1] [C0]", None),
        ("The seal is inspected every 12 hours. [C1]\nThe seal is inspected. [C0]", "UNSUPPORTED_LITERAL"),
        ("The seal is inspected. [C0] It takes 12 hours. [C1]", "UNSUPPORTED_LITERAL"),
        ("Filter HP-200 is replaced. [C1]", None),
        ("Filter HP-200 is replaced. [C0]", "UNSUPPORTED_LITERAL"),
        ("# Seal 99\nThe seal is inspected. [C0]", "UNSUPPORTED_LITERAL"),
        ("1. The seal is inspected. [C0]\n2. The filter is replaced. [C1]", None),
    ],
)
def test_a_literal_must_be_in_a_chunk_that_its_own_segment_cites(text: str, code: str | None) -> None:
    assert _code(text) == code


@pytest.mark.contract("R5-8")
def test_a_policy_may_measure_literals_only() -> None:
    verdict = _validate("The seal is inspected every 13 hours. [C0]", chosen=policy())
    assert verdict.validation_status is ValidationStatus.PASSED
    assert verdict.grounding_metrics.unsupported_literal_count == 1
    assert verdict.grounding_metrics.suspicious_new_ids == ("13 hours",)


@pytest.mark.contract("R5-9")
@given(st.lists(st.sampled_from(["C0", "C1", "C2", "C3"]), min_size=1, max_size=8))
def test_validated_citations_are_unique_and_in_order_of_first_use(anchors: list[str]) -> None:
    four = answer_bundle(SEAL, FILTER, "The cover is red.", "The motor is blue.")
    text = "\n".join(f"The part is {'very ' * index}worn. [{anchor}]" for index, anchor in enumerate(anchors))
    verdict = _validate(text, four)
    assert verdict.validation_status is ValidationStatus.PASSED
    assert list(verdict.validated_citations) == sorted(set(anchors), key=anchors.index)


@pytest.mark.contract("R5-9")
@pytest.mark.parametrize("listed", [(), ("C0",), ("C1", "C0"), ("C0", "C1", "C0"), ("C0", "C1", "C2")])
def test_a_list_of_citations_that_does_not_match_the_text_is_a_mismatch(listed: tuple[str, ...]) -> None:
    reading = read_answer(f"{SEAL} [C0]\n{FILTER} [C1] [C0]", answer_bundle())
    values = enforcing_policy().validation
    assert [finding for check in CHECKS for finding in check(reading, values)] == []
    findings = [finding for check in CHECKS for finding in check(reading._replace(cited_anchors=listed), values)]
    assert [(finding.code, finding.clause) for finding in findings] == [(FailureCode.CITATION_MISMATCH, "R5-9")]


@pytest.mark.contract("R5-11")
def test_an_answer_over_ten_times_the_evidence_is_flagged_and_passes() -> None:
    small = answer_bundle("Seals.")
    at_limit = "The seal is greased. [C0]\nThe seal is painted. [C0]\nOk [C0]."
    assert len(at_limit) == 10 * len("Seals.")
    assert not _validate(at_limit, small).grounding_metrics.length_ratio_flag
    over = _validate(at_limit + " ", small)
    assert over.grounding_metrics.length_ratio_flag
    assert over.validation_status is ValidationStatus.PASSED


@pytest.mark.contract("R5-14")
def test_every_metric_is_computed_whatever_was_found() -> None:
    text = "The seal is inspected every 13 hours. [C0]\nThe pump is safe.\nThe motor ABC-9 is on. [C7]\nIt is red [C#]."
    assert _validate(text).grounding_metrics.model_dump() == {
        "citation_count": 2,
        "uncited_sentence_count": 2,
        "invalid_anchor_count": 1,
        "malformed_anchor_count": 1,
        "refusal_detected": False,
        "length_ratio_flag": False,
        "suspicious_new_ids": ("13 hours", "ABC-9"),
        "sentence_count": 4,
        "attribution_coverage": 0.5,
        "unsupported_literal_count": 2,
    }


@pytest.mark.contract("R5-14")
def test_the_metrics_of_a_good_answer() -> None:
    metrics = _validate(f"## Seals\n{SEAL} [C0] [C1]\n{FILTER} [C1]").grounding_metrics
    assert (metrics.citation_count, metrics.sentence_count) == (3, 3)
    assert metrics.attribution_coverage == 1.0
    assert metrics.suspicious_new_ids == ()
    assert metrics.unsupported_literal_count == metrics.uncited_sentence_count == 0


@pytest.mark.contract("R5-14")
def test_the_metrics_of_a_refusal() -> None:
    metrics = _validate(REFUSAL).grounding_metrics
    assert metrics.refusal_detected
    assert metrics.citation_count == 0


@pytest.mark.contract("R5-15")
@pytest.mark.parametrize(
    ("best", "sources", "level"),
    [(0.95, 2, "HIGH"), (0.95, 1, "MEDIUM"), (0.80, 2, "MEDIUM"), (0.80, 1, "LOW"), (0.92, 2, "HIGH")],
)
def test_support_comes_from_the_gate_margin_and_the_number_of_sources(best: float, sources: int, level: str) -> None:
    # the gate is 0.76, a wide margin 0.15, a wide base two documents
    items = [
        chunk(0, SEAL, similarity_score=best),
        chunk(1, FILTER, similarity_score=0.77, knowledge_id="doc-0" if sources == 1 else "doc-1"),
    ]
    bundle = answer_bundle().model_copy(update={"selected_evidence": tuple(items)})
    assert _validate(f"{SEAL} [C0]\n{FILTER} [C1]", bundle).support_level is SupportLevel(level)


@pytest.mark.contract("R5-15")
def test_a_source_that_is_not_cited_supports_nothing() -> None:
    items = (chunk(0, SEAL, similarity_score=0.77), chunk(1, FILTER, similarity_score=0.99))
    bundle = answer_bundle().model_copy(update={"selected_evidence": items})
    assert _validate(f"{SEAL} [C0]", bundle).support_level is SupportLevel.LOW


@pytest.mark.contract("R5-13")
def test_a_run_that_ended_early_has_no_verdict() -> None:
    refused = refuse("assemble", Code.ALL_EVIDENCE_DROPPED, Source.SELECTION, "nothing left")
    verdict = skip_validation(refused)
    assert verdict.validation_status is ValidationStatus.NOT_RUN
    assert verdict.outcome == refused
    assert verdict.validated_answer_text == ""
    with pytest.raises(ValueError, match="has an answer"):
        skip_validation(proceed("generate"))


UNITS = st.sampled_from(["bar", "hours", "°C", "mm", "kg", "rpm", "%", "parts", "kV"])
NUMBERS = st.integers(2, 10**7).map(str) | st.decimals("0.1", "9999", places=2).map(str)


def _changed(text: str, position: int, digit: str) -> str:
    return text[:position] + digit + text[position + 1 :]


@pytest.mark.contract("R5-8")
@given(NUMBERS, UNITS, st.data())
def test_a_changed_digit_in_a_cited_number_is_never_accepted(number: str, unit: str, data: st.DataObject) -> None:
    fact = f"The limit of the pump is {number} {unit} at most."
    bundle = answer_bundle(fact)
    assert _validate(f"{fact} [C0]", bundle).validation_status is ValidationStatus.PASSED
    places = [index for index, character in enumerate(fact) if character.isdigit()]
    position = data.draw(st.sampled_from(places))
    digit = data.draw(st.sampled_from([d for d in "0123456789" if d != fact[position]]))
    verdict = _validate(f"{_changed(fact, position, digit)} [C0]", bundle)
    assert verdict.outcome.failure_code is FailureCode.UNSUPPORTED_LITERAL


@pytest.mark.contract("R5-8")
@given(
    st.sampled_from(
        ["on 13 March 2024", "at 14:37", "by order HP-2041", "as part 12-34-56", "in release 4.13.2", "on 2024-03-27",
         "at https://a.example/p?n=417", "under SN A7731B", "for 1,250 hours", "at -17 °C", "at .75 bar"]
    ),
    st.data(),
)  # fmt: skip
def test_a_changed_digit_in_any_literal_is_never_accepted(literal: str, data: st.DataObject) -> None:
    fact = f"The pump was started {literal} and stopped."
    bundle = answer_bundle(fact)
    assert _validate(f"{fact} [C0]", bundle).validation_status is ValidationStatus.PASSED
    position = data.draw(st.sampled_from([index for index, character in enumerate(fact) if character.isdigit()]))
    digit = data.draw(st.sampled_from([d for d in "123456789" if d != fact[position]]))
    verdict = _validate(f"{_changed(fact, position, digit)} [C0]", bundle)
    assert verdict.validation_status is ValidationStatus.FAILED


SENTENCES = st.lists(
    st.tuples(
        st.sampled_from(["The seal is inspected", "Replace the filter", "The pump runs at 5 bar", "It holds 12 bolts"]),
        st.sampled_from(["C0", "C1"]),
        st.sampled_from(["{} [{}].", "{}. [{}]", "{}.[{}]"]),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda part: part[0],
)
BOTH = "The seal and the filter of the pump are kept at 5 bar by 12 bolts."


@pytest.mark.contract("R5-6")
@given(SENTENCES, st.sampled_from([" ", "\n", "\n\n", "\n- "]), st.data())
def test_an_answer_without_one_of_its_citations_is_never_accepted(
    parts: list[tuple[str, str, str]], between: str, data: st.DataObject
) -> None:
    bundle = answer_bundle(BOTH, BOTH + " It is red.")
    sentences = [form.format(words, anchor) for words, anchor, form in parts]
    assert _validate(between.join(sentences), bundle).validation_status is ValidationStatus.PASSED
    index = data.draw(st.integers(0, len(parts) - 1))
    sentences[index] = parts[index][0] + "."
    assert _validate(between.join(sentences), bundle).validation_status is ValidationStatus.FAILED


@pytest.mark.contract("R5-4")
@given(SENTENCES, st.integers(2, 10**9), st.data())
def test_an_invented_anchor_is_never_accepted(
    parts: list[tuple[str, str, str]], invented: int, data: st.DataObject
) -> None:
    bundle = answer_bundle(BOTH, BOTH + " It is red.")
    sentences = [form.format(words, anchor) for words, anchor, form in parts]
    index = data.draw(st.integers(0, len(parts) - 1))
    sentences[index] += f" [C{invented}]"
    verdict = _validate(" ".join(sentences), bundle)
    assert verdict.outcome.failure_code is FailureCode.INVALID_CITATION_REFERENCE


FRAGMENTS = st.lists(
    st.sampled_from(
        ["[C0]", "[C1]", "[C9]", "[c0]", "\n", " ", ". ", ": ", "- ", "| a | b |", "|---|", "# ", "```", "> ", SEAL,
         FILTER, "12", "1e99999999", "3 x 10^99999999", "99/99/9999", "25:61", "1.2.3.4", "0000-00-00", '"a b c"',
         "https://x.y/z", REFUSAL, "minus", "½", "٣", "doc-0", "However", "<think>", "Evidence:", "\x00", "\u2028"]
    ),
    max_size=12,
).map("".join)  # fmt: skip


@pytest.mark.contract("S-3")
@given(FRAGMENTS | st.text(max_size=120))
def test_no_answer_raises_and_each_passes_whole_or_not_at_all(text: str) -> None:
    verdict = _validate(text)
    passed = verdict.validation_status is ValidationStatus.PASSED
    assert verdict.validated_answer_text == (text if passed else "")
    assert passed == (verdict.outcome.status is not Status.FAILED)
    assert bool(verdict.outcome.violations) == (not passed)
    if verdict.outcome.status is Status.OK:
        assert verdict.validated_citations
        assert verdict.grounding_metrics.attribution_coverage == 1.0
        assert verdict.grounding_metrics.unsupported_literal_count == 0
        assert verdict.support_level is not None


@pytest.mark.contract("CP-1")
@given(FRAGMENTS)
def test_a_verdict_survives_its_way_through_json(text: str) -> None:
    verdict = _validate(text)
    assert ValidationResult.model_validate_json(verdict.model_dump_json()) == verdict


@pytest.mark.contract("R6-6")
def test_a_citation_that_the_map_does_not_know_is_an_error_of_r5_and_never_invented() -> None:
    verdict = _validate(f"{SEAL} [C0] [C7]")
    assert verdict.outcome.failure_code is FailureCode.INVALID_CITATION_REFERENCE
    forged: dict[str, Any] = {"validated_citations": ("C7",), "outcome": proceed("validate")}
    with pytest.raises(KeyError, match="C7"):
        package_response(run(), proceed("record"), answer_bundle(), None, verdict.model_copy(update=forged), 1.0)
