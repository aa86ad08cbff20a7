"""The evaluations over a small part of the real data: shapes, and bounds that only a broken retriever would miss."""

import pytest

from sourcebound.contracts.calibration.gate_minima import MINIMA, choose, max_answerable_refused, sweep
from sourcebound.evals.gates import describe, measure, read_checks, read_corpora
from sourcebound.evals.pages import FOLDER, search
from sourcebound.evals.retrieval import ingest, read_records
from sourcebound.wiring import DEFAULT_POLICY, LEXICAL_POLICY, Services, find_policy
from support.places import ROOT

DATA = ROOT.parent / "shared" / "data"
QUESTIONS = 20

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason="the external evaluation data is not beside the repository"),
]


def test_the_corpora_take_the_first_questions_of_each_kind() -> None:
    encyclopaedia, manual, *articles = read_corpora(DATA, QUESTIONS)
    assert len(encyclopaedia.documents) == 114
    assert len(encyclopaedia.answerable[1]) == len(encyclopaedia.off_topic[0][1]) == QUESTIONS
    assert len(manual.documents) == 451
    assert sum(len(article.documents) for article in articles) == 114
    assert sum(len(article.answerable[1]) for article in articles) == QUESTIONS


def test_the_checks_are_other_collections() -> None:
    checks = read_checks(DATA, QUESTIONS)
    assert [(each.answerable[0], len(each.documents)) for each in checks] == [
        ("qed_nq", 224),
        ("covidqa_long", 15),
        ("pubmedqa", 150),
    ]
    assert {len(each.answerable[1]) for each in checks} == {QUESTIONS}


@pytest.mark.parametrize(("embedder", "policy_name"), [("minilm", DEFAULT_POLICY), ("lexical", LEXICAL_POLICY)])
async def test_the_sweep_tells_answerable_questions_from_off_topic_ones(
    services: Services, embedder: str, policy_name: str
) -> None:
    policy = find_policy(policy_name, embedding_model=embedder)
    sets = await measure(services, read_corpora(DATA, QUESTIONS)[:1], embedder, policy)
    assert [(each.name, each.answerable, len(each.signals)) for each in sets] == [
        ("squad2", True, QUESTIONS),
        ("nq_open in squad2", False, QUESTIONS),
    ]
    assert all(0 <= value <= 1 for each in sets for seen in each.signals for value in seen)
    points = sweep(sets)
    assert len(points) == len(MINIMA) ** 2
    chosen = choose(sets, points)
    assert max_answerable_refused(sets, chosen) <= 0.02
    assert chosen.refused[1].value >= 0.6
    assert describe(sets, sets, policy).count("\n| squad2 | false refusal |") == 2


async def test_reports_are_searched_by_page(services: Services) -> None:
    await ingest(services, DATA / FOLDER / "pdfs", "reports", "lexical")
    policy = find_policy(LEXICAL_POLICY, embedding_model="lexical")
    results = await search(services, read_records(DATA / FOLDER / "questions.jsonl"), policy)
    assert len(results) == 11
    assert sum(len(result.evidence) for result in results) == 12
    assert sum(result.found for result in results) >= 6
