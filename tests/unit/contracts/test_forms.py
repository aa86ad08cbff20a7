"""JSON schemas for forms and tools of a host: they describe every field, and values stay plain (CP-1)."""

from typing import Any

from langgraph.graph.message import MessagesState
from pydantic import TypeAdapter

from sourcebound.contracts.policy.releases import SHIPPED
from sourcebound.contracts.policy.request_limits import REQUEST_LIMITS
from sourcebound.contracts.request import Filters
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import AskInput, AskOutput, RunContext
from sourcebound.graph.studio.server import studio_graph
from sourcebound.models.profiles import Registry
from support.builders import bundle, policy
from support.fakes import FakeOutside, FakeRetriever

GRAPH = studio_graph(FakeOutside(policy(), FakeRetriever(bundle())).ports())


def test_every_field_of_the_input_is_described() -> None:
    fields = GRAPH.get_input_jsonschema()["properties"]
    assert list(fields) == list(AskInput.__annotations__)
    assert [name for name, field in fields.items() if not field["description"]] == []
    assert set(fields["filters"]["properties"]) == set(Filters.model_fields)
    assert set(fields["limits"]["properties"]) == set(REQUEST_LIMITS)
    assert fields["limits"]["properties"]["top_k"]["type"] == "number"


def test_the_output_is_the_public_response() -> None:
    fields = GRAPH.get_output_jsonschema()["properties"]
    assert list(fields) == list(AskOutput.__annotations__)
    assert set(fields["response"]["properties"]) == set(PublicResponse.model_fields)


def test_messages_are_described_as_langgraph_describes_its_own() -> None:
    own = TypeAdapter(MessagesState).json_schema()
    for form in (GRAPH.get_input_jsonschema(), GRAPH.get_output_jsonschema()):
        assert form["properties"]["messages"]["items"] == own["properties"]["messages"]["items"]
        assert set(own["$defs"]) <= set(form["$defs"])


def test_policies_can_be_chosen_and_models_are_named_by_example() -> None:
    schema = GRAPH.get_context_jsonschema()
    assert schema is not None
    fields = schema["properties"]
    assert list(fields) == list(RunContext.__annotations__)
    assert fields["policy"]["anyOf"][0] == {"enum": list(SHIPPED)}
    registry = Registry(None, own_server=False)
    assert [registry.find(name).known for name in fields["model"]["examples"]] == [True] * 3


def test_the_examples_are_good() -> None:
    fields: dict[str, Any] = GRAPH.get_input_jsonschema()["properties"]
    Filters.model_validate(fields["filters"]["examples"][0])
    assert set(fields["limits"]["examples"][0]) <= set(REQUEST_LIMITS)


def test_a_description_validates_nothing() -> None:
    wrong = {"filters": {"colour": 3}, "limits": {"top_k": "many"}}
    assert TypeAdapter(AskInput).validate_python(wrong) == wrong
