"""Output shared by all commands: results on stdout, everything else on stderr.

A terminal gets colours, wrapped lines and progress bars. A pipe gets plain lines that are neither wrapped nor padded,
and progress as lines on stderr. An error is two lines and an exit code.
"""

import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import typer

from sourcebound.errors import ConfigurationError, RequestError, SourceboundError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

ANSWERED, FAULT, BAD_USAGE, NO_EVIDENCE, FAILED = 0, 1, 2, 3, 4
INTERRUPTED: Final = 130
CONTINUE: Final = "Finished work is stored. Run the same command again to continue."
UNWRAPPED_COLUMNS: Final = 100_000
"""The width of a pipe: no line is wrapped."""
PROGRESS_SECONDS: Final = 5.0
"""Seconds between two lines of progress where stderr is not a terminal."""
Result = TypeVar("Result")


class Progress(Protocol):
    """Receives the state of a long command."""

    def __call__(self, done: int, total: int | None = None, description: str | None = None) -> None:
        """Update the number of items done and, where given, their total and what they are."""


def say(message: str) -> None:
    """Print a line for the user on stderr, so that stdout holds nothing but the result."""
    print(message, file=sys.stderr)


def print_rich(*renderables: "RenderableType") -> None:
    """Print rich renderables on stdout.

    On a terminal, text wraps between words. A word that is longer than the line, such as an id, is never broken or
    cropped. In a pipe nothing wraps and no line ends with blanks.
    """
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table

    if not sys.stdout.isatty():
        console = Console(highlight=False, markup=False, width=UNWRAPPED_COLUMNS, color_system=None)
        with console.capture() as captured:
            for renderable in renderables:
                console.print(renderable)
        print("\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n")))
        return
    console = Console(highlight=False, markup=False)
    for renderable in renderables:
        if isinstance(renderable, Table):
            _keep_unwrapped_columns(console, renderable)
        needed = Measurement.get(console, console.options.update(max_width=UNWRAPPED_COLUMNS), renderable).minimum
        Console(highlight=False, markup=False, width=max(console.width, needed)).print(renderable)


def _keep_unwrapped_columns(console: "Console", table: "Table") -> None:
    """Give the columns that do not wrap the width of their longest cell; rich would crop them on a narrow terminal."""
    for column in table.columns:
        if column.no_wrap:
            cells = (column.header, *column.cells)
            column.min_width = max(console.measure(cell).maximum for cell in cells)


@contextmanager
def progress(description: str, total: int | None = None) -> Iterator[Progress]:
    """Show progress on stderr: a bar on a terminal, otherwise a line every few seconds.

    Args:
        description: The items that are counted, such as "files".
        total: Their number; None while it is unknown.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _ProgressLines(description, total)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=console, transient=True) as bars:
        task = bars.add_task(description, total=total)
        yield lambda done, total=None, description=None: bars.update(
            task, completed=done, total=total, description=description
        )


class _ProgressLines:
    """Prints progress as plain lines."""

    def __init__(self, description: str, total: int | None) -> None:
        self._description = description
        self._total = total
        self._last = monotonic()

    def __call__(self, done: int, total: int | None = None, description: str | None = None) -> None:
        self._total = total if total is not None else self._total
        if monotonic() - self._last < PROGRESS_SECONDS:
            return
        self._last = monotonic()
        of_total = f" of {self._total}" if self._total is not None else ""
        detail = f"  {description}" if description else ""
        say(f"{self._description}: {done}{of_total}{detail}")


def run_async(
    main: Callable[[], Coroutine[Any, Any, Result]], interrupted: str = CONTINUE, log_level: str = "warning"
) -> Result:
    """Run a command's coroutine. An error becomes its message, its next step and its exit code.

    Args:
        main: Makes the coroutine.
        interrupted: The message after Ctrl-C.
        log_level: The least level of our own log records if the settings name none.
    """
    import asyncio

    from sourcebound.settings import get_settings
    from sourcebound.store.server.embedded import stop_on_sigterm
    from sourcebound.telemetry import configure_telemetry

    configure_telemetry(get_settings(), log_level)
    stop_on_sigterm()
    try:
        return asyncio.run(main())
    except SourceboundError as error:
        raise exit_with(error) from error
    except KeyboardInterrupt as error:
        say(f"Interrupted. {interrupted}")
        raise typer.Exit(INTERRUPTED) from error


def explain_settings(error: ValueError) -> ConfigurationError:
    """Describe an environment variable that a setting rejects, without its value, which may be a key.

    Raises:
        ValueError: The error is not about the settings, and is a defect.
    """
    from pydantic import ValidationError

    if not isinstance(error, ValidationError) or error.title != "Settings":
        raise error
    wrong = "; ".join(f"{detail['loc'][0]}: {detail['msg']}" for detail in error.errors(include_url=False))
    return ConfigurationError(
        f"an environment variable is not acceptable: {wrong}.", "Correct it, or unset it.", code="BAD_SETTING"
    )


def exit_with(error: SourceboundError) -> typer.Exit:
    """Print an error with its next step, and return the exit to raise."""
    say(f"Error: {error.message} [{error.failure_code}]")
    if error.detail:
        say(f"  Detail: {error.detail}")
    if error.next_step:
        say(f"  Next: {error.next_step}")
    return typer.Exit(error.exit_code)


def write_bytes(data: bytes, output: Path | None) -> None:
    """Write bytes to a new file; without one, to stdout.

    Raises:
        RequestError: The file exists or cannot be written.
    """
    if output is None:
        sys.stdout.buffer.write(data)
        return
    try:
        with output.open("xb") as file:
            file.write(data)
    except OSError as error:
        raise RequestError(f"{output} cannot be written: {error.strerror}.", "Name a new file.") from error
