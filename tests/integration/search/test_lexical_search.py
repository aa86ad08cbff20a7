"""R1-5: the lexical list is BM25 over the whole collection, and its statistics follow every change of the documents."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sourcebound.contracts.retrieval.bm25 import UNITS, QuestionWord, highest_score, words_to_read
from sourcebound.contracts.retrieval.fusion import Ranking, fuse_reciprocal_rank
from sourcebound.wiring import Services
from support.processes.databases import COLLECTION, MANUALS, ingest, rows, single
from support.retrieving import LEXEMES_OF_CHUNKS, QUESTION, bm25_reference, ids, kept_postings, policy_with, retrieve

SIZES = (
    "SELECT (SELECT count(*) FROM postings), (SELECT count(*) FROM posting_segments), (SELECT count(*) FROM lexemes), "
    "(SELECT count(*) FROM removed_chunks), (SELECT count(*) FROM lexical_statistics)"
)
COLUMNS = (
    "collection_id, chunk_id, document_id, ordinal, page_index, page_number, heading_path, char_start, char_end, text, "
    "search, embedding"
)
EVERYTHING = {"hybrid": False, "candidate_pool": 1000, "top_k": 1000}


async def _by_words(services: Services, question: str, **changes: Any) -> list[str]:
    policy = policy_with("SOURCEBOUND_LEXICAL_V1", **EVERYTHING | changes)
    return ids(await retrieve(services, question, policy))


def _write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).write_text(text + "\n")


def _check_statistics(url: str) -> None:
    """The stored postings are those that counting the tsvectors gives."""
    found = rows(url, LEXEMES_OF_CHUNKS)
    holding = Counter(lexeme for _, lexeme, _ in found)
    length: Counter[str] = Counter()
    for chunk, _, count in found:
        length[chunk] += count
    assert kept_postings(url) == sorted((c, w, n, length[c], holding[w]) for c, w, n in found)
    assert {lexeme for (lexeme,) in rows(url, "SELECT lexeme FROM lexemes WHERE chunks > 0")} == set(holding)
    sizes = "SELECT s.chunks, s.length, s.removed - (SELECT count(*) FROM removed_chunks) FROM lexical_statistics s"
    assert rows(url, sizes) == [(len(length), length.total(), 0)]


QUESTIONS = [
    QUESTION,
    "How often is the shaft of a stored pump turned by hand?",
    "pressure",
    "oil oil pump HP-300 spare part",
]


@pytest.mark.contract("R1-5")
@pytest.mark.parametrize("question", QUESTIONS)
async def test_the_lexical_list_is_bm25(services: Services, database: str, question: str) -> None:
    await ingest(services, MANUALS)
    expected = bm25_reference(database, question)
    assert len(expected) > 3
    assert await _by_words(services, question) == expected
    assert await _by_words(services, question, candidate_pool=3) == expected[:3]


@pytest.mark.contract("R1-5")
async def test_equal_chunks_are_ordered_by_id_also_where_the_list_is_cut(
    services: Services, database: str, tmp_path: Path
) -> None:
    tied = {f"n{number}.md": "The valve is closed by hand." for number in range(19, 9, -1)}
    others = {"n20.md": "A valve, valve and valve.", "n21.md": "A gauge stands here and there, by the wall."}
    _write(tmp_path, tied | others)
    await ingest(services, tmp_path)
    expected = bm25_reference(database, "closed valve")
    assert len(expected) == 11
    assert expected[:10] == sorted(expected[:10])
    for most in (1, 4, 10, 11):
        assert await _by_words(services, "closed valve", candidate_pool=most) == expected[:most]


@pytest.mark.contract("R1-5")
async def test_a_rare_word_decides_and_further_occurrences_add_less_and_less(
    services: Services, tmp_path: Path
) -> None:
    common = {f"{number}.md": f"The pump and the motor {number}." for number in range(8)}
    _write(tmp_path, common | {"many.md": "Pump pump pump pump pump.", "rare.md": "The pump and the dynamo."})
    await ingest(services, tmp_path)
    best = await _by_words(services, "pump dynamo")
    assert best[0].startswith("rare.md")
    assert best[1].startswith("many.md")


@pytest.mark.contract("R1-8")
async def test_a_word_weighs_what_it_weighs_in_the_collection_not_in_what_passes_the_filter(
    services: Services, database: str, tmp_path: Path
) -> None:
    _write(tmp_path, {f"{number}.md": f"The gasket number {number}." for number in range(9)})
    await ingest(services, tmp_path)
    kept = tmp_path / "kept"
    kept.mkdir()
    _write(kept, {"k1.md": "A gasket.", "k2.md": "A bolt.", "k3.md": "A bolt here.", "k4.md": "One bolt there."})
    await ingest(services, kept, equipment_id="HP-200")
    policy = policy_with("SOURCEBOUND_LEXICAL_V1", **EVERYTHING)
    found = await retrieve(services, "gasket bolt", policy, equipment_id="HP-200")
    allowed = {row.chunk_id for row in found.results}
    assert len(allowed) == 4
    assert ids(found) == [chunk for chunk in bm25_reference(database, "gasket bolt") if chunk in allowed]
    assert not found.results[0].knowledge_id.endswith("k1.md"), "the gasket is rare in the filter and common at large"


@pytest.mark.contract("R1-5")
async def test_the_statistics_follow_documents_that_come_change_and_go(
    services: Services, database: str, tmp_path: Path
) -> None:
    _write(tmp_path, {"a.md": "The pump and the pump.", "b.md": "A pump of bronze."})
    await ingest(services, tmp_path)
    _check_statistics(database)
    _write(tmp_path, {"a.md": "The valve.\n\n# Part\n\nThe valve of steel.", "c.md": "A pump."})
    await ingest(services, tmp_path)
    _check_statistics(database)
    words = "SELECT lexeme, chunks FROM lexemes WHERE lexeme IN ('pump', 'bronz') ORDER BY lexeme"
    assert rows(database, words) == [("bronz", 1), ("pump", 2)]
    rows(database, "DELETE FROM documents WHERE source_reference LIKE '%%b.md'")
    _check_statistics(database)
    assert rows(database, "SELECT chunks FROM lexemes WHERE lexeme = 'bronz'") == [(0,)]
    assert await _by_words(services, "bronze") == []
    rows(database, "DELETE FROM collections")
    assert rows(database, SIZES) == [(0, 0, 0, 0, 0)]


@pytest.mark.contract("R1-5")
async def test_collections_are_counted_apart(services: Services, database: str, tmp_path: Path) -> None:
    _write(tmp_path, {"a.md": "The pump.", "b.md": "The motor and the pump."})
    await ingest(services, tmp_path)
    before = kept_postings(database)
    await ingest(services, MANUALS, collection="other")
    collection = await services.index.find_collection(COLLECTION)
    assert collection is not None
    assert kept_postings(database, COLLECTION) == before
    assert collection.chunks == 2
    rows(database, "DELETE FROM collections WHERE name = 'other'")
    assert kept_postings(database) == before


async def test_one_statement_that_writes_many_chunks_is_counted_as_many_that_write_one(
    library: str,
) -> None:
    _check_statistics(library)
    rows(library, "CREATE TABLE copied AS SELECT * FROM chunks")
    rows(library, "DELETE FROM chunks")
    assert rows(library, SIZES) == [(0, 0, 0, 0, 0)]
    rows(library, f"INSERT INTO chunks ({COLUMNS}) SELECT {COLUMNS} FROM copied")
    _check_statistics(library)


async def test_many_small_writes_are_merged_into_few_segments(
    services: Services, database: str, tmp_path: Path
) -> None:
    for number in range(70):
        _write(tmp_path, {f"{number}.md": f"The pump and motor number {number}, of series {number % 7}."})
        if number % 10 == 9:
            rows(database, "DELETE FROM documents WHERE source_reference LIKE %s", f"%{number - 1}.md")
        await ingest(services, tmp_path / f"{number}.md")
        if number in (6, 7, 69):
            _check_statistics(database)
    levels = rows(database, "SELECT level, count(*) FROM posting_segments GROUP BY level ORDER BY level")
    assert levels == [(0, 6), (2, 1)]
    assert await _by_words(services, "pump series") == bm25_reference(database, "pump series")


async def test_postings_are_packed_anew_when_many_name_chunks_that_are_gone(library: str) -> None:
    columns = COLUMNS.replace("chunk_id", "chunk_id || n", 1)
    rows(
        library,
        f"INSERT INTO chunks ({COLUMNS}) SELECT {columns} FROM "
        "(SELECT * FROM chunks ORDER BY chunk_no LIMIT 10) AS few, generate_series(1, 150) AS n",
    )
    copies = "DELETE FROM chunks WHERE chunk_no IN (SELECT chunk_no FROM chunks ORDER BY chunk_no DESC LIMIT %s)"
    rows(library, copies, 1000)
    _check_statistics(library)
    assert single(library, "SELECT count(*) FROM removed_chunks") == 1000
    rows(library, copies, 1)
    _check_statistics(library)
    assert single(library, "SELECT count(*) FROM removed_chunks") == 0


@pytest.mark.contract("R1-5")
async def test_the_two_lists_are_fused_by_reciprocal_rank_with_the_policys_weights(
    library_services: Services, library: str
) -> None:
    pool, k = 20, 30
    dense = ids(await retrieve(library_services, policy=policy_with(top_k=pool, hybrid=False, candidate_pool=pool)))
    lexical = bm25_reference(library, QUESTION, pool)
    for weights in ({"dense_weight": 1.0, "lexical_weight": 2.5}, {"dense_weight": None, "lexical_weight": None}):
        heavy = weights["lexical_weight"] or 1.0
        expected = fuse_reciprocal_rank([Ranking(dense), Ranking(lexical, heavy)], k)
        fused = await retrieve(
            library_services, policy=policy_with(top_k=2 * pool, candidate_pool=pool, rrf_k=k, **weights)
        )
        assert ids(fused) == list(expected)
        assert set(dense) < set(expected)
        assert set(lexical) < set(expected)


@pytest.mark.contract("R1-5")
@pytest.mark.contract("P-5")
async def test_scores_are_fused_as_shares_and_each_row_has_its_true_similarity(
    library_services: Services, library: str
) -> None:
    pool = 10
    scores = policy_with("SOURCEBOUND_V2", top_k=2 * pool, candidate_pool=pool)
    plain = await retrieve(library_services, policy=policy_with(top_k=500, hybrid=False, candidate_pool=500))
    similarity = {row.chunk_id: row.similarity_score for row in plain.results}
    (chunks,) = rows(library, "SELECT chunks FROM lexical_statistics")[0]
    words = "SELECT count(*) FROM chunks WHERE search @@ plainto_tsquery('simple', %s)"
    lexemes = [
        lexeme for (lexeme,) in rows(library, "SELECT unnest(tsvector_to_array(search_words('english', %s)))", QUESTION)
    ]
    question = [QuestionWord(lexeme, None, single(library, words, lexeme)) for lexeme in lexemes]
    highest = highest_score(question, chunks) / UNITS
    for question_text in (QUESTION, QUESTION):  # from the database, then from memory
        fused = await retrieve(library_services, question_text, scores)
        assert any(row.dense_rank is None for row in fused.results)
        assert {row.chunk_id: row.similarity_score for row in fused.results}.items() <= similarity.items()
        expected = [0.45 * row.similarity_score + 0.55 * (row.lexical_score or 0.0) / highest for row in fused.results]
        assert expected == sorted(expected, reverse=True)
        assert (fused.question_words, fused.collection_chunks) == (len(lexemes), chunks)


@pytest.mark.contract("R1-4")
async def test_a_fiscal_year_is_found_where_the_year_stands_alone(services: Services, tmp_path: Path) -> None:
    _write(tmp_path, {"old.md": "Sales in fiscal 2021 fell.", "new.md": "Sales in fiscal 2022 rose."})
    await ingest(services, tmp_path)
    policy = policy_with("SOURCEBOUND_LEXICAL_V2", **EVERYTHING)
    found = await retrieve(services, "sales in FY2022", policy)
    assert found.results[0].knowledge_id == "new.md"
    assert found.question_coverage == 1.0


async def test_a_question_of_common_words_leaves_the_commonest_unread(
    services: Services, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ingest(services, MANUALS)
    lists = [await _by_words(services, word) for word in ("pump", "gland", "seal")]
    rarest = min(lists, key=len)
    assert sorted(map(len, lists))[1] > len(rarest)
    monkeypatch.setattr(
        "sourcebound.store.search.chunk_queries.words_to_read", partial(words_to_read, most=len(rarest))
    )
    assert await _by_words(services, "pump gland seal") == rarest
