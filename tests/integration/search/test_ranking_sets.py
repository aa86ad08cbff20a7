"""The comparison of rankings over a small set of its own, through the product's ingest and retriever."""

import json
from pathlib import Path

import pytest

from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalRow
from sourcebound.evals import ranking
from sourcebound.evals.ranking import chunking_set, document_set, measure, variants_of
from sourcebound.evals.ranking_report import DENSE, HYBRID, LEXICAL, MMR
from sourcebound.wiring import DEFAULT_POLICY, Services, find_policy

DOCUMENTS = {
    "pump": "The circulation pump moves cooling water through the heat exchanger at 5 bar.",
    "seal": "The mechanical seal is inspected for leaks every 500 hours of operation.",
    "choir": "The choir sang two motets by Bruckner in the cathedral of Linz.",
}
QUESTIONS = {"q1": "How often is the mechanical seal inspected?", "q2": "What did the choir sing?", "q3": "And why?"}
QRELS = "query-id\tcorpus-id\tscore\nq1\tseal\t1\nq1\tpump\t0\nq2\tchoir\t2\nq3\tpump\t0\n"
VARIANTS = variants_of(find_policy(DEFAULT_POLICY, embedding_model="minilm"))


def _write(path: Path, records: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Evaluation data of the same shape as the real ones."""
    folder, chunking = tmp_path / "retrieval" / "small", tmp_path / "retrieval" / "chunking_eval"
    folder.mkdir(parents=True)
    chunking.mkdir()
    _write(folder / "corpus.jsonl", [{"_id": key, "title": key, "text": text} for key, text in DOCUMENTS.items()])
    _write(folder / "queries.jsonl", [{"_id": key, "text": text} for key, text in QUESTIONS.items()])
    (folder / "qrels.tsv").write_text(QRELS, "utf-8")
    text = "# Seals\n\n" + DOCUMENTS["seal"] + "\n"
    (chunking / "seals.md").write_text(text, "utf-8")
    start = text.index("every 500 hours")
    reference = {"start_index": start, "end_index": start + len("every 500 hours")}
    _write(
        chunking / "questions.jsonl",
        [{"question": QUESTIONS["q1"], "corpus_id": "seals", "references": [reference]}],
    )
    return tmp_path


async def test_every_variant_is_judged_on_every_question_that_has_an_answer(services: Services, data: Path) -> None:
    with document_set(data, "small") as questions:
        measured = await measure(services, questions, VARIANTS)
    assert (measured.questions, measured.documents) == (2, 3)
    assert list(measured.scores) == [DENSE, LEXICAL, HYBRID, MMR]
    for scores in measured.scores.values():
        assert {metric: list(values) for metric, values in scores.items()} == {
            metric: [1.0, 1.0] for metric in ("nDCG@10", "recall@5", "recall@8", "recall@10", "MRR@10")
        }


async def test_evidence_is_found_by_its_characters(services: Services, data: Path) -> None:
    with chunking_set(data) as questions:
        measured = await measure(services, questions, VARIANTS[2:3])
    assert measured.scores[HYBRID]["token recall@5"] == [1.0]
    (precision,) = measured.scores[HYBRID]["token precision@5"]
    assert precision == pytest.approx(15 / len(DOCUMENTS["seal"]), rel=0.2)


async def test_a_retriever_that_hides_its_lexical_list_is_no_zero(
    services: Services, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_places(variant: ranking.Variant, rows: ranking.Rows) -> list[RetrievalRow]:
        return [row for row in rows if row.rank < 0]

    monkeypatch.setattr(ranking, "arrange", without_places)
    with document_set(data, "small") as questions, pytest.raises(ValueError, match="lexical_rank"):
        await measure(services, questions, VARIANTS[1:2])
