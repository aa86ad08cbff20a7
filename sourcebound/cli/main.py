"""`sourcebound`: the commands. Each imports what it needs when it runs, so that help is immediate."""

import sys

import typer

from sourcebound.cli import ask, collections, database, doctor, ingest, policy, runs
from sourcebound.cli.console import exit_with
from sourcebound.errors import SourceboundError

app = typer.Typer(
    name="sourcebound",
    help="Answers questions from your own documents, and from nothing else, and can prove it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("ingest")(ingest.ingest)
app.command("ask")(ask.ask)
app.command("collections")(collections.collections)
app.command("doctor")(doctor.doctor)
app.add_typer(runs.app, name="runs")
app.add_typer(policy.app, name="policy")
app.add_typer(database.app, name="db")


@app.callback()
def root(version: bool = typer.Option(False, "--version", help="Print the version and leave.", is_eager=True)) -> None:
    """Answers questions from your own documents, and from nothing else, and can prove it."""
    if version:
        from importlib.metadata import version as installed

        print(installed("sourcebound"))
        raise typer.Exit


def main() -> None:
    """Entry point of the command line."""
    try:
        app()
    except SourceboundError as error:
        sys.exit(exit_with(error).exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
