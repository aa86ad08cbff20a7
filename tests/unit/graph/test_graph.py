"""The whole graph over fakes of its ports: every way in which a run can end, and what is left in its state."""

import json
from dataclasses import replace
from typing import Any, cast

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph

from sourcebound.contracts.outcome import FailureCode, fail
from sourcebound.contracts.policy.lock import ReleaseStatus
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.state import AskInput, AskOutput, RunContext, State
from sourcebound.errors import ModelError, StoreError
from sourcebound.graph.workflow import build_graph
from support.builders import FILTER, SEAL, JsonObject, bundle, collection, generation, policy, row
from support.fakes import FakeAuditLog, FakeCatalog, FakeModel, FakeOutside, FakeRetriever

REFUSAL = "NO_EVIDENCE: The provided evidence does not contain sufficient information to answer this question."
PIPELINE = ["accept", "retrieve", "assemble", "build_prompt", "generate", "validate", "record", "package"]
QUESTION: AskInput = {"question": "How often must the shaft seal be checked?"}
THREAD: RunnableConfig = {"configurable": {"thread_id": "thread-1"}}
ROWS = [row(0, chunk_text=SEAL), row(1, chunk_text=FILTER)]
PLAIN = (str, int, float, bool, type(None))


def _outside(
    results: list[JsonObject] | None = None, text: str = f"{SEAL} [C0]", chosen: Policy | None = None, **changes: Any
) -> FakeOutside:
    chosen = chosen or policy(validation={"literal_grounding": "enforce"})
    found = bundle(ROWS if results is None else results, **changes)
    return FakeOutside(chosen, FakeRetriever(found), FakeModel(generation(text)))


def _compiled(outside: FakeOutside) -> "CompiledStateGraph[State, RunContext, AskInput, AskOutput]":
    return build_graph(outside.ports()).compile(checkpointer=InMemorySaver())


class Finished:
    """A finished run: its last state, the nodes it passed and the states after each."""

    def __init__(self, state: State, nodes: list[str], history: list[JsonObject]) -> None:
        self.state = state
        self.nodes = nodes
        self.history = history

    @property
    def response(self) -> JsonObject:
        return self.state["response"]


async def _run(outside: FakeOutside, request: AskInput = QUESTION) -> Finished:
    graph = _compiled(outside)
    nodes = [name async for update in graph.astream(request, THREAD, stream_mode="updates") for name in update]
    history = [snapshot.values async for snapshot in graph.aget_state_history(THREAD)]
    state = cast("State", (await graph.aget_state(THREAD)).values)
    return Finished(state, nodes, history[::-1])


def _assert_nothing_is_released(finished: Finished) -> None:
    assert finished.response["answer"] in ("", REFUSAL)
    assert finished.response["citations"] == []
    assert finished.response["support_level"] is None


@pytest.mark.contract("R6-3")
async def test_a_question_is_answered() -> None:
    outside = _outside()
    finished = await _run(outside)
    assert finished.nodes == PIPELINE
    assert finished.response["status"] == "OK"
    assert finished.response["answer"] == f"{SEAL} [C0]"
    assert [item["knowledge_id"] for item in finished.response["citations"]] == ["doc-0"]
    assert len(outside.model.prompts) == 1
    assert outside.models_opened == ["fake"]


@pytest.mark.contract("S-2")
async def test_the_ids_of_a_run_are_on_every_record() -> None:
    outside = _outside()
    finished = await _run(outside, {**QUESTION, "request_id": "mine"})
    run, record = finished.state["run"], outside.audit_log.records[0]
    assert (run["request_id"], run["thread_id"]) == ("mine", "thread-1")
    assert run["run_id"]
    assert (record.request_id, record.run_id) == ("mine", run["run_id"])
    assert (finished.response["request_id"], finished.response["run_id"]) == ("mine", run["run_id"])
    assert [item.run_id for item in outside.run_log.begun] == [run["run_id"]]


@pytest.mark.contract("S-2")
async def test_a_run_without_ids_gets_new_ones() -> None:
    finished = await _run(_outside())
    assert {finished.state["run"]["request_id"], finished.state["run"]["run_id"]} == {"id-0", "id-1"}


@pytest.mark.contract("P-2")
async def test_the_whole_policy_is_in_the_state_and_its_digest_on_the_record() -> None:
    outside = _outside()
    finished = await _run(outside)
    assert Policy.model_validate(finished.state["policy"]) == outside.policy
    for form in (finished.state["run"], finished.state["assembly"]["trace"], finished.state["audit"]):
        assert form["policy_sha256"] == outside.policy.sha256
        assert form["policy_version"] == "R2_POLICY_V1"


@pytest.mark.contract("P-1")
@pytest.mark.parametrize("release_status", [ReleaseStatus.SHIPPED, ReleaseStatus.RELEASED, ReleaseStatus.DRAFT])
@pytest.mark.parametrize("similarity", [0.9, 0.1])
async def test_a_run_under_a_draft_says_so_however_it_ends(release_status: ReleaseStatus, similarity: float) -> None:
    outside = _outside([row(chunk_text=SEAL, similarity_score=similarity)])
    outside.release_status = release_status
    finished = await _run(outside)
    said = ["the policy R2_POLICY_V1 is a draft: it is not released, and may change under this name"]
    assert finished.response["notices"] == (said if release_status is ReleaseStatus.DRAFT else [])
    assert finished.state["run"]["is_draft"] is (release_status is ReleaseStatus.DRAFT)


@pytest.mark.contract("R1-11")
async def test_under_the_gate_the_model_is_never_called() -> None:
    outside = _outside([row(0, chunk_text=SEAL, similarity_score=0.5)])
    finished = await _run(outside)
    assert finished.nodes == ["accept", "retrieve", "assemble", "record", "package"]
    assert (outside.model.prompts, outside.models_opened) == ([], [])
    assert finished.response["status"] == "NO_EVIDENCE"
    assert finished.response["answer"] == REFUSAL
    assert finished.response["refusal_code"] == "below_similarity_gate"
    _assert_nothing_is_released(finished)
    record = outside.audit_log.records[0]
    assert (record.generation_status, record.validation_status) == ("NO_EVIDENCE", "NOT_RUN")
    assert "prompt" not in finished.state


@pytest.mark.contract("R2-S9")
async def test_when_all_evidence_is_dropped_the_model_is_never_called() -> None:
    outside = _outside([row(0, chunk_text="\u200b"), row(1, chunk_text=" ")])
    finished = await _run(outside)
    assert outside.models_opened == []
    assert finished.response["refusal_code"] == "all_evidence_dropped"
    assert outside.audit_log.records[0].refusal_source == "SELECTION"
    _assert_nothing_is_released(finished)


@pytest.mark.contract("R2-V1")
async def test_a_retrieval_without_evidence_refuses() -> None:
    outside = _outside([], retrieval_status="NO_EVIDENCE")
    finished = await _run(outside)
    assert finished.response["refusal_code"] == "no_relevant_content"
    assert outside.models_opened == []


@pytest.mark.contract("R5-2")
@pytest.mark.contract("R6-4")
async def test_a_model_may_refuse() -> None:
    outside = _outside(text=f"{REFUSAL}\n")
    finished = await _run(outside)
    assert finished.nodes == PIPELINE
    assert finished.response["status"] == "NO_EVIDENCE"
    assert finished.response["answer"] == REFUSAL
    assert finished.response["refusal_code"] == "model_refused"
    record = outside.audit_log.records[0]
    assert (record.validation_status, record.refusal_source) == ("PASSED", "MODEL")
    _assert_nothing_is_released(finished)


@pytest.mark.contract("R5-13")
@pytest.mark.contract("R6-5")
async def test_a_rejected_answer_fails_the_run_and_is_recorded() -> None:
    outside = _outside(text="The seal is checked every 13 hours. [C0]")
    finished = await _run(outside)
    assert finished.response["status"] == "FAILED"
    assert finished.response["failure_code"] == "UNSUPPORTED_LITERAL"
    assert finished.response["answer"] == ""
    assert finished.response["token_usage"]["total"] == 320
    assert finished.state["outcome"]["violations"][0]["clause"] == "R5-8"
    _assert_nothing_is_released(finished)
    assert outside.audit_log.records[0].failure_reason is FailureCode.UNSUPPORTED_LITERAL
    assert outside.audit_log.raw_texts == ["The seal is checked every 13 hours. [C0]"]
    assert outside.audit_log.validated_texts == [""]


@pytest.mark.contract("S-3")
async def test_a_model_that_failed_ends_the_run_before_validation() -> None:
    outside = _outside()
    outside.model.answer = generation("", outcome=fail("generate", FailureCode.MODEL_TIMEOUT, "no answer in time"))
    finished = await _run(outside)
    assert finished.nodes == ["accept", "retrieve", "assemble", "build_prompt", "generate", "record", "package"]
    assert finished.response["failure_code"] == "MODEL_TIMEOUT"
    _assert_nothing_is_released(finished)


@pytest.mark.contract("S-3")
@pytest.mark.parametrize(
    "fault", [StoreError("the disk is full.", code="NO_DISK_SPACE"), ModelError("the embedder is away.")]
)
async def test_a_fault_of_retrieval_is_a_failure_of_the_run(
    fault: StoreError | ModelError, caplog: pytest.LogCaptureFixture
) -> None:
    outside = _outside()
    outside.retriever.fault = fault
    finished = await _run(outside)
    assert finished.nodes == ["accept", "retrieve", "record", "package"]
    assert finished.response["failure_code"] == "RETRIEVAL_FAILED"
    assert fault.message in caplog.text
    assert fault.message not in finished.response["message"]
    assert len(outside.audit_log.records) == 1


@pytest.mark.contract("CP-2")
async def test_a_database_that_does_not_answer_retrieval_cuts_the_run_off() -> None:
    outside = _outside()
    outside.retriever.fault = StoreError("the store is away.")
    with pytest.raises(StoreError):
        await _run(outside)
    assert outside.audit_log.records == []


@pytest.mark.contract("R5P-6")
@pytest.mark.parametrize("text", [f"{SEAL} [C0]", REFUSAL])
async def test_without_an_audit_row_nothing_is_released(text: str, caplog: pytest.LogCaptureFixture) -> None:
    outside = _outside(text=text)
    outside.audit_log = FakeAuditLog(fault=StoreError("the disk is full.", "Free some space.", code="NO_DISK_SPACE"))
    finished = await _run(outside)
    assert finished.response["status"] == "FAILED"
    assert finished.response["failure_code"] == "AUDIT_UNAVAILABLE"
    assert finished.response["answer"] == ""
    assert finished.response["citations"] == []
    assert "the disk is full" in caplog.text
    assert "disk" not in finished.response["message"]
    assert "audit" not in finished.state


@pytest.mark.contract("R5P-6")
@pytest.mark.contract("CP-2")
async def test_a_store_that_does_not_answer_cuts_the_run_off_before_its_end() -> None:
    outside = _outside()
    outside.audit_log = FakeAuditLog(fault=StoreError("the store is away."))
    with pytest.raises(StoreError, match="the store is away"):
        await _run(outside)


@pytest.mark.contract("R1-2")
@pytest.mark.parametrize("collections", [(), (collection(name="other"),)])
async def test_an_unknown_collection_refuses_and_nothing_else_runs(collections: tuple[Any, ...]) -> None:
    outside = _outside()
    outside.catalog = FakeCatalog(collections)
    finished = await _run(outside)
    assert finished.nodes == ["accept", "record", "package"]
    assert finished.response["status"] == "NO_EVIDENCE"
    assert finished.response["refusal_code"] == "collection_not_found"
    assert (outside.retriever.calls, outside.models_opened) == (0, [])
    assert len(outside.audit_log.records) == 1


CALIBRATED: JsonObject = {
    "embedding_model": "embedder-1",
    "metric": "cosine",
    "index_version": collection().index_version,
}


@pytest.mark.contract("P-3")
@pytest.mark.parametrize(
    "other", [{"embedding_model": "embedder-2"}, {"metric": "lexical"}, {"documents_digest": "0100"}]
)
async def test_an_index_that_the_policy_is_not_calibrated_for_fails_before_any_model_call(other: JsonObject) -> None:
    outside = _outside(chosen=policy(calibration=CALIBRATED))
    outside.catalog = FakeCatalog((collection(**other),))
    finished = await _run(outside)
    assert finished.response["failure_code"] == "POLICY_INDEX_MISMATCH"
    assert "`sourcebound calibrate --collection manuals --questions FILE`" in finished.response["message"]
    assert (outside.retriever.calls, outside.models_opened) == (0, [])
    _assert_nothing_is_released(finished)


@pytest.mark.contract("P-3")
async def test_the_index_that_the_policy_is_calibrated_for_is_served() -> None:
    chosen = policy(calibration=CALIBRATED)
    finished = await _run(_outside(chosen=chosen, index_version=CALIBRATED["index_version"]))
    assert finished.response["status"] == "OK"


@pytest.mark.contract("P-3")
@pytest.mark.parametrize("other", [{"embedding_model": "embedder-2"}, {"index_version": "another"}])
async def test_a_bundle_of_another_index_fails_before_any_model_call(other: JsonObject) -> None:
    outside = _outside(chosen=policy(calibration=CALIBRATED))
    raw = bundle(ROWS, **({"embedding_model": "embedder-1", "index_version": CALIBRATED["index_version"]} | other))
    finished = await _run(outside, {"retrieval_bundle": raw})
    assert finished.response["failure_code"] == "POLICY_INDEX_MISMATCH"
    assert outside.models_opened == []


@pytest.mark.contract("R1-1")
async def test_a_ready_bundle_enters_at_assembly() -> None:
    outside = _outside()
    outside.catalog = FakeCatalog(())
    finished = await _run(outside, {"retrieval_bundle": bundle(ROWS, request_id="theirs")})
    assert finished.nodes == ["accept", *PIPELINE[2:]]
    assert outside.retriever.calls == 0
    assert finished.response["status"] == "OK"
    assert finished.response["answer"] == f"{SEAL} [C0]"
    assert finished.response["request_id"] == "theirs"
    assert finished.state["run"]["entry"] == "bundle"
    assert finished.state["assembly"]["trace"]["retrieval_run_id"] == "retrieval-run-1"


@pytest.mark.contract("R1-1")
@pytest.mark.contract("R2-V1")
async def test_a_broken_bundle_fails_with_its_violations_and_no_prompt() -> None:
    outside = _outside()
    raw = bundle([row(0), row(1, chunk_text=None)])
    finished = await _run(outside, {"retrieval_bundle": raw})
    assert finished.nodes == ["accept", "assemble", "record", "package"]
    assert finished.response["failure_code"] == "INVALID_TEXT"
    violation = finished.state["outcome"]["violations"][0]
    assert (violation["row"], violation["field"], violation["clause"]) == (1, "chunk_text", "R2-V4")
    assert outside.models_opened == []
    assert outside.audit_log.records[0].failure_reason is FailureCode.INVALID_TEXT


@pytest.mark.contract("R1-1")
@pytest.mark.parametrize(
    "request_",
    [
        {"question": " \u200b"},
        {},
        {"question": "x" * 4001},
        {"question": "Why?", "filters": {"colour": "red"}},
        {"question": "Why?", "filters": {"event_date_from": "soon"}},
    ],
)
async def test_a_request_that_cannot_be_served_fails_and_is_recorded(request_: AskInput) -> None:
    outside = _outside()
    finished = await _run(outside, request_)
    assert finished.nodes == ["accept", "record", "package"]
    assert finished.response["failure_code"] == "INVALID_REQUEST"
    assert finished.response["message"]
    assert len(outside.audit_log.records) == 1


@pytest.mark.contract("R3-6")
async def test_a_question_over_the_budget_fails_before_any_model_call() -> None:
    outside = _outside(chosen=policy(prompt={"max_total_prompt_tokens": 900}))
    finished = await _run(outside)
    assert finished.nodes == ["accept", "retrieve", "assemble", "build_prompt", "record", "package"]
    assert finished.response["failure_code"] == "PROMPT_BUDGET"
    assert outside.models_opened == []


@pytest.mark.contract("R2-S8")
@pytest.mark.contract("R3-6")
async def test_a_chunk_that_the_prompt_had_no_room_for_is_in_the_ledger_and_cannot_be_cited() -> None:
    one = await _run(_outside([ROWS[0]]))
    tokens = one.state["prompt"]["prompt_tokens"]
    chosen = policy(prompt={"max_total_prompt_tokens": tokens + 800})
    finished = await _run(_outside(text=f"{FILTER} [C1]", chosen=chosen))
    outcomes = [entry["outcome"] for entry in finished.state["assembly"]["drop_ledger"]]
    assert outcomes == ["ADMITTED", "DROP_PROMPT_BUDGET"]
    assert finished.response["failure_code"] == "INVALID_CITATION_REFERENCE"


OUTSIDES = {
    "answered": lambda: _outside([*ROWS, row(2, event_date="2024-03-03", page_number=7)]),
    "refused by the gate": lambda: _outside([row(similarity_score=0.1)]),
    "all dropped": lambda: _outside([row(chunk_text="")]),
    "refused by the model": lambda: _outside(text=REFUSAL),
    "rejected": lambda: _outside(text="No. [c0]"),
    "audit away": lambda: replace(_outside(), audit_log=FakeAuditLog(fault=StoreError("away.", code="NO_DISK_SPACE"))),
    "retrieval away": lambda: replace(_outside(), retriever=FakeRetriever({}, fault=ModelError("away."))),
}


def _assert_plain(value: object) -> None:
    if type(value) is dict:
        for name, item in value.items():
            assert type(name) is str
            _assert_plain(item)
    elif type(value) is list:
        for item in value:
            _assert_plain(item)
    else:
        assert type(value) in PLAIN, repr(value)


@pytest.mark.contract("CP-1")
@pytest.mark.parametrize("name", OUTSIDES)
async def test_the_state_after_every_node_is_plain_json(name: str) -> None:
    finished = await _run(OUTSIDES[name]())
    assert len(finished.history) >= len(finished.nodes)
    for state in finished.history:
        assert json.loads(json.dumps(state)) == state
        _assert_plain(state)


@pytest.mark.contract("S-1")
@pytest.mark.parametrize("name", OUTSIDES)
async def test_the_status_never_gets_better_along_a_run(name: str) -> None:
    order = ["OK", "NO_EVIDENCE", "FAILED"]
    finished = await _run(OUTSIDES[name]())
    seen = [order.index(state["outcome"]["status"]) for state in finished.history if state.get("outcome")]
    assert seen == sorted(seen)
    assert order[seen[-1]] == finished.response["status"]


@pytest.mark.contract("R5P-1")
@pytest.mark.parametrize("name", [name for name in OUTSIDES if name != "audit away"])
async def test_every_run_leaves_exactly_one_record_that_agrees_with_its_response(name: str) -> None:
    outside = OUTSIDES[name]()
    finished = await _run(outside)
    (record,) = outside.audit_log.records
    assert record.model_dump(mode="json") == finished.state["audit"]
    assert record.generation_status == finished.response["status"]
    assert list(record.validated_citations) == [item["anchor"] for item in finished.response["citations"]]


@pytest.mark.contract("R1-11")
@pytest.mark.parametrize("name", OUTSIDES)
async def test_the_model_is_called_once_or_never(name: str) -> None:
    outside = OUTSIDES[name]()
    finished = await _run(outside)
    assert len(outside.model.prompts) == len(outside.models_opened) == finished.nodes.count("generate") <= 1


@pytest.mark.contract("R3-5")
async def test_two_runs_of_one_question_send_the_same_prompt() -> None:
    digests = {(await _run(_outside())).state["prompt"]["prompt_sha256"] for _ in range(2)}
    assert len(digests) == 1


@pytest.mark.contract("R4-2")
async def test_the_model_of_a_run_is_the_one_that_its_caller_chose() -> None:
    outside = _outside()
    await build_graph(outside.ports()).compile().ainvoke(QUESTION, context=RunContext(model="another"))
    assert outside.models_opened == ["another"]
    assert outside.run_log.begun[0].model == "another"


@pytest.mark.contract("R1-2")
@pytest.mark.parametrize(("named", "searched"), [({}, "theirs"), ({"collection": "own"}, "own")])
async def test_the_collection_of_a_run_is_the_inputs_or_else_its_callers(named: JsonObject, searched: str) -> None:
    outside = _outside()
    outside.catalog.collections = tuple(collection(name=name) for name in ("default", "theirs", "own"))
    asked: Any = {**QUESTION, **named}
    await build_graph(outside.ports()).compile().ainvoke(asked, context=RunContext(collection="theirs"))
    assert outside.run_log.begun[0].collection == searched


@pytest.mark.contract("P-4")
@pytest.mark.contract("R1-1")
@pytest.mark.parametrize(
    ("asked", "field", "words"),
    [
        ({"filters": {"equipment_id": "HP-300"}}, "filters", "filters_applied"),
        ({"limits": {"top_k": 1}}, "limits", "max_chunks"),
    ],
)
async def test_what_would_narrow_a_search_is_refused_beside_a_bundle(asked: JsonObject, field: str, words: str) -> None:
    outside = _outside()
    finished = await _run(outside, cast("AskInput", {"retrieval_bundle": bundle(ROWS), **asked}))
    assert finished.nodes == ["accept", "record", "package"]
    assert finished.response["failure_code"] == "INVALID_REQUEST"
    (violation,) = finished.state["outcome"]["violations"]
    assert violation["field"] == field
    assert words in violation["message"]
    assert outside.models_opened == []


@pytest.mark.contract("P-4")
@pytest.mark.contract("R1-1")
async def test_what_narrows_nothing_or_holds_for_a_bundle_too_is_served_beside_it() -> None:
    request = {"retrieval_bundle": bundle(ROWS), "filters": {}, "limits": {"max_chunks": 1}}
    finished = await _run(_outside(), cast("AskInput", request))
    assert (finished.response["status"], len(finished.state["assembly"]["selected_evidence"])) == ("OK", 1)


@pytest.mark.contract("P-4")
@pytest.mark.contract("P-5")
async def test_a_coverage_asked_for_beside_a_bundle_without_one_is_an_error() -> None:
    request = {"retrieval_bundle": bundle(ROWS), "limits": {"min_question_coverage": 0.9}}
    finished = await _run(_outside(), cast("AskInput", request))
    assert finished.response["failure_code"] == "INVALID_SCHEMA"
    assert "question_coverage" in finished.response["message"]
