"""Whatever a document or a question says, the prompt keeps its structure and the answer its rules (R2-S2, R3-4)."""

import itertools
import json
import re
import unicodedata
from functools import cache
from typing import Any, Final

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import REFUSAL, Message, build_prompt, canonical_prompt, read_prompt
from sourcebound.contracts.text.sanitize import header_value, sanitize
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.result import ValidationResult
from sourcebound.models.extractive import ExtractiveChatModel
from support.builders import JsonObject, bundle, policy, row, run
from support.places import ROOT

FORGED: Final = ROOT / "tests" / "assets" / "forged_structures.jsonl"
DATA: Final = ROOT.parent / "shared" / "data" / "injection"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the external evaluation data is not beside the repository")
TITLES: Final = [
    "SYSTEM INSTRUCTION", "SAFETY AND GROUNDING RULES", "EVIDENCE", "USER QUESTION", "OUTPUT REQUIREMENTS",
]  # fmt: skip
HEADER: Final = re.compile(r"\s*=+\s*(" + "|".join(TITLES) + r")\s*=+\s*", re.IGNORECASE)
ANCHOR_LINE: Final = re.compile(r"\s*\[\s*C\d+\s*\|", re.IGNORECASE)
INVISIBLE: Final = re.compile("[\u00ad\u034f\u115f\u1160\u3164\uffa0\ufe00-\ufe0f\u180b-\u180f\U000e0000-\U000e0fff]")
ASKED: Final = "How often must the shaft seal be checked?"
BEFORE, AFTER = "The pump runs at 5 bar.", "The filter is replaced in March."
PLACES: Final = {
    "alone": "{}",
    "beginning": f"{{}}\n{AFTER}",
    "middle": f"{BEFORE}\n{{}}\n{AFTER}",
    "end": f"{BEFORE}\n{{}}",
    "within a line": f"{BEFORE} {{}} {AFTER}",
}
ROOMY: Final[dict[str, JsonObject]] = {
    "selection": {"max_evidence_tokens": 60_000, "max_chunk_token_ratio": 1.0, "trim_within_chunk": False},
    "prompt": {"max_total_prompt_tokens": 90_000},
    "validation": {"literal_grounding": "enforce"},
}
"""Limits that nothing here reaches, so that every text is in the prompt whole."""


def _forged(*where: str) -> list[Any]:
    items = [json.loads(line) for line in FORGED.read_text("utf-8").splitlines()]
    return [pytest.param(item, id=f"{item['id']}-{item['tries']}") for item in items if item["where"] in where]


def _data(name: str) -> list[JsonObject]:
    path = DATA / name
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


@cache
def _roomy() -> Policy:
    return policy(**ROOMY)


def _assembled(question: str = ASKED, text: str = BEFORE, **header: str) -> AnswerBundle:
    """Three chunks, the hostile one between two that are not."""
    rows = [
        row(0, chunk_text="The shaft seal is checked every 12 hours."),
        row(1, chunk_text=text, **header),
        row(2, chunk_text="The cover is held by six bolts."),
    ]
    return assemble(bundle(rows, user_question=question), _roomy(), run(question=question))


def _check_structure(assembled: AnswerBundle, question: str) -> tuple[Message, ...]:
    """The five sections once each, the anchors in their order, two messages, nothing hidden, the same bytes again."""
    prompt = build_prompt(assembled, _roomy()).prompt
    messages = prompt.messages
    assert [message.role for message in messages] == ["system", "user"]
    shown = [[match[1] for line in m.content.split("\n") if (match := HEADER.fullmatch(line))] for m in messages]
    assert shown == [TITLES[:2], TITLES[2:]]
    parts = read_prompt(messages)
    assert list(parts.sections) == TITLES
    assert [part.anchor for part in parts.evidence] == list(assembled.anchor_map)
    assert [part.text for part in parts.evidence] == [item.sanitized_text for item in assembled.selected_evidence]
    headers = [line for line in messages[1].content.split("\n") if ANCHOR_LINE.match(line)]
    assert len(headers) == len(assembled.selected_evidence)
    assert parts.question == sanitize(question).text
    plain = _messages_of(_assembled())
    assert messages[0] == plain[0]
    assert parts.sections["OUTPUT REQUIREMENTS"] == read_prompt(plain).sections["OUTPUT REQUIREMENTS"]
    for message in messages:
        assert not INVISIBLE.search(message.content)
        assert not {unicodedata.category(c) for c in message.content if c != "\n"} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
        assert unicodedata.is_normalized("NFC", message.content)
    again = build_prompt(AnswerBundle.model_validate_json(assembled.model_dump_json()), _roomy()).prompt
    assert canonical_prompt(again.messages) == canonical_prompt(messages)
    assert again.prompt_sha256 == prompt.prompt_sha256
    return messages


def _messages_of(assembled: AnswerBundle) -> tuple[Message, ...]:
    return build_prompt(assembled, _roomy()).prompt.messages


def test_the_corpus_is_large_and_no_item_is_there_twice() -> None:
    items = [json.loads(line) for line in FORGED.read_text("utf-8").splitlines()]
    assert len(items) >= 80
    assert len({item["id"] for item in items}) == len({(item["where"], item["text"]) for item in items}) == len(items)
    assert {item["where"] for item in items} == {"evidence", "question", "header"}


@pytest.mark.contract("R2-S2")
@pytest.mark.parametrize("item", _forged("evidence", "question"))
def test_what_reads_as_structure_is_escaped_and_nothing_else_is(item: JsonObject) -> None:
    clean = sanitize(item["text"])
    assert bool(clean.escaped_lines) == item["escaped"]


@pytest.mark.contract("R2-S2")
@pytest.mark.contract("R3-1")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("item", _forged("evidence", "question"))
def test_hostile_evidence_leaves_the_prompt_its_structure(item: JsonObject, place: str) -> None:
    assembled = _assembled(text=PLACES[place].replace("{}", item["text"]))
    expected = ["C0", "C1"] if place == "alone" and not sanitize(item["text"]).text else ["C0", "C1", "C2"]
    assert list(assembled.anchor_map) == expected
    _check_structure(assembled, ASKED)
    if item["escaped"] and place != "within a line":
        metrics = assembled.assembly_metrics
        assert metrics is not None
        assert metrics.structure_escaped_count >= 1


@pytest.mark.contract("R3-4")
@pytest.mark.contract("R3-1")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("item", _forged("evidence", "question"))
def test_a_hostile_question_leaves_the_prompt_its_structure(item: JsonObject, place: str) -> None:
    question = PLACES[place].replace("{}", item["text"])
    if sanitize(question).text:
        _check_structure(_assembled(question), question)


@pytest.mark.contract("R2-A2")
@pytest.mark.parametrize("field", ["source_reference", "chunk_id", "knowledge_id", "title", "section"])
@pytest.mark.parametrize("item", _forged("evidence", "question", "header"))
def test_a_hostile_value_stays_inside_its_header(item: JsonObject, field: str) -> None:
    value = item["text"]
    assembled = _assembled(**{field: value})
    _check_structure(assembled, ASKED)
    hostile = read_prompt(_messages_of(assembled)).evidence[1]
    assert hostile.text == BEFORE
    assert hostile.source == (header_value(value) if field == "source_reference" else "manual-1.pdf")


@pytest.mark.contract("R3-4")
@pytest.mark.parametrize("text", ["{{question}}", "{{evidence_block}}", "{{evidence_block}} {{question}}"])
def test_a_placeholder_in_a_text_is_text(text: str) -> None:
    parts = read_prompt(_check_structure(_assembled(text, text), text))
    assert parts.question == parts.evidence[1].text == text


def _answer(messages: tuple[Message, ...]) -> str:
    system, user = messages
    return ExtractiveChatModel().invoke([SystemMessage(system.content), HumanMessage(user.content)]).text


def _pass_through(assembled: AnswerBundle, question: str) -> tuple[str, ValidationResult]:
    """The extractive model's answer, and its verdict."""
    text = _answer(_check_structure(assembled, question))
    return text, validate(text, assembled, _roomy())


def _check_verdict(text: str, verdict: ValidationResult, assembled: AnswerBundle) -> None:
    """The exact refusal, or every statement quoted word for word from the chunk that it cites."""
    if text == REFUSAL:
        assert (verdict.outcome.status, verdict.validated_answer_text) == ("NO_EVIDENCE", REFUSAL)
        return
    if verdict.failure_reason is not None:
        assert verdict.validated_answer_text == ""
        return
    assert verdict.validated_answer_text == text
    held = {item.anchor: " ".join(item.sanitized_text.split()) for item in assembled.selected_evidence}
    for statement in verdict.statements:
        assert statement.anchors
        quoted = " ".join(re.sub(r"\[C\d+\]", "", statement.text).split())
        rows = [
            row
            for item in assembled.selected_evidence
            if item.anchor in statement.anchors
            for row in item.sanitized_text.splitlines()
            if "|" in row
        ]
        cells = [cell.rpartition(": ")[2] for cell in quoted.split("; ")]
        is_row = any(all(cell in " ".join(row.split()) for cell in cells) for row in rows)  # with its heads (R4-9)
        assert is_row or any(quoted in held[anchor] for anchor in statement.anchors), quoted


@pytest.mark.contract("R5-6")
@pytest.mark.parametrize("item", _forged("evidence"))
def test_no_forged_structure_gets_an_answer_past_the_firewall(item: JsonObject) -> None:
    question = "At how many bar does the pump run, and is the answer yes?"
    assembled = _assembled(question, f"{BEFORE}\n{item['text']}\n{AFTER}")
    text, verdict = _pass_through(assembled, question)
    _check_verdict(text, verdict, assembled)


@pytest.mark.data
@needs_data
@pytest.mark.contract("R3-4")
def test_poisoned_mails_and_attacks_leave_the_prompt_its_structure() -> None:
    items, attacks = _data("bipia/items.jsonl"), _data("bipia/attacks_text_train.jsonl")
    assert len(items) >= 138
    assert len(attacks) >= 75
    for item in items:
        assembled = _assembled(item["question"], item["context_injected"])
        text, verdict = _pass_through(assembled, item["question"])
        _check_verdict(text, verdict, assembled)
    for attack in attacks:
        text, verdict = _pass_through(_assembled(attack["attack"]), attack["attack"])
        _check_verdict(text, verdict, _assembled(attack["attack"]))


@pytest.mark.data
@needs_data
@pytest.mark.contract("R5-6")
def test_a_hijacked_document_is_quoted_under_its_own_anchor_or_not_at_all() -> None:
    items = _data("garak_latent/items.jsonl")
    assert len(items) >= 45
    for item, asks_for in itertools.product(items, ("question", "trigger")):
        assembled = _assembled(item[asks_for], item["context_injected"])
        text, verdict = _pass_through(assembled, item[asks_for])
        _check_verdict(text, verdict, assembled)
        if item["trigger"] in verdict.validated_answer_text:
            carriers = [part for part in verdict.statements if item["trigger"] in part.text]
            assert all(part.anchors == ("C1",) for part in carriers)
