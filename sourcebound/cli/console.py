"""What every command prints with.

Results on stdout, everything else on stderr, faults as two lines and an exit code.
"""

import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import typer

from sourcebound.errors import ConfigurationError, SourceboundError

ANSWERED, FAULT, BAD_USAGE, NO_EVIDENCE, FAILED = 0, 1, 2, 3, 4
INTERRUPTED = 130
GO_ON = "What was finished is stored; run the same command again to go on."
Result = TypeVar("Result")


def say(message: str) -> None:
    """A line for the person at the terminal, on stderr, so that stdout stays clean for pipes."""
    print(message, file=sys.stderr)


def run_async(main: Callable[[], Coroutine[Any, Any, Result]], interrupted: str = GO_ON) -> Result:
    """Runs a command's coroutine; a fault becomes its message, its next step and its exit code.

    A lost connection is part of such a fault, or has been made up for: the client's own words for it are not printed.

    Args:
        main: Makes the coroutine.
        interrupted: What to tell a person who stops it.
    """
    import asyncio
    import logging

    from sourcebound.store.server.embedded import stop_on_sigterm

    logging.getLogger("psycopg").setLevel(logging.ERROR)
    stop_on_sigterm()
    try:
        return asyncio.run(main())
    except SourceboundError as error:
        raise exit_with(error) from error
    except KeyboardInterrupt as error:
        say(f"Interrupted. {interrupted}")
        raise typer.Exit(INTERRUPTED) from error


def explain_settings(error: ValueError) -> ConfigurationError:
    """An environment variable that a setting cannot take, in words; its value is left out, for it may be a key.

    Raises:
        ValueError: The error is about something else, and a defect.
    """
    from pydantic import ValidationError

    if not isinstance(error, ValidationError) or error.title != "Settings":
        raise error
    wrong = "; ".join(f"{detail['loc'][0]}: {detail['msg']}" for detail in error.errors(include_url=False))
    return ConfigurationError(
        f"an environment variable is not acceptable: {wrong}.", "Correct it, or unset it.", code="BAD_SETTING"
    )


def exit_with(error: SourceboundError) -> typer.Exit:
    """Prints a fault and returns the exit to raise."""
    say(f"Error: {error.message} [{error.failure_code}]")
    if error.next_step:
        say(f"  Next: {error.next_step}")
    return typer.Exit(error.exit_code)
