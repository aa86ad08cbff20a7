"""Ask natural questions over real, mixed files through the whole product, and judge the answers.

Run `python -m sourcebound.evals.natural` in the repository, or `make eval-natural`. Questions whose file is absent or
does not say the expected facts are left out and named. With `--elsewhere`, a second set asks about pages of Debian's
packages, which `elsewhere.toml` names. With `--languages`, a third one asks in other languages about invented documents
in English. With `--foreign`, a fourth one asks about invented documents in other languages.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from sourcebound.contracts.state import RunContext
from sourcebound.evals.marked_page import update_page
from sourcebound.evals.natural.asking import COLLECTION, ask_all, open_corpus
from sourcebound.evals.natural.questions import (
    DEV,
    ELSEWHERE,
    FOREIGN,
    HELD,
    LANGUAGES,
    Question,
    StaleQuestion,
    check_place,
    read_questions,
)
from sourcebound.evals.natural.report import Judged, judge_all, list_failures, render, to_json
from sourcebound.evals.natural.sources import (
    Collected,
    collect,
    collect_invented,
    collect_unpacked,
    read_corpus,
    read_elsewhere,
)
from sourcebound.evals.retrieval import DATA
from sourcebound.store.server.embedded import stop_on_sigterm


async def evaluate(options: argparse.Namespace) -> list[Judged]:
    """Collect, ingest, ask and judge, and print the tables."""
    with tempfile.TemporaryDirectory(prefix="sourcebound-natural-") as name:
        folder = Path(name)
        collected, asked = _collect(options, folder)
        questions, stale = _usable([each for each in asked if each.part in options.parts], folder)
        if not collected.files:
            raise SystemExit(f"None of the files that the questions name is in {options.elsewhere or options.data}.")
        started = perf_counter()
        home = options.home / _name(options) if options.home else None
        async with open_corpus(folder, options.embedder, home) as (engine, summary):
            _say(
                f"{len(collected.files)} files: {summary.chunks} chunks, {len(summary.skipped)} files skipped, "
                f"{perf_counter() - started:.0f} s"
            )
            context = RunContext(policy=options.policy, model=options.model)
            outcomes = await ask_all(engine, questions, f"{COLLECTION}-{options.embedder}", context)
    judged = judge_all(outcomes)
    table = f"{_describe(options, collected, judged)}\n{render(judged)}"
    print(table)
    if options.page:
        update_page(options.page, f"eval-{_name(options)}", table)
    for line in [*(f"absent: {each}" for each in collected.absent), *(f"left out: {each}" for each in stale)]:
        _say(line)
    return judged


def _collect(options: argparse.Namespace, folder: Path) -> tuple[Collected, list[Question]]:
    """Copy the files of the chosen set into a folder, and read its questions."""
    if options.elsewhere:
        return collect_unpacked(read_elsewhere(), folder, options.elsewhere), read_questions(ELSEWHERE)
    if options.invented:
        return collect_invented(options.invented.stem, folder), read_questions(options.invented)
    return collect(read_corpus(), folder, Path(), options.data), read_questions()


def _name(options: argparse.Namespace) -> str:
    return "elsewhere" if options.elsewhere else options.invented.stem if options.invented else "natural"


def _usable(questions: Sequence[Question], folder: Path) -> tuple[list[Question], list[str]]:
    """Return the questions whose places hold their facts, and the reasons why the others do not."""
    usable, stale = [], []
    for question in questions:
        try:
            check_place(question, folder)
        except StaleQuestion as error:
            stale.append(str(error))
        else:
            usable.append(question)
    return usable, stale


def _describe(options: argparse.Namespace, collected: Collected, judged: Sequence[Judged]) -> str:
    seconds = sorted(each.outcome.seconds for each in judged)
    median = seconds[len(seconds) // 2] if seconds else 0.0
    return (
        f"{len(judged)} questions over {len(collected.files)} files; policy {options.policy or 'default'}, "
        f"model {options.model or 'extractive'}, embedder {options.embedder}; median {1000 * median:.0f} ms.\n"
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m sourcebound.evals.natural", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the external evaluation data")
    parser.add_argument("--elsewhere", type=Path, help="the folder of unpacked packages of Debian, for the second set")
    for path, text in ((LANGUAGES, "the third set: questions"), (FOREIGN, "the fourth set: about documents")):
        help_text = f"{text} in other languages"
        parser.add_argument(f"--{path.stem}", action="store_const", const=path, dest="invented", help=help_text)
    parser.add_argument("--policy", help="a policy; by default that of the embedder")
    parser.add_argument("--model", help="a generator; by default extractive")
    parser.add_argument("--embedder", choices=("minilm", "lexical"), default="minilm")
    parser.add_argument("--parts", nargs="+", choices=(DEV, HELD), default=(DEV, HELD))
    parser.add_argument(
        "--home",
        type=lambda path: Path(path).resolve(),
        help="keep the database in this folder, so that runs can be shown",
    )
    parser.add_argument("--json", type=Path, help="write each item with its run id to this file")
    parser.add_argument("--page", type=Path, help="a page whose marked place receives the tables")
    parser.add_argument("--failures", action="store_true", help=f"list what is not right in the part {DEV}")
    return parser.parse_args(arguments)


def main() -> None:
    """Print the tables, and on request the failures of the part `dev`."""
    options = parse_options()
    stop_on_sigterm()
    judged = asyncio.run(evaluate(options))
    if options.json:
        options.json.write_text(json.dumps(to_json(judged), ensure_ascii=False, indent=1) + "\n", "utf-8")
    if options.failures:
        print(f"\n{list_failures(judged)}")


if __name__ == "__main__":
    main()
