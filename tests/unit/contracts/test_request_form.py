"""S-4: the form of a request, before anything of it is stored."""

from datetime import date
from typing import Any

import pytest

from sourcebound.contracts.request_form import MAX_DEPTH, find_form_error, find_unstorable, to_recordable


def _nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.contract("S-4")
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), "the value is a number that is not finite"),
        ({"rows": [1.0, {"score": float("inf")}]}, "rows[1].score is a number that is not finite"),
        ({"faiss_id": 10**30}, "faiss_id is an integer of over 63 bits"),
        ([-(2**63)], "[0] is an integer of over 63 bits"),
        ({"when": {1, 2}}, "when is of the type set, which JSON does not have"),
        ({1: "x"}, "the value is of the type dict, which JSON does not have"),
        (b"x", "the value is of the type bytes, which JSON does not have"),
        (object, "the value is of the type type, which JSON does not have"),
    ],
)
def test_a_value_that_no_record_can_hold_is_named_by_its_place(value: object, reason: str) -> None:
    assert find_unstorable(value) == reason
    assert to_recordable({"filters": value}) == {"filters": reason}


@pytest.mark.contract("S-4")
def test_endless_nesting_is_found_without_following_it() -> None:
    loop: list[Any] = []
    loop.append(loop)
    for value in (_nested(MAX_DEPTH + 1), _nested(10**5), loop):
        assert (find_unstorable(value) or "").endswith(f"is nested deeper than {MAX_DEPTH} levels")
    assert find_unstorable(_nested(MAX_DEPTH)) is None


def test_a_storable_request_keeps_its_values() -> None:
    request = {
        "question": "How\x00 often?",
        "filters": {"knowledge_ids": ("a", "b"), "event_date_from": date(2024, 1, 2)},
        "limits": {"top_k": 8, "min_similarity": 0.5, "max_chunks": 2**63 - 1},
        "retrieval_bundle": None,
    }
    assert to_recordable(request) == {
        "question": "How often?",
        "filters": {"knowledge_ids": ["a", "b"], "event_date_from": "2024-01-02"},
        "limits": {"top_k": 8, "min_similarity": 0.5, "max_chunks": 2**63 - 1},
        "retrieval_bundle": None,
    }


@pytest.mark.contract("S-4")
@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"question": "Why?", "colection": "a"}, "unknown field 'colection'; the fields are question, collection"),
        ({"run_id": 5}, "the field run_id is not a text"),
        ({"request_id": 5}, "the field request_id is not a text"),
        ({"conversation_id": ["a"]}, "the field conversation_id is not a text"),
        ({"messages": 5}, "the field messages is not a list"),
        ({"messages": [{"role": "user", "content": {"a", "b"}}]}, "the field messages is not a list"),
        (
            {"messages": [{"role": "user", "content": [{"a", "b"}]}]},
            "the field messages[0].content[0] is of the type set",
        ),
    ],
)
def test_a_request_under_which_nothing_can_be_recorded_is_an_error(request_: dict[str, object], error: str) -> None:
    assert error in (find_form_error(request_) or "")


def test_a_usual_request_has_no_form_error() -> None:
    assert (
        find_form_error({"question": "Why?", "run_id": None, "messages": [{"role": "user", "content": "Why?"}]}) is None
    )
