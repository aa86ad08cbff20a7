"""One log line and one span a node (§12), with the fields that the contract names and no word of a text."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from sourcebound.contracts.state import AskInput, JsonObject, RunContext
from sourcebound.contracts.validation.result import GroundingMetrics
from sourcebound.errors import StoreError
from sourcebound.graph import observability, workflow
from sourcebound.graph.direct_runner import DirectRunner
from sourcebound.graph.observability import METRICS, observe
from sourcebound.graph.workflow import build_graph, make_nodes
from sourcebound.telemetry import JsonFormatter, TextFormatter
from support.builders import bundle, generation, policy, row
from support.fakes import FakeModel, FakeOutside, FakeRetriever

STAGES = ["accept", "retrieve", "assemble", "build_prompt", "generate", "validate", "record", "package"]
FIELDS = [
    "node", "request_id", "run_id", "policy_version", "index_version", "embedding_model", "prompt_sha256",
    "response_id", "latency_ms", "prompt_tokens", "completion_tokens", "total_tokens", "generation_status",
    "validation_status", "failure_reason", *METRICS,
]  # fmt: skip
DOCUMENT = "The lapwing valve of the HP-200 opens at 7 bar."
CANARIES = ("lapwing", "wheatear", "redstart")
"""Words of the document, of the question and of the model's text; the prompt has the first two."""
QUESTION = "At which pressure, asks the wheatear, does the valve of the HP-200 open?"


class Observed:
    """The log records and the spans of runs."""

    def __init__(self, exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture) -> None:
        self._exporter = exporter
        self._caplog = caplog

    @property
    def lines(self) -> list[JsonObject]:
        lines = (json.loads(JsonFormatter().format(record)) for record in self._caplog.records)
        return [line for line in lines if line["logger"] == "sourcebound.nodes"]

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def said(self) -> str:
        """Everything that left the nodes: every record of every logger in both formats, and every span."""
        formats = (JsonFormatter(), TextFormatter())
        records = [each.format(record) for record in self._caplog.records for each in formats]
        return "\n".join((*records, *(span.to_json() for span in self.spans)))


@pytest.fixture
def observed(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Observed]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("sourcebound")
    monkeypatch.setattr(workflow, "observe", lambda name, node: observe(name, node, tracer))
    monkeypatch.setattr(observability, "TRACER", tracer)
    caplog.set_level(logging.DEBUG)
    yield Observed(exporter, caplog)
    provider.shutdown()


def outside(text: str = f"{DOCUMENT} [C0]", rows: list[JsonObject] | None = None) -> FakeOutside:
    found = bundle([row(0, chunk_text=DOCUMENT)] if rows is None else rows, user_question=QUESTION)
    enforcing = policy(validation={"literal_grounding": "enforce"})
    return FakeOutside(enforcing, FakeRetriever(found), FakeModel(generation(text)))


async def run(ports: FakeOutside, **request: Any) -> None:
    asked: AskInput = {"question": QUESTION, **request}  # type: ignore[typeddict-item]
    await build_graph(ports.ports()).compile().ainvoke(asked, context=RunContext())


async def test_each_node_has_one_line_and_one_span_with_the_fields_of_the_contract(observed: Observed) -> None:
    await run(outside(), request_id="request-7")
    assert [line["node"] for line in observed.lines] == STAGES
    assert [span.name for span in observed.spans] == [f"sourcebound.{stage}" for stage in STAGES]
    for line, span in zip(observed.lines, observed.spans, strict=True):
        assert list(line) == ["time", "level", "logger", "message", *FIELDS]
        known = {f"sourcebound.{name}": line[name] for name in FIELDS if line[name] is not None}
        assert dict(span.attributes or {}) == known
    last = observed.lines[-1]
    assert (last["request_id"], last["generation_status"], last["validation_status"]) == ("request-7", "OK", "PASSED")
    assert (last["failure_reason"], last["citation_count"], last["unsupported_literal_count"]) == (None, 1, 0)
    assert None not in [last[name] for name in FIELDS if name not in ("failure_reason",)]


def test_the_metrics_are_the_counts_of_the_verdict() -> None:
    counts = [name for name, value in GroundingMetrics() if isinstance(value, int) and not isinstance(value, bool)]
    assert list(METRICS) == counts


async def test_the_direct_runner_writes_the_same_lines(observed: Observed) -> None:
    class Saver:
        """Keeps nothing."""

        def get_next_version(self, current: Any, channel: None = None) -> str:
            return f"{int(current or 0) + 1:06}"

        def defer_to_record(self, thread_id: str) -> None: ...

        async def aput(self, config: Any, *_: object) -> Any:
            return config

    ports = outside().ports()
    runner = DirectRunner(make_nodes(ports), build_graph(ports).compile())
    await runner.run({"question": QUESTION}, "thread-1", RunContext(), Saver())  # type: ignore[arg-type]
    assert [line["node"] for line in observed.lines] == STAGES
    assert len({line["run_id"] for line in observed.lines}) == 1


@pytest.mark.parametrize(
    ("ports", "ending"),
    [
        (outside(), ("OK", None)),
        (outside("The redstart valve opens at 9 bar. [C0]"), ("FAILED", "UNSUPPORTED_LITERAL")),
        (outside("The redstart says so"), ("FAILED", "UNCITED_FACTUAL_STATEMENT")),
        (outside(rows=[row(0, chunk_text=DOCUMENT, similarity_score=0.1)]), ("NO_EVIDENCE", None)),
    ],
    ids=["answered", "wrong figure", "no citation", "refused"],
)
async def test_no_word_of_a_document_a_question_a_prompt_or_a_model_is_logged(
    observed: Observed, ports: FakeOutside, ending: tuple[str, str | None]
) -> None:
    await run(ports)
    last = observed.lines[-1]
    assert (last["generation_status"], last["failure_reason"]) == ending
    assert [canary for canary in CANARIES if canary in observed.said()] == []


async def test_a_bundle_of_another_system_is_not_logged_before_it_was_checked(observed: Observed) -> None:
    damaged = {**bundle([row(0, chunk_text=DOCUMENT)]), "index_version": f"{DOCUMENT} redstart", "top_k": "none"}
    await build_graph(outside().ports()).compile().ainvoke({"retrieval_bundle": damaged}, context=RunContext())
    assert observed.lines[-1]["failure_reason"] == "INVALID_SCHEMA"
    assert [canary for canary in CANARIES if canary in observed.said()] == []


async def test_an_error_is_logged_by_its_code_and_raised(observed: Observed) -> None:
    async def node(state: object) -> JsonObject:
        raise StoreError(f"{QUESTION} {DOCUMENT}", "redstart", code="STORE_AWAY")

    watched = observe("retrieve", node, observability.TRACER)
    with pytest.raises(StoreError):
        await watched({"run": {"run_id": "run-1"}})
    (line,), (span,) = observed.lines, observed.spans
    assert (line["run_id"], line["failure_reason"]) == ("run-1", "STORE_AWAY")
    assert (span.status.status_code, span.status.description, list(span.events)) == (
        StatusCode.ERROR, "STORE_AWAY", [],
    )  # fmt: skip
    assert [canary for canary in CANARIES if canary in observed.said()] == []


async def test_the_spans_of_the_nodes_are_in_the_span_of_their_run(observed: Observed) -> None:
    with observability.run_span() as outer:
        await run(outside())
    *nodes, whole = observed.spans
    assert [span.name for span in nodes] == [f"sourcebound.{stage}" for stage in STAGES]
    assert whole.name == "sourcebound.run"
    assert {span.parent.span_id for span in nodes if span.parent} == {outer.get_span_context().span_id}


@pytest.mark.parametrize("name", [f"{DOCUMENT} redstart", "v1\nnode record: OK", "v" * 201])
async def test_a_name_of_another_system_that_may_be_a_text_is_not_logged(observed: Observed, name: str) -> None:
    named = {**bundle([row(0, chunk_text=DOCUMENT)], user_question=QUESTION), "index_version": name}
    await build_graph(outside().ports()).compile().ainvoke({"retrieval_bundle": named}, context=RunContext())
    assert observed.lines[-1]["generation_status"] == "OK"
    assert observed.lines[-1]["index_version"] == observability.NO_NAME
    assert name not in observed.said()
    assert [canary for canary in CANARIES if canary in observed.said()] == []
