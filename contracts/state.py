"""The state of a run: JSON-ready values only, one channel for each layer, checkpointed after every node (CP-1).

A node validates a channel into its contract model and writes the JSON of a model (`contracts.base`). Long texts are
inside a dict, so that a checkpoint stores each of them once. Input and output have JSON schemas for hosts that make
forms and tools of them (LangGraph Studio, MCP, A2A). The nodes validate; the schemas do not.
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
from sourcebound.contracts.response.chat_messages import Message, merge_messages
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle

JsonObject = dict[str, Any]
Messages = Annotated[
    list[Message],
    Field(
        description="A chat, text only: without `question`, the last message is the question. The answer is added as a "
        "message.",
        examples=[[{"role": "user", "content": "How often is the filter changed?"}]],
    ),
    merge_messages,
]


class AskInput(TypedDict, total=False):
    """The input of the graph: a question, or a retrieval bundle of another system. Only one of them is needed."""

    question: Annotated[
        str,
        Field(
            description="The question; at most 4000 characters.",
            examples=["How often is the filter changed?"],
        ),
    ]
    collection: Annotated[
        str,
        Field(description="The collection to search. Default: that of the context, then that of the settings."),
    ]
    filters: Annotated[
        JsonObject,
        JsonSchemaHint(Filters),
        Field(
            description="Filters on the retrieved chunks. A chunk must pass all of them.",
            examples=[{"equipment_id": "HP-200", "event_date_from": "2024-01-01"}],
        ),
    ]
    limits: Annotated[
        JsonObject,
        JsonSchemaHint(dict[str, float], properties=REQUEST_LIMITS),
        Field(
            description="Stricter values of the policy for this run. A looser value is refused.",
            examples=[{"top_k": 8}],
        ),
    ]
    request_id: Annotated[str, Field(description="The caller's id of the request. Default: a new id.")]
    run_id: Annotated[str, Field(description="The id of the run. Default: a new id.")]
    caller_labels: Annotated[
        list[str],
        Field(
            description="The labels that the caller holds. The search sees only documents all of whose labels are "
            "among them; an empty list, only documents without labels. Default: every document.",
            examples=[["qa"]],
        ),
    ]
    retrieval_bundle: Annotated[
        JsonObject | str,  # a text is the reason why a bundle could not be read (evidence.intake.unreadable)
        JsonSchemaHint(RetrievalBundle),
        Field(
            description="The candidates of another retriever, instead of a question. They pass through the same "
            "contracts."
        ),
    ]
    conversation_id: Annotated[
        str, Field(description="The id of a started conversation. The question is its next turn.")
    ]
    messages: Messages


class AskOutput(TypedDict, total=False):
    """The output of the graph: the public response, the outcome of the run and its chat, if any; no internals."""

    response: Annotated[JsonObject, JsonSchemaHint(PublicResponse), Field(description="The answer and its sources.")]
    outcome: Annotated[
        JsonObject,
        JsonSchemaHint(Outcome),
        Field(description="The status of the run and the reason for it."),
        keep_worst,
    ]
    messages: Messages


class State(AskInput, total=False):
    """The state of a run; each channel holds the JSON of the contract model named in its comment.

    A host with several runs on one thread sets the channels of the previous run to None (`graph.studio.edit_guard`).
    """

    origin: str  # the run whose candidates a fork answers from (CP-5); no other run has it
    run: JsonObject  # request.Run
    policy: JsonObject  # policy.schema.Policy
    resolution: JsonObject  # conversation.turns.Resolution, of a run in a conversation
    retrieval: JsonObject  # retrieval.retrieval_bundle.RetrievalBundle
    assembly: JsonObject  # evidence.answer_bundle.AnswerBundle
    facts: JsonObject  # facts.selection.FactsPhase, of a run whose policy has a facts table
    prompt: JsonObject  # prompt.build.Prompt
    generation: JsonObject | None  # execution.generation.Generation; None until a further attempt is answered
    validation: JsonObject | None  # validation.result.ValidationResult; None likewise
    attempts: list[JsonObject]  # validation.attempts.Attempt, the earlier ones
    audit: JsonObject  # audit.record.AuditRecord
    response: JsonObject  # response.public.PublicResponse
    outcome: Annotated[JsonObject, keep_worst]  # outcome.Outcome


@dataclass(frozen=True)
class RunContext:
    """The choices of a caller for one run, in addition to its input. They are names, never secrets."""

    policy: Annotated[
        str | None,
        Field(
            description="The name of a released policy or the path of a policy file. Default: the policy for the "
            "embedder of the collection.",
            json_schema_extra={"anyOf": [{"enum": list(SHIPPED)}, {"type": "string"}, {"type": "null"}]},
        ),
    ] = None
    """A released policy's name or the path of a policy file."""
    model: Annotated[
        str | None,
        Field(
            description="The generator: `extractive` (built in), `openai:MODEL` or `ollama:MODEL`. Default: that of "
            "the settings.",
            examples=["extractive", "openai:gpt-4.1-mini", "ollama:qwen3:8b"],
        ),
    ] = None
    """The generator."""
    collection: Annotated[
        str | None, Field(description="The collection to search when the input names none.", examples=["default"])
    ] = None
    """The collection to search when the input names none."""
