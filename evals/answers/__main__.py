"""Ask the built-in generator questions with known answers, and judge what the firewall releases.

Run `make eval-answers`, or `python -m sourcebound.evals.answers --data DATA`. With `--cases FILE` the prompts are
kept, so that another call measures another generator on the same prompts in seconds.
"""

import argparse
import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from sourcebound.contracts.calibration.gate_minima import Share, wilson_interval
from sourcebound.contracts.policy.schema import Policy
from sourcebound.evals.answers.asking import ask
from sourcebound.evals.answers.cases import Case, build_cases, read_cases, write_cases
from sourcebound.evals.answers.judging import Judgement, Tally, count
from sourcebound.evals.answers.questions import read_sets
from sourcebound.evals.model.questions import Kind
from sourcebound.evals.retrieval import DATA
from sourcebound.store.server.embedded import stop_on_sigterm
from sourcebound.wiring import DEFAULT_POLICY, find_policy

EMBEDDER: Final = "minilm"
PREAMBLE: Final = """# Answers of the built-in generator

Written by `make eval-answers` (`python -m sourcebound.evals.answers --data DATA --report FILE`); do not edit.

The product's own ingest, retriever, selection, prompt, generator `extractive` and firewall ran under `{policy}` on an
embedded database. Each set is a collection of its own: squad2 (114 paragraphs of four articles of SQuAD 2.0), qed_nq
(224 paragraphs of other articles, with search questions), emanual (451 sections of a telephone's manual), covidqa (15
long papers). An answer is right if it contains an accepted answer, or if its words agree with one by a token F1 of at
least one half. The accepted answers of the manual are whole paragraphs. To a question without an answer, every released
answer is wrong. *Sentences that hold it* is the share of the released sentences that contain an accepted answer or are
a part of one. *Right of HIGH* counts the released answers of that `support_level`. Brackets hold the interval of 95 %
(Wilson).

"""
EPILOGUE: Final = """
The weights were fitted on the development half of these documents, and the rules were written with it in view. The held
half was only measured.

"""
HEAD: Final = (
    "set", "questions", "right", "wrong", "refused or failed", "answer in the prompt", "sentences that hold it",
    "several sentences", "right of HIGH", "right of MEDIUM", "right of LOW",
)  # fmt: skip


def render(tallies: Sequence[Tally]) -> str:
    """Write the tallies as a table in Markdown."""
    return "\n".join(_rows(tallies))


def _rows(tallies: Sequence[Tally]) -> Iterator[str]:
    yield f"| {' | '.join(HEAD)} |"
    yield "|" + "---|" * len(HEAD)
    for each in tallies:
        is_answerable = each.kind is Kind.ANSWERABLE
        cells = [
            f"{each.name}, {each.kind}",
            str(each.right.whole),
            _interval(each.right) if is_answerable else "–",
            _interval(each.wrong),
            ", ".join(f"{code} {number}" for code, number in each.codes.items()),
            _percent(each.in_evidence) if is_answerable else "–",
            _percent(each.hitting) if is_answerable else "–",
            _percent(each.several),
            *(f"{share.part} of {share.whole}" for share in each.levels.values()),
        ]
        yield f"| {' | '.join(cells)} |"


def _interval(share: Share) -> str:
    low, high = wilson_interval(share)
    return f"{_percent(share)} ({100 * low:.1f} to {100 * high:.1f})"


def _percent(share: Share) -> str:
    return f"{100 * share.value:.1f} %" if share.whole else "–"


def _as_record(each: Judgement) -> dict[str, object]:
    case = each.case
    return {
        "set": case.set, "id": case.id, "kind": case.kind, "held": case.held, "question": case.question,
        "gold": case.gold, "verdict": each.verdict, "level": each.level, "answer": each.answer,
    }  # fmt: skip


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m sourcebound.evals.answers", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the evaluation data")
    parser.add_argument("--cases", type=Path, help="the file in which the prompts are kept")
    parser.add_argument("--half", choices=("both", "development", "held"), default="both", help="which documents")
    parser.add_argument("--sets", nargs="+", metavar="SET", help="only these sets")
    parser.add_argument("--report", type=Path, help="where to write the tables of both halves, in Markdown")
    parser.add_argument("--json", type=Path, help="where to write each question with its answer and its verdict")
    return parser.parse_args(arguments)


def load(options: argparse.Namespace, policy: Policy) -> list[Case]:
    """Return the cases of the options: from their file, or built and kept in it."""
    if options.cases and options.cases.exists():
        cases = read_cases(options.cases)
    else:
        cases = asyncio.run(build_cases(read_sets(options.data), policy, EMBEDDER))
        if options.cases:
            write_cases(options.cases, cases)
    return [
        case
        for case in cases
        if (not options.sets or case.set in options.sets)
        and options.half in ("both", "held" if case.held else "development")
    ]


def main() -> None:
    """Print the table, and write the answers if they are asked for."""
    options = parse_options()
    stop_on_sigterm()
    policy = find_policy(DEFAULT_POLICY, embedding_model=EMBEDDER)
    judged = asyncio.run(ask(load(options, policy), policy))
    if options.json:
        lines = [json.dumps(_as_record(each), ensure_ascii=False) + "\n" for each in judged]
        options.json.write_text("".join(lines), "utf-8")
    print(render(count(judged)))
    if options.report:
        options.report.write_text(describe(judged, policy), "utf-8")


def describe(judged: Sequence[Judgement], policy: Policy) -> str:
    """Write the report: a table for each half of the documents."""
    halves = (("held", True), ("development", False))
    tables = [
        f"## The {name} half\n\n{render(count([each for each in judged if each.case.held == held]))}\n"
        for name, held in halves
    ]
    return PREAMBLE.format(policy=policy.policy_version) + "\n".join(tables) + EPILOGUE.rstrip() + "\n"


if __name__ == "__main__":
    main()
