"""The state of a run: JSON-ready values only, one channel a layer, checkpointed after every node (contract CP-1).

A node reads a channel by validating it into its contract model and writes that model's form (`contracts.model`). Long
texts live inside a dict, so that a checkpoint stores each of them once. What a caller gives and gets is described here
for the hosts that make forms and tools of it (LangGraph Studio, MCP, A2A); the descriptions validate nothing, the nodes
do.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from sourcebound.contracts.base import JsonSchemaHint
from sourcebound.contracts.outcome import Outcome, keep_worst
from sourcebound.contracts.policy.releases import SHIPPED
from sourcebound.contracts.policy.request_limits import REQUEST_LIMITS
from sourcebound.contracts.request import Filters
from sourcebound.contracts.response.chat_messages import Message, keep_messages
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle

JsonObject = dict[str, Any]
Messages = Annotated[
    list[Message],
    Field(
        description="A chat: the last message is the question, where `question` is not given, and the answer comes "
        "back as a message. Text only.",
        examples=[[{"role": "user", "content": "How often is the filter changed?"}]],
    ),
    keep_messages,
]


class AskInput(TypedDict, total=False):
    """What a caller gives the graph: a question, or a retrieval bundle from elsewhere. Only one of them is needed."""

    question: Annotated[
        str,
        Field(
            description="The question, as it is meant; 4000 characters at most.",
            examples=["How often is the filter changed?"],
        ),
    ]
    collection: Annotated[
        str,
        Field(description="Where to look; the collection of the context or of the settings when omitted."),
    ]
    filters: Annotated[
        JsonObject,
        JsonSchemaHint(Filters),
        Field(
            description="Limits on what may be retrieved; every one that is given must hold.",
            examples=[{"equipment_id": "HP-200", "event_date_from": "2024-01-01"}],
        ),
    ]
    limits: Annotated[
        JsonObject,
        JsonSchemaHint(dict[str, float], properties=REQUEST_LIMITS),
        Field(description="Values of the policy, made stricter for this run; never looser.", examples=[{"top_k": 8}]),
    ]
    request_id: Annotated[str, Field(description="The caller's own id of the request; a new one when omitted.")]
    run_id: Annotated[str, Field(description="The id of the run; leave it out, and a new one is made.")]
    retrieval_bundle: Annotated[
        JsonObject | str,  # a text is none, and says why (intake.unreadable)
        JsonSchemaHint(RetrievalBundle),
        Field(
            description="Candidates of another retriever, in place of a question; they are checked, selected and "
            "answered by the same contracts."
        ),
    ]
    conversation_id: Annotated[
        str, Field(description="The conversation that the question is the next of; it must have been started.")
    ]
    messages: Messages


class AskOutput(TypedDict, total=False):
    """What leaves the graph: the public response, how the run stands, and the chat if there is one; no internals."""

    response: Annotated[JsonObject, JsonSchemaHint(PublicResponse), Field(description="The answer and its sources.")]
    outcome: Annotated[
        JsonObject,
        JsonSchemaHint(Outcome),
        Field(description="How the run stands, and why."),
        keep_worst,
    ]
    messages: Messages


class State(AskInput, total=False):
    """Everything a run knows; each channel holds the JSON form of the contract model named beside it.

    A host that keeps several runs on one thread sets those of the run before to None (`graph.reentry`).
    """

    origin: str  # the run whose candidates a fork answers from (CP-5); no other run has it
    run: JsonObject  # request.Run
    policy: JsonObject  # policy.Policy
    resolution: JsonObject  # conversation.Resolution; of a run in a conversation
    retrieval: JsonObject  # retrieval.RetrievalBundle
    assembly: JsonObject  # evidence.AnswerBundle
    facts: JsonObject  # facts_phase.FactsPhase; of a run whose policy has a facts table
    prompt: JsonObject  # prompt.Prompt
    generation: JsonObject | None  # execution.Generation; None from the prompt of a further attempt to its answer
    validation: JsonObject | None  # verdict.Validation; None likewise
    attempts: list[JsonObject]  # attempts.Attempt, those before the present one
    audit: JsonObject  # audit.AuditRecord
    response: JsonObject  # response.PublicResponse
    outcome: Annotated[JsonObject, keep_worst]  # outcome.Outcome


@dataclass(frozen=True)
class RunContext:
    """What a caller may choose for one run, beside its input: names, never secrets."""

    policy: Annotated[
        str | None,
        Field(
            description="A released policy's name or the path of a policy file; the one made for the collection's "
            "embedder when omitted.",
            json_schema_extra={"anyOf": [{"enum": list(SHIPPED)}, {"type": "string"}, {"type": "null"}]},
        ),
    ] = None
    """A released policy's name or the path of a policy file."""
    model: Annotated[
        str | None,
        Field(
            description="The generator: `extractive` (built in), `openai:MODEL` or `ollama:MODEL`; the setting's when "
            "omitted.",
            examples=["extractive", "openai:gpt-4.1-mini", "ollama:qwen3:8b"],
        ),
    ] = None
    """The generator."""
    collection: Annotated[
        str | None, Field(description="The collection to search when the input names none.", examples=["default"])
    ] = None
    """The collection to search when the input names none."""
