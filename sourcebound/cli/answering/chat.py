"""`sourcebound chat`: a conversation. Each question is checked and recorded as by `ask`, and follow-ups are resolved.

A terminal gets a prompt. Ctrl-C ends the answer, not the conversation. A pipe gets one response for each line read.
"""

import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from sourcebound.cli.answering.request_options import (
    COLLECTION_HELP,
    MODEL_HELP,
    POLICY_HELP,
    PRESENTATION_HELP,
    check_collection,
    read_filters,
    read_limits,
    read_presentation,
)
from sourcebound.cli.answering.response_view import (
    OutputFormat,
    RenderedResponse,
    print_response,
    render_response,
    source_lines,
)
from sourcebound.cli.console import ANSWERED, exit_with, print_rich, say
from sourcebound.errors import SourceboundError

if TYPE_CHECKING:
    import asyncio

    from sourcebound.contracts.response.public import PublicResponse
    from sourcebound.contracts.state import AskInput, RunContext

PROMPT: Final = "? "
HELP: Final = "/sources shows the sources of the last answer with their text, /new starts a conversation, /quit ends."
Result = TypeVar("Result")


def chat(
    collection: Annotated[str | None, typer.Option(help=COLLECTION_HELP)] = None,
    policy: Annotated[str | None, typer.Option(help=POLICY_HELP)] = None,
    model: Annotated[str | None, typer.Option(help=MODEL_HELP)] = None,
    conversation: Annotated[str | None, typer.Option(help="The id of a conversation to continue.")] = None,
    filters: Annotated[
        list[str] | None, typer.Option("--filter", metavar="KEY=VALUE", help="As for ask. Repeatable.")
    ] = None,
    limits: Annotated[
        list[str] | None, typer.Option("--limit", metavar="KEY=VALUE", help="As for ask. Repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print each public response as one line of JSON.")] = False,
    presentation: Annotated[str | None, typer.Option(help=PRESENTATION_HELP)] = None,
) -> None:
    """Ask one question after another. A follow-up ("and for the HP-300?") is searched for as a whole question.

    Reads one question from each line of the terminal or the pipe. Exit codes: 0 end of input, 2 bad usage, 1 fault.
    """
    import asyncio

    from sourcebound.contracts.state import RunContext
    from sourcebound.store.server.embedded import stop_on_sigterm

    request: AskInput = {"filters": read_filters(filters or []), "limits": read_limits(limits or [])}
    if collection:
        request["collection"] = collection
    output_format = OutputFormat(read_presentation(presentation, as_json=as_json), as_json)
    stop_on_sigterm()
    with asyncio.Runner() as runner:
        session = Session(runner, request, RunContext(policy=policy, model=model), output_format)
        try:
            session.open(conversation)
            session.talk()
        except SourceboundError as error:
            raise exit_with(error) from error
        finally:
            session.close()
    raise typer.Exit(ANSWERED)


class Session:
    """A session at a terminal or over a pipe.

    Args:
        runner: Runs the engine and handles Ctrl-C while it does.
        request: The part of the request that all questions share.
        context: Policy and model.
        output_format: The form of the responses.
    """

    def __init__(
        self, runner: "asyncio.Runner", request: "AskInput", context: "RunContext", output_format: OutputFormat
    ) -> None:
        self._runner = runner
        self._request = request
        self._context = context
        self._output_format = output_format
        self._is_terminal = sys.stdin.isatty()
        self._stack = AsyncExitStack()
        self._last: PublicResponse | None = None
        self._commands: dict[str, Callable[[], None]] = {
            "/sources": self._show_sources,
            "/new": self._start,
            "/help": lambda: say(HELP),
        }

    def open(self, conversation: str | None) -> None:
        """Open the services and a conversation.

        Raises:
            SourceboundError: The services cannot be opened, or the conversation does not exist.
        """
        from sourcebound.graph.engine import Engine

        self._engine: Engine = self._run(lambda: self._stack.enter_async_context(Engine.open()))
        self._run(lambda: check_collection(self._engine, self._request))
        if conversation is None:
            self._start()
            return
        turns = self._run(lambda: self._engine.conversation(conversation))
        self._conversation = conversation
        say(f"conversation {conversation}, {len(turns)} questions so far")

    def close(self) -> None:
        """Close the services."""
        self._run(self._stack.aclose)

    def talk(self) -> None:
        """Answer line by line until the input ends or says `/quit`.

        Raises:
            SourceboundError: A line of a pipe could not be answered. A terminal gets the message and the next prompt.
        """
        for line in self._lines():
            if line == "/quit":
                return
            try:
                self._handle(line)
            except KeyboardInterrupt:
                say("Interrupted. The question stays in the conversation. Ask the next one.")
            except SourceboundError as error:
                if not self._is_terminal:
                    raise
                exit_with(error)

    def _lines(self) -> Iterator[str]:
        """Yield the lines that are not empty. Ctrl-C discards a line, Ctrl-D ends."""
        if not self._is_terminal:
            yield from (line.strip() for line in sys.stdin if line.strip())
            return
        import readline  # noqa: F401  (gives input() its line editing)

        signal.signal(signal.SIGINT, _ignore)
        say(HELP)
        while True:
            try:
                line = _read_line()
            except EOFError:
                say("")
                return
            except KeyboardInterrupt:
                say("")
                continue
            if line:
                yield line

    def _handle(self, line: str) -> None:
        if not line.startswith("/"):
            self._ask(line)
        elif line in self._commands:
            self._commands[line]()
        else:
            say(f"There is no command {line.split()[0]}. {HELP}")

    def _ask(self, question: str) -> None:
        request: AskInput = {**self._request, "question": question, "conversation_id": self._conversation}
        stages = _Stages() if sys.stderr.isatty() else None
        try:
            rendered = self._run(lambda: self._answer(request, stages))
        finally:
            if stages:
                stages.clear()
        self._last = rendered.response
        print_response(rendered)
        if not self._output_format.as_json:
            print()
        sys.stdout.flush()

    async def _answer(self, request: "AskInput", on_node: Callable[[str], None] | None) -> RenderedResponse:
        response = await self._engine.ask(request, self._context, on_node=on_node)
        return await render_response(self._engine, response, response.run_id, self._output_format)

    def _start(self) -> None:
        self._conversation = self._run(self._engine.start_conversation)
        self._last = None
        say(f"conversation {self._conversation}")

    def _show_sources(self) -> None:
        if self._last is None or not self._last.citations:
            say("There is no answer with sources yet." if self._last is None else "The last answer has no sources.")
            return
        from rich.text import Text

        from sourcebound.contracts.text.sanitize import visible

        run = self._last.run_id
        for citation in self._last.citations:
            text = self._run(partial(self._engine.evidence, run, citation.anchor))
            print_rich(source_lines(citation), Text(visible(text) + "\n"))

    def _run(self, main: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        with _interrupt_handler(signal.default_int_handler):
            return self._runner.run(main())


def _read_line() -> str:
    """Read a line of the terminal. The prompt goes to stderr where stdout is a file or a pipe."""
    with _interrupt_handler(_discard_line):
        if sys.stdout.isatty():
            return input(PROMPT).strip()
        print(PROMPT, end="", file=sys.stderr, flush=True)
        return input().strip()


def _ignore(*_: object) -> None:
    """Ignore Ctrl-C between a line and its answer."""


def _discard_line(*_: object) -> None:
    """Discard the line at the prompt, once: the next Ctrl-C must not interrupt the handling of this one."""
    signal.signal(signal.SIGINT, _ignore)
    raise KeyboardInterrupt


@contextmanager
def _interrupt_handler(handler: Any) -> Iterator[None]:
    """Let Ctrl-C end the block, and nothing else, where it is ignored outside: at a terminal."""
    if signal.getsignal(signal.SIGINT) is not _ignore:
        yield
        return
    try:
        signal.signal(signal.SIGINT, handler)
        yield
    finally:
        signal.signal(signal.SIGINT, _ignore)


class _Stages:
    """Shows the node that a run has passed, on stderr, in one line that is cleared afterwards."""

    def __call__(self, node: str) -> None:
        print(f"\r\033[K{node} …", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
