"""Run the demo: ingest the example manuals, and ask the five questions of questions.toml."""

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


def main() -> int:
    """Run the demo and return 0 if every question ends as questions.toml says."""
    started = time.monotonic()
    steps = [] if os.environ.get("DATABASE_URL") else [run("db", "start")]
    steps.append(run("ingest", os.path.relpath(HERE / "manuals"), "--collection", COLLECTION))
    if any(steps):
        return 1
    mismatches = 0
    for question in tomllib.loads((HERE / "questions.toml").read_text("utf-8"))["questions"]:
        filters = ["--filter", question["filter"]] if "filter" in question else []
        code = run("ask", question["question"], "--collection", COLLECTION, *filters)
        mismatches += code != (NO_EVIDENCE if question.get("refused") else ANSWERED)
    print(f"\nDone in {time.monotonic() - started:.1f} s. Now try your own documents:")
    program = os.path.relpath(PROGRAM)
    print(f"  {program} ingest YOUR_FOLDER --collection mine")
    print(f'  {program} ask "…" --collection mine')
    print(f"  {program} doctor     (what is configured)      {program} db stop     (stop the database)")
    return 1 if mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
