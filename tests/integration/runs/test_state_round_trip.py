"""Any value of any contract model survives the checkpointer: a node reads what the previous one wrote."""

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.base import empty_checkpoint
from pydantic import BaseModel, ValidationError

from sourcebound.contracts.audit.record import AuditRecord
from sourcebound.contracts.conversation.turns import Resolution, Turn
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.facts.selection import FactsPhase, select_locally
from sourcebound.contracts.outcome import Outcome
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.contracts.request import Run
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.state import AskInput, State
from sourcebound.contracts.text.sanitize import to_storable
from sourcebound.contracts.validation.attempts import Attempt
from sourcebound.contracts.validation.result import ValidationResult
from sourcebound.graph.checkpoint import make_saver
from sourcebound.graph.engine import Engine
from sourcebound.wiring import Services, open_services
from support.builders import SEAL, bundle, policy, row
from support.processes.databases import settings_for

MODELS: Final[dict[str, type[BaseModel]]] = {
    "run": Run,
    "policy": Policy,
    "resolution": Resolution,
    "retrieval": RetrievalBundle,
    "assembly": AnswerBundle,
    "facts": FactsPhase,
    "prompt": Prompt,
    "generation": Generation,
    "validation": ValidationResult,
    "attempts": Attempt,
    "audit": AuditRecord,
    "response": PublicResponse,
    "outcome": Outcome,
}
ODD: Final = ("\0", "a\0b", "\U0001f600\U000e0041", "é\u0301\u202e", "\ufffe\uffff", '\\u0000"', "\r\n\x1b[31m")
LONG: Final = ("x" * 300_000, "\U00010348" * 70_000)
texts = st.one_of(st.text(), st.sampled_from(ODD), st.sampled_from(LONG))
leaves = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), texts)


async def finished(services: Services) -> dict[str, Any]:
    engine = Engine(services)
    response = await engine.ask({"retrieval_bundle": bundle([row(chunk_text=SEAL)]), "run_id": "finished"})
    state: dict[str, Any] = {**await engine.state(response.run_id)}
    attempt = {name: state[name] for name in ("prompt", "generation", "validation")}
    turn = Turn(run_id="earlier", thread_id="earlier", ordinal=1, status="OK", question="What else?")
    resolution = Resolution(search_query="What?", earlier=(turn,), carried=("chunk-1",), notices=("note",))
    called = {name: state[name] for name in ("prompt", "generation")}
    facts = select_locally(AnswerBundle.model_validate(state["assembly"]), policy(), 0.0).phase
    return {
        **state,
        "attempts": attempt,
        "resolution": {**resolution.model_dump(mode="json"), **called},
        "facts": {**facts.model_dump(mode="json"), **called},
    }


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of a form's leaves."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield from places(item, (*path, key))
    if not isinstance(value, dict | list):
        yield path


def replaced(value: Any, path: tuple[Any, ...], leaf: Any) -> Any:
    """The form with another leaf."""
    if not path:
        return leaf
    items = value.items() if isinstance(value, dict) else enumerate(value)
    changed = {key: replaced(item, path[1:], leaf) if key == path[0] else item for key, item in items}
    return changed if isinstance(value, dict) else list(changed.values())


def vary(model: type[BaseModel], form: Any, data: st.DataObject) -> Any:
    """Another value of a model: its form with some leaves replaced, as far as the model takes them."""
    for path in data.draw(st.lists(st.sampled_from(list(places(form))), max_size=12)):
        other = replaced(form, path, data.draw(leaves))
        try:
            form = model.model_validate(other).model_dump(mode="json")
        except ValidationError:
            continue
    return form


async def through_the_saver(services: Services, values: dict[str, Any]) -> dict[str, Any]:
    """Saves a checkpoint and reads it back."""
    saver = make_saver(services.pool)
    versions: dict[str, str | int | float] = dict.fromkeys(values, "1.0")
    saved = {**empty_checkpoint(), "channel_values": values, "channel_versions": versions}
    place = {"configurable": {"thread_id": "round-trip", "checkpoint_ns": ""}}
    told = await saver.aput(place, saved, {"source": "loop", "step": 1}, versions)  # type: ignore[arg-type]
    found = await saver.aget_tuple(told)
    assert found is not None
    await saver.adelete_thread("round-trip")
    return found.checkpoint["channel_values"]


def test_every_channel_of_the_state_is_named_here() -> None:
    plain = {"origin"}
    assert set(State.__annotations__) - set(AskInput.__annotations__) - plain == set(MODELS)


@pytest.mark.contract("CP-1")
@pytest.mark.contract("CP-2")
def test_every_contract_model_comes_back_as_it_was_written(database: str) -> None:
    with asyncio.Runner() as runner:
        opening = open_services(settings_for(database))
        services = runner.run(opening.__aenter__())
        base = runner.run(finished(services))

        @settings(max_examples=30)
        @given(st.data())
        def check(data: st.DataObject) -> None:
            written = {name: vary(model, base[name], data) for name, model in MODELS.items()}
            written["run"]["run_id"] = base["run"]["run_id"]  # it names a row too, and was made storable at intake
            read = runner.run(through_the_saver(services, written))
            assert read == written
            for name, model in MODELS.items():
                assert model.model_validate(read[name]) == model.model_validate(written[name])

        check()
        runner.run(opening.__aexit__(None, None, None))


json_values = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)
surrogates = st.text(st.characters(categories=["Cs", "L", "Cc"]), max_size=20)


@pytest.mark.contract("CP-1")
def test_what_a_caller_gives_comes_back_without_what_cannot_be_stored(database: str) -> None:
    with asyncio.Runner() as runner:
        opening = open_services(settings_for(database))
        services = runner.run(opening.__aenter__())

        @settings(max_examples=30)
        @given(surrogates, surrogates, st.dictionaries(surrogates, json_values, max_size=4))
        def check(question: str, request_id: str, retrieval_bundle: dict[str, Any]) -> None:
            asked = {"question": question, "request_id": request_id, "retrieval_bundle": retrieval_bundle}
            written = to_storable(asked)
            assert runner.run(through_the_saver(services, written)) == written

        check()
        runner.run(opening.__aexit__(None, None, None))
