"""Differences are found where they are and shown so that a person can read them; files say what is wrong with them."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.policy.releases import SHIPPED, load_shipped_policy, read_lock
from sourcebound.contracts.policy.request_limits import apply_request_limits
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.replay.release_diff import compare_release, load_shipped_release
from sourcebound.contracts.replay.report import (
    Difference,
    RecordedRow,
    RecordedRun,
    RecordedStep,
    RecordedText,
    find_difference,
    stored_json,
)
from sourcebound.contracts.replay.run_diff import diff_texts
from sourcebound.contracts.replay.run_file import RunFileFault, read_run_file, run_digest, write_run_file
from support.builders import policy

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)
SHIPS = load_shipped_release()
RUN = RecordedRun(
    run_id="run-1",
    start={"question": "How often? \u201c\u2028\u201d \ud800", "limits": {}},
    steps=(RecordedStep(node="accept", changes={"run": {"ratio": 0.1, "nan": float("nan")}}),),
    records=(RecordedRow(position=1, previous_hash="0", row_hash="1", columns={"run_id": "run-1", "ids": ["a"]}),),
    texts=(RecordedText(attempt=1, question="How often?", raw_model_text=None, validated_answer_text="So."),),
)


def _difference(recorded: object, computed: object) -> Difference:
    found = find_difference("x", recorded, computed)
    assert found is not None
    return found


@pytest.mark.contract("CP-3")
@given(JSON)
def test_a_value_is_the_same_as_itself_after_a_way_through_json(value: Any) -> None:
    assert find_difference("x", value, copy.deepcopy(value)) is None
    assert find_difference("x", value, json.loads(stored_json(value).decode("utf-8", "surrogatepass"))) is None


@pytest.mark.contract("CP-3")
@given(JSON, JSON)
def test_a_difference_is_found_exactly_where_the_bytes_differ(one: Any, other: Any) -> None:
    assert (find_difference("x", one, other) is None) == (stored_json(one) == stored_json(other))


@pytest.mark.contract("CP-3")
@pytest.mark.parametrize(
    ("recorded", "computed", "path", "shown"),
    [
        ({"a": 1}, {"a": 2}, "x.a", ("1", "2")),
        ({"a": 1}, {"a": 1.0}, "x.a", ("1", "1.0")),
        ({"a": 1}, {"a": True}, "x.a", ("1", "true")),
        ({"a": 0.1}, {"a": 0.10000000000000002}, "x.a", ("0.1", "0.10000000000000002")),
        ({"a": None}, {}, "x.a", ("null", "(absent)")),
        ({}, {"a": {"b": 1}}, "x.a", ("(absent)", '{"b": 1}')),
        ({"a": [1, 2]}, {"a": [1]}, "x.a[1]", ("2", "(absent)")),
        ({"a": [{"b": "c"}]}, {"a": [{"b": ["c"]}]}, "x.a[0].b", ('"c"', '["c"]')),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "x", ("keys in the order a, b", "in the order b, a")),
        ({"a": 1, "b": 2}, {"b": 3, "a": 1}, "x.b", ("2", "3")),
        ([list("abc")], [list("abd")], "x[0][2]", ('"c"', '"d"')),
        ({"a": "x" * 200}, {}, "x.a", ('"' + "x" * 78 + "…", "(absent)")),
    ],
)
def test_the_first_difference_is_named_with_both_values(
    recorded: object, computed: object, path: str, shown: tuple[str, str]
) -> None:
    found = _difference(recorded, computed)
    assert (found.path, (found.recorded, found.computed)) == (path, shown)


@pytest.mark.contract("CP-3")
def test_a_difference_within_a_text_is_shown_in_its_surroundings() -> None:
    text = "Check the shaft seal every 12 hours. " * 10
    found = _difference({"t": text}, {"t": text.replace("12", "13", 1)})
    assert (found.path, found.character) == ("x.t", 28)
    assert found.recorded == '"Check the shaft seal every 12 hours. Check the shaft seal every 12 h"…'
    last = _difference(text, text + "x")
    assert last.character == len(text)
    assert last.recorded == f"…{json.dumps(text[-40:])}"
    assert last.computed == f"…{json.dumps(text[-40:] + 'x')}"
    assert _difference("a\nb", "a\tb").computed == '"a\\tb"'


@pytest.mark.contract("CP-3")
def test_what_no_json_can_say_equals_nothing() -> None:
    assert _difference({"a": b"bytes"}, {"a": "bytes"}).recorded == "\"b'bytes'\""


def test_the_sentences_of_two_texts_beside_each_other() -> None:
    assert diff_texts("It is red. [C0] It is old. [C1]", "It is red. [C0] It is new. [C1]") == (
        "  It is red. [C0]",
        "- It is old. [C1]",
        "+ It is new. [C1]",
    )
    assert diff_texts("", "") == ()


@pytest.mark.contract("CP-3")
@pytest.mark.contract("P-1")
@pytest.mark.parametrize("name", SHIPPED)
def test_the_rules_that_ship_are_those_that_ship(name: str) -> None:
    found = compare_release(load_shipped_policy(name), {}, ["repair_v1"], SHIPS)
    assert found.differences == ()
    assert name in found.note


@pytest.mark.contract("CP-3")
@pytest.mark.contract("P-4")
def test_a_tightened_policy_is_compared_with_the_released_one_under_the_same_limits() -> None:
    limits = {"max_chunks": 2, "min_sources": 2}
    tightened = apply_request_limits(policy(), limits).policy
    assert compare_release(tightened, limits, (), SHIPS).differences == ()
    (difference,) = compare_release(tightened, {"min_sources": 2}, (), SHIPS).differences
    assert difference.path == "contracts/policy/released/R2_POLICY_V1.toml: selection.max_chunks"
    assert (difference.recorded, difference.computed) == ("2", "6")


@pytest.mark.contract("CP-3")
def test_every_changed_file_is_named() -> None:
    old = load_shipped_policy("SOURCEBOUND_V1")
    changed = SHIPS._replace(
        policies={**SHIPS.policies, "SOURCEBOUND_V1": policy()},
        templates={**SHIPS.templates, "prose_v1": "0", "repair_v1": "0"},
        segmenter="segment_v2",
    )
    paths = [difference.path for difference in compare_release(old, {}, ["repair_v1"], changed).differences]
    assert paths == [
        "contracts/policy/released/SOURCEBOUND_V1.toml: policy_version",
        "contracts/prompt/templates/prose_v1.txt: sha256",
        "contracts/prompt/templates/repair_v1.txt: sha256",
        "segmenter",
    ]
    assert len(compare_release(old, {}, (), changed).differences) == 3
    lost = SHIPS._replace(templates={})
    assert compare_release(old, {}, (), lost).differences[0].computed == '"(absent)"'


@pytest.mark.contract("CP-3")
def test_a_policy_that_was_never_released_is_said_to_be_none_of_the_released() -> None:
    own = Policy.model_validate({**policy().model_dump(mode="json"), "policy_version": "MY_POLICY_V1"})
    found = compare_release(own, {}, (), SHIPS)
    assert found.differences == ()
    assert "which is none that ships" in found.note
    assert read_lock()["templates"] == SHIPS.locked_templates


@pytest.mark.contract("CP-3")
def test_a_run_comes_out_of_its_file_as_it_went_in() -> None:
    text = write_run_file(RUN, "1.2.3")
    assert "\n" not in text
    read = read_run_file(text)
    assert isinstance(read, RecordedRun)
    assert stored_json(read.model_dump(mode="json")) == stored_json(RUN.model_dump(mode="json"))
    laid_out = read_run_file(json.dumps(json.loads(text), indent=1))
    assert isinstance(laid_out, RecordedRun)
    assert stored_json(laid_out.model_dump(mode="json")) == stored_json(RUN.model_dump(mode="json"))


def _faulty(**changes: Any) -> str:
    document = json.loads(write_run_file(RUN, "1.2.3")) | changes
    return json.dumps(document)


UNFIT = {**RUN.model_dump(mode="json"), "steps": "none"}
DEEP = "[" * 100_000


@pytest.mark.contract("CP-3")
@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", "RUN_FILE_DAMAGED", "not one complete JSON object"),
        (_faulty()[:-1], "RUN_FILE_DAMAGED", "not one complete JSON object"),
        (DEEP, "RUN_FILE_DAMAGED", "not one complete JSON object"),
        ("[]", "RUN_FILE_UNKNOWN", "not a recorded run"),
        ("{}", "RUN_FILE_UNKNOWN", "not a recorded run"),
        (_faulty(format=1), "RUN_FILE_UNKNOWN", "not a recorded run"),
        (_faulty(format="sourcebound_receipt_v1"), "RUN_FILE_UNKNOWN", "not a recorded run"),
        (_faulty(format="sourcebound_run_v2"), "RUN_FILE_NEWER", "sourcebound_run_v2"),
        (_faulty(digest="0"), "RUN_FILE_ALTERED", "changed after it was written"),
        (_faulty(run={}), "RUN_FILE_ALTERED", "changed after it was written"),
        (_faulty(run=UNFIT, digest=run_digest(UNFIT)), "RUN_FILE_DAMAGED", "'steps': Input should be"),
        (_faulty(run=None, digest=run_digest(None)), "RUN_FILE_DAMAGED", "Input should be"),
    ],
)
def test_a_file_that_is_no_run_says_why(text: str, code: str, says: str) -> None:
    found = read_run_file(text)
    assert isinstance(found, RunFileFault)
    assert found.code == code
    assert says in found.message
    assert found.next_step
    if code == "RUN_FILE_NEWER":
        assert "1.2.3" in found.next_step
