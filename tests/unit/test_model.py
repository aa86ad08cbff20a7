"""A contract model and its form in a channel: read once, and read anew from every copy (CP-1)."""

import copy
import pickle
from collections.abc import Callable
from functools import wraps
from typing import Any

import pytest
from builders import FILTER, SEAL, bundle, generation, policy, row
from fakes import FakeModel, FakeOutside, FakeRetriever
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import ValidationError

from sourcebound.contracts.model import Form
from sourcebound.contracts.outcome import FailureCode, Outcome, Violation, fail, proceed
from sourcebound.contracts.state import AskInput, State
from sourcebound.graph.serializer import StateSerializer
from sourcebound.graph.workflow import build_graph

OUTCOME = fail("assemble", FailureCode.INVALID_SCHEMA, "no bundle")


def test_a_form_is_read_once_and_says_what_the_model_says() -> None:
    form = OUTCOME.to_form()
    read = Outcome.from_form(form)
    assert form == OUTCOME.model_dump(mode="json")
    assert read == OUTCOME
    assert read is not OUTCOME
    assert Outcome.from_form(form) is read


def test_what_another_model_read_is_not_taken() -> None:
    form = OUTCOME.to_form()
    Outcome.from_form(form)
    with pytest.raises(ValidationError):
        Violation.from_form(form)


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
def test_a_copy_is_a_plain_value_that_is_read_anew(copied: Callable[[Form], dict[str, Any]]) -> None:
    form = OUTCOME.to_form()
    Outcome.from_form(form)
    changed = copied(form)
    assert type(changed) is dict
    assert changed == form
    changed["message"] = "another"
    assert Outcome.from_form(changed).message == "another"
    changed["status"] = "BROKEN"
    with pytest.raises(ValidationError):
        Outcome.from_form(changed)


def test_a_plain_value_is_read_every_time() -> None:
    form = proceed("accept").model_dump(mode="json")
    assert Outcome.from_form(form) is not Outcome.from_form(form)


@pytest.mark.contract("CP-1")
@pytest.mark.parametrize(("text", "attempts"), [(f"{SEAL} [C0]", 1), (SEAL, 1), (SEAL, 2), ("NO_EVIDENCE: nothing", 1)])
async def test_no_layer_changes_what_the_layers_before_it_wrote(text: str, attempts: int) -> None:
    chosen = policy(validation={"max_attempts": attempts}, facts={"filter": "local", "min_question_overlap": 0.01})
    rows = [row(0, chunk_text=SEAL), row(1, chunk_text=FILTER)]
    outside = FakeOutside(chosen, FakeRetriever(bundle(rows)), FakeModel(generation(text)))
    passed: list[str] = []

    def watched(name: str, node: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(node)
        async def watching(state: State, **offers: Any) -> Any:
            before = copy.deepcopy(state)
            written = await node(state, **offers)
            assert state == before
            passed.append(name)
            return written

        return watching

    graph = build_graph(outside.ports(), watched).compile(checkpointer=InMemorySaver())
    asked: AskInput = {"question": "How often must the shaft seal be checked?"}
    state = await graph.ainvoke(asked, {"configurable": {"thread_id": "thread-1"}})
    assert state["response"]["status"]
    assert passed.count("generate") == attempts
