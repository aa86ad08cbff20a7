"""The profile `answer_sentences`: one validator for JSON and prose, and no row that is dropped or mended."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage, SystemMessage

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.outcome import FailureCode, Violation
from sourcebound.contracts.policy.releases import template_digest
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.answer_sentences import AnswerSentences, join, json_schema, parse
from sourcebound.contracts.prompt.build import REFUSAL, build_prompt, read_prompt
from sourcebound.contracts.text.sanitize import to_storable
from sourcebound.contracts.text.tokens import estimate_tokens
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.result import ValidationResult, ValidationStatus
from sourcebound.models.extractive import ExtractiveChatModel
from support.builders import FILTER, SEAL, JsonObject, answer_bundle, policy

TEMPLATE = "answer_sentences_v1"
PROSE = policy(validation={"literal_grounding": "enforce"})


def _row(sentence: object = SEAL, *anchors: object) -> JsonObject:
    return {"sentence": sentence, "anchors": list(anchors or ("C0",))}


def _text(*rows: Any, **changes: Any) -> str:
    form = {"answer_sentences": list(rows or (_row(), _row(FILTER, "C1"))), "confidence": "High"}
    return json.dumps(form | changes, ensure_ascii=False)


def _policy(**limits: Any) -> Policy:
    """A policy under which answers are JSON."""
    profile = {
        "output_profile": "answer_sentences",
        "template": TEMPLATE,
        "template_sha256": template_digest(TEMPLATE),
    }
    return policy(prompt=profile | limits, validation={"literal_grounding": "enforce"})


def _validate(raw: str, bundle: AnswerBundle | None = None, chosen: Policy | None = None) -> ValidationResult:
    return validate(raw, bundle or answer_bundle(), chosen or _policy())


def _assert_rejected(verdict: ValidationResult, code: str) -> None:
    assert verdict.failure_reason == code
    assert verdict.validation_status is ValidationStatus.FAILED
    assert verdict.validated_answer_text == ""
    assert verdict.validated_citations == ()
    assert verdict.support_level is None


@pytest.mark.contract("R3-7")
@pytest.mark.contract("R5-13")
@pytest.mark.parametrize("layout", [{}, {"indent": 2}, {"ensure_ascii": True}])
def test_an_answer_passes_as_its_sentences_joined_by_the_frozen_rule(layout: dict[str, Any]) -> None:
    raw = json.dumps(json.loads(_text(_row(f"  {SEAL} "), _row("The seal is made for Zürich.", "C1", "C0"))), **layout)
    verdict = _validate(f"\n{raw}\n", answer_bundle(SEAL, "The seal is made for Zürich."))
    assert verdict.failure_reason is None
    assert verdict.validated_answer_text == f"{SEAL} [C0] The seal is made for Zürich. [C1] [C0]"
    assert verdict.validated_citations == ("C0", "C1")
    assert verdict.grounding_metrics.citation_count == 3
    assert verdict.grounding_metrics.sentence_count == 2
    assert verdict.grounding_metrics.attribution_coverage == 1.0


@pytest.mark.contract("R5-13")
def test_the_statements_lie_where_they_stand_in_the_released_text() -> None:
    verdict = _validate(_text())
    text = verdict.validated_answer_text
    assert [text[part.start : part.end] for part in verdict.statements] == [f"{SEAL} [C0]", f"{FILTER} [C1]"]
    assert [part.anchors for part in verdict.statements] == [("C0",), ("C1",)]


@pytest.mark.contract("R5-13")
def test_a_released_answer_passes_as_prose_too() -> None:
    released = _validate(_text()).validated_answer_text
    assert validate(released, answer_bundle(), PROSE).validated_answer_text == released


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize("raw", [REFUSAL, f"\n{REFUSAL} "])
def test_the_exact_refusal_alone_is_a_refusal(raw: str) -> None:
    verdict = _validate(raw)
    assert verdict.outcome.refusal_code == "model_refused"
    assert verdict.validated_answer_text == raw


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize(
    "raw",
    [
        f"{REFUSAL} Sorry.",
        "I cannot answer this question.",
        _text(_row(REFUSAL)),
        _text(_row("I cannot answer this question.")),
    ],
)
def test_half_a_refusal_is_none_in_json_and_around_it(raw: str) -> None:
    _assert_rejected(_validate(raw), "INVALID_REFUSAL_FORMAT")


def _refusal_row(sentence: str = REFUSAL, *anchors: str) -> JsonObject:
    return {"sentence": sentence, "anchors": list(anchors)}


@pytest.mark.contract("R5-2")
@pytest.mark.contract("R3-7")
@pytest.mark.parametrize("confidence", ["High", "Medium", "Low"])
@pytest.mark.parametrize("layout", [{}, {"indent": 2}, {"ensure_ascii": True}])
def test_the_exact_refusal_as_the_one_row_is_a_refusal(confidence: str, layout: dict[str, Any]) -> None:
    raw = json.dumps(json.loads(_text(_refusal_row(), confidence=confidence)), **layout)
    parsed = parse(raw)
    assert isinstance(parsed, AnswerSentences)
    assert parsed.is_refusal
    verdict = _validate(raw)
    assert (verdict.outcome.status, verdict.outcome.refusal_code) == ("NO_EVIDENCE", "model_refused")
    assert verdict.outcome.refusal_source == "MODEL"
    assert verdict.validation_status is ValidationStatus.PASSED
    assert verdict.validated_answer_text == REFUSAL
    assert (verdict.validated_citations, verdict.support_level, verdict.failure_reason) == ((), None, None)
    assert verdict.grounding_metrics.refusal_detected


NO_REFUSAL = {
    "beside an answer": (_text(_row(), _refusal_row()), "INVALID_REFUSAL_FORMAT"),
    "before an answer": (_text(_refusal_row(), _row()), "INVALID_REFUSAL_FORMAT"),
    "twice": (_text(_refusal_row(), _refusal_row()), "INVALID_REFUSAL_FORMAT"),
    "with an anchor": (_text(_refusal_row(REFUSAL, "C0")), "INVALID_REFUSAL_FORMAT"),
    "with an invented anchor": (_text(_refusal_row(REFUSAL, "C7")), "INVALID_REFUSAL_FORMAT"),
    "with a blank before": (_text(_refusal_row(f" {REFUSAL}")), "INVALID_REFUSAL_FORMAT"),
    "with a blank after": (_text(_refusal_row(f"{REFUSAL} ")), "INVALID_REFUSAL_FORMAT"),
    "with more words": (_text(_refusal_row(f"{REFUSAL} Sorry.")), "INVALID_REFUSAL_FORMAT"),
    "without its full stop": (_text(_refusal_row(REFUSAL[:-1])), "INVALID_REFUSAL_FORMAT"),
    "in lower case": (_text(_refusal_row(REFUSAL.lower())), "INVALID_REFUSAL_FORMAT"),
    "without its code": (_text(_refusal_row(REFUSAL.removeprefix("NO_EVIDENCE: "))), "INVALID_REFUSAL_FORMAT"),
    "in other words": (_text(_refusal_row("I cannot answer this question.")), "INVALID_REFUSAL_FORMAT"),
    "an ordinary sentence": (_text(_refusal_row(SEAL)), "INVALID_OUTPUT_SCHEMA"),
    "an ordinary sentence beside a cited one": (_text(_row(), _refusal_row(SEAL)), "INVALID_OUTPUT_SCHEMA"),
    "off the schema": (_text(_refusal_row(), note="so"), "INVALID_REFUSAL_FORMAT"),
    "without confidence": (json.dumps({"answer_sentences": [_refusal_row()]}), "INVALID_REFUSAL_FORMAT"),
    "in a code fence": (f"```json\n{_text(_refusal_row())}\n```", "INVALID_REFUSAL_FORMAT"),
}


@pytest.mark.contract("R5-2")
@pytest.mark.contract("R5-10")
@pytest.mark.parametrize("name", NO_REFUSAL)
def test_no_other_row_without_an_anchor_passes(name: str) -> None:
    raw, code = NO_REFUSAL[name]
    _assert_rejected(_validate(raw), code)
    parsed = parse(raw)
    assert isinstance(parsed, Violation) or not parsed.is_refusal


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize("rows", [[_refusal_row()], [_refusal_row(REFUSAL, "C0")], [_row(), _refusal_row()]])
def test_a_refusal_in_json_is_none_where_prose_was_asked_for(rows: list[JsonObject]) -> None:
    _assert_rejected(_validate(_text(*rows), chosen=PROSE), "INVALID_REFUSAL_FORMAT")


@pytest.mark.contract("R5-10")
def test_a_row_without_an_anchor_is_named() -> None:
    found = parse(_text(_row(), _refusal_row(FILTER)))
    assert isinstance(found, Violation)
    assert "answer_sentences.1.anchors" in found.message


@pytest.mark.contract("R5-1")
@pytest.mark.parametrize("raw", ["", "  \n", "\u200b", "{}", "[]"])
def test_a_text_that_says_nothing_is_empty_before_it_is_off_the_schema(raw: str) -> None:
    _assert_rejected(_validate(raw), "EMPTY_ANSWER")


OFF_SCHEMA = {
    "prose": f"{SEAL} [C0]",
    "code fence": f"```json\n{_text()}\n```",
    "text before": f"Here it is: {_text()}",
    "text after": f"{_text()} Done.",
    "two answers": f"{_text()}{_text()}",
    "byte order mark": f"\ufeff{_text()}",
    "cut off": _text()[:-9],
    "single quotes": _text().replace('"', "'"),
    "trailing comma": _text()[:-1] + ",}",
    "comment": f"{_text()} // so",
    "key twice": '{"confidence": "Low", ' + _text()[1:],
    "key twice in a row": _text().replace('"anchors": ["C0"]', '"anchors": ["C1"], "anchors": ["C0"]'),
    "nan": _text(confidence=float("nan")),
    "infinity": _text(more=float("inf")),
    "deep": '{"a": ' + "[" * 20_000 + "1" + "]" * 20_000 + "}",
    "deep and open": "[" * 40_000 + "1",
    "huge number": '{"confidence": ' + "9" * 5_000 + "}",
    "list": json.dumps([_row()]),
    "string": json.dumps(SEAL),
    "no rows": '{"answer_sentences": [], "confidence": "Low"}',
    "seven rows": _text(*[_row()] * 7),
    "rows as object": _text(answer_sentences={"0": _row()}),
    "no confidence": json.dumps({"answer_sentences": [_row()]}),
    "null confidence": _text(confidence=None),
    "other confidence": _text(confidence="high"),
    "number as confidence": _text(confidence=1),
    "extra key": _text(note="so"),
    "extra key of a row": _text(_row() | {"quote": SEAL}),
    "row is a text": _text(SEAL),
    "no anchors": _text({"sentence": SEAL}),
    "empty anchors": _text({"sentence": SEAL, "anchors": []}),
    "anchors as text": _text({"sentence": SEAL, "anchors": "C0"}),
    "null anchors": _text({"sentence": SEAL, "anchors": None}),
    "number as anchor": _text(_row(SEAL, 0)),
    "anchor in brackets": _text(_row(SEAL, "[C0]")),
    "anchor in lower case": _text(_row(SEAL, "c0")),
    "anchor with zero": _text(_row(SEAL, "C00")),
    "anchor and line break": _text(_row(SEAL, "C0\n")),
    "anchor in other digits": _text(_row(SEAL, "C٠")),
    "anchor and more": _text(_row(SEAL, "C0, C1")),
    "no sentence": _text({"anchors": ["C0"]}),
    "number as sentence": _text(_row(12)),
    "null sentence": _text(_row(None)),
    "empty sentence": _text(_row(), _row("")),
    "blank sentence": _text(_row(), _row("  ")),
    "sentence of dots": _text(_row(), _row("…")),
    "cited sentence": _text(_row(f"{SEAL} [C0]")),
    "sentence with a citation of another": _text(_row(f"[C1] {SEAL}")),
    "sentence of two lines": _text(_row(f"# The pump is safe\n{SEAL}")),
    "sentence with line separator": _text(_row(f"{FILTER}\u2028{SEAL}")),
    "sentence with nul": _text(_row(f"{SEAL}\u0000")),
    "lone surrogate": '{"answer_sentences":[{"sentence":"Seal \\ud800.","anchors":["C0"]}],"confidence":"Low"}',
    "surrogate as key": '{"\\ud800": 1, ' + _text()[1:],
    "nul in a key": '{"\\u0000": 1, ' + _text()[1:],
    "long key": _text(**{"k" * 5_000: 1}),
}


@pytest.mark.contract("R5-10")
@pytest.mark.parametrize("name", OFF_SCHEMA)
def test_what_is_not_exactly_the_json_is_rejected_and_never_mended(name: str) -> None:
    verdict = _validate(OFF_SCHEMA[name])
    _assert_rejected(verdict, "INVALID_OUTPUT_SCHEMA")
    violation = verdict.outcome.violations[-1]
    assert (violation.clause, violation.field, violation.value) == ("R5-10", "raw_model_text", None)
    assert len(violation.message) < 300
    assert to_storable(violation.message) == violation.message


@pytest.mark.contract("R5-10")
@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (_text(_row(), {"sentence": SEAL}), "answer_sentences.1.anchors"),
        (OFF_SCHEMA["key twice"], "key twice"),
        (OFF_SCHEMA["nan"], "NaN"),
        (OFF_SCHEMA["deep"], "too deeply"),
        (OFF_SCHEMA["text after"], "Extra data"),
    ],
)
def test_a_violation_says_what_is_wrong(raw: str, words: str) -> None:
    found = parse(raw)
    assert isinstance(found, Violation)
    assert found.code is FailureCode.INVALID_OUTPUT_SCHEMA
    assert words in found.message


@pytest.mark.contract("R5-14")
def test_the_metrics_of_a_text_that_cannot_be_parsed_are_computed() -> None:
    metrics = _validate(f"{SEAL} [C0]").grounding_metrics
    assert (metrics.citation_count, metrics.sentence_count) == (1, 1)


BROKEN = {
    "malformed in a sentence": (_text(_row(f"{SEAL} (C0)")), "MALFORMED_CITATION"),
    "no such anchor": (_text(_row(SEAL, "C7")), "INVALID_CITATION_REFERENCE"),
    "one anchor of two": (_text(_row(SEAL, "C0", "C7")), "INVALID_CITATION_REFERENCE"),
    "two statements in a row": (_text(_row(f"The pump is red. {SEAL}")), "UNCITED_FACTUAL_STATEMENT"),
    "two statements in a later row": (_text(_row(), _row(f"{FILTER} It is red.", "C1")), "UNCITED_FACTUAL_STATEMENT"),
    "an id": (_text(_row("The seal is checked, says doc-0.")), "FORBIDDEN_CONTENT"),
    "a digit": (_text(_row(SEAL.replace("12", "13"))), "UNSUPPORTED_LITERAL"),
    "the other source": (_text(_row(SEAL, "C1")), "UNSUPPORTED_LITERAL"),
    "a row that leans on the next": (
        _text(_row("The seal holds 12 hours", "C1"), _row("and it holds 5 bar.", "C0")),
        "UNSUPPORTED_LITERAL",
    ),
    "a number that is a list's mark in its row alone": (
        _text(_row("The seal is checked"), _row("7) The filter is replaced.", "C1")),
        "UNSUPPORTED_LITERAL",
    ),
}


@pytest.mark.contract("R5-10")
@pytest.mark.parametrize("name", BROKEN)
def test_the_rules_of_prose_hold_for_every_row(name: str) -> None:
    raw, code = BROKEN[name]
    assert not isinstance(parse(raw), Violation)
    _assert_rejected(_validate(raw), code)


@pytest.mark.contract("R5-10")
def test_one_bad_row_rejects_the_answer_and_is_not_dropped() -> None:
    verdict = _validate(_text(_row(), _row(FILTER.replace("3", "4"), "C1")))
    _assert_rejected(verdict, "UNSUPPORTED_LITERAL")
    assert len(verdict.statements) == 2


@pytest.mark.contract("R5-10")
def test_sentences_without_a_full_stop_stay_apart() -> None:
    rows = (_row("The seal is checked every 12 hours"), _row("the filter HP-200 is replaced on 3 March 2024", "C1"))
    verdict = _validate(_text(*rows))
    assert verdict.failure_reason is None
    assert [part.anchors for part in verdict.statements] == [("C0",), ("C1",)]


@pytest.mark.contract("R3-7")
def test_prose_is_judged_as_before_and_json_is_no_prose() -> None:
    assert validate(f"{SEAL} [C0]", answer_bundle(), PROSE).failure_reason is None
    assert validate(_text(), answer_bundle(), PROSE).failure_reason is not None


def _mutations() -> st.SearchStrategy[JsonObject]:
    """A valid answer with one thing wrong."""
    numbers = [("12", "13"), ("5 bar", "6 bar"), ("HP-200", "HP-201"), ("2024", "2025"), ("3 March", "8 March")]
    return st.one_of(
        st.tuples(st.just("drop"), st.integers(0, 1), st.none()),
        st.tuples(st.just("invent"), st.integers(0, 1), st.integers(2, 10**12)),
        st.tuples(st.just("swap"), st.integers(0, 1), st.none()),
        st.tuples(st.just("add"), st.integers(0, 2), st.text(min_size=1)),
        st.tuples(st.just("append"), st.integers(0, 1), st.sampled_from([" It is red.", " Not always. ", " [C0]"])),
        st.tuples(st.just("change"), st.just(0), st.sampled_from(numbers)),
    ).map(_mutated)


def _mutated(mutation: tuple[str, int, Any]) -> JsonObject:
    kind, at, value = mutation
    form: JsonObject = json.loads(_text())
    rows = form["answer_sentences"]
    if kind == "drop":
        rows[at]["anchors"] = []
    elif kind == "invent":
        rows[at]["anchors"].append(f"C{value}")
    elif kind == "swap":
        rows[at]["anchors"] = [f"C{1 - at}"]
    elif kind == "add":
        rows.insert(at, {"sentence": value, "anchors": []})
    elif kind == "append":
        rows[at]["sentence"] += value
    else:
        for row in rows:
            row["sentence"] = row["sentence"].replace(*value)
    return form


@pytest.mark.contract("R5-10")
@given(_mutations())
def test_no_mutation_of_a_valid_answer_is_accepted(form: JsonObject) -> None:
    verdict = _validate(json.dumps(form))
    assert verdict.validation_status is ValidationStatus.FAILED
    assert verdict.validated_answer_text == ""


@pytest.mark.contract("R5-10")
@given(st.text() | st.recursive(st.none() | st.booleans() | st.text(), st.lists).map(json.dumps))
def test_no_text_raises_and_none_is_released_unread(raw: str) -> None:
    verdict = _validate(raw)
    assert verdict.validation_status is ValidationStatus.FAILED
    assert verdict.failure_reason in ("EMPTY_ANSWER", "INVALID_REFUSAL_FORMAT", "INVALID_OUTPUT_SCHEMA")


@pytest.mark.contract("R5-13")
@given(st.lists(st.tuples(st.text(), st.lists(st.sampled_from(["C0", "C1"]), min_size=1)), min_size=1, max_size=6))
def test_whatever_is_released_is_released_by_prose_too(rows: list[tuple[str, list[str]]]) -> None:
    raw = _text(*[_row(sentence, *anchors) for sentence, anchors in rows])
    verdict = _validate(raw)
    if verdict.validation_status is ValidationStatus.PASSED:
        parsed = AnswerSentences.model_validate_json(raw)
        assert verdict.validated_answer_text == join(parsed)
        assert validate(join(parsed), answer_bundle(), PROSE).validation_status is ValidationStatus.PASSED


@pytest.mark.contract("R3-7")
def test_the_json_schema_says_what_is_checked() -> None:
    schema = json_schema()
    rows, row = schema["properties"]["answer_sentences"], schema["$defs"]["AnswerSentence"]
    assert (rows["minItems"], rows["maxItems"]) == (1, 6)
    # A refusal is a row without an anchor, and a model that is held to the schema must be able to refuse.
    assert "minItems" not in row["properties"]["anchors"]
    assert row["properties"]["anchors"]["items"]["pattern"] == "^C(0|[1-9][0-9]*)$"
    assert schema["properties"]["confidence"]["enum"] == ["High", "Medium", "Low"]
    assert schema["required"] == ["answer_sentences", "confidence"]
    assert row["required"] == ["sentence", "anchors"]
    assert schema["additionalProperties"] is row["additionalProperties"] is False


@pytest.mark.contract("R3-7")
def test_a_model_that_is_held_to_the_schema_can_only_cite_the_anchors_of_the_prompt() -> None:
    rows = json_schema(["C0", "C1"])["$defs"]["AnswerSentence"]["properties"]
    assert rows["anchors"]["items"] == {"type": "string", "enum": ["C0", "C1"]}
    assert rows["sentence"] == json_schema()["$defs"]["AnswerSentence"]["properties"]["sentence"]


@pytest.mark.contract("R3-7")
def test_the_prompt_of_the_profile_asks_for_json_and_keeps_every_rule() -> None:
    prompt = build_prompt(answer_bundle(), _policy()).prompt
    asked, prose = read_prompt(prompt.messages), read_prompt(build_prompt(answer_bundle(), policy()).prompt.messages)
    required = asked.sections["OUTPUT REQUIREMENTS"]
    for part in ('{"answer_sentences":[{"sentence":"...","anchors":["C0"]}],"confidence":"', "6", "refusal line"):
        assert part in required
    assert list(asked.sections) == list(prose.sections)
    assert asked.sections["SYSTEM INSTRUCTION"] == prose.sections["SYSTEM INSTRUCTION"]
    rules, known = (part.sections["SAFETY AND GROUNDING RULES"].splitlines() for part in (asked, prose))
    assert [line for line in rules if "anchor" not in line] == [line for line in known if "[C0]" not in line]
    assert prompt.template == TEMPLATE
    empty = build_prompt(answer_bundle("x"), _policy()).prompt.messages
    assert sum(estimate_tokens(message.content) for message in empty) < 450


def _quoted(bundle: AnswerBundle, chosen: Policy) -> str:
    system, user = build_prompt(bundle, chosen).prompt.messages
    return ExtractiveChatModel().invoke([SystemMessage(system.content), HumanMessage(user.content)]).text


@pytest.mark.contract("R4-9")
@pytest.mark.contract("R3-7")
@pytest.mark.parametrize("mark", ["", "- ", "2. "])
def test_the_extractive_generator_writes_json_where_the_prompt_asks_for_it(mark: str) -> None:
    bundle = answer_bundle(f"Seals need care.\n\n{mark}{SEAL}", FILTER)
    raw = _quoted(bundle, _policy())
    parsed = parse(raw)
    assert isinstance(parsed, AnswerSentences)
    assert parsed.answer_sentences[0].sentence == SEAL
    verdict = _validate(raw, bundle)
    assert verdict.failure_reason is None
    assert verdict.validated_answer_text.startswith(f"{SEAL} [C0]")
    assert _quoted(bundle, policy()).startswith(f"{mark}{SEAL} [C0]")


@pytest.mark.contract("R4-9")
def test_the_extractive_generator_refuses_in_the_exact_words_under_either_profile() -> None:
    bundle = answer_bundle(question="Which orchestra played at the opera?")
    assert _quoted(bundle, _policy()) == _quoted(bundle, policy()) == REFUSAL


@pytest.mark.contract("R3-7")
@pytest.mark.parametrize("profile", ["", "json", "facts"])
def test_there_is_no_third_profile(profile: str) -> None:
    with pytest.raises(ValueError, match="output_profile"):
        policy(prompt={"output_profile": profile})
