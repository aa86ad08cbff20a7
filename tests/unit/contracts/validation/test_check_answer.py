"""The firewall alone, over bundles from anywhere: a verdict or violations, never an exception (R2-V1, R2-A3, S-3)."""

import json
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from sourcebound import check_answer
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.outcome import FailureCode as Failure
from sourcebound.contracts.outcome import RefusalCode, RefusalSource, fail, refuse
from sourcebound.contracts.policy.releases import SHIPPED
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.errors import ConfigurationError
from sourcebound.wiring import find_policy
from support.builders import FILTER, QUESTION, SEAL, JsonObject, answer_bundle, bundle, enforcing_policy, row

ANSWER: Final = f"{SEAL} [C0]"
RULES: Final = enforcing_policy()
RETRIEVAL: Final = bundle([row(0, chunk_text=SEAL), row(1, chunk_text=FILTER)])
ASSEMBLED: Final[JsonObject] = answer_bundle().model_dump(mode="json")
FORMS: Final[list[object]] = [{"sources": [SEAL, FILTER]}, RETRIEVAL, ASSEMBLED, answer_bundle()]


def _result(raw: object, text: str = ANSWER) -> tuple[str, str | None]:
    verdict = check_answer(raw, text, RULES)
    return verdict.validation_status.value, verdict.failure_reason


@pytest.mark.contract("R5-13")
@pytest.mark.parametrize("raw", FORMS, ids=["texts", "retrieval bundle", "answer bundle", "object"])
def test_each_form_of_a_bundle_gives_the_same_verdict(raw: object) -> None:
    assert _result(raw) == ("PASSED", None)
    assert _result(raw, REFUSAL) == ("PASSED", None)
    assert _result(raw, f"{SEAL} [C1]") == ("FAILED", "UNSUPPORTED_LITERAL")
    assert _result(raw, f"{SEAL} [C2]") == ("FAILED", "INVALID_CITATION_REFERENCE")
    assert _result(raw, SEAL) == ("FAILED", "UNCITED_FACTUAL_STATEMENT")
    assert _result(raw, "") == ("FAILED", "EMPTY_ANSWER")


def test_an_unknown_policy_is_an_error() -> None:
    with pytest.raises(KeyError, match="NO_SUCH_V1"):
        check_answer({"sources": [SEAL]}, ANSWER, "NO_SUCH_V1")


@pytest.mark.contract("R2-V1")
@pytest.mark.parametrize(
    ("raw", "clause", "field", "at", "value"),
    [
        (None, "R2-V1", None, None, "None"),
        ([], "R2-V1", None, None, "[]"),
        ("sources", "R2-V1", None, None, "'sources'"),
        ({"sources": SEAL}, "R2-V1", "sources", None, repr(SEAL)),
        ({"sources": None}, "R2-V1", "sources", None, "None"),
        ({"sources": [SEAL, 7]}, "R2-V1", "sources", 1, "7"),
        (bundle([row(0), row(1, chunk_text=None)]), "R2-V4", "chunk_text", 1, "None"),
        (bundle([row(0), row(1, similarity_score=float("nan"))]), "R2-V3", "similarity_score", 1, "nan"),
        (bundle([row(0), row(0)]), "R2-V2", "rank", 1, "0"),
        (bundle([row(0), row(1, chunk_id="chunk-0000")]), "R2-V1", "chunk_id", 1, "'chunk-0000'"),
        (bundle(retrieval_status="FAILED"), "R2-V1", "retrieval_status", None, "FAILED"),
        (bundle(request_id=10**5000), "R2-V1", "request_id", None, "int too large to show"),
        (ASSEMBLED | {"anchor_map": {}}, "R2-A1", "anchor_map", None, "{}"),
        (ASSEMBLED | {"evidence_block_text": "other"}, "R2-A3", "evidence_block_text", None, "'other'"),
        (ASSEMBLED | {"surprise": 1}, "R2-A3", "surprise", None, "1"),
    ],
)
def test_a_broken_bundle_names_clause_field_row_and_value(
    raw: object, clause: str, field: str | None, at: int | None, value: str
) -> None:
    verdict = check_answer(raw, ANSWER, RULES)
    first = verdict.outcome.violations[0]
    assert (first.clause, first.field, first.row, first.value) == (clause, field, at, value)
    assert verdict.validation_status.value == "NOT_RUN"
    assert verdict.validated_answer_text == ""


@pytest.mark.contract("S-1")
@pytest.mark.parametrize(
    "outcome",
    [
        fail("assemble", Failure.INVALID_RANK, "rank"),
        refuse("assemble", RefusalCode.ALL_EVIDENCE_DROPPED, RefusalSource.SELECTION, "nothing left"),
    ],
)
def test_evidence_of_a_run_that_ended_supports_nothing(outcome: Any) -> None:
    assert _result(answer_bundle(outcome=outcome)) == ("NOT_RUN", "INVALID_SCHEMA")


@pytest.mark.contract("R2-V1")
def test_rows_of_a_retrieval_that_found_nothing_support_nothing() -> None:
    raw = RETRIEVAL | {"retrieval_status": "NO_EVIDENCE"}
    assert _result(raw) == ("FAILED", "INVALID_CITATION_REFERENCE")
    assert _result(raw, REFUSAL) == ("PASSED", None)


def _nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


ODD: Final = st.sampled_from(
    [
        None, True, -1, 10**30, 10**5000, float("nan"), float("inf"), -0.5, "", "\ud800", "\x00", "C0", "SUCCESS", [],
        {}, [[]], {"": None}, _nested(60), _nested(5000),
    ]
)  # fmt: skip
ANY_JSON: Final = ODD | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def _paths(value: object, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, item in inner for path in _paths(item, (*at, key)))]


def _replaced(value: Any, path: tuple[Any, ...], other: object) -> Any:
    if not path:
        return other
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = _replaced(value[path[0]], path[1:], other)
    return changed


def _removed(value: Any, path: tuple[Any, ...]) -> Any:
    changed = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1:
        del changed[path[0]]
    else:
        changed[path[0]] = _removed(value[path[0]], path[1:])
    return changed


def _keeps_the_contract(raw: Any) -> bool:
    """An oracle of its own: may `SEAL [C0]` be accepted over this?"""
    try:
        if "selected_evidence" in raw:
            read = AnswerBundle.model_validate(raw)
            return read.outcome.status == "OK" and SEAL in read.selected_evidence[0].sanitized_text
        rows = RetrievalBundle.model_validate(raw).results
    except (ValidationError, TypeError, IndexError):
        return False
    ranks = sorted(item.rank for item in rows)
    best = min(rows, key=lambda item: item.rank, default=None)
    supported = best is not None and SEAL in best.chunk_text
    return raw["retrieval_status"] == "SUCCESS" and ranks[:1] == [0] and len(set(ranks)) == len(ranks) and supported


def _check_whole(raw: object) -> None:
    verdict = check_answer(raw, ANSWER, RULES)
    json.dumps(verdict.model_dump(mode="json"))
    if verdict.validation_status.value == "PASSED":
        assert _keeps_the_contract(raw)
        return
    assert verdict.failure_reason is not None
    assert verdict.validated_answer_text == ""
    assert verdict.outcome.violations
    for violation in verdict.outcome.violations:
        assert violation.clause
        assert violation.message
        if verdict.validation_status.value == "NOT_RUN" and isinstance(raw, dict):
            assert violation.field is not None
            assert violation.value is not None or "required" in violation.message


@pytest.mark.contract("S-3")
@settings(max_examples=1500, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_json_in_any_place_of_a_bundle_raises_or_is_accepted_against_the_contract(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([RETRIEVAL, ASSEMBLED]))
    path = data.draw(st.sampled_from(_paths(whole)))
    removed = bool(path) and data.draw(st.booleans())
    _check_whole(_removed(whole, path) if removed else _replaced(whole, path, data.draw(ANY_JSON)))


@given(st.text() | st.text(alphabet="[]C0 c.()\n-#|*>`\ud800\u200b"))
def test_no_text_of_an_answer_raises(text: str) -> None:
    verdict = check_answer({"sources": [SEAL]}, text, RULES)
    assert verdict.validated_answer_text in ("", text)


def test_the_question_of_a_retrieval_bundle_is_known_to_the_check() -> None:
    assert RETRIEVAL["user_question"] == QUESTION


def _policy_text(name: str) -> str:
    return (files("sourcebound.contracts.policy") / "released" / f"{name}.toml").read_text("utf-8")


def _find(text: str) -> Policy | ConfigurationError:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.toml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            return find_policy(str(path), embedding_model=None)
        except ConfigurationError as raised:
            error = raised
    assert error.failure_code in ("INVALID_POLICY", "RELEASED_POLICY_CHANGED")
    assert error.message
    assert error.next_step
    return error


VALUES: Final = st.sampled_from(
    [
        "0",
        "-1",
        "1.5",
        "nan",
        "inf",
        "true",
        '""',
        '"x"',
        "[]",
        "{}",
        "1979-05-27",
        "9" * 5000,
        "[" * 3000,
        "'",
        "\ud800",
        "#",
    ]
)


@pytest.mark.contract("P-1")
@settings(max_examples=400)
@given(st.sampled_from(SHIPPED), st.data())
def test_an_edited_policy_file_is_a_policy_or_a_clear_error(name: str, data: st.DataObject) -> None:
    lines = _policy_text(name).splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    edit = data.draw(st.sampled_from(["remove", "repeat", "value", "insert"]))
    if edit == "value":
        lines[at] = f"{lines[at].partition('=')[0]}= {data.draw(VALUES)}"
    elif edit == "insert":
        lines[at] += data.draw(st.text(max_size=8))
    else:
        lines[at : at + 1] = [lines[at]] * (2 if edit == "repeat" else 0)
    found = _find("\n".join(lines))
    if isinstance(found, Policy) and edit == "remove":
        shipped = find_policy(name, embedding_model=None)
        assert found.sha256 != shipped.sha256 or not _policy_text(name).splitlines()[at].partition("#")[0].strip()


@pytest.mark.contract("P-1")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("top_k = 12", "top_k = " + "9" * 5000),
        ("top_k = 12", "top_k = " + "[" * 3000),
        ('template = "prose_v1"', 'template = "../policies/none"'),
        ('template = "prose_v1"', 'template = "no_such_template"'),
        ('template_sha256 = "', 'template_sha256 = "00'),
    ],
)
def test_a_policy_that_could_not_be_obeyed_is_refused_by_name(before: str, after: str) -> None:
    text = _policy_text("SOURCEBOUND_V1")
    assert before in text
    assert isinstance(_find(text.replace(before, after, 1)), ConfigurationError)


@pytest.mark.parametrize("name", ["x" * 5000, "a\x00b", "", ".", "/", "~nobody", "SOURCEBOUND_V1 "])
def test_no_name_of_a_policy_raises_anything_else(name: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        find_policy(name, embedding_model=None)
    assert raised.value.failure_code == "UNKNOWN_POLICY"
    assert "SOURCEBOUND_V1" in raised.value.next_step
