"""A graph whose checkpoints people edit and branch off from, over fakes of its ports (CP-1, S-2)."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Overwrite, StateSnapshot

from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.errors import RequestError
from sourcebound.graph.studio.server import StudioGraph, studio_graph
from support.builders import FILTER, SEAL, JsonObject, bundle, generation, policy, row
from support.fakes import FakeModel, FakeOutside, FakeRetriever

QUESTION: AskInput = {"question": "How often must the shaft seal be checked?"}
PIPELINE = ["accept", "retrieve", "assemble", "build_prompt", "generate", "validate", "record", "package"]
CONTEXT = RunContext()


def _thread(name: str = "thread-1") -> RunnableConfig:
    return {"configurable": {"thread_id": name}}


class Edited:
    """A graph under test: runs it, edits it, goes on with it.

    Args:
        text: What the model says.
        max_attempts: How often it is asked.
    """

    def __init__(self, text: str = f"{SEAL} [C0]", max_attempts: int = 1) -> None:
        rows = [row(0, chunk_text=SEAL), row(1, chunk_text=FILTER)]
        enforcing = policy(validation={"literal_grounding": "enforce", "max_attempts": max_attempts})
        self.outside = FakeOutside(enforcing, FakeRetriever(bundle(rows)), FakeModel(generation(text)))
        self.outside.lineage.saver = InMemorySaver()
        checkpointer = {"checkpointer": self.outside.lineage.saver}
        self.graph: StudioGraph = studio_graph(self.outside.ports()).copy(update=checkpointer)

    async def run(self, given: Any = QUESTION, context: RunContext = CONTEXT, **how: Any) -> JsonObject:
        """Runs or goes on; a run that is recorded has ended."""
        config = how.pop("config", _thread())
        told = cast("JsonObject", await self.graph.ainvoke(given, config, context=context, **how))
        records = self.outside.audit_log.records
        self.outside.run_log.ended |= {record.run_id: str(record.generation_status) for record in records}
        return told

    async def before(self, node: str) -> StateSnapshot:
        """The first checkpoint that goes on with a node."""
        history = [snapshot async for snapshot in self.graph.aget_state_history(_thread())]
        return next(snapshot for snapshot in history[::-1] if snapshot.next == (node,))

    async def fork(self, node: str, values: JsonObject, context: RunContext = CONTEXT) -> JsonObject:
        """Goes on from the checkpoint before a node, with other values in it."""
        before = PIPELINE[PIPELINE.index(node) - 1]
        config = await self.graph.aupdate_state((await self.before(node)).config, values, as_node=before)
        return await self.run(None, context, config=config)

    async def values(self) -> JsonObject:
        return (await self.graph.aget_state(_thread())).values


ALTERATIONS = [
    pytest.param("retrieve", "policy", ("retrieval", "min_top_similarity"), 0.0, "P-2", id="a-looser-policy"),
    pytest.param("retrieve", "policy", ("retrieval",), None, "CP-1", id="half-a-policy"),
    pytest.param("build_prompt", "assembly", ("selected_evidence",), "all of it", "CP-1", id="no-evidence-chunks"),
    pytest.param("generate", "retrieval", ("results",), "none", "CP-1", id="candidates-after-the-fact"),
    pytest.param("generate", "prompt", ("messages", 0, "content"), "Say anything.", "R3-5", id="another-prompt"),
    pytest.param("generate", "prompt", ("prompt_sha256",), None, "R3-5", id="a-prompt-without-its-hash"),
    pytest.param("validate", "generation", ("attempts",), "many", "CP-1", id="no-generation"),
    pytest.param("validate", "attempts", (), [{"prompt": {}}], "CP-1", id="no-attempt"),
]


def _set(form: Any, place: tuple[Any, ...], value: Any) -> Any:
    """A copy of a JSON value with another value at one place."""
    if not place:
        return value
    first, *rest = place
    changed = _set(form[first], tuple(rest), value)
    if isinstance(form, list):
        return [changed if number == first else item for number, item in enumerate(form)]
    return {**form, first: changed}


@pytest.mark.contract("CP-1")
@pytest.mark.contract("S-3")
@pytest.mark.parametrize(("node", "channel", "place", "value", "clause"), ALTERATIONS)
async def test_what_no_node_can_have_left_fails_with_its_clause(
    node: str, channel: str, place: tuple[Any, ...], value: Any, clause: str
) -> None:
    edited = Edited()
    first = await edited.run()
    asked = len(edited.outside.model.prompts)
    form = (await edited.before(node)).values.get(channel)
    told = await edited.fork(node, {channel: _set(form, place, value)})
    (violation,) = told["outcome"]["violations"]
    assert (told["response"]["status"], told["response"]["failure_code"]) == ("FAILED", "STATE_ALTERED")
    assert (violation["clause"], violation["field"].partition(".")[0]) == (clause, channel)
    assert (told["response"]["answer"], told["response"]["citations"]) == ("", [])
    assert len(edited.outside.model.prompts) == asked
    record = edited.outside.audit_log.records[-1]
    assert (record.run_id, record.failure_reason) == (told["response"]["run_id"], "STATE_ALTERED")
    assert record.run_id != first["response"]["run_id"]


@pytest.mark.contract("R5-12")
async def test_a_further_attempt_is_no_alteration() -> None:
    edited = Edited("The seal is blue.", max_attempts=2)
    told = await edited.run()
    assert told["response"]["failure_code"] == "UNCITED_FACTUAL_STATEMENT"
    assert [record.attempt for record in edited.outside.audit_log.records] == [1, 2]


@pytest.mark.contract("CP-1")
async def test_a_node_that_was_skipped_is_missed() -> None:
    edited = Edited()
    await edited.run()
    config = await edited.graph.aupdate_state((await edited.before("retrieve")).config, {}, as_node="build_prompt")
    told = await edited.run(None, config=config)
    assert told["outcome"]["failure_code"] == "STATE_ALTERED"
    assert told["outcome"]["message"].endswith("prompt: generate needs it, and it is not there")


@pytest.mark.contract("R5-13")
@pytest.mark.parametrize("channel", ["validation", "generation", "assembly", "policy"])
async def test_an_answer_without_a_verdict_is_not_released(channel: str) -> None:
    edited = Edited()
    await edited.run(interrupt_before=["record"])
    told = await edited.fork("record", {channel: None})
    assert (told["response"]["status"], told["outcome"]["violations"][0]["clause"]) == ("FAILED", "R5-13")


@pytest.mark.contract("R5-13")
@pytest.mark.parametrize(
    "values",
    [
        {"validation": {"validated_answer_text": "Never check it. [C0]"}},
        {"validation": {"validated_citations": ["C1"]}},
        {"generation": {"raw_model_text": "Never check it. [C0]"}},
    ],
    ids=["text", "citations", "generated"],
)
async def test_a_verdict_that_is_not_the_firewalls_releases_nothing(values: JsonObject) -> None:
    edited = Edited()
    await edited.run(interrupt_before=["record"])
    before = (await edited.before("record")).values
    told = await edited.fork("record", {channel: {**before[channel], **change} for channel, change in values.items()})
    assert (told["response"]["status"], told["response"]["answer"]) == ("FAILED", "")
    assert told["outcome"]["violations"][0]["clause"] == "R5-13"
    assert [record.failure_reason for record in edited.outside.audit_log.records] == ["STATE_ALTERED"]


@pytest.mark.contract("R5-13")
async def test_an_answer_that_was_rejected_is_not_released_by_overwriting_the_outcome() -> None:
    edited = Edited("The seal is blue.")
    refused = await edited.run(interrupt_before=["record"])
    assert refused["outcome"]["failure_code"] == "UNCITED_FACTUAL_STATEMENT"
    forged = {"outcome": Overwrite({"status": "OK", "stage": "validate"})}
    continued = await edited.fork("record", forged)
    assert continued["response"]["failure_code"] == "UNCITED_FACTUAL_STATEMENT"


@pytest.mark.contract("CP-11")
@pytest.mark.parametrize("node", ["record", "package"])
@pytest.mark.parametrize("values", [{}, {"validation": None}], ids=["unedited", "edited"])
async def test_an_ended_run_is_never_written_to_again(node: str, values: JsonObject) -> None:
    edited = Edited("The seal is blue.")
    await edited.run()
    with pytest.raises(RequestError) as raised:
        await edited.fork(node, values)
    assert raised.value.failure_code == "RUN_ENDED"
    assert len(edited.outside.audit_log.records) == 1


def _other_evidence(retrieval: JsonObject) -> JsonObject:
    """Candidates with one text that a person wrote."""
    first, *rest = retrieval["results"]
    return {**retrieval, "results": [{**first, "chunk_text": f"{SEAL} A person added this."}, *rest]}


@pytest.mark.contract("CP-11")
@pytest.mark.parametrize("stopped", [False, True], ids=["a-branch", "the-run-itself"])
async def test_evidence_that_a_person_supplied_is_marked(stopped: bool) -> None:
    edited = Edited()
    await edited.run(interrupt_before=["assemble"] if stopped else None)
    retrieval = (await edited.before("assemble")).values["retrieval"]
    told = await edited.fork("assemble", {"retrieval": _other_evidence(retrieval)})
    assert (told["response"]["status"], told["response"]["evidence_supplied_by_hand"]) == ("OK", True)
    assert edited.outside.audit_log.records[-1].evidence_supplied_by_hand is True
    assert (await edited.values())["run"]["evidence_supplied_by_hand"] is True


@pytest.mark.contract("CP-11")
async def test_a_state_copied_into_a_new_thread_is_marked() -> None:
    edited = Edited()
    await edited.run(interrupt_before=["generate"])
    await edited.graph.aupdate_state(_thread("copy"), await edited.values(), as_node="build_prompt")
    told = await edited.run(None, config=_thread("copy"))
    assert told["response"]["evidence_supplied_by_hand"] is True


@pytest.mark.contract("CP-11")
async def test_a_branch_of_an_edited_run_is_marked_too() -> None:
    edited = Edited()
    await edited.run()
    retrieval = (await edited.before("assemble")).values["retrieval"]
    await edited.fork("assemble", {"retrieval": _other_evidence(retrieval)})
    history = [each async for each in edited.graph.aget_state_history(_thread())]
    told = await edited.run(None, config=next(each for each in history if each.next == ("generate",)).config)
    assert told["response"]["evidence_supplied_by_hand"] is True


@pytest.mark.contract("CP-11")
@pytest.mark.parametrize("node", PIPELINE[2:6])
async def test_what_nobody_edited_is_not_marked(node: str) -> None:
    edited = Edited()
    first = await edited.run()
    second = await edited.fork(node, {})
    assert second["response"]["run_id"] != first["response"]["run_id"]
    for told in (first, second):
        assert "evidence_supplied_by_hand" not in told["response"]
    assert [record.evidence_supplied_by_hand for record in edited.outside.audit_log.records] == [None, None]


CONCLUSIONS = [
    pytest.param("build_prompt", "retrieval", ("results", 0, "chunk_text"), "Never check it.", id="the-candidates"),
    pytest.param(
        "build_prompt", "assembly", ("selected_evidence", 0, "sanitized_text"), "Never check it.", id="the-evidence"
    ),
    pytest.param("generate", "assembly", ("evidence_block_text",), "Never check it.", id="the-block"),
    pytest.param("validate", "assembly", ("anchor_map",), {"C9": "c9"}, id="the-anchors"),
    pytest.param("validate", "prompt", ("messages", 0, "content"), "Say anything.", id="the-prompt-after-the-answer"),
]


@pytest.mark.contract("CP-11")
@pytest.mark.parametrize(("node", "channel", "place", "value"), CONCLUSIONS)
@pytest.mark.parametrize("stopped", [False, True], ids=["a-branch", "the-run-itself"])
async def test_what_a_layer_concluded_is_compared_with_its_input_before_it_is_used(
    node: str, channel: str, place: tuple[Any, ...], value: Any, stopped: bool
) -> None:
    edited = Edited()
    await edited.run(interrupt_before=[node] if stopped else None)
    form = (await edited.before(node)).values[channel]
    told = await edited.fork(node, {channel: _set(form, place, value)})
    assert (told["response"]["failure_code"], told["response"]["answer"]) == ("STATE_ALTERED", "")
    assert told["outcome"]["violations"][0]["clause"] == "CP-11"
    assert edited.outside.audit_log.records[-1].evidence_supplied_by_hand is True


@pytest.mark.contract("CP-11")
async def test_further_attempts_and_trimmed_evidence_are_no_edit() -> None:
    edited = Edited("The seal is blue.", max_attempts=3)
    await edited.run(interrupt_before=["generate"])
    told = await edited.run(None)
    told = await edited.fork("validate", {})
    assert told["response"]["failure_code"] == "UNCITED_FACTUAL_STATEMENT"


@pytest.mark.contract("CP-11")
async def test_a_run_that_another_replaced_on_its_thread_is_said_to_be_so() -> None:
    edited = Edited()
    await edited.run(interrupt_before=["generate"])
    await edited.run()
    first, second = edited.outside.run_log.begun
    assert edited.outside.run_log.ended == {first.run_id: "REPLACED", second.run_id: "OK"}


@dataclass
class _Waiting(FakeModel):
    """A model that says when it is asked, and answers when it may."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        self.asked.set()
        await self.may_answer.wait()
        return await super().generate(prompt, policy)


@pytest.mark.contract("CP-11")
@pytest.mark.parametrize("way", ["cancelled", "closed"])
async def test_a_run_that_its_host_cancels_ends_as_cancelled_and_another_continues_from_there(way: str) -> None:
    edited = Edited()
    model = edited.outside.model = _Waiting(generation(f"{SEAL} [C0]"))
    if way == "cancelled":
        task = asyncio.create_task(edited.run())
        await model.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        stream = cast("Any", edited.graph.astream(QUESTION, _thread(), context=CONTEXT, stream_mode="tasks"))
        async for part in stream:
            if part["name"] == "generate":
                break
        await stream.aclose()
    (first,) = edited.outside.run_log.begun
    assert edited.outside.run_log.ended == {first.run_id: "CANCELLED"}
    model.may_answer.set()
    told = await edited.run(None)
    assert (told["response"]["status"], told["response"]["run_id"] != first.run_id) == ("OK", True)
    assert edited.outside.run_log.ended == {first.run_id: "CANCELLED", told["response"]["run_id"]: "OK"}


@pytest.mark.contract("CP-11")
async def test_a_run_that_was_cancelled_before_its_record_gets_none() -> None:
    edited = Edited()
    await edited.run(interrupt_before=["record"])
    await edited.outside.run_log.end_unfinished("thread-1")
    with pytest.raises(RequestError) as raised:
        await edited.run(None)
    assert (raised.value.failure_code, edited.outside.audit_log.records) == ("RUN_ENDED", [])


@pytest.mark.contract("CP-11")
@pytest.mark.parametrize("node", ["__start__", "accept"])
async def test_a_branch_from_the_input_of_an_ended_run_is_a_run_of_its_own(node: str) -> None:
    edited = Edited()
    await edited.run({**QUESTION, "run_id": "run-1"})
    told = await edited.run(None, config=(await edited.before(node)).config)
    assert (told["response"]["status"], told["response"]["run_id"] != "run-1") == ("OK", True)
    with pytest.raises(RequestError, match="there is a run"):
        await edited.run({**QUESTION, "run_id": "run-1"})


@pytest.mark.contract("R5-8")
async def test_a_model_text_that_was_edited_is_judged_like_any_other() -> None:
    edited = Edited()
    await edited.run()
    said = (await edited.before("validate")).values["generation"]
    told = await edited.fork("validate", {"generation": {**said, "raw_model_text": "Check it every 7 hours. [C0]"}})
    assert told["response"]["failure_code"] == "UNSUPPORTED_LITERAL"


@pytest.mark.contract("CP-1")
@pytest.mark.parametrize(("channel", "value"), [("run", {"run_id": "mine"}), ("run", None)])
async def test_without_a_run_there_is_nothing_to_record(channel: str, value: Any) -> None:
    edited = Edited()
    await edited.run()
    with pytest.raises(RequestError) as raised:
        await edited.fork("assemble", {channel: value})
    assert raised.value.failure_code == "STATE_ALTERED"


@pytest.mark.contract("S-2")
@pytest.mark.contract("R5P-1")
async def test_what_goes_on_from_an_ended_run_is_a_run_of_its_own() -> None:
    edited = Edited()
    first = await edited.run()
    second = await edited.fork("assemble", {})
    ids = [told["response"]["run_id"] for told in (first, second)]
    assert len(set(ids)) == 2
    assert [record.run_id for record in edited.outside.audit_log.records] == ids
    assert [run.run_id for run in edited.outside.run_log.begun] == ids
    assert first["response"]["request_id"] == second["response"]["request_id"]
    assert (await edited.values())["assembly"]["trace"]["run_id"] == ids[1]


@pytest.mark.contract("S-2")
@pytest.mark.parametrize("node", ["assemble", "generate", "record"])
async def test_what_goes_on_from_a_run_that_was_only_stopped_is_that_run(node: str) -> None:
    edited = Edited()
    await edited.run(interrupt_before=[node])
    told = await edited.run(None)
    assert told["response"]["status"] == "OK"
    assert [run.run_id for run in edited.outside.run_log.begun] == [told["response"]["run_id"]]
    assert [record.run_id for record in edited.outside.audit_log.records] == [told["response"]["run_id"]]


@pytest.mark.contract("S-2")
async def test_a_copy_of_a_thread_goes_on_as_another_run() -> None:
    edited = Edited()
    await edited.run(interrupt_before=["generate"])
    values = await edited.values()
    await edited.graph.aupdate_state(_thread("copy"), values, as_node="build_prompt")
    told = await edited.run(None, config=_thread("copy"))
    record = edited.outside.audit_log.records[-1]
    assert (told["response"]["status"], record.thread_id) == ("OK", "copy")
    assert record.run_id != values["run"]["run_id"]


@pytest.mark.contract("R4-2")
async def test_another_model_is_asked_only_where_none_has_answered() -> None:
    edited, other = Edited(), RunContext(model="another")
    await edited.run()
    for node in ("retrieve", "generate"):
        await edited.fork(node, {}, other)
        assert edited.outside.models_opened[-1] == "another"
    with pytest.raises(RequestError) as raised:
        await edited.fork("validate", {}, other)
    assert raised.value.failure_code == "ALREADY_ANSWERED"


@pytest.mark.contract("S-1")
@pytest.mark.contract("S-2")
async def test_the_next_run_of_a_thread_begins_with_nothing_of_the_one_before() -> None:
    edited = Edited("The seal is blue.")
    failed = await edited.run()
    edited.outside.catalog.collections = ()
    refused = await edited.run()
    assert [told["response"]["failure_code"] for told in (failed, refused)] == ["UNCITED_FACTUAL_STATEMENT", None]
    assert refused["response"]["refusal_code"] == "collection_not_found"
    assert refused["response"]["token_usage"]["total"] is None
    record = edited.outside.audit_log.records[-1]
    assert (record.prompt_sha256, record.total_tokens, record.grounding_metrics.sentence_count) == (None, None, 0)
    left = await edited.values()
    assert [left[name] for name in ("retrieval", "assembly", "prompt", "generation", "validation")] == [None] * 5


@pytest.mark.contract("S-2")
async def test_the_id_of_a_run_that_ended_is_not_given_again() -> None:
    edited = Edited()
    await edited.run({**QUESTION, "run_id": "run-1"})
    with pytest.raises(RequestError) as raised:
        await edited.run({**QUESTION, "run_id": "run-1"})
    assert raised.value.failure_code == "RUN_EXISTS"


@pytest.mark.contract("R1-1")
async def test_an_input_replaces_the_whole_of_the_one_before() -> None:
    edited = Edited()
    await edited.run({"retrieval_bundle": bundle([row(0, chunk_text="Bananas are yellow.")]), "collection": "nowhere"})
    told = await edited.run()
    assert (told["response"]["status"], edited.outside.retriever.calls) == ("OK", 1)
    assert (await edited.values())["run"]["collection"] == "manuals"
