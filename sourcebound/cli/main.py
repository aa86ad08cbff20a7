"""`sourcebound`: the commands. Each imports its dependencies when it runs, so that help is immediate."""

import sys
from typing import Annotated

import typer

from sourcebound.cli import database, doctor, keys, mcp_stdio, models, policy, serve
from sourcebound.cli.answering import ask, chat, check, search
from sourcebound.cli.console import exit_with, explain_settings
from sourcebound.cli.corpus import calibrate, collections, documents, index, ingest
from sourcebound.cli.evals import app as evals
from sourcebound.cli.records import audit, receipt, replay, runs
from sourcebound.errors import SourceboundError

app = typer.Typer(
    name="sourcebound",
    help="Answers questions from your own documents, and from nothing else, and can prove it.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("ingest")(ingest.ingest)
app.command("ask")(ask.ask)
app.command("chat")(chat.chat)
app.command("serve")(serve.serve)
app.command("mcp")(mcp_stdio.mcp)
app.command("search")(search.search)
app.command("check")(check.check)
app.command("calibrate")(calibrate.calibrate)
app.command("collections")(collections.collections)
app.command("doctor")(doctor.doctor)
app.add_typer(documents.app, name="documents")
runs.app.command("receipt")(receipt.write)
app.add_typer(runs.app, name="runs")
app.add_typer(receipt.app, name="receipt")
app.add_typer(keys.app, name="keys")
app.add_typer(replay.app, name="replay")
app.add_typer(audit.app, name="audit")
app.add_typer(index.app, name="index")
app.add_typer(policy.app, name="policy")
app.add_typer(evals.app, name="eval")
app.add_typer(models.app, name="models")
app.add_typer(database.app, name="db")


def show_version(is_given: bool) -> None:
    """Print the version and exit, before a missing command becomes an error."""
    if is_given:
        from importlib.metadata import version

        print(version("sourcebound"))
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Answers questions from your own documents, and from nothing else, and can prove it."""


def main() -> None:
    """Run the command line."""
    try:
        app()
    except SourceboundError as error:
        sys.exit(exit_with(error).exit_code)
    except ValueError as error:
        sys.exit(exit_with(explain_settings(error)).exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
