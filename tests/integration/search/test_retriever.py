"""R1 over PostgreSQL: filters, fusion, true similarities, and questions that try to be SQL."""

from pathlib import Path

import pytest

from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle, RetrievalStatus
from sourcebound.contracts.state import RunContext
from sourcebound.errors import ConfigurationError
from sourcebound.graph.engine import Engine
from sourcebound.store.search import vector_cache
from sourcebound.store.search.retriever import PostgresRetriever
from sourcebound.wiring import Services, open_services
from support.placing import Asked
from support.processes.databases import COLLECTION, MANUALS, ingest, rows, settings_for, single
from support.retrieving import QUESTION, ids, policy_with, retrieve, run_for

MINILM = "minilm:all-MiniLM-L6-v2@53aa5117"


@pytest.mark.contract("R1-4")
@pytest.mark.contract("R1-9")
async def test_the_bundle_says_what_was_asked_of_what_and_how(library_services: Services) -> None:
    policy = policy_with()
    run = run_for(QUESTION, policy, equipment_id="HP-200")
    bundle = await library_services.retriever.retrieve(run, policy)
    collection = await library_services.index.find_collection(COLLECTION)
    assert collection is not None
    assert (bundle.request_id, bundle.run_id, bundle.user_question) == (run.request_id, run.run_id, QUESTION)
    assert (bundle.index_version, bundle.embedding_model) == (collection.index_version, MINILM)
    assert (bundle.retrieval_status, bundle.top_k) == (RetrievalStatus.SUCCESS, policy.retrieval.top_k)
    assert (bundle.filters_applied, bundle.query_variants) == ({"equipment_id": "HP-200"}, (QUESTION,))
    assert (bundle.fallback_used, bundle.retrieval_shortfall, bundle.notices) == (False, 0, ())
    assert bundle.retrieval_latency_ms is not None
    assert bundle.retrieval_latency_ms > 0


@pytest.mark.contract("R1-10")
async def test_a_row_is_the_chunk_that_is_stored(library_services: Services, library: str) -> None:
    bundle = await retrieve(library_services)
    assert [row.rank for row in bundle.results] == list(range(len(bundle.results)))
    assert len(bundle.results) == bundle.top_k
    for row in bundle.results:
        ((text, knowledge_id, page, start, end, path, starts, names, title, kind, equipment, day),) = rows(
            library,
            "SELECT k.text, d.knowledge_id, k.page_number, k.char_start, k.char_end, k.heading_path, "
            "k.section_starts, k.section_names, d.title, d.knowledge_type, d.equipment_id, d.event_date "
            "FROM chunks k JOIN documents d USING (document_id) WHERE k.chunk_id = %s",
            row.chunk_id,
        )
        assert (row.chunk_text, row.knowledge_id, row.page_number) == (text, knowledge_id, page)
        assert (row.char_start, row.char_end, row.section) == (start, end, " > ".join(path) or None)
        assert [(each.start, each.section) for each in row.later_sections] == [*zip(starts, names, strict=True)]
        assert all(text[each.start :].startswith(each.section.split(" > ")[-1]) for each in row.later_sections[-1:])
        assert (row.title, row.knowledge_type_effective) == (title, kind)
        assert (row.equipment_id, row.event_date) == (equipment, day)
        assert row.source_reference == (knowledge_id if page is None else f"{knowledge_id}, p. {page}")


@pytest.mark.contract("R1-8")
@pytest.mark.parametrize(
    ("filters", "condition"),
    [
        ({"equipment_id": "HP-300"}, "equipment_id = 'HP-300'"),
        ({"knowledge_type": "procedure"}, "knowledge_type = 'procedure'"),
        ({"authority": "SOPS"}, "authority = 'SOPS'"),
        ({"knowledge_id": "hp-200-spare-parts.csv"}, "knowledge_id = 'hp-200-spare-parts.csv'"),
        ({"event_date_from": "2024-10-01"}, "event_date >= '2024-10-01'"),
        ({"event_date_to": "2023-11-20"}, "event_date <= '2023-11-20'"),
        (
            {"equipment_id": "HP-200", "event_date_from": "2024-04-22", "event_date_to": "2024-04-22"},
            "equipment_id = 'HP-200' AND event_date = '2024-04-22'",
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
async def test_a_filter_keeps_every_chunk_that_it_allows_and_no_other(
    library_services: Services, library: str, filters: dict[str, str], condition: str
) -> None:
    allowed = {
        chunk
        for (chunk,) in rows(
            library, f"SELECT chunk_id FROM chunks JOIN documents d USING (document_id) WHERE {condition}"
        )
    }
    everything = int(single(library, "SELECT count(*) FROM chunks"))
    assert 0 < len(allowed) < everything
    bundle = await retrieve(
        library_services, policy=policy_with(top_k=everything, candidate_pool=everything, hybrid=True), **filters
    )
    assert set(ids(bundle)) == allowed
    assert bundle.filters_applied == filters


@pytest.mark.contract("R1-8")
async def test_filters_hold_in_lexical_retrieval_too(services: Services) -> None:
    await ingest(services, MANUALS)
    bundle = await retrieve(services, policy=policy_with("SOURCEBOUND_LEXICAL_V1"), equipment_id="HP-300")
    assert {row.equipment_id for row in bundle.results} == {"HP-300"}


async def test_a_filter_that_nothing_passes_is_no_evidence(library_services: Services) -> None:
    bundle = await retrieve(library_services, equipment_id="HP-999")
    assert (bundle.retrieval_status, bundle.results) == (RetrievalStatus.NO_EVIDENCE, ())


@pytest.mark.contract("P-5")
@pytest.mark.contract("R1-5")
async def test_every_row_has_its_true_cosine_also_those_that_only_their_words_found(
    library_services: Services, library: str
) -> None:
    question = QUESTION
    embedder = await library_services.open_embedder("minilm")
    assert embedder is not None
    vector = await embedder.embed_query(question)
    dense = ids(await retrieve(library_services, question, policy_with(hybrid=False, candidate_pool=5, top_k=10)))
    hybrid = await retrieve(library_services, question, policy_with(hybrid=True, candidate_pool=5, top_k=10))
    only_by_words = set(ids(hybrid)) - set(dense)
    assert only_by_words
    for row in hybrid.results:
        stored = single(library, "SELECT embedding::text FROM chunks WHERE chunk_id = %s", row.chunk_id)
        cosine = sum(a * float(b) for a, b in zip(vector, stored.strip("[]").split(","), strict=True))
        assert row.similarity_score == pytest.approx(max(0.0, cosine), abs=1e-5)


@pytest.mark.contract("R1-5")
async def test_the_same_question_has_the_same_rows_in_the_same_order(library_services: Services) -> None:
    first, second = await retrieve(library_services), await retrieve(library_services)
    assert first.results == second.results


@pytest.mark.contract("P-5")
async def test_without_an_embedder_retrieval_is_by_words_and_says_so(services: Services) -> None:
    await ingest(services, MANUALS)
    bundle = await retrieve(services, policy=policy_with("SOURCEBOUND_LEXICAL_V1"))
    assert bundle.notices == ("no embedder: retrieval is lexical, by full text alone",)
    assert bundle.embedding_model == "lexical"
    assert all(0 < row.similarity_score <= 1 for row in bundle.results)
    assert any("gland bolts" in row.chunk_text for row in bundle.results[:3])


@pytest.mark.contract("P-3")
async def test_a_lexical_collection_is_answered_under_its_own_policy(services: Services) -> None:
    await ingest(services, MANUALS)
    engine = Engine(services)
    answered = await engine.ask({"question": "How often is the shaft of a stored HP-200 turned by hand?"})
    other = await engine.ask({"question": QUESTION}, RunContext(policy="SOURCEBOUND_V1"))
    assert (answered.status, answered.policy_version) == ("OK", "SOURCEBOUND_LEXICAL_V2")
    assert "14 days" in answered.answer
    assert (other.status, other.failure_code) == ("FAILED", "POLICY_INDEX_MISMATCH")
    assert "--policy" in other.message


@pytest.mark.contract("P-5")
async def test_a_word_that_no_candidate_holds_is_covered_as_far_as_one_is_similar(library_services: Services) -> None:
    held = (await retrieve(library_services, "gland bolts torque")).question_coverage
    partly = (await retrieve(library_services, "gland bolts torque zeppelin harpsichord")).question_coverage
    nothing = await retrieve(library_services, "zeppelin harpsichord")
    unjudged = (await retrieve(library_services, "what is the of and")).question_coverage
    assert held is not None
    assert partly is not None
    assert (held, unjudged) == (1.0, 1.0)
    assert 0 < partly < 1
    assert nothing.question_coverage == max(row.similarity_score for row in nothing.results)


@pytest.mark.contract("P-5")
async def test_without_vectors_a_word_that_no_candidate_holds_is_not_covered(services: Services) -> None:
    await ingest(services, MANUALS)
    policy = policy_with("SOURCEBOUND_LEXICAL_V1")
    partly = await retrieve(services, "gland bolts torque zeppelin harpsichord", policy)
    nothing = await retrieve(services, "zeppelin harpsichord", policy)
    assert partly.question_coverage == max(row.similarity_score for row in partly.results)
    assert 0 < partly.question_coverage < 1
    assert nothing.question_coverage == 0.0


@pytest.mark.contract("R1-11")
async def test_lexical_support_below_the_gate_is_a_refusal_without_a_model_call(engine: Engine, library: str) -> None:
    response = await engine.ask({"question": "gland bolts zeppelin harpsichord oboe marimba"})
    assert (response.status, response.refusal_code) == ("NO_EVIDENCE", "below_similarity_gate")
    assert single(library, "SELECT refusal_source FROM validations") == "GATE"
    assert single(library, "SELECT prompt_sha256 FROM validations") is None


async def test_another_embedder_than_the_collections_is_a_fault_that_names_both(
    library_services: Services, library: str
) -> None:
    rows(library, "UPDATE collections SET embedding_model = 'minilm:another'")
    with pytest.raises(ConfigurationError) as raised:
        await retrieve(library_services)
    assert raised.value.failure_code == "INDEX_EMBEDDER_MISMATCH"
    assert "minilm:another" in raised.value.message
    assert MINILM in raised.value.message


@pytest.mark.contract("S-3")
async def test_a_fault_of_retrieval_ends_the_run_as_a_recorded_failure(engine: Engine, library: str) -> None:
    rows(library, "UPDATE collections SET embedding_model = 'minilm:another'")
    response = await engine.ask({"question": QUESTION}, RunContext(policy="R2_POLICY_V1"))
    assert (response.status, response.failure_code, response.answer) == ("FAILED", "RETRIEVAL_FAILED", "")
    assert rows(library, "SELECT status, reason FROM runs") == [("FAILED", "RETRIEVAL_FAILED")]
    assert single(library, "SELECT failure_reason FROM validations") == "RETRIEVAL_FAILED"


ODD_QUESTIONS = [
    'it\'s 100% of "the" torque: %s %(name)s %% {}',
    "'; DROP TABLE chunks; --",
    "torque & bolts | !seal <-> gland:* \\ (",
    "C:\\Users\\pump \\' E'\\x41'",
    "http://example.com/a'b?c=d&e=f user@example.com",
    "<b>torque</b> &amp; \u202egland\u200b",
    "gland\0 bolts",
    "gland \ud800 bolts",
    "💧 Öl 漢字",
    "torque " * 570,
    "?",
]


async def _ask_odd_questions(engine: Engine, url: str) -> None:
    before = single(url, "SELECT count(*) FROM chunks")
    statuses = {question: (await engine.ask({"question": question})).status.value for question in ODD_QUESTIONS}
    assert set(statuses.values()) <= {"OK", "NO_EVIDENCE"}, statuses
    assert single(url, "SELECT count(*) FROM chunks") == before
    assert single(url, "SELECT count(*) FROM validations") == len(ODD_QUESTIONS)


@pytest.mark.contract("R1-1")
async def test_no_question_breaks_the_search(engine: Engine, library: str) -> None:
    await _ask_odd_questions(engine, library)


@pytest.mark.contract("R1-1")
async def test_no_question_breaks_the_search_by_words(services: Services, database: str) -> None:
    await ingest(services, MANUALS)
    await _ask_odd_questions(Engine(services), database)


async def test_a_question_with_characters_that_cannot_be_stored_is_asked_without_them(
    engine: Engine, library: str
) -> None:
    response = await engine.ask({"question": "How often is the \0shaft of a stored \ud800HP-200 turned by hand?"})
    assert response.status == "OK"
    assert single(library, "SELECT question FROM run_texts") == (
        "How often is the shaft of a stored HP-200 turned by hand?"
    )


@pytest.mark.contract("R1-8")
async def test_filter_values_are_values(library_services: Services, library: str) -> None:
    before = single(library, "SELECT count(*) FROM chunks")
    bundle = await retrieve(library_services, equipment_id="HP-200' OR '1'='1", authority="%s; DROP TABLE chunks; --")
    assert bundle.results == ()
    assert single(library, "SELECT count(*) FROM chunks") == before


@pytest.mark.contract("R1-2")
@pytest.mark.parametrize("emptied", [False, True], ids=["missing", "empty"])
async def test_a_collection_that_holds_nothing_is_a_refusal(services: Services, database: str, emptied: bool) -> None:
    if emptied:
        await services.index.create_collection("nowhere", "lexical", "lexical", 0, "x")
    response = await Engine(services).ask({"question": QUESTION, "collection": "nowhere"})
    assert (response.status, response.refusal_code) == ("NO_EVIDENCE", "collection_not_found")
    assert "sourcebound ingest PATH --collection nowhere" in response.message
    assert rows(database, "SELECT refusal_code, refusal_source FROM validations") == [("collection_not_found", "GATE")]


async def test_an_index_keeps_its_embedder_whatever_the_settings_say(library: str) -> None:
    async with open_services(settings_for(library, embedder="lexical")) as services:
        bundle = await retrieve(services)
    assert bundle.embedding_model == MINILM


@pytest.mark.contract("R1-9")
async def test_the_index_version_is_that_of_the_state_that_was_searched(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("The pump is red.\n")
    await ingest(services, tmp_path)
    find = services.retriever._index.find_collection

    async def find_and_ingest(name: str) -> Collection | None:
        found = await find(name)
        (tmp_path / "b.md").write_text("The pump is blue.\n")
        await ingest(services, tmp_path)
        return found

    before = await find(COLLECTION)
    monkeypatch.setattr(services.retriever._index, "find_collection", find_and_ingest)
    bundle = await retrieve(services, "pump", policy_with("SOURCEBOUND_LEXICAL_V1"))
    monkeypatch.undo()
    after = await find(COLLECTION)
    assert before is not None
    assert after is not None
    assert len(bundle.results) == 2
    assert bundle.index_version == after.index_version != before.index_version


@pytest.mark.contract("R1-5")
@pytest.mark.parametrize("filters", [{}, {"equipment_id": "HP-300"}])
@pytest.mark.parametrize(
    ("rounding", "ordered"),
    [pytest.param(1e-9, 0, id="in an order that is certain"), pytest.param(9.0, 1, id="in no order that is")],
)
async def test_vectors_in_memory_find_what_the_database_finds(
    library_services: Services,
    asked: Asked,
    monkeypatch: pytest.MonkeyPatch,
    filters: dict[str, str],
    rounding: float,
    ordered: int,
) -> None:
    monkeypatch.setattr(vector_cache, "DISTANCE_TOLERANCE", rounding)
    policy = policy_with(hybrid=False, candidate_pool=9, top_k=9)
    questions = (QUESTION, "How often is the filter changed?", "coupling", "?")
    compared = [(await _fresh(library_services, question, policy, **filters)).results for question in questions]
    assert asked.lists() == ["dense_candidates"] * len(questions)
    await retrieve(library_services, policy=policy, **filters)
    asked.lists()
    found = [(await retrieve(library_services, question, policy, **filters)).results for question in questions]
    assert asked.lists() == ["ordered_candidates"] * len(questions) * ordered
    assert found == compared


async def _fresh(services: Services, question: str, policy: Policy, **filters: str) -> RetrievalBundle:
    """As by a process that has just begun."""
    retriever = PostgresRetriever(services.pool, services.open_embedder, services.open_reranker)
    return await retriever.retrieve(run_for(question, policy, **filters), policy)


@pytest.mark.contract("R1-8")
async def test_what_is_ingested_is_found_though_vectors_are_in_memory(
    library_services: Services, tmp_path: Path
) -> None:
    for _ in range(3):
        await retrieve(library_services)
    (tmp_path / "seal.md").write_text(f"# Seal\n\n{QUESTION}\n")
    await ingest(library_services, tmp_path / "seal.md", embedder="minilm")
    assert (await retrieve(library_services)).results[0].knowledge_id == "seal.md"


@pytest.mark.contract("R1-8")
async def test_a_document_that_went_and_came_back_is_found_though_vectors_are_in_memory(
    library_services: Services, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_cache, "DISTANCE_TOLERANCE", 1e-9)  # so that no near pair is ordered by the database
    policy = policy_with(hybrid=False)
    first = await retrieve(library_services, policy=policy, equipment_id="HP-200")
    await retrieve(library_services, policy=policy)
    collection = await library_services.index.open_collection(COLLECTION)
    gone = sorted({row.knowledge_id for row in first.results})
    await library_services.index.remove_documents(collection.collection_id, gone)
    await ingest(library_services, MANUALS, embedder="minilm")
    for _ in range(3):
        again = await retrieve(library_services, policy=policy, equipment_id="HP-200")
        assert (again.results, again.index_version) == (first.results, first.index_version)
    assert "dense_candidates" in asked.lists()
    assert (await retrieve(library_services, policy=policy, equipment_id="HP-200")).results == first.results
    assert asked.lists() == []
