"""QA_CONTRACT_V1, clause by clause: each scenario of the contract that it keeps, and the outcome that it has here."""

import json
from typing import Any, cast

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from sourcebound.contracts.facts.extraction import Fact, filter_facts
from sourcebound.contracts.facts.model_choice import read_choice
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.retrieval.query_variants import needs_fallback, query_variants
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalRow
from sourcebound.contracts.state import AskInput, State
from sourcebound.graph.workflow import build_graph
from support.builders import FILTER, QUESTION, SEAL, JsonObject, bundle, generation, row
from support.fakes import FakeModel, FakeOutside, FakeRetriever

POLICY = load_shipped_policy("QA_CONTRACT_V1")
EXPANSIONS = POLICY.retrieval.expansions or ()
OTHER = "The intake filter of the shaft seal is replaced on 3 March 2024."
ROWS = [row(0, chunk_text=SEAL, page_number=3), row(1, chunk_text=OTHER, page_number=4), row(2, chunk_text=FILTER)]


# Retrieval


@pytest.mark.contract("P-6")
def test_the_rules_of_the_contract_are_data_of_the_policy() -> None:
    assert [rule.model_dump() for rule in EXPANSIONS] == [
        {"when": "continuous processing", "add": ("continuous manufacturing", "ICH Q13")}
    ]
    assert POLICY.facts is not None
    assert (POLICY.facts.filter, POLICY.facts.min_question_overlap) == ("local", 0.10)
    assert POLICY.calibration is None


@pytest.mark.contract("R1-4")
@pytest.mark.parametrize(
    ("question", "added"),
    [
        ("What is continuous processing?", ["continuous manufacturing", "ICH Q13"]),
        ("CONTINUOUS\nProcessing of tablets", ["continuous manufacturing", "ICH Q13"]),
        ("Is continuous processing continuous manufacturing?", ["ICH Q13"]),
        ("Does ICH Q13 cover continuous processing?", ["continuous manufacturing"]),
        ("ICH Q13: is continuous processing continuous manufacturing?", []),
        ("What is continuous manufacturing?", []),
        ("Is the processing continuous?", []),
        ("What is discontinuous processing?", []),
    ],
)
def test_the_question_is_searched_for_first_and_each_missing_term_beside_it(question: str, added: list[str]) -> None:
    assert query_variants(question, EXPANSIONS) == (question, *(f"{question} {term}" for term in added))


@pytest.mark.contract("R1-7")
@pytest.mark.parametrize(
    ("question", "similarity", "falls_back"),
    [
        ("What does the seal manual say?", 0.20, False),
        ("What does the gland guideline say?", 0.19, True),
        ("What does the gland guideline say?", 0.18, True),
        ("What does the gland guideline say?", 0.179, False),
        ("What does it say about valves?", 0.19, False),
        ("Which pages does this document have?", 0.19, False),
    ],
)
def test_the_fallback_needs_its_similarity_and_the_name_of_the_document(
    question: str, similarity: float, falls_back: bool
) -> None:
    form = row(0, similarity_score=similarity, source_reference="gland_guideline.pdf")
    assert needs_fallback(question, [RetrievalRow.model_validate(form)], POLICY) is falls_back
    assert needs_fallback(question, [], POLICY) is False


# Phase B


def _fact(quote: str, number: int = 0) -> Fact:
    return Fact(quote=quote, document="a.pdf", page=1, chunk_id=f"c{number}", score=0.5, heading="")


@pytest.mark.contract("R3-9")
@pytest.mark.parametrize(
    ("quotes", "kept"),
    [
        ([SEAL, FILTER], [SEAL]),
        ([SEAL, SEAL.lower(), f"{SEAL}\nPage 3 of 9"], [SEAL]),
        (["3 Shaft seal ........ 12", "Page 4", SEAL], [SEAL]),
        ([f"The shaft seal is part number {number}." for number in range(8)], 6),
        ([FILTER], []),
    ],
    ids=["irrelevant", "duplicates", "noise", "over the limit", "nothing"],
)
def test_the_local_filter_keeps_what_bears_on_the_question(quotes: list[str], kept: Any) -> None:
    rules, most = POLICY.facts, POLICY.selection.max_chunks
    assert rules is not None
    facts = [_fact(quote, number) for number, quote in enumerate(quotes)]
    fates = filter_facts(facts, [QUESTION], rules.min_question_overlap or 0, most)
    found = [quote for quote, fate in zip(quotes, fates, strict=True) if fate == "ADMITTED"]
    assert found == (quotes[:kept] if isinstance(kept, int) else kept)


@pytest.mark.contract("R2-S7")
@pytest.mark.contract("R3-9")
@pytest.mark.parametrize("documents", [1, 8])
async def test_the_count_is_of_the_facts_that_bear_on_the_question_wherever_they_rank(documents: int) -> None:
    off = [f"Menu {rank} of canteen number {rank} has {rank} soups." for rank in range(8)]
    bearing = [f"Shaft seal {rank} is checked every {rank} hours." for rank in range(8)]

    async def fates(*quotes: str) -> list[str]:
        placed = [row(n, chunk_text=text, knowledge_id=f"doc-{n % documents}") for n, text in enumerate(quotes)]
        text = _answer(_said(quotes[-1], "C1")) if quotes[0] == off[0] else _answer(_said(quotes[0]))
        state = await _run(text, placed)
        assert state["response"]["status"] == "OK"
        assert len(state["assembly"]["selected_evidence"]) <= POLICY.selection.max_chunks
        return [entry["outcome"].removeprefix("DROP_") for entry in state["assembly"]["drop_ledger"]]

    assert await fates(*off[:6], *bearing[6:]) == ["FACT_IRRELEVANT"] * 6 + ["ADMITTED"] * 2
    assert await fates(*bearing) == ["ADMITTED"] * 6 + ["MAX_CHUNKS"] * 2


def _named(**changes: Any) -> JsonObject:
    return {"quote": "every 12 hours", "pdf": "a.pdf", "page": 1, "chunk_id": "c0"} | changes


VALIDATE_RELEVANT_FACTS = {
    "a list of facts": ({"relevant_facts": [_named()]}, None),
    "no fact is relevant": ({"relevant_facts": []}, None),
    "not a list": ({"relevant_facts": _named()}, "INVALID_FACTS_SCHEMA"),
    "no pdf": ({"relevant_facts": [_named(pdf=None)]}, "INVALID_FACTS_SCHEMA"),
    "page is no integer": ({"relevant_facts": [_named(page="1")]}, "INVALID_FACTS_SCHEMA"),
    "no chunk_id": ({"relevant_facts": [_named(chunk_id=None)]}, "INVALID_FACTS_SCHEMA"),
    "a score of its own": ({"relevant_facts": [_named(score=1.0)]}, "INVALID_FACTS_SCHEMA"),
    "no such pdf": ({"relevant_facts": [_named(pdf="b.pdf")]}, "UNKNOWN_FACT"),
    "no such page": ({"relevant_facts": [_named(page=2)]}, "UNKNOWN_FACT"),
    "no such chunk": ({"relevant_facts": [_named(chunk_id="c9")]}, "UNKNOWN_FACT"),
    "a key twice": ({"relevant_facts": [_named(), _named(quote="5 bar")]}, "DUPLICATE_FACT"),
    "one good row and one bad": ({"relevant_facts": [_named(), _named(page=2)]}, "UNKNOWN_FACT"),
}


@pytest.mark.contract("R3-9")
@pytest.mark.parametrize("name", VALIDATE_RELEVANT_FACTS)
def test_the_checks_of_relevant_facts(name: str) -> None:
    form, code = VALIDATE_RELEVANT_FACTS[name]
    found = read_choice(json.dumps(form), [_fact(SEAL), _fact(FILTER, 1)])
    assert (found[0].code if isinstance(found, tuple) else None) == code


# Phase C, through the graph


def _answer(*rows: JsonObject, **changes: Any) -> str:
    return json.dumps({"answer_sentences": list(rows), "confidence": "High"} | changes)


def _said(sentence: str = SEAL, *anchors: str) -> JsonObject:
    return {"sentence": sentence, "anchors": list(anchors or ("C0",))}


async def _run(text: str, results: list[JsonObject] | None = None, chosen: Policy = POLICY) -> State:
    retriever = FakeRetriever(bundle(results or ROWS, policy_version=None))
    outside = FakeOutside(chosen, retriever, FakeModel(generation(text)))
    graph = build_graph(outside.ports()).compile(checkpointer=InMemorySaver())
    request = cast("AskInput", {"question": QUESTION})
    await graph.ainvoke(request, {"configurable": {"thread_id": "thread-1"}})
    return cast("State", (await graph.aget_state({"configurable": {"thread_id": "thread-1"}})).values)


VALIDATE_SYNTHESIS = {
    "not JSON": (f"{SEAL} [C0]", "INVALID_OUTPUT_SCHEMA"),
    "not a list": (_answer(answer_sentences=_said()), "INVALID_OUTPUT_SCHEMA"),
    "seven sentences": (_answer(*[_said()] * 7), "INVALID_OUTPUT_SCHEMA"),
    "no sentence": (_answer({"anchors": ["C0"]}), "INVALID_OUTPUT_SCHEMA"),
    "a sentence without a fact": (_answer(_said(), {"sentence": SEAL, "anchors": []}), "INVALID_OUTPUT_SCHEMA"),
    "an unknown key of a sentence": (_answer(_said() | {"pdf": "a.pdf"}), "INVALID_OUTPUT_SCHEMA"),
    "an unknown key": (_answer(_said(), note="so"), "INVALID_OUTPUT_SCHEMA"),
    "a key twice": (_answer(_said())[:-1] + ', "confidence": "Low"}', "INVALID_OUTPUT_SCHEMA"),
    "no confidence": (json.dumps({"answer_sentences": [_said()]}), "INVALID_OUTPUT_SCHEMA"),
    "another confidence": (_answer(_said(), confidence="Certain"), "INVALID_OUTPUT_SCHEMA"),
    "no sentence at all": (_answer(), "INVALID_OUTPUT_SCHEMA"),
    "a fact that was not kept": (_answer(_said(), _said(FILTER, "C2")), "INVALID_CITATION_REFERENCE"),
    "a fact that was never there": (_answer(_said(SEAL, "C9")), "INVALID_CITATION_REFERENCE"),
    "a number of another fact": (_answer(_said(SEAL, "C1")), "UNSUPPORTED_LITERAL"),
    "two statements under one fact": (_answer(_said(f"It is blue. {SEAL}")), "UNCITED_FACTUAL_STATEMENT"),
    "the chunk's id": (_answer(_said("The seal is inspected, says chunk-0000.")), "FORBIDDEN_CONTENT"),
}


@pytest.mark.contract("R3-7")
@pytest.mark.contract("R5-10")
@pytest.mark.parametrize("name", VALIDATE_SYNTHESIS)
async def test_an_answer_that_breaks_the_contract_is_rejected_whole(name: str) -> None:
    text, code = VALIDATE_SYNTHESIS[name]
    state = await _run(text)
    assert (state["response"]["status"], state["response"]["failure_code"]) == ("FAILED", code)
    assert (state["response"]["answer"], state["response"]["citations"]) == ("", [])
    assert state["generation"] is not None
    assert state["generation"]["raw_model_text"] == text


@pytest.mark.contract("R5-13")
async def test_an_answer_is_its_sentences_each_with_its_facts() -> None:
    state = await _run(_answer(_said(), _said(OTHER, "C1"), _said("The shaft has a cover.")))
    assert state["response"]["status"] == "OK"
    assert (
        state["response"]["answer"] == f"{SEAL} [C0] {OTHER} [C1] The shaft has a cover. [C0]"
    )  # a fact may carry two sentences
    assert [item["knowledge_id"] for item in state["response"]["citations"]] == ["doc-0", "doc-1"]
    assert state["facts"]["fates"] == ["ADMITTED", "ADMITTED", "DROP_FACT_IRRELEVANT"]


@pytest.mark.contract("R5-15")
@pytest.mark.parametrize("confidence", ["High", "Medium", "Low"])
async def test_the_confidence_is_the_computed_one_whatever_the_model_says(confidence: str) -> None:
    one = await _run(_answer(_said(), confidence=confidence), [row(0, chunk_text=SEAL, similarity_score=0.21)])
    two = await _run(_answer(_said(), _said(OTHER, "C1"), confidence=confidence))
    assert (one["response"]["support_level"], two["response"]["support_level"]) == ("LOW", "HIGH")


@pytest.mark.contract("R3-9")
@pytest.mark.contract("R5-2")
@pytest.mark.parametrize(
    ("text", "results", "code"),
    [
        (REFUSAL, ROWS, "model_refused"),
        (_answer({"sentence": REFUSAL, "anchors": []}), ROWS, "model_refused"),
        ("", [row(0, chunk_text=FILTER)], "no_relevant_facts"),
        ("", [row(0, chunk_text=SEAL, similarity_score=0.199)], "below_similarity_gate"),
    ],
)
async def test_every_way_to_a_refusal(text: str, results: list[JsonObject], code: str) -> None:
    response = (await _run(text, results))["response"]
    assert (response["status"], response["refusal_code"], response["answer"]) == ("NO_EVIDENCE", code, REFUSAL)


@pytest.mark.contract("R1-7")
@pytest.mark.contract("R3-9")
async def test_what_the_fallback_admits_has_its_facts_like_any_other() -> None:
    retriever = FakeRetriever(
        bundle(
            [row(0, chunk_text=SEAL, similarity_score=0.185, source_reference="seals_and_shafts_of_the_seal.pdf")],
            policy_version=None,
            fallback_used=True,
        )
    )
    outside = FakeOutside(POLICY, retriever, FakeModel(generation(_answer(_said()))))
    graph = build_graph(outside.ports()).compile()
    state = await graph.ainvoke(cast("AskInput", {"question": QUESTION}))
    assert state["response"]["status"] == "OK"
