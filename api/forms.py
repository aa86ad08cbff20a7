"""The bodies of requests, checked at the door (S-4). Unknown fields are errors."""

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from sourcebound.contracts.base import Contract
from sourcebound.contracts.policy.request_limits import REQUEST_LIMITS
from sourcebound.contracts.request import MAX_QUESTION_CHARACTERS, Filters
from sourcebound.contracts.state import AskInput, RunContext

WITHOUT_NUL = r"^[^\x00]*$"
"""A text that the database can store."""
Identity = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=WITHOUT_NUL)]
QuestionText = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_QUESTION_CHARACTERS)
]
POLICY_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"
"""A name, never the path of a file."""


class AskForm(Contract):
    """A question, or the retrieval bundle of another system."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"question": "How often is the filter of the HP-200 changed?", "collection": "demo"},
                {
                    "question": "What oil charge does the bearing frame take?",
                    "collection": "demo",
                    "filters": {"equipment_id": "HP-200"},
                    "limits": {"min_sources": 2},
                },
            ]
        }
    )

    question: QuestionText | None = Field(None, description="At most 4000 characters.")
    collection: Identity | None = Field(None, description="The collection to search. Default: that of the server.")
    filters: Filters | None = Field(None, description="A chunk must pass all of them.")
    limits: dict[Literal[REQUEST_LIMITS], float | int] | None = Field(  # type: ignore[valid-type]
        None, description="Stricter values of the policy for this run. A looser one is refused."
    )
    conversation_id: Identity | None = Field(None, description="The conversation whose next turn this is.")
    policy: Annotated[str, StringConstraints(pattern=POLICY_NAME)] | None = Field(
        None, description="A policy by name. Default: that of the server."
    )
    model: Identity | None = Field(None, description="The generator. Default: that of the server.")
    request_id: Identity | None = Field(None, description="Your id of the request. Default: the X-Request-ID header.")
    retrieval_bundle: dict[str, Any] | None = Field(
        None, description="The candidates of another retriever, instead of a question (R1-1)."
    )

    @model_validator(mode="after")
    def _has_one_subject(self) -> Self:
        if (self.question is None) == (self.retrieval_bundle is None):
            raise ValueError("give either a question or a retrieval_bundle")
        return self

    def request(self, request_id: str) -> AskInput:
        """Return the input of the graph.

        Args:
            request_id: The id of the request if the form names none.
        """
        given = self.model_dump(mode="json", exclude_none=True, exclude={"policy", "model"})
        return AskInput(**{"request_id": request_id, **given})  # type: ignore[typeddict-item]

    def context(self) -> RunContext:
        """Return the policy and the model of the run."""
        return RunContext(policy=self.policy, model=self.model)


class FeedbackForm(Contract):
    """The words of a reader about an answer."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"run_id": "0198…", "rating": "down", "comment": "The figure is of revision B."}]
        }
    )

    run_id: Identity
    rating: Literal["up", "down"]
    comment: Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000, pattern=WITHOUT_NUL)] | None = (
        None
    )
