"""A contract model and its JSON in a channel: parsed once, and parsed again from every copy (CP-1)."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from sourcebound.contracts.base import ModelJson
from sourcebound.contracts.outcome import FailureCode, Outcome, Violation, fail, proceed
from sourcebound.graph.serializer import StateSerializer

OUTCOME = fail("assemble", FailureCode.INVALID_SCHEMA, "no bundle")


def test_a_form_is_read_once_and_says_what_the_model_says() -> None:
    form = OUTCOME.to_json()
    read = Outcome.from_json(form)
    assert form == OUTCOME.model_dump(mode="json")
    assert read == OUTCOME
    assert read is not OUTCOME
    assert Outcome.from_json(form) is read


def test_what_another_model_read_is_not_taken() -> None:
    form = OUTCOME.to_json()
    Outcome.from_json(form)
    with pytest.raises(ValidationError):
        Violation.from_json(form)


@pytest.mark.contract("CP-1")
@pytest.mark.parametrize(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        lambda form: pickle.loads(pickle.dumps(form)),
        lambda form: StateSerializer().loads_typed(StateSerializer().dumps_typed(form)),
        lambda form: form.copy(),
        lambda form: {**form},
        lambda form: form | {},
    ],
)
def test_a_copy_is_a_plain_value_that_is_read_anew(copied: Callable[[ModelJson], dict[str, Any]]) -> None:
    form = OUTCOME.to_json()
    Outcome.from_json(form)
    changed = copied(form)
    assert type(changed) is dict
    assert changed == form
    changed["message"] = "another"
    assert Outcome.from_json(changed).message == "another"
    changed["status"] = "BROKEN"
    with pytest.raises(ValidationError):
        Outcome.from_json(changed)


def test_a_plain_value_is_read_every_time() -> None:
    form = proceed("accept").model_dump(mode="json")
    assert Outcome.from_json(form) is not Outcome.from_json(form)
