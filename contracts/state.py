"""The state of a run: JSON-ready values only, one channel a layer, checkpointed after every node (contract CP-1).

A node reads a channel by validating it into its contract model and writes `model_dump(mode="json")`. Long texts live
inside a dict, so that a checkpoint stores each of them once.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from typing_extensions import TypedDict

from sourcebound.contracts.outcome import keep_worst

JsonObject = dict[str, Any]


class AskInput(TypedDict, total=False):
    """What a caller gives the graph: a question, or a retrieval bundle from elsewhere."""

    question: str
    collection: str
    filters: JsonObject
    limits: JsonObject
    request_id: str
    run_id: str
    retrieval_bundle: JsonObject


class State(AskInput, total=False):
    """Everything a run knows; each channel holds the JSON form of the contract model named beside it."""

    origin: str  # the run whose candidates a fork answers from (CP-5); no other run has it
    run: JsonObject  # request.Run
    policy: JsonObject  # policy.Policy
    retrieval: JsonObject  # retrieval.RetrievalBundle
    assembly: JsonObject  # evidence.AnswerBundle
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

    policy: str | None = None
    """A released policy's name or the path of a policy file."""
    model: str | None = None
    """The generator."""
    collection: str | None = None
    """The collection to search when the input names none."""
