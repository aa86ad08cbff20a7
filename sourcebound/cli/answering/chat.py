"""`sourcebound chat`: questions one after another, each checked and recorded as by `ask`; follow-ups are understood.

A terminal gets a prompt, and Ctrl-C ends the answer and not the conversation. A pipe gets one response a line read.
"""

import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from sourcebound.cli.answering.ask import (
    PRESENTATION_HELP,
    OutputFormat,
    RenderedResponse,
    prepare_response,
    print_response,
    read_filters,
    read_limits,
    read_presentation,
    render_source,
)
from sourcebound.cli.console import ANSWERED, exit_with, say
from sourcebound.errors import SourceboundError

if TYPE_CHECKING:
    import asyncio

    from sourcebound.contracts.response.public import PublicResponse
    from sourcebound.contracts.state import AskInput, RunContext

PROMPT: Final = "? "
HELP: Final = "/sources shows the sources of the last answer with their text, /new starts anew, /quit leaves."
Result = TypeVar("Result")


def chat(
    collection: Annotated[str | None, typer.Option(help="Where to look; the setting's when omitted.")] = None,
    policy: Annotated[str | None, typer.Option(help="A released policy or a policy file.")] = None,
    model: Annotated[str | None, typer.Option(help="The generator.")] = None,
    conversation: Annotated[str | None, typer.Option(help="Go on with this conversation.")] = None,
    filters: Annotated[
        list[str] | None, typer.Option("--filter", metavar="KEY=VALUE", help="As for ask. Repeatable.")
    ] = None,
    limits: Annotated[
        list[str] | None, typer.Option("--limit", metavar="KEY=VALUE", help="As for ask. Repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print each public response as one line of JSON.")] = False,
    presentation: Annotated[str | None, typer.Option(help=PRESENTATION_HELP)] = None,
) -> None:
    """Ask one question after another; "and for the HP-300?" is searched for as the whole question.

    Reads a question a line, from the terminal or a pipe. Exit codes: 0 the end, 2 bad usage, 1 fault.
    """
    import asyncio

    from sourcebound.contracts.state import RunContext
    from sourcebound.store.server.embedded import stop_on_sigterm

    request: AskInput = {"filters": read_filters(filters or []), "limits": read_limits(limits or [])}
    if collection:
        request["collection"] = collection
    form = OutputFormat(read_presentation(presentation, as_json=as_json), as_json)
    stop_on_sigterm()
    with asyncio.Runner() as runner:
        session = Session(runner, request, RunContext(policy=policy, model=model), form)
        try:
            session.open(conversation)
            session.talk()
        except SourceboundError as error:
            raise exit_with(error) from error
        finally:
            session.close()
    raise typer.Exit(ANSWERED)


class Session:
    """One sitting at the terminal, or one pipe.

    Args:
        runner: What runs the engine; it handles Ctrl-C while it does.
        request: What every question of the sitting has in common.
        context: Policy and model.
        form: How responses are printed.
    """

    def __init__(
        self, runner: "asyncio.Runner", request: "AskInput", context: "RunContext", form: OutputFormat
    ) -> None:
        self._runner = runner
        self._request = request
        self._context = context
        self._form = form
        self._is_terminal = sys.stdin.isatty()
        self._stack = AsyncExitStack()
        self._last: PublicResponse | None = None
        self._commands: dict[str, Callable[[], None]] = {
            "/sources": self._show_sources,
            "/new": self._start,
            "/help": lambda: say(HELP),
        }

    def open(self, conversation: str | None) -> None:
        """Opens the services, and a conversation.

        Raises:
            SourceboundError: They cannot be opened, or there is no such conversation.
        """
        from sourcebound.graph.engine import Engine

        self._engine: Engine = self._run(lambda: self._stack.enter_async_context(Engine.open()))
        if conversation is None:
            self._start()
            return
        turns = self._run(lambda: self._engine.conversation(conversation))
        self._conversation = conversation
        say(f"conversation {conversation}, {len(turns)} questions so far")

    def close(self) -> None:
        """Closes the services."""
        self._run(self._stack.aclose)

    def talk(self) -> None:
        """Answers line by line, to the end or to `/quit`.

        Raises:
            SourceboundError: A line of a pipe could not be answered; at a terminal it is said, and the next line read.
        """
        for line in self._lines():
            if line == "/quit":
                return
            try:
                self._take(line)
            except KeyboardInterrupt:
                say("Interrupted. The question keeps its place; the next one may be asked.")
            except SourceboundError as error:
                if not self._is_terminal:
                    raise
                exit_with(error)

    def _lines(self) -> Iterator[str]:
        """The lines that are not empty; Ctrl-C takes back a line, Ctrl-D ends."""
        if not self._is_terminal:
            yield from (line.strip() for line in sys.stdin if line.strip())
            return
        import readline  # noqa: F401  (gives input() its line editing)

        signal.signal(signal.SIGINT, _pass_over)
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

    def _take(self, line: str) -> None:
        if not line.startswith("/"):
            self._ask(line)
        elif line in self._commands:
            self._commands[line]()
        else:
            say(f"There is no command {line.split()[0]}. {HELP}")

    def _ask(self, question: str) -> None:
        request: AskInput = {**self._request, "question": question, "conversation_id": self._conversation}
        show = _Stages() if sys.stderr.isatty() else None
        try:
            shown = self._run(lambda: self._answer(request, show))
        finally:
            if show:
                show.clear()
        self._last = shown.response
        print_response(shown)
        if not self._form.as_json:
            print()
        sys.stdout.flush()

    async def _answer(self, request: "AskInput", show: Callable[[str], None] | None) -> RenderedResponse:
        response = await self._engine.ask(request, self._context, on_node=show)
        return await prepare_response(self._engine, response, response.run_id, self._form)

    def _start(self) -> None:
        self._conversation = self._run(self._engine.start_conversation)
        self._last = None
        say(f"conversation {self._conversation}")

    def _show_sources(self) -> None:
        if self._last is None or not self._last.citations:
            say("There is no answer with sources yet." if self._last is None else "The last answer has no sources.")
            return
        from rich.console import Console
        from rich.text import Text

        run, console = self._last.run_id, Console(highlight=False)
        for citation in self._last.citations:
            text = self._run(partial(self._engine.evidence, run, citation.anchor))
            console.print(render_source(citation))
            console.print(Text(text + "\n"))

    def _run(self, main: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        with _interrupted_by(signal.default_int_handler):
            return self._runner.run(main())


def _read_line() -> str:
    """A line of the terminal; its prompt goes to stderr where stdout is a file or a pipe."""
    with _interrupted_by(_take_back):
        if sys.stdout.isatty():
            return input(PROMPT).strip()
        print(PROMPT, end="", file=sys.stderr, flush=True)
        return input().strip()


def _pass_over(*_: object) -> None:
    """What Ctrl-C does between a line and its answer: there is nothing to take back."""


def _take_back(*_: object) -> None:
    """What Ctrl-C does at the prompt, once: the next one is not to end what this one began."""
    signal.signal(signal.SIGINT, _pass_over)
    raise KeyboardInterrupt


@contextmanager
def _interrupted_by(handler: Any) -> Iterator[None]:
    """Lets Ctrl-C end what is inside and no more, where it is passed over outside: at a terminal."""
    if signal.getsignal(signal.SIGINT) is not _pass_over:
        yield
        return
    try:
        signal.signal(signal.SIGINT, handler)
        yield
    finally:
        signal.signal(signal.SIGINT, _pass_over)


class _Stages:
    """Shows on stderr, in one line that goes again, which node a run has passed."""

    def __call__(self, node: str) -> None:
        print(f"\r\033[K{node} …", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
