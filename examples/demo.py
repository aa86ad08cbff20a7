"""Run the demo: ingest the example manuals, and ask the five questions of questions.toml.

    python examples/demo.py [MODEL]

MODEL is a GGUF file, or `local` for the small model of the development environment. Without it, `extractive` answers.
"""

import os
import shlex
import subprocess
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
COLLECTION = "demo"
ANSWERED, NO_EVIDENCE = 0, 3
PROGRAM = Path(sys.executable).with_name("sourcebound")


def run(*arguments: str) -> int:
    """Run `sourcebound` as a user would and return its exit code."""
    print(f"\n$ sourcebound {shlex.join(arguments)}", flush=True)
    return subprocess.run([PROGRAM, *arguments], check=False).returncode


def add_model(model: str) -> list[str]:
    """Add a model file to the models of this machine, and return the options that use it."""
    from sourcebound.models.local.server import find_small_model

    file = str(find_small_model()) if model == "local" else model
    if run("models", "add", file, "--name", "demo"):
        sys.exit(1)
    return ["--model", "local:demo", "--policy", "SOURCEBOUND_SENTENCES_V2"]


def main() -> int:
    """Run the demo and return 0 if every question ends as questions.toml says.

    A model may answer otherwise: its answers are shown, released or not.
    """
    started = time.monotonic()
    steps = [] if os.environ.get("DATABASE_URL") else [run("db", "start")]
    steps.append(run("ingest", os.path.relpath(HERE / "manuals"), "--collection", COLLECTION))
    if any(steps):
        return 1
    mismatches, model = 0, add_model(sys.argv[1]) if sys.argv[1:] else []
    for question in tomllib.loads((HERE / "questions.toml").read_text("utf-8"))["questions"]:
        filters = ["--filter", question["filter"]] if "filter" in question else []
        code = run("ask", question["question"], "--collection", COLLECTION, *filters, *model)
        mismatches += not model and code != (NO_EVIDENCE if question.get("refused") else ANSWERED)
    print(f"\nDone in {time.monotonic() - started:.1f} s. Now try your own documents:")
    program = os.path.relpath(PROGRAM)
    print(f"  {program} ingest YOUR_FOLDER --collection mine")
    print(f'  {program} ask "…" --collection mine')
    print(f"  {program} doctor     (what is configured)      {program} db stop     (stop the database)")
    return 1 if mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
