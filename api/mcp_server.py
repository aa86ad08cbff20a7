"""The MCP server: `ask`, `search`, `get_evidence` and `check_answer` as tools of an agent, with the same checks (§10).

Over HTTP each request is identified like any other request. Over stdio the caller is the local user. A tool returns the
validated response only (CP-12). A problem becomes the error of the tool, with its code and its next step.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import Field
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from sourcebound.api.asking import Question
from sourcebound.api.callers import Caller, CallerAccess, find_run, identify, require_conversation
from sourcebound.api.problems import Problem, as_problem, request_id_of
from sourcebound.api.run_view import CandidateView, view_candidate
from sourcebound.api.server import Server
from sourcebound.contracts.base import Contract
from sourcebound.contracts.presentation.source_view import SourceView
from sourcebound.contracts.request import MAX_QUESTION_CHARACTERS, Filters
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.contracts.validation.firewall import check_answer as check_answer_text
from sourcebound.errors import SourceboundError
from sourcebound.graph.workflow import new_id
from sourcebound.wiring import DEFAULT_POLICY

PATH: Final = "/mcp"
INSTRUCTIONS: Final = (
    "Answers questions from a body of documents, and from nothing else. An answer cites its sources as [C0], [C1], … "
    "NO_EVIDENCE means that the documents do not answer the question: do not answer it from elsewhere. FAILED means "
    "that an answer broke a rule and was not released."
)
QuestionArgument = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS, description="The question.")]
CollectionArgument = Annotated[str | None, Field(description="The collection. Default: that of the server.")]
FiltersArgument = Annotated[Filters | None, Field(description="A passage must pass all of them.")]


class SearchResult(Contract):
    """The passages that a search found, and whether the gate lets them answer the question."""

    status: str
    message: str
    candidates: tuple[dict[str, Any], ...]


class CheckedStatement(Contract):
    """A statement of the answer that was checked."""

    number: int
    text: str
    anchors: tuple[str, ...]
    problems: tuple[str, ...]


class CheckResult(Contract):
    """The verdict on an answer."""

    status: str
    """PASSED or FAILED; NOT_RUN if the sources cannot be read."""
    reason: str | None
    statements: tuple[CheckedStatement, ...]
    problems: tuple[str, ...]


class McpTools:
    """The tools over one set of services.

    Args:
        server: The services and the questions in progress.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self.mcp = MCPServer("sourcebound", instructions=INSTRUCTIONS)
        for tool in (self.ask, self.search, self.get_evidence, self.check_answer):
            self.mcp.add_tool(tool)

    async def ask(
        self,
        question: QuestionArgument,
        context: Context[Any, Any],
        collection: CollectionArgument = None,
        filters: FiltersArgument = None,
        conversation_id: Annotated[str | None, Field(description="The conversation whose next turn this is.")] = None,
    ) -> PublicResponse:
        """Answer a question from the documents, with citations. The run is recorded."""
        caller = _caller_of(context)
        with _problems_as_tool_errors():
            caller.require_scope("ask")
            asked = self._request(question, collection, filters, caller)
            if conversation_id is not None:
                await require_conversation(self._server, caller, conversation_id)
                asked["conversation_id"] = conversation_id
            return await self._server.asking.ask(Question(asked, RunContext(), caller))

    async def search(
        self,
        question: QuestionArgument,
        context: Context[Any, Any],
        collection: CollectionArgument = None,
        filters: FiltersArgument = None,
    ) -> SearchResult:
        """Find the passages for a question, without an answer. No model is called and nothing is recorded."""
        caller = _caller_of(context)
        with _problems_as_tool_errors():
            caller.require_scope("read")
            report = await self._server.engine.search(self._request(question, collection, filters, caller))
        found: list[CandidateView] = [view_candidate(row) for row in report.candidates]
        return SearchResult(
            status=report.outcome.status,
            message=report.outcome.message,
            candidates=tuple(each.model_dump(mode="json") for each in found),
        )

    async def get_evidence(
        self,
        run_id: Annotated[str, Field(description="The run_id of a response.")],
        anchor: Annotated[str, Field(pattern=r"^C\d{1,4}$", description="The anchor of a citation, such as C0.")],
        context: Context[Any, Any],
    ) -> SourceView:
        """Return a source of an answer: the passage, the words that support the answer, and their page."""
        caller = _caller_of(context)
        with _problems_as_tool_errors():
            caller.require_scope("read")
            run = await find_run(self._server, caller, run_id)
            access = CallerAccess(self._server.services.index, caller)
            return await self._server.engine.source(run.thread_id, anchor, access, caller.key_id, run.run_id)

    async def check_answer(
        self,
        answer: Annotated[
            str, Field(min_length=1, max_length=20_000, description="The answer, with its [C0], [C1], …")
        ],
        sources: Annotated[
            list[str], Field(min_length=1, max_length=50, description="The texts of C0, C1, … in this order.")
        ],
        context: Context[Any, Any],
    ) -> CheckResult:
        """Check an answer of your own against its sources: citations, numbers, dates, names and support."""
        _caller_of(context)
        verdict = check_answer_text({"sources": sources}, answer, DEFAULT_POLICY)
        messages = [(each.row, f"{each.clause} {each.code}: {each.message}") for each in verdict.outcome.violations]
        return CheckResult(
            status=verdict.validation_status,
            reason=verdict.failure_reason or verdict.outcome.refusal_code,
            statements=tuple(
                CheckedStatement(
                    number=number + 1,
                    text=statement.text,
                    anchors=statement.anchors,
                    problems=tuple(message for row, message in messages if row == number),
                )
                for number, statement in enumerate(verdict.statements)
            ),
            problems=tuple(message for row, message in messages if row is None),
        )

    def _request(self, question: str, collection: str | None, filters: Filters | None, caller: Caller) -> AskInput:
        named = collection or self._server.services.settings.collection
        caller.require_collection(named)
        asked = AskInput(question=question, collection=named, request_id=new_id())
        if filters is not None:
            asked["filters"] = filters.model_dump(mode="json", exclude_none=True)
        return caller.restrict(asked)


class McpEndpoint:
    """The MCP server as an ASGI application, for `/mcp` of the HTTP server.

    Args:
        server: The services and the questions in progress.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._mcp = McpTools(server).mcp
        self._mcp.streamable_http_app(
            stateless_http=True,
            json_response=True,
            transport_security=TransportSecuritySettings(
                enable_dns_rebinding_protection=False
            ),  # `identify` has its own
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Accept requests until the end of the block."""
        async with self._mcp.session_manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of an identified caller."""
        request = Request(scope, receive)
        try:
            scope["state"]["caller"] = await identify(request, self._server)
        except Problem as problem:
            await problem.response(request_id_of(request))(scope, receive, send)
        except SourceboundError as error:
            await as_problem(error).response(request_id_of(request))(scope, receive, send)
        else:
            await self._mcp.session_manager.handle_request(scope, receive, send)


def _caller_of(context: Context[Any, Any]) -> Caller:
    """Return the caller that the endpoint identified; over stdio, the local user."""
    request = context.request_context.request
    if request is None:
        return Caller()
    caller = request.scope["state"]["caller"]
    assert isinstance(caller, Caller)
    caller.restrict_reads()  # a tool runs in a task of its own
    return caller


@contextmanager
def _problems_as_tool_errors() -> Iterator[None]:
    try:
        yield
    except Problem as problem:
        raise _tool_error(problem) from problem
    except SourceboundError as error:
        raise _tool_error(as_problem(error)) from error


def _tool_error(problem: Problem) -> ToolError:
    return ToolError(f"{problem.code}: {problem.detail} {problem.next_step}")
