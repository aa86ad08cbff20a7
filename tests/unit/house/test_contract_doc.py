"""docs/contract.md says what the code does: its clauses, its codes and every example in it."""

import json
import re
import tomllib
from functools import cache
from typing import Any, Final

import pytest

from sourcebound.contracts.audit.record import audit_record
from sourcebound.contracts.conversation.turns import Turn, resolve
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, RowOutcome
from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.evidence.intake import check_bundle
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.extractive.answer import answer
from sourcebound.contracts.facts.extraction import read_facts, render_facts
from sourcebound.contracts.facts.selection import request_choice, select_by_choice, select_locally
from sourcebound.contracts.outcome import (
    FailureCode,
    RefusalCode,
    RefusalSource,
    Status,
    keep_worst,
    proceed,
    refuse,
)
from sourcebound.contracts.policy.releases import SHIPPED, load_shipped_policy
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.presentation.answer_view import AnswerView
from sourcebound.contracts.presentation.render import PRESENTATIONS, present
from sourcebound.contracts.prompt.build import REFUSAL, Prompt, build_prompt, read_prompt
from sourcebound.contracts.replay.report import find_difference
from sourcebound.contracts.request import Filters, Run
from sourcebound.contracts.response.public import package_response
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.text.citations import find_citations, find_look_alikes
from sourcebound.contracts.text.sanitize import sanitize
from sourcebound.contracts.validation.answer_reading import CONNECTIVES, read_statements
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.literals.check import check_literals, read_evidence
from sourcebound.contracts.validation.refusals import find_refusal, is_exact_refusal
from sourcebound.contracts.validation.result import ValidationResult, skip_validation
from support.places import ROOT

PAGE: Final = (ROOT / "docs" / "contract.md").read_text("utf-8")
CLAUSE: Final = re.compile(r"^- \*\*([A-Z0-9]+-[A-Z]?[0-9]+)\*\*(?: \(specified, not in force yet\))? \S", re.MULTILINE)
COUNTS: Final = {
    "S": 5, "P": 6, "R1": 11, "R2-V": 7, "R2-S": 9, "R2-A": 3, "R3": 10, "R4": 9, "R5": 18, "R5P": 8, "R6": 8, "CP": 12,
    "EV": 2, "IX": 3,
}  # fmt: skip
POLICY: Final = load_shipped_policy("R2_POLICY_V1")
ENFORCING: Final = load_shipped_policy("SOURCEBOUND_V1")
Row = dict[str, str]


def table(first: str, *others: str) -> list[Row]:
    """The rows of the one table whose header has exactly these cells."""
    lines = PAGE.split("\n")
    (start,) = [number for number, line in enumerate(lines) if _cells(line) == [first, *others]]
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append(dict(zip([first, *others], _cells(line), strict=True)))
    assert rows
    return rows


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] if line.startswith("|") else []


def spans(cell: str) -> list[str]:
    """Return the texts of the code spans in a cell."""
    texts = [text.replace("\\|", "|") for text in re.findall(r"`([^`]*)`", cell)]
    return [text.replace("\\n", "\n").replace("\\t", "\t").replace("\\u200b", "\u200b") for text in texts]


def span(cell: str) -> str:
    """The one code span of a cell."""
    (text,) = spans(cell)
    return text


def example(name: str) -> str:
    """The fenced block under the mark of that name."""
    (text,) = re.findall(rf"<!-- example: {name} -->\n```\w+\n(.*?)\n```\n", PAGE, re.DOTALL)
    return str(text)


@cache
def retrieval_example() -> str:
    """The retrieval bundle that every other example is made of, as JSON."""
    return example("retrieval-bundle")


@cache
def assembled() -> AnswerBundle:
    return assemble(json.loads(retrieval_example()), POLICY, the_run())


@cache
def prompted() -> Prompt:
    return build_prompt(assembled(), POLICY).prompt


def the_run() -> Run:
    return Run(
        request_id="req-1",
        run_id="run-1",
        thread_id="run-1",
        question=json.loads(retrieval_example())["user_question"],
        collection=None,
        filters=Filters(),
        model="extractive",
        policy_version=POLICY.policy_version,
        policy_sha256=POLICY.sha256,
        entry="bundle",
        started_at="2024-03-05T08:00:00+00:00",
    )


def generation() -> Generation:
    return Generation(
        outcome=proceed("generate"),
        raw_model_text=example("model-text"),
        model_name="extractive",
        provider="extractive",
        prompt_sha256=prompted().prompt_sha256,
        finish_reason="stop",
        attempts=1,
        llm_latency_ms=1.2,
    )


def test_every_clause_stands_exactly_once_and_in_order() -> None:
    expected = [f"{layer}{'' if '-' in layer else '-'}{n + 1}" for layer, count in COUNTS.items() for n in range(count)]
    assert CLAUSE.findall(PAGE) == expected


@pytest.mark.parametrize("code", [*FailureCode, *RefusalCode, *RowOutcome])
def test_every_code_is_explained(code: str) -> None:
    assert f"`{code}`" in PAGE


def test_the_tables_of_codes_hold_no_other_codes() -> None:
    failures = table("code", "stage", "clause")
    refusals = table("code", "source", "when", "clause")
    outcomes = table("outcome", "clause")
    assert [span(row["code"]) for row in failures] == list(FailureCode)
    assert {span(row["code"]) for row in refusals} == set(RefusalCode)
    assert {span(row["outcome"]) for row in outcomes} == set(RowOutcome)


@pytest.mark.parametrize("row", table("so far", "a stage says", "kept"))
def test_the_table_of_statuses(row: Row) -> None:
    kept = keep_worst({"status": span(row["so far"])}, {"status": span(row["a stage says"])})
    assert kept["status"] == span(row["kept"])


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def policy_cells(policy: Policy) -> Row:
    """The cells of a shipped policy in the table of policies."""
    gate, chosen, budget, checks = policy.retrieval, policy.selection, policy.prompt, policy.validation
    calibrated = " (calibrated)" if policy.calibration else ""
    coverage = gate.min_question_coverage
    most, target = gate.max_requested_sources, checks.attribution_target
    requested = f" (a request may raise min_sources to {most})" if most else ""
    needed = f"{target:.2f} target, {checks.attribution_coverage} to pass" if target else checks.attribution_coverage
    fusion = f"{gate.fusion or gate.rrf_k}; {gate.dense_weight} : {gate.lexical_weight}"
    return {
        "shipped today": "yes",
        "top_k": str(gate.top_k),
        "min_top_similarity": f"{gate.min_top_similarity:.2f}{calibrated}",
        "min_question_coverage": "–" if coverage is None else f"{coverage:.2f}{calibrated}",
        "coverage_allowance (a word)": "–" if gate.coverage_allowance is None else f"{gate.coverage_allowance:.3f}",
        "coverage_per_tenfold (of chunks)": _number(gate.coverage_per_tenfold),
        "min_similarity (a chunk)": f"{chosen.min_similarity:.2f}{calibrated}" if chosen.min_similarity else "0",
        "fallback_min_similarity": _number(gate.fallback_min_similarity),
        "probe_min_similarity": _number(gate.probe_min_similarity),
        "min_chunks / min_sources": f"{gate.min_chunks} / {gate.min_sources}{requested}",
        "mmr_lambda": _number(gate.mmr_lambda),
        "hybrid (dense and full text, fused)": "yes" if gate.hybrid else "no",
        "candidate_pool (rows of a list)": str(gate.candidate_pool),
        "rrf_k or scores; dense_weight : lexical_weight": fusion if gate.hybrid else "–",
        "plain_years (R1-4)": "yes" if gate.plain_years else "no",
        "respell (R1-4)": "yes" if gate.respell else "no",
        "translate (R1-4)": gate.translate or "no",
        "max_chunks": str(chosen.max_chunks),
        "max_chunks_per_knowledge_id": str(chosen.max_chunks_per_knowledge_id),
        "max_evidence_tokens": str(chosen.max_evidence_tokens),
        "max_total_prompt_tokens": str(budget.max_total_prompt_tokens),
        "reserved_output_tokens": str(budget.reserved_output_tokens),
        "max_chunk_token_ratio": f"{chosen.max_chunk_token_ratio:.2f}",
        "overlap_ratio_threshold": f"{chosen.overlap_ratio_threshold:.2f}",
        "sanitization (R2-S2)": chosen.sanitization_mode,
        "trim within a chunk": "yes" if chosen.trim_within_chunk else "no",
        "facts phase (R3-9)": "on" if policy.facts else "off",
        "template (R3-1)": f"`{budget.template}`",
        "output profile (R3-7)": budget.output_profile,
        "partial answers (R3-10)": "yes" if checks.partial_answers else "no",
        "literal grounding (R5-8)": checks.literal_grounding.value,
        "attribution coverage needed": str(needed),
        "max_attempts (R5-12)": str(checks.max_attempts),
        "repair section (R5-12)": f"`{budget.repair_template or 'repair_v1'}`",
        "presentation (R6-8)": policy.presentation,
    }


@pytest.mark.contract("P-6")
@pytest.mark.parametrize("name", SHIPPED)
def test_the_table_of_policies_has_the_values_of_the_files(name: str) -> None:
    rows = table(
        "field", "`SOURCEBOUND_V1`", "`SOURCEBOUND_LEXICAL_V1`", "`SOURCEBOUND_SENTENCES_V1`", "`R2_POLICY_V1`",
        "`SOURCE_BOUNDED_V1`", "`QA_CONTRACT_V1`", "`GROUNDED_RAG_V1`", "`SOURCEBOUND_V2`", "`SOURCEBOUND_LEXICAL_V2`",
        "`SOURCEBOUND_SENTENCES_V2`",
    )  # fmt: skip
    assert {row["field"]: row[f"`{name}`"] for row in rows} == policy_cells(load_shipped_policy(name))


def test_no_other_policy_is_called_shipped() -> None:
    (row,) = [line for line in PAGE.split("\n") if line.startswith("| shipped today |")]
    (header,) = [line for line in PAGE.split("\n") if line.startswith("| field | `SOURCEBOUND_V1`")]
    names = [cell.strip("`") for cell in _cells(header)[1:]]
    assert _cells(row)[1:] == ["yes" if name in SHIPPED else "no" for name in names]
    assert {*SHIPPED} <= {*names}


@pytest.mark.contract("P-1")
def test_the_excerpt_of_a_policy_file_is_part_of_it() -> None:
    excerpt = tomllib.loads(example("policy-excerpt"))
    whole = POLICY.model_dump(mode="json")
    for name, value in excerpt.items():
        part = {key: whole[name][key] for key in value} if isinstance(value, dict) else whole[name]
        assert part == value


def _changed(where: str, change: dict[str, Any]) -> dict[str, Any]:
    bundle: dict[str, Any] = json.loads(retrieval_example())
    target = bundle if where == "bundle" else bundle["results"][int(where.removeprefix("row "))]
    target |= change
    return bundle


@pytest.mark.parametrize("row", table("where", "change", "code", "clause"))
def test_the_table_of_violations(row: Row) -> None:
    change = json.loads(re.findall(r"`(.*)`", row["change"])[0])
    checked = check_bundle(_changed(row["where"], change), POLICY)
    if row["code"].startswith("accepted"):
        assert checked.bundle is not None
    else:
        first = checked.violations[0]
        assert (first.code.value, first.clause) == (span(row["code"]), row["clause"])


@pytest.mark.contract("R2-V2")
def test_a_list_out_of_order_is_sorted_as_the_table_says() -> None:
    assert check_bundle(_changed("row 1", {"rank": 3}), POLICY).reordered


@pytest.mark.contract("R2-V4")
def test_a_text_that_sanitization_empties_is_dropped_as_the_table_says() -> None:
    bundle = assemble(_changed("row 1", {"chunk_text": "\u200b"}), POLICY, the_run())
    assert bundle.drop_ledger[1].outcome is RowOutcome.DROP_EMPTY_AFTER_SANITIZE


@pytest.mark.contract("R2-V3")
def test_the_example_of_a_violation() -> None:
    first = check_bundle(_changed("row 0", {"similarity": 1.2}), POLICY).violations[0]
    assert first.model_dump(mode="json") == json.loads(example("violation"))


@pytest.mark.contract("R2-S8")
def test_the_example_of_a_ledger() -> None:
    rows = table("chunk_id", "rank", "row outcome")
    ledger = [(entry.chunk_id, entry.rank, entry.outcome.value) for entry in assembled().drop_ledger]
    assert ledger == [(span(row["chunk_id"]), int(row["rank"]), span(row["row outcome"])) for row in rows]


@pytest.mark.contract("R2-S2")
@pytest.mark.parametrize("row", table("line as received", "line in the prompt"))
def test_the_table_of_sanitized_lines(row: Row) -> None:
    assert sanitize(span(row["line as received"])).text == span(row["line in the prompt"])


@pytest.mark.contract("R2-A2")
def test_the_example_of_an_evidence_block() -> None:
    assert assembled().evidence_block_text == example("evidence-block")


@pytest.mark.contract("R3-5")
def test_the_example_of_a_prompt() -> None:
    sent = {message.role: message.content for message in prompted().messages}
    assert sent == {"system": example("prompt-system"), "user": example("prompt-user")}


@pytest.mark.contract("R3-9")
def test_the_examples_of_facts() -> None:
    bundle, rules = assembled(), load_shipped_policy("QA_CONTRACT_V1").facts
    assert render_facts(read_facts(bundle)) == example("facts")
    assert request_choice(bundle, POLICY).prompt.messages[1].content == example("facts-prompt-user")
    assert rules is not None
    kept = select_locally(bundle, POLICY, rules.min_question_overlap or 0).phase.admitted_facts
    assert [fact.chunk_id for fact in kept] == ["m-17"]


@pytest.mark.contract("R3-9")
@pytest.mark.parametrize("row", table("reply of phase B", "what it comes to"))
def test_the_table_of_choices(row: Row) -> None:
    said = Generation(outcome=proceed("generate"), raw_model_text=span(row["reply of phase B"]))
    phase, bundle = select_by_choice(assembled(), POLICY, request_choice(assembled(), POLICY), said)
    came_to = phase.outcome.failure_code or phase.outcome.refusal_code
    if came_to is None:
        assert row["what it comes to"] == f"keeps `{bundle.selected_evidence[0].chunk_id}`"
        assert len(bundle.selected_evidence) == 1
    else:
        assert span(row["what it comes to"]) == came_to


@pytest.mark.contract("R4-9")
def test_the_example_of_a_quoted_answer() -> None:
    chosen = answer(read_prompt(prompted().messages))
    assert "\n".join(f"{sentence.text} [{sentence.anchor}]" for sentence in chosen) == example("model-text")


def test_the_frozen_connectives() -> None:
    assert re.split(r",\s+", example("connectives")) == sorted(CONNECTIVES)


@pytest.mark.contract("R5-3")
@pytest.mark.parametrize("row", table("in an answer", "reading"))
def test_the_table_of_citations(row: Row) -> None:
    text = span(row["in an answer"])
    assert [citation.anchor for citation in find_citations(text)] == spans(row["reading"])
    assert bool(find_look_alikes(text)) == row["reading"].startswith("malformed")


@pytest.mark.contract("R5-2")
@pytest.mark.parametrize("row", table("text", "result"))
def test_the_table_of_refusals(row: Row) -> None:
    text = span(row["text"])
    code = validate(text, assembled(), POLICY).outcome.failure_code
    assert is_exact_refusal(text) == (row["result"] == "refusal")
    assert (find_refusal(text) is None) == (row["result"] == "a statement")
    assert ([code] if code else []) == spans(row["result"])


@pytest.mark.contract("R5-6")
@pytest.mark.parametrize("row", table("answer", "statements", "exempt"))
def test_the_table_of_segments(row: Row) -> None:
    found = read_statements(span(row["answer"]))
    assert [part.text for part in found if part.needs_citation] == spans(row["statements"])
    assert [part.text for part in found if not part.needs_citation] == spans(row["exempt"])


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize("row", table("statement", "cited chunk", "supported"))
def test_the_table_of_literals(row: Row) -> None:
    findings = check_literals(span(row["statement"]), 0, (read_evidence("C0", span(row["cited chunk"])),))
    answers = {finding.supported for finding in findings}
    assert answers == {"yes": {True}, "no": {False}, "no literal": set()}[row["supported"]]


@pytest.mark.parametrize("row", table("raw text", "verdict"))
def test_the_table_of_verdicts(row: Row) -> None:
    verdict = validate(span(row["raw text"]), assembled(), ENFORCING)
    assert verdict.validation_status == ("PASSED" if row["verdict"] == "PASSED" else "FAILED")
    assert ([verdict.failure_reason] if verdict.failure_reason else []) == spans(row["verdict"])


@pytest.mark.contract("R5-10")
@pytest.mark.parametrize("row", table("JSON", "verdict of the profile"))
def test_the_table_of_verdicts_of_the_json_profile(row: Row) -> None:
    asked = ENFORCING.prompt.model_copy(update={"output_profile": "answer_sentences"})
    verdict = validate(span(row["JSON"]), assembled(), ENFORCING.model_copy(update={"prompt": asked}))
    assert ([verdict.failure_reason] if verdict.failure_reason else ["PASSED"]) == (
        spans(row["verdict of the profile"]) or [row["verdict of the profile"]]
    )


def test_the_first_fault_names_the_answer_of_several() -> None:
    (text, code) = re.findall(r"named by the first: `(.+?)` is `(\w+)`", PAGE)[0]
    assert validate(text, assembled(), ENFORCING).failure_reason == code


@pytest.mark.contract("R5P-2")
def test_the_example_of_an_audit_row() -> None:
    verdict = validate(example("model-text"), assembled(), POLICY)
    retrieval = RetrievalBundle.model_validate_json(retrieval_example())
    when = "2024-03-05T08:00:00.018000+00:00"
    row = audit_record(
        the_run(), verdict.outcome, when, retrieval.retrieval_latency_ms, assembled(), generation(), verdict
    )
    assert row.model_dump(mode="json") == json.loads(example("audit-row"))


@pytest.mark.contract("CP-3")
@pytest.mark.parametrize("row", table("recorded", "computed", "path", "character"))
def test_the_table_of_differences(row: Row) -> None:
    found = find_difference("outcome", *(json.loads(span(row[side])) for side in ("recorded", "computed")))
    assert ([found.path] if found else []) == spans(row["path"])
    assert str(found.character if found and found.character is not None else "–") == row["character"]


@pytest.mark.contract("R6-1")
def test_the_example_of_a_response() -> None:
    verdict = validate(example("model-text"), assembled(), POLICY)
    response = package_response(the_run(), verdict.outcome, assembled(), generation(), verdict, 18.3)
    assert response.status is Status.OK
    assert response.model_dump(mode="json") == json.loads(example("public-response"))


def _view(verdict: ValidationResult) -> AnswerView:
    refused = verdict.outcome.status is Status.NO_EVIDENCE
    return AnswerView(
        question=the_run().question,
        response=package_response(the_run(), verdict.outcome, assembled(), generation(), verdict, 18.3),
        presentation="plain",
        refusal_source=verdict.outcome.refusal_source,
        statements=verdict.statements,
        evidence=() if refused else assembled().selected_evidence,
    )


@pytest.mark.contract("R6-8")
def test_the_examples_of_presentations() -> None:
    view = _view(validate(example("model-text"), assembled(), POLICY))
    assert present(view, "answer_sources") == example("answer-sources")
    assert present(view, "numbered_confidence") == example("numbered-confidence")


@pytest.mark.contract("R6-8")
@pytest.mark.parametrize("row", table("presentation", "refused by gate or selection", "refused by the model"))
def test_the_table_of_refusal_sentences(row: Row) -> None:
    (name,) = [each for each in PRESENTATIONS if each == span(row["presentation"])]
    gated = skip_validation(refuse("assemble", RefusalCode.BELOW_SIMILARITY_GATE, RefusalSource.GATE, "too little"))
    for verdict, column in (
        (gated, "refused by gate or selection"),
        (validate(REFUSAL, assembled(), POLICY), "refused by the model"),
    ):
        shown = present(_view(verdict), name)
        sentence = json.loads(shown)["answer"] if name == "source_markers" else shown
        assert sentence == (REFUSAL if span(row[column]) == "exact" else span(row[column]))


@pytest.mark.contract("CP-6")
@pytest.mark.parametrize("row", table("before", "the follow-up", "what is searched for"))
def test_the_table_of_follow_ups(row: Row) -> None:
    before = Turn(run_id="run-1", thread_id="run-1", ordinal=1, status="OK", question=span(row["before"]))
    question = span(row["the follow-up"])
    resolution = resolve(question, [before])
    if resolution.is_unclear:
        assert row["what is searched for"] == "(asked back)"
    else:
        assert (resolution.search_query or question) == span(row["what is searched for"])
