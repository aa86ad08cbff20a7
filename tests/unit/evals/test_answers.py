"""The evaluation of the built-in generator: what counts as right, and how it is counted."""

from pathlib import Path

import pytest

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.outcome import RefusalCode, RefusalSource, refuse
from sourcebound.contracts.prompt.build import REFUSAL, build_prompt
from sourcebound.evals.answers.__main__ import render
from sourcebound.evals.answers.cases import Case, read_cases, write_cases
from sourcebound.evals.answers.judging import count, holds_answer, judge
from sourcebound.evals.model.questions import Kind
from support.builders import FILTER, SEAL, answer_bundle, generation, policy


def case(bundle: AnswerBundle | None = None, gold: tuple[str, ...] = ("every 12 hours",), **changes: object) -> Case:
    bundle = bundle or answer_bundle()
    prompt = build_prompt(bundle, policy()).prompt
    form = {"set": "s", "id": "q", "kind": Kind.ANSWERABLE, "question": bundle.user_question, "held": False} | changes
    return Case.model_validate(form | {"gold": gold, "bundle": bundle, "prompt": prompt})


@pytest.mark.parametrize(
    ("text", "gold", "verdict"),
    [
        (f"{SEAL} [C0]", ("every 12 hours",), "right"),
        (f"{FILTER} [C1]", ("every 12 hours",), "wrong"),
        (f"{SEAL} [C0]", (), "wrong"),
        (REFUSAL, ("every 12 hours",), "model_refused"),
        ("Check the shaft seal every 13 hours. [C0]", ("every 12 hours",), "UNSUPPORTED_LITERAL"),
    ],
)
def test_an_answer_is_judged_after_the_firewall(text: str, gold: tuple[str, ...], verdict: str) -> None:
    rules = policy(validation={"literal_grounding": "enforce"})
    assert judge(case(gold=gold), generation(text), rules).verdict == verdict


def test_a_case_that_was_refused_before_the_generator_has_its_code() -> None:
    outcome = refuse("assemble", RefusalCode.BELOW_SIMILARITY_GATE, RefusalSource.GATE, "no")
    refused = case(answer_bundle(outcome=outcome))
    assert not refused.is_asked
    assert judge(refused, None, policy()).verdict == "below_similarity_gate"


def test_counts_keep_sets_and_kinds_apart_and_measure_each_sentence() -> None:
    judged = [
        judge(case(), generation(f"{SEAL} [C0]\n{FILTER} [C1]"), policy()),
        judge(case(), generation(REFUSAL), policy()),
        judge(case(gold=(), kind=Kind.UNANSWERABLE), generation(f"{SEAL} [C0]"), policy()),
    ]
    answerable, unanswerable = count(judged)
    assert (answerable.right.part, answerable.wrong.part, answerable.codes) == (1, 0, {"model_refused": 1})
    assert (answerable.hitting.part, answerable.hitting.whole) == (1, 2)
    assert (answerable.several.part, answerable.several.whole) == (1, 1)
    assert (unanswerable.wrong.part, unanswerable.wrong.whole) == (1, 1)
    assert len(render([answerable, unanswerable]).split("\n")) == 4


def test_evidence_holds_an_answer_only_if_a_chunk_of_the_prompt_does() -> None:
    assert holds_answer(case())
    assert not holds_answer(case(gold=("every 13 days",)))


def test_cases_are_kept_whole(tmp_path: Path) -> None:
    write_cases(tmp_path / "kept" / "cases.jsonl", [case()])
    assert read_cases(tmp_path / "kept" / "cases.jsonl") == [case()]
