"""The figures of results that were counted by hand, and the gates over them."""

from pathlib import Path

import pytest

from sourcebound.contracts.outcome import Status
from sourcebound.errors import RequestError
from sourcebound.evals.golden.gates import GateVerdict, check_gates, load_gates
from sourcebound.evals.golden.items import Kind
from sourcebound.evals.golden.results import ItemResult, ResultFolder
from sourcebound.evals.golden.summary import Scope, measure, summarize
from support.golden import circumstances, item_result, refused_result

RESULTS = [
    item_result("right", nodes={"retrieve": 10.0, "generate": 30.0}),
    item_result("half", facts=2, places=2, passed=False, cited=({"document": "a"}, {"document": "b"}), ranks=(3, None)),
    item_result("none", status=Status.NO_EVIDENCE, code="model_refused", passed=False, fallback_used=True),
    refused_result("moon"),
    refused_result("sun", status=Status.OK, code="", hallucinated=True, passed=False, nodes={"generate": 5.0}),
    refused_result("bad", kind=Kind.RATCHET, accepted=(Status.FAILED,), status=Status.FAILED, code="UNCITED"),
]


def values(results: list[ItemResult], scope: Scope = Scope.GOLDEN) -> dict[str, tuple[float | None, int]]:
    return {
        each.metric: (None if each.value is None else round(each.value, 3), each.cases)
        for each in measure(results)
        if each.scope is scope
    }


@pytest.mark.contract("EV-1")
def test_each_metric_has_the_value_that_a_person_counts() -> None:
    assert values(RESULTS) == {
        "pass_rate": (0.5, 6),
        "hallucination_rate": (0.167, 6),
        "correct_refusal_rate": (0.5, 2),
        "incorrect_refusal_rate": (0.333, 3),
        "wrong_answer_rate": (0.5, 2),
        "off_topic_model_call_rate": (0.5, 2),
        "fallback_used_rate": (0.167, 6),
        "fallback_used_rate_answerable": (0.333, 3),
        "key_fact_recall": (0.667, 2),
        "citation_recall": (0.667, 2),
        "citation_precision": (0.667, 2),
        "attribution_coverage": (0.667, 3),
        "retrieval_recall_at_10": (0.833, 3),
        "retrieval_ndcg_at_10": (0.755, 3),
    }


def test_a_figure_has_its_interval_and_no_value_without_cases() -> None:
    figures = {each.metric: each for each in measure([refused_result()])}
    assert figures["incorrect_refusal_rate"].value is None
    hallucination = figures["hallucination_rate"]
    assert (hallucination.value, hallucination.low, hallucination.cases) == (0.0, 0.0, 1)
    assert 0.7 < hallucination.high < 0.9


def test_perturbed_items_are_a_scope_of_their_own() -> None:
    perturbed = item_result("right~typo", perturbation="typo", of="right", passed=False)
    assert values([*RESULTS, perturbed], Scope.PERTURBED)["pass_rate"] == (0.0, 1)
    assert values([*RESULTS, perturbed])["pass_rate"] == (0.5, 6)
    kinds = summarize(circumstances(), [*RESULTS, perturbed], "t").kinds
    assert [(each.name, each.scope, each.items) for each in kinds][-2:] == [
        ("answerable_one", Scope.PERTURBED, 1),
        ("typo", Scope.PERTURBED, 1),
    ]


def test_a_summary_counts_codes_and_latencies() -> None:
    summary = summarize(circumstances(), RESULTS, "t")
    assert summary.codes == {"UNCITED": 1, "below_similarity_gate": 1, "model_refused": 1}
    assert [(each.node, each.runs, each.median) for each in summary.latency] == [
        ("retrieve", 1, 10.0),
        ("generate", 2, 17.5),
    ]


PERTURBED = [
    item_result("a~typo", perturbation="typo", of="a"),
    refused_result("b~typo", perturbation="typo", of="b"),
]


def verdicts(results: list[ItemResult]) -> dict[tuple[str, str], GateVerdict]:
    report = check_gates(load_gates(), results)
    return {(each.gate.metric, each.gate.scope): each.verdict for each in report.results}


@pytest.mark.contract("EV-1")
def test_the_gates_are_those_of_the_contract() -> None:
    assert load_gates().version == "gates_v1"
    thresholds = {(each.metric, str(each.scope)): each.threshold for each in load_gates().gates}
    assert thresholds == {
        ("pass_rate", "golden"): "≥ 0.95",
        ("pass_rate", "perturbed"): "≥ 0.9",
        **{("hallucination_rate", scope): "≤ 0" for scope in ("golden", "perturbed")},
        **{("incorrect_refusal_rate", scope): "≤ 0.02" for scope in ("golden", "perturbed")},
        **{("fallback_used_rate_answerable", scope): "≤ 0.15" for scope in ("golden", "perturbed")},
    }


@pytest.mark.contract("EV-1")
def test_a_gate_that_is_not_passed_has_its_message() -> None:
    golden = [item_result(f"item-{number}", fallback_used=number < 4) for number in range(20)]
    report = check_gates(load_gates(), [*golden, *PERTURBED])
    failed = [each for each in report.results if each.verdict is not GateVerdict.PASSED]
    assert not report.is_passed
    assert [each.gate.message for each in failed] == [
        "Fallback retrieval triggered too often; check embeddings/index changes or similarity calibration."
    ]
    assert check_gates(load_gates(), [*golden[4:], item_result("ok"), *PERTURBED]).is_passed


def test_nineteen_of_twenty_is_enough_and_a_hallucination_never_is() -> None:
    golden = [item_result(f"item-{number}", passed=number > 0) for number in range(20)]
    assert verdicts([*golden, *PERTURBED])["pass_rate", "golden"] is GateVerdict.PASSED
    golden[1] = item_result("item-1", hallucinated=True)
    assert verdicts([*golden, *PERTURBED])["hallucination_rate", "golden"] is GateVerdict.NOT_PASSED


def test_a_gate_without_items_is_not_passed() -> None:
    assert verdicts([item_result()])["pass_rate", "perturbed"] is GateVerdict.NOT_MEASURED
    assert not check_gates(load_gates(), [item_result()]).is_passed


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('version = "v"\n', "gates: "),
        ('version = "v"\n[[gates]]\nmetric = "speed"\nscope = "golden"\nat_most = 1\n', "'speed' is not a metric"),
        ('version = "v"\n[[gates]]\nmetric = "pass_rate"\nscope = "golden"\n', "either at_least or at_most"),
        ('version = "v"\n[[gates]]\nmetric = "pass_rate"\nscope = "all"\nat_least = 0.5\n', "gates.0.scope: "),
        ("version =", "Invalid value"),
    ],
)
def test_a_file_that_is_no_set_of_gates_says_so(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "gates.toml").write_text(text, "utf-8")
    with pytest.raises(RequestError, match="is not a file of gates") as caught:
        load_gates(tmp_path / "gates.toml")
    assert fault in caught.value.message


def test_a_folder_without_an_evaluation_says_so(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="holds no evaluation"):
        ResultFolder(tmp_path).results()


def test_a_damaged_result_names_file_line_and_field(tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path)
    folder.begin(circumstances(items=1))
    (tmp_path / "results.jsonl").write_text('{"item": 1}\n', "utf-8")
    (tmp_path / "summary.json").write_text("{}", "utf-8")
    with pytest.raises(RequestError, match=r"results\.jsonl, line 1: item: "):
        folder.results()
