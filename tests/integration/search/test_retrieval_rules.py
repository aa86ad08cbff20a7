"""R1-3 … R1-8: what a policy may add to a search: a probe, variants, diversity, a fallback, neighbours."""

from typing import Any

import pytest

from sourcebound.contracts.policy.schema import DocumentHint, ExpansionRule, Policy
from sourcebound.contracts.retrieval.fusion import Ranking, fuse_reciprocal_rank
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalStatus
from sourcebound.graph.engine import Engine
from sourcebound.store.search.chunk_queries import ChunkSearch
from sourcebound.store.search.retriever import PROBE_NOTICE
from sourcebound.store.search.vector_codec import PackedVector
from sourcebound.wiring import Services
from support.processes.databases import MANUALS, ingest, rows, single
from support.retrieving import QUESTION, bm25_reference, ids, policy_with, retrieve

OFF_TOPIC = "Who composed the second symphony for zeppelin and harpsichord?"
STORED = "How often is the shaft of a stored HP-200 turned by hand?"


def _selecting(policy: Policy, **selection: Any) -> Policy:
    return policy.model_copy(update={"selection": policy.selection.model_copy(update=selection)})


@pytest.mark.contract("R1-3")
async def test_a_weak_probe_ends_retrieval_with_one_search(
    library_services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    dense = ChunkSearch.dense

    async def counted(self: ChunkSearch, vector: PackedVector, limit: int, **options: bool) -> dict[str, float]:
        asked.append(limit)
        return await dense(self, vector, limit, **options)

    monkeypatch.setattr(ChunkSearch, "dense", counted)
    rules = (ExpansionRule(when="symphony", add=("gland bolts torque",)),)
    policy = policy_with(probe_min_similarity=0.5, expansions=rules)
    bundle = await retrieve(library_services, OFF_TOPIC, policy)
    assert (bundle.retrieval_status, bundle.results) == (RetrievalStatus.NO_EVIDENCE, ())
    assert (bundle.notices, bundle.query_variants) == ((PROBE_NOTICE,), (OFF_TOPIC,))
    assert asked == [1]
    passed = await retrieve(library_services, QUESTION, policy)
    assert passed.results == (await retrieve(library_services, QUESTION)).results
    assert passed.notices == ()


@pytest.mark.contract("R1-3")
async def test_the_probe_is_held_to_its_minimum_exactly(library_services: Services) -> None:
    best = max(row.similarity_score for row in (await retrieve(library_services)).results)
    below = await retrieve(library_services, policy=policy_with(probe_min_similarity=best - 1e-5))
    above = await retrieve(library_services, policy=policy_with(probe_min_similarity=best + 1e-5))
    assert (len(below.results), len(above.results)) == (12, 0)


@pytest.mark.contract("R1-3")
async def test_a_probe_looks_behind_the_filter_and_at_words_where_there_are_no_vectors(services: Services) -> None:
    await ingest(services, MANUALS)
    policy = policy_with("SOURCEBOUND_LEXICAL_V1", probe_min_similarity=0.5)
    assert (await retrieve(services, QUESTION, policy)).results
    assert not (await retrieve(services, QUESTION, policy, equipment_id="HP-999")).results
    weak = await retrieve(services, "gland zeppelin harpsichord oboe marimba", policy)
    assert (weak.results, weak.notices[-1]) == ((), PROBE_NOTICE)


@pytest.mark.contract("R1-4")
async def test_variants_merge_by_chunk_and_keep_the_best_similarity(library_services: Services) -> None:
    rules = (ExpansionRule(when="zeppelin", add=("gland bolt torque", "shaft turned by hand")),)
    wide: dict[str, Any] = {"top_k": 200, "candidate_pool": 200}
    merged = await retrieve(library_services, OFF_TOPIC, policy_with(expansions=rules, **wide))
    variants = (OFF_TOPIC, f"{OFF_TOPIC} gland bolt torque", f"{OFF_TOPIC} shaft turned by hand")
    assert merged.query_variants == variants
    single_searches = [await retrieve(library_services, text, policy_with(**wide)) for text in variants]
    scores = [{row.chunk_id: row.similarity_score for row in bundle.results} for bundle in single_searches]
    assert len(set(ids(merged))) == len(merged.results)
    for row in merged.results:
        assert row.similarity_score == max(score[row.chunk_id] for score in scores if row.chunk_id in score)
    assert merged.question_coverage == single_searches[0].question_coverage
    assert "gland" in merged.results[0].chunk_text.lower()


@pytest.mark.contract("R1-4")
async def test_a_variant_finds_by_words_what_the_question_does_not(services: Services) -> None:
    await ingest(services, MANUALS)
    rules = (ExpansionRule(when="zeppelin", add=("gland bolts",)),)
    plain = policy_with("SOURCEBOUND_LEXICAL_V1")
    assert (await retrieve(services, "zeppelin", plain)).results == ()
    found = await retrieve(services, "zeppelin", policy_with("SOURCEBOUND_LEXICAL_V1", expansions=rules))
    assert "gland" in found.results[0].chunk_text.lower()
    assert 0 < found.results[0].similarity_score < 1
    assert found.question_coverage == 0.0


@pytest.mark.contract("R1-6")
async def test_diversity_reorders_candidates_and_loses_none_of_the_fusion_at_one(library_services: Services) -> None:
    plain = await retrieve(library_services)
    relevant = await retrieve(library_services, policy=policy_with(mmr_lambda=1.0))
    diverse = await retrieve(library_services, policy=policy_with(mmr_lambda=0.3))
    assert relevant.results == plain.results
    assert diverse.results[0] == plain.results[0]
    assert ids(diverse) != ids(plain)
    by_id = {row.chunk_id: row.similarity_score for row in plain.results}
    assert all(by_id.get(row.chunk_id, row.similarity_score) == row.similarity_score for row in diverse.results)


def _chosen(url: str, relevance: dict[str, float], share: float, count: int) -> list[str]:
    """Maximal marginal relevance by the book, over the stored vectors."""
    vectors = {
        chunk: [float(value) for value in text.strip("[]").split(",")]
        for chunk, text in rows(url, "SELECT chunk_id, embedding::text FROM chunks")
    }

    def worth(item: str, taken: list[str]) -> float:
        cosines = [sum(a * b for a, b in zip(vectors[item], vectors[other], strict=True)) for other in taken]
        return share * relevance[item] - (1 - share) * max([0.0, *cosines])

    left, chosen = list(relevance), list[str]()
    while len(chosen) < count:
        best = max(left, key=lambda item: worth(item, chosen))
        left.remove(best)
        chosen.append(best)
    return chosen


@pytest.mark.contract("R1-6")
async def test_diversity_weighs_similarity_where_nothing_is_fused(library_services: Services, library: str) -> None:
    share, pool = 0.6, 15
    alone = policy_with(hybrid=False, top_k=pool, candidate_pool=pool)
    dense = (await retrieve(library_services, policy=alone)).results
    expected = _chosen(library, {row.chunk_id: row.similarity_score for row in dense}, share, 6)
    policy = policy_with(hybrid=False, top_k=6, candidate_pool=pool, mmr_lambda=share)
    assert ids(await retrieve(library_services, policy=policy)) == expected
    assert expected != [row.chunk_id for row in dense][:6]


@pytest.mark.contract("R1-6")
async def test_diversity_weighs_the_fused_score_where_lists_are_fused(library_services: Services, library: str) -> None:
    share, pool, k = 0.6, 15, 20
    alone = policy_with(hybrid=False, top_k=pool, candidate_pool=pool)
    dense = ids(await retrieve(library_services, policy=alone))
    plain = ids(await retrieve(library_services, policy=policy_with(top_k=2 * pool, candidate_pool=pool)))
    lexical = bm25_reference(library, QUESTION, pool)
    fused = fuse_reciprocal_rank([Ranking(dense), Ranking(lexical, 1.5)], k)
    assert list(fused) == plain
    relevance = {item: fused[item] / fused[plain[0]] for item in plain[:pool]}
    expected = _chosen(library, relevance, share, 6)
    policy = policy_with(top_k=6, candidate_pool=pool, mmr_lambda=share)
    assert ids(await retrieve(library_services, policy=policy)) == expected
    assert expected != plain[:6]


async def test_diversity_leaves_a_search_by_words_as_it_is(services: Services) -> None:
    await ingest(services, MANUALS)
    plain = await retrieve(services, policy=policy_with("SOURCEBOUND_LEXICAL_V1"))
    diverse = await retrieve(services, policy=policy_with("SOURCEBOUND_LEXICAL_V1", mmr_lambda=0.3))
    assert diverse.results == plain.results


@pytest.mark.contract("R1-7")
@pytest.mark.parametrize(
    ("floor", "fallback", "question", "used"),
    [
        (0.99, 0.3, STORED, True),
        (0.99, 0.98, STORED, False),
        (0.3, 0.2, STORED, False),
        (0.99, 0.3, "To what torque are gland bolts tightened?", False),
        (0.99, None, STORED, False),
    ],
    ids=["accepted", "too weak", "not needed", "not named", "not set"],
)
async def test_a_fallback_is_accepted_for_a_named_document_that_is_near_enough(
    library_services: Services, floor: float, fallback: float | None, question: str, used: bool
) -> None:
    policy = _selecting(policy_with(fallback_min_similarity=fallback), min_similarity=floor)
    assert (await retrieve(library_services, question, policy)).fallback_used is used


@pytest.mark.contract("R1-7")
async def test_a_hint_names_the_document_of_a_fallback(library_services: Services) -> None:
    question = "To what torque are gland bolts tightened?"
    best = max((await retrieve(library_services, question)).results, key=lambda row: row.similarity_score)
    hints = (DocumentHint(when="gland bolts", document=best.title or ""),)
    policy = _selecting(policy_with(fallback_min_similarity=0.3, document_hints=hints), min_similarity=0.99)
    assert (await retrieve(library_services, question, policy)).fallback_used


@pytest.mark.contract("R1-8")
async def test_mixed_authority_is_any_and_several_documents_are_a_filter(
    library_services: Services, library: str
) -> None:
    wide = policy_with(top_k=500, candidate_pool=500)
    everything = int(single(library, "SELECT count(*) FROM chunks"))
    mixed = await retrieve(library_services, policy=wide, authority="MIXED")
    assert (len(mixed.results), mixed.filters_applied) == (everything, {"authority": "MIXED"})
    names = [name for (name,) in rows(library, "SELECT knowledge_id FROM documents ORDER BY knowledge_id LIMIT 2")]
    two = await retrieve(library_services, policy=wide, knowledge_ids=tuple(names))
    assert {row.knowledge_id for row in two.results} == set(names)
    assert two.filters_applied == {"knowledge_ids": f'["{names[0]}", "{names[1]}"]'}
    both = await retrieve(library_services, policy=wide, knowledge_ids=tuple(names), knowledge_id=names[0])
    assert {row.knowledge_id for row in both.results} == {names[0]}


@pytest.mark.contract("R1-8")
async def test_a_graph_run_takes_several_documents(library_services: Services, library: str) -> None:
    names = [name for (name,) in rows(library, "SELECT knowledge_id FROM documents ORDER BY knowledge_id")]
    engine = Engine(library_services)
    answered = await engine.ask({"question": STORED, "filters": {"knowledge_ids": names}})
    without = await engine.ask({"question": STORED, "filters": {"knowledge_ids": []}})
    assert answered.status == "OK"
    assert (without.status, without.failure_code) == ("FAILED", "INVALID_REQUEST")


@pytest.mark.contract("R1-8")
async def test_the_shortfall_is_what_exists_and_was_not_returned(library_services: Services, library: str) -> None:
    (few,) = rows(library, "SELECT count(*) FROM chunks GROUP BY document_id ORDER BY 1 LIMIT 1")[0]
    (name,) = rows(
        library,
        "SELECT knowledge_id FROM documents JOIN chunks USING (document_id) GROUP BY knowledge_id "
        "ORDER BY count(*) LIMIT 1",
    )[0]
    narrow = await retrieve(library_services, policy=policy_with(top_k=few + 5), knowledge_id=name)
    assert (len(narrow.results), narrow.retrieval_shortfall) == (few, 0)
    short = await retrieve(library_services, policy=policy_with(top_k=10, hybrid=False, candidate_pool=4))
    assert (len(short.results), short.retrieval_shortfall) == (4, 6)
    assert (await retrieve(library_services)).retrieval_shortfall == 0


@pytest.mark.contract("R1-10")
async def test_neighbours_come_last_and_are_marked(library_services: Services, library: str) -> None:
    plain = await retrieve(library_services, policy=policy_with(top_k=2))
    wider = await retrieve(library_services, policy=policy_with(top_k=2, neighbours=1))
    assert wider.results[:2] == plain.results
    assert [row.rank for row in wider.results] == list(range(len(wider.results)))
    assert {row.origin for row in wider.results[2:]} == {"expanded"}
    place = {chunk: (d, n) for chunk, d, n in rows(library, "SELECT chunk_id, document_id, ordinal FROM chunks")}
    beside = []
    for row in plain.results:
        document, number = place[row.chunk_id]
        around = [(document, number - 1), (document, number + 1)]
        beside += [chunk for spot in around for chunk in place if place[chunk] == spot]
    expected = [chunk for chunk in dict.fromkeys(beside) if chunk not in ids(plain)]
    assert ids(wider)[2:] == expected
    assert expected
    assert wider.question_coverage == plain.question_coverage
    assert wider.retrieval_shortfall == 0


@pytest.mark.contract("R1-10")
async def test_neighbours_without_a_candidate_are_none(library_services: Services) -> None:
    assert (await retrieve(library_services, policy=policy_with(neighbours=2), equipment_id="none")).results == ()


@pytest.mark.contract("R1-4")
async def test_a_mistyped_question_is_searched_in_the_collections_spelling_too(library_services: Services) -> None:
    mistyped = QUESTION.replace("mechanical", "mechancial")
    policy = policy_with(respell=True)
    right, wrong = await retrieve(library_services, policy=policy), await retrieve(library_services, mistyped, policy)
    assert wrong.query_variants == (mistyped, QUESTION)
    assert wrong.notices == ("no source has 'mechancial', so 'mechanical' was searched for too",)
    assert wrong.question_coverage == pytest.approx(right.question_coverage, abs=0.05)
    assert ids(wrong)[0] == ids(right)[0]
    assert (right.query_variants, right.notices) == ((QUESTION,), ())


@pytest.mark.contract("R1-4")
async def test_ids_known_words_and_a_policy_without_it_keep_their_spelling(library_services: Services) -> None:
    respelling = policy_with(respell=True)
    for question in ("What is the HP-2000 of the Zorblaxian?", "Is the hotel near the lake cheap?"):
        assert (await retrieve(library_services, question, respelling)).query_variants == (question,)
    mistyped = QUESTION.replace("mechanical", "mechancial")
    assert (await retrieve(library_services, mistyped)).query_variants == (mistyped,)


@pytest.mark.contract("R1-4")
async def test_a_question_in_another_language_is_searched_in_english_too(library_services: Services) -> None:
    asked = "Wie oft muss die Welle einer eingelagerten HP-200 von Hand gedreht werden?"
    policy = policy_with(translate="lexicon_v1")
    english, german = await retrieve(library_services, STORED, policy), await retrieve(library_services, asked, policy)
    without = await retrieve(library_services, asked)
    assert german.query_variants[0] == asked
    assert [word for word in ("how often", "shaft", "HP-200") if word not in german.query_variants[1]] == []
    assert german.notices == (f"searched in English too: {german.query_variants[1]}",)
    assert ids(german)[0] == ids(english)[0]
    assert (german.question_coverage or 0) > (without.question_coverage or 0) + 0.2
    assert (english.query_variants, without.query_variants) == ((STORED,), (asked,))


@pytest.mark.contract("R1-4")
async def test_a_question_in_the_language_of_its_collection_is_not_translated(services: Services) -> None:
    await ingest(services, MANUALS, language="german")
    asked = "Wie oft muss die Welle gedreht werden?"
    bundle = await retrieve(services, asked, policy_with(translate="lexicon_v1"))
    assert bundle.query_variants == (asked,)
