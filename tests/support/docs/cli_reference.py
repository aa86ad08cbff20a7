"""A program that prints docs/cli.md, the reference of the command line, from the help of the commands."""

from typing import Final

import typer
import typer.main
from typer.cli import get_docs_for_click

from sourcebound.cli.main import app

HEAD: Final = """\
# Command line

Made from the help of the commands by `make cli-reference`. `sourcebound COMMAND -h` prints the same.

- Results go to stdout, messages to stderr. On a terminal, output is coloured and wrapped. In a pipe it is plain: no
  line is wrapped or padded, and an id is never broken.
- `--json` prints JSON and nothing else.
- Exit codes: 0 answered, 3 no evidence, 4 failed, 2 bad usage or configuration, 1 fault, 130 interrupted.
- A long command shows a progress bar on a terminal, and otherwise a line on stderr every five seconds.
- `sourcebound ask -` reads the question from stdin.
- Shell completion: `sourcebound --install-completion bash` (or `zsh`, `fish`), then open a new shell.
  `sourcebound --show-completion bash` prints the script instead.
"""


def render() -> str:
    """Render the reference as Markdown."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="sourcebound")
    with context:
        docs = get_docs_for_click(obj=command, ctx=context, name="sourcebound")
    _, _, commands = docs.partition("**Commands**:")
    return f"{HEAD}\n**Commands**:{commands.rstrip()}\n"


if __name__ == "__main__":
    print(render(), end="")
