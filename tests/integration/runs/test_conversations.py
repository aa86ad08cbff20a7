"""CP-6 over PostgreSQL: the order of runs, follow-ups answered from the documents, erasure, and carried evidence."""

import asyncio
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from sourcebound.contracts.conversation.turns import ERASED, Resolution, resolve
from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import build_prompt
from sourcebound.contracts.replay.release_diff import load_shipped_release
from sourcebound.contracts.replay.report import RunReport
from sourcebound.contracts.request import Run
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.errors import RequestError
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.rerun import what_if
from sourcebound.graph.replay.verify import verify
from sourcebound.graph.workflow import new_id
from sourcebound.store.connection.migrations import list_migrations
from sourcebound.wiring import Services
from support.places import ROOT
from support.processes.databases import rows, single
from support.replaying import recorded, verified
from support.retrieving import policy_with, run_for

BOLTS = "To what torque are the gland bolts of the mechanical seal tightened on the HP-200?"
OTHER = "To what torque are the gland bolts of the mechanical seal tightened on the HP-300?"


async def _ask(engine: Engine, conversation: str, question: str, policy: str | None = None) -> PublicResponse:
    context = RunContext(policy=policy)
    return await engine.ask({"question": question, "conversation_id": conversation}, context)


@pytest.mark.contract("CP-6")
async def test_a_follow_up_is_answered_from_the_document_that_it_means(engine: Engine) -> None:
    talk = await engine.start_conversation()
    first = await _ask(engine, talk, BOLTS)
    second = await _ask(engine, talk, "and for the HP-300?")
    assert (second.search_query, second.conversation_id) == (OTHER, talk)
    assert "34 N·m" in second.answer
    assert [citation.knowledge_id for citation in second.citations] == ["hp-300-manual-rev-a.pdf"]
    alone = await engine.ask({"question": OTHER})
    assert (alone.answer, alone.citations) == (second.answer, second.citations)
    turns = await engine.conversation(talk)
    assert [(turn.ordinal, turn.run_id, turn.status) for turn in turns] == [
        (1, first.run_id, "OK"),
        (2, second.run_id, "OK"),
    ]
    assert [(turn.question, turn.search_query) for turn in turns] == [(BOLTS, None), ("and for the HP-300?", OTHER)]


@pytest.mark.contract("CP-6")
@pytest.mark.contract("CP-3")
async def test_a_chat_completes_its_follow_ups_and_replays(engine: Engine) -> None:
    graph = engine.graph.copy(update={"checkpointer": InMemorySaver()})
    thread: RunnableConfig = {"configurable": {"thread_id": "chat"}}
    found = []
    for question in (BOLTS, "and for the HP-300?", "and the length of the cable?"):
        chat: AskInput = {"messages": [{"role": "user", "content": question}]}
        found.append((await graph.ainvoke(chat, thread))["response"])
    assert [response["search_query"] for response in found] == [None, OTHER, None]
    assert "34 N·m" in found[1]["answer"]
    assert found[2]["refusal_code"] == "unclear_follow_up"
    last = (await graph.aget_state(thread)).values["messages"][-1]
    assert last["content"].endswith("ask the whole question.")
    for response in found:
        report = await verified(await recorded(engine, response["run_id"]))
        assert report.verdict == "MATCH"


@pytest.mark.contract("CP-6")
@pytest.mark.contract("R1-11")
async def test_the_gate_judges_a_follow_up_as_the_question_that_it_stands_for(engine: Engine) -> None:
    talk = await engine.start_conversation()
    await _ask(engine, talk, BOLTS)
    refused = await _ask(engine, talk, "Which orchestra played at the opening of the Sydney Opera House?")
    assert (refused.refusal_code, refused.search_query) == ("below_similarity_gate", None)
    resolved = await _ask(engine, talk, "and for the HP-300?")
    assert (resolved.search_query, len(resolved.notices)) == (OTHER, 1)
    state, alone = await engine.state(resolved.run_id), await engine.ask({"question": OTHER})
    found = (await engine.state(alone.run_id))["retrieval"]
    for measure in ("question_coverage", "query_variants", "results"):
        assert state["retrieval"][measure] == found[measure]
    assert state["retrieval"]["user_question"] == "and for the HP-300?"


@pytest.mark.contract("CP-6")
async def test_questions_asked_at_once_are_one_after_the_other_and_none_is_lost(engine: Engine) -> None:
    talk = await engine.start_conversation()
    asked = [f"How often is the intake filter number {number} of the HP-200 changed?" for number in range(6)]
    responses = await asyncio.gather(*(_ask(engine, talk, question) for question in asked))
    turns = await engine.conversation(talk)
    assert [turn.ordinal for turn in turns] == [1, 2, 3, 4, 5, 6]
    assert {turn.run_id for turn in turns} == {response.run_id for response in responses}
    assert {turn.question for turn in turns} == set(asked)


@pytest.mark.contract("CP-6")
async def test_a_question_can_follow_one_that_has_not_ended(engine: Engine, library_services: Services) -> None:
    talk = await engine.start_conversation()
    begun = run_for(BOLTS, policy_with()).model_copy(update={"conversation_id": talk})
    await library_services.run_log.begin(begun)
    response = await _ask(engine, talk, "and for the HP-300?")
    assert response.search_query == OTHER
    assert [turn.status for turn in await engine.conversation(talk)] == ["RUNNING", "OK"]


@pytest.mark.contract("CP-6")
async def test_a_run_that_begins_again_keeps_its_place(engine: Engine, library_services: Services) -> None:
    talk = await engine.start_conversation()
    begun = run_for(BOLTS, policy_with()).model_copy(update={"conversation_id": talk})
    for _ in range(2):
        await library_services.run_log.begin(begun)
    assert [turn.ordinal for turn in await engine.conversation(talk)] == [1]


@pytest.mark.contract("CP-6")
async def test_a_conversation_that_does_not_exist_is_an_error_and_leaves_no_run(engine: Engine, library: str) -> None:
    for attempt in (_ask(engine, "nowhere", BOLTS), engine.conversation("nowhere")):
        with pytest.raises(RequestError) as caught:
            await attempt
        assert caught.value.failure_code == "CONVERSATION_NOT_FOUND"
        assert "sourcebound chat" in caught.value.next_step
    assert single(library, "SELECT count(*) FROM runs") == 0
    assert single(library, "SELECT count(*) FROM turn_texts") == 0


@pytest.mark.contract("CP-6")
@pytest.mark.contract("R5P-3")
async def test_an_erased_run_leaves_its_place_and_is_passed_over(engine: Engine, library: str) -> None:
    talk = await engine.start_conversation()
    await _ask(engine, talk, BOLTS)
    gone = await _ask(engine, talk, "What is the oil charge of the HP-200?")
    await engine.erase(gone.run_id, gone.run_id)
    assert rows(library, "SELECT question FROM turn_texts WHERE run_id = %s", gone.run_id) == []
    response = await _ask(engine, talk, "and for the HP-300?")
    assert (response.search_query, response.notices) == (OTHER, (ERASED,))
    assert [turn.question for turn in await engine.conversation(talk)] == [BOLTS, None, "and for the HP-300?"]


@pytest.mark.contract("CP-3")
@pytest.mark.contract("CP-6")
async def test_a_run_can_be_computed_again_without_the_runs_before_it(engine: Engine) -> None:
    talk = await engine.start_conversation()
    first = await _ask(engine, talk, BOLTS)
    second = await _ask(engine, talk, "and for the HP-300?")
    await engine.erase(first.run_id, first.run_id)
    state = await engine.state(second.run_id)
    made, run, policy = (
        Resolution.model_validate(state["resolution"]),
        Run.model_validate(state["run"]),
        Policy.model_validate(state["policy"]),
    )
    assert resolve(run.question, made.earlier) == made
    built = build_prompt(assemble(state["retrieval"], policy, run), policy)
    assert built.prompt.model_dump(mode="json") == state["prompt"]
    assert built.bundle.model_dump(mode="json") == state["assembly"]


@pytest.mark.contract("CP-3")
@pytest.mark.contract("CP-6")
@pytest.mark.parametrize(
    "question", ["and for the HP-300?", "and the weight?", "What is the oil charge of the HP-300?"]
)
async def test_replay_computes_a_follow_up_again_after_the_first_run_is_erased(engine: Engine, question: str) -> None:
    talk = await engine.start_conversation()
    first = await _ask(engine, talk, BOLTS)
    second = await _ask(engine, talk, question)
    await engine.erase(first.run_id, first.run_id)
    record = await recorded(engine, second.run_id)
    report = await verify(record, load_shipped_release())
    assert isinstance(report, RunReport)
    assert [layer.layer for layer in report.layers][:3] == ["rules", "accept", "resolve"]
    assert [layer.differences for layer in report.layers] == [()] * len(report.layers)


@pytest.mark.contract("CP-3")
@pytest.mark.contract("CP-6")
async def test_replay_names_the_layer_where_the_query_is_another(engine: Engine) -> None:
    talk = await engine.start_conversation()
    await _ask(engine, talk, BOLTS)
    record = await recorded(engine, (await _ask(engine, talk, "and for the HP-300?")).run_id)
    (step,) = [step for step in record.steps if step.node == "resolve"]
    step.changes["run"]["search_query"] = BOLTS
    report = await verify(record, load_shipped_release())
    assert isinstance(report, RunReport)
    (drift,) = [layer for layer in report.layers if layer.layer == "resolve"]
    assert [difference.path for difference in drift.differences] == ["run.search_query"]


@pytest.mark.contract("CP-5")
@pytest.mark.contract("CP-6")
async def test_a_fork_answers_the_follow_up_and_takes_no_place(engine: Engine, library_services: Services) -> None:
    talk = await engine.start_conversation()
    await _ask(engine, talk, BOLTS)
    second = await _ask(engine, talk, "and for the HP-300?")
    found = await what_if(library_services, await recorded(engine, second.run_id), policy_name="R2_POLICY_V1")
    fork = await engine.state(found.run_id)
    assert (fork["run"]["search_query"], fork["run"]["conversation_id"]) == (OTHER, None)
    assert len(await engine.conversation(talk)) == 2


@pytest.mark.contract("R1-8")
@pytest.mark.contract("R1-10")
@pytest.mark.contract("CP-6")
async def test_a_carried_chunk_comes_with_its_true_similarity_behind_the_filters_and_gates_nothing(
    library_services: Services, library: str
) -> None:
    policy = policy_with(top_k=2)
    plain = await library_services.retriever.retrieve(run_for(OTHER, policy), policy)
    found = [row.chunk_id for row in plain.results]
    other, text = rows(library, "SELECT chunk_id, text FROM chunks WHERE text LIKE '%%shift log%%' ORDER BY 1")[0]
    asked = run_for(OTHER, policy).model_copy(update={"carried": (found[0], other, "gone")})
    carried = await library_services.retriever.retrieve(asked, policy)
    assert [row.chunk_id for row in carried.results] == [*found, other]
    *own, last = carried.results
    assert [row.origin for row in own] == [None, None]
    assert (last.origin, last.rank, last.chunk_text) == ("carried", 2, text)
    assert 0 <= last.similarity_score < min(row.similarity_score for row in own)
    assert (carried.question_coverage, carried.fallback_used) == (plain.question_coverage, plain.fallback_used)
    behind = run_for(OTHER, policy, equipment_id="HP-300").model_copy(update={"carried": (other,)})
    assert other not in [row.chunk_id for row in (await library_services.retriever.retrieve(behind, policy)).results]


@pytest.mark.contract("CP-6")
async def test_a_policy_that_carries_evidence_brings_what_was_cited_and_says_so(
    engine: Engine, tmp_path: Path, library: str
) -> None:
    table = '[conversation]\nresolver = "rules"\ncarried_chunks = 2\n'
    text = ROOT.joinpath("contracts/policy/released/SOURCEBOUND_V1.toml").read_text("utf-8")
    mine = tmp_path / "mine.toml"
    mine.write_text(text.replace("top_k = 12", "top_k = 1").replace("SOURCEBOUND_V1", "MINE_V1") + table, "utf-8")
    talk = await engine.start_conversation()
    first = await _ask(engine, talk, BOLTS, str(mine))
    second = await _ask(engine, talk, "and for the HP-300?", str(mine))
    before, state = await engine.state(first.run_id), await engine.state(second.run_id)
    cited = [before["assembly"]["anchor_map"][citation.anchor] for citation in first.citations]
    assert state["resolution"]["carried"] == cited
    origins = {row["chunk_id"]: row["origin"] for row in state["retrieval"]["results"]}
    assert {chunk: origins[chunk] for chunk in cited} == dict.fromkeys(cited, "carried")
    assert second.status == "OK"
    rows(library, "DELETE FROM documents WHERE knowledge_id = %s", first.citations[0].knowledge_id)
    third = await engine.state((await _ask(engine, talk, "how often?", str(mine))).run_id)
    assert not {row["knowledge_id"] for row in third["retrieval"]["results"]} & {first.citations[0].knowledge_id}


@pytest.mark.contract("CP-6")
async def test_each_node_is_told_as_it_ends(engine: Engine) -> None:
    talk = await engine.start_conversation()
    nodes: list[str] = []
    await engine.ask({"question": BOLTS, "conversation_id": talk}, on_node=nodes.append)
    assert nodes[:3] == ["accept", "resolve", "retrieve"]
    assert nodes[-1] == "package"


def test_runs_from_before_conversations_have_no_place(database: str) -> None:
    assert 12 in {migration.version for migration in list_migrations()}
    rows(
        database,
        "INSERT INTO runs (run_id, request_id, thread_id, policy_version, model, status, started_at) "
        "VALUES (%s, 'r', 't', 'P_V1', 'm', 'OK', now())",
        new_id(),
    )
    assert rows(database, "SELECT conversation_id, ordinal FROM runs") == [(None, None)]
