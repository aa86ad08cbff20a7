"""The comparison of rankings: how variants are made, how rows are judged, and the report's verdicts."""

from functools import partial

import pytest

from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalRow
from sourcebound.evals.metrics import Span
from sourcebound.evals.ranking import TOP_K, arrange, score_chunks, score_documents, score_pages, variants_of
from sourcebound.evals.ranking_report import DENSE, HYBRID, LEXICAL, MMR, Measurement, describe
from support.builders import row

POLICY = load_shipped_policy("SOURCEBOUND_V1")


def _row(rank: int, **changes: object) -> RetrievalRow:
    return RetrievalRow.model_validate(row(rank, **changes))


def test_a_variant_differs_from_the_policy_in_its_named_values_only() -> None:
    released = POLICY.retrieval.model_dump()
    variants = {variant.name: variant for variant in variants_of(POLICY)}
    changed = {
        name: {key: value for key, value in variant.policy.retrieval.model_dump().items() if value != released[key]}
        for name, variant in variants.items()
    }
    for name, values in changed.items():
        assert set(values) <= {"top_k", "hybrid", "mmr_lambda"}, name
        assert variants[name].policy.model_copy(update={"retrieval": POLICY.retrieval}) == POLICY
    assert [variant.lexical_list for variant in variants.values()] == [False, True, False, False]
    assert not variants[DENSE].policy.retrieval.hybrid
    assert variants[LEXICAL].policy.retrieval.top_k == 2 * POLICY.retrieval.candidate_pool
    assert variants[HYBRID].policy.retrieval.mmr_lambda is None
    assert variants[MMR].policy.retrieval.mmr_lambda is not None
    assert {variants[name].policy.retrieval.top_k for name in (DENSE, HYBRID, MMR)} == {TOP_K}


def test_the_lexical_list_is_its_own_rows_in_its_own_order() -> None:
    _, lexical, hybrid, _ = variants_of(POLICY)
    rows = [_row(0, lexical_rank=2), _row(1), _row(2, lexical_rank=0), _row(3, lexical_rank=2), _row(4, lexical_rank=1)]
    assert [each.rank for each in arrange(lexical, rows)] == [2, 4, 0, 3]
    assert [each.rank for each in arrange(hybrid, rows)] == [0, 1, 2, 3, 4]
    assert arrange(lexical, [_row(0)]) == []


def test_documents_are_judged_at_their_first_chunk() -> None:
    names = {"0000.md": "x", "0001.md": "y", "0002.md": "z"}
    rows = [_row(rank, knowledge_id=name) for rank, name in enumerate(["0001.md", "0001.md", "0000.md", "0002.md"])]
    scores = score_documents(rows, names, {"x": 1.0})
    assert scores == {
        "nDCG@10": pytest.approx(0.63093, abs=1e-5),
        "recall@5": 1.0,
        "recall@8": 1.0,
        "recall@10": 1.0,
        "MRR@10": 0.5,
    }


def test_chunks_are_judged_by_their_place_in_the_file_and_only_the_first_five() -> None:
    offsets = {"a.md": [100 + 2 * place for place in range(50)]}
    wanted = [Span("a.md", 100, 119), Span("a.md", 180, 199)]
    ends = _row(5, knowledge_id="a.md", char_start=40, char_end=50)
    rows = [_row(rank, knowledge_id="a.md", char_start=0, char_end=10) for rank in range(5)]
    assert score_chunks([*rows, ends], offsets, wanted) == {"token recall@5": 0.5, "token precision@5": 1.0}
    assert score_chunks([ends, *rows], offsets, wanted) == {"token recall@5": 1.0, "token precision@5": 1.0}


def test_pages_are_judged_within_the_policys_own_candidates() -> None:
    rows = [_row(0, knowledge_id="r.pdf", page_number=2), _row(1, knowledge_id="r.pdf", page_number=7)]
    judge = partial(score_pages, evidence=(("r", 7), ("s", 2)))
    assert judge(rows, top_k=2) == {"question found": 1.0, "pages found": 0.5}
    assert judge(rows, top_k=1) == {"question found": 0.0, "pages found": 0.0}


def _measured(name: str, metric: str, **values: list[float]) -> Measurement:
    scores = {variant.replace("_", " "): {metric: numbers} for variant, numbers in values.items()}
    return Measurement(name, len(values["hybrid"]), 3, 4, 1.5, 2.5, scores)


def test_the_report_says_what_was_met_and_what_was_missed() -> None:
    measured = [
        _measured("scifact_dev", "nDCG@10", dense=[0.9, 0.9], lexical=[0.2, 0.4], hybrid=[0.9, 0.9]),
        _measured("cranfield", "nDCG@10", dense=[0.3, 0.3], hybrid=[0.3, 0.4]),
    ]
    report = describe(measured, POLICY, {DENSE: "`hybrid = false`"}, 61.4)
    lines = report.split("\n")
    assert "| scifact_dev | nDCG@10 | at least 0.83 | 0.900 ± 0.000 | met |" in lines
    assert "| scifact_dev | nDCG@10 | better than dense | +0.000 ± 0.000 | **missed** |" in lines
    assert any(line.startswith("| scifact_dev | nDCG@10 | better than lexical | +0.600 ± ") for line in lines)
    assert any(line.startswith("| cranfield | nDCG@10 | at least 0.42 | 0.350 ± ") for line in lines)
    assert [line[-13:] for line in lines if line.startswith("| cranfield | nDCG")] == [" **missed** |"]
    assert "| dense | `hybrid = false` |" in lines
    assert any(line.startswith("| hybrid minus lexical | +0.600 ± ") for line in lines)
    assert "2 questions, 3 documents, 4 chunks; ingested in 2 s, searched in 2 s." in report
    assert "make eval-retrieval" in report
    assert f"`hybrid = true`, `candidate_pool = {POLICY.retrieval.candidate_pool}`" in report
    assert report.endswith("Total time: 61 s.\n")
