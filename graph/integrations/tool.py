"""The engine as a tool of an agent (LangChain's `create_agent`, or any program that calls LangChain tools).

The tool returns validated text only (CP-12). The text that the agent's own model makes of it is not validated.
"""

from typing import Annotated, Final

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from sourcebound.contracts.presentation.chat_text import chat_text
from sourcebound.contracts.request import MAX_QUESTION_CHARACTERS
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import AskInput, JsonObject, RunContext
from sourcebound.graph.integrations.calls import AnyEngine, acall_engine, call_engine

DESCRIPTION: Final = (
    "Answers a question from a body of documents, and from nothing else, with numbered sources. If it says that the "
    "evidence is not sufficient, the documents do not answer the question: do not answer it from elsewhere."
)


class ToolArguments(BaseModel):
    """The arguments that the agent's model writes. It cannot choose the collection, the policy or the filters."""

    question: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_QUESTION_CHARACTERS,
            description="One question that can be understood alone, with the names that the documents use.",
        ),
    ]


def as_tool(
    engine: AnyEngine,
    request: AskInput | None = None,
    context: RunContext | None = None,
    *,
    name: str = "ask_documents",
    description: str = DESCRIPTION,
    return_direct: bool = False,
) -> BaseTool:
    """Make a tool that answers a question of an agent; each call is a run with its own record.

    Args:
        engine: An engine. With a `SyncEngine` the tool works in `invoke` too.
        request: The fields of every request except the question: collection, filters, limits.
        context: Policy and model of the runs, if they differ from the settings.
        name: The name of the tool.
        description: Tells the agent's model when to call it.
        return_direct: Whether the agent ends with the tool's validated text, and its model writes nothing after it.

    Returns:
        The tool. Its content is the answer with numbered sources, or the reason why there is no answer. Its artifact is
        the public response as JSON.

    Raises:
        SourceboundError: A call of the tool raises what `Engine.ask` raises, and `ASYNC_ENGINE` if it does not await
            and the engine is asynchronous.
    """

    def asked(question: str) -> AskInput:
        return {**(request or {}), "question": question}

    def ask(question: str) -> tuple[str, JsonObject]:
        return _result(call_engine(engine, lambda opened: opened.ask(asked(question), context)))

    async def aask(question: str) -> tuple[str, JsonObject]:
        return _result(await acall_engine(engine, lambda opened: opened.ask(asked(question), context)))

    return StructuredTool.from_function(
        ask,
        aask,
        name=name,
        description=description,
        return_direct=return_direct,
        args_schema=ToolArguments,
        response_format="content_and_artifact",
    )


def _result(response: PublicResponse) -> tuple[str, JsonObject]:
    return chat_text(response), response.to_json()
