"""Builds prompts of questions about written passages: `python training/generator/written_cases.py OUT LONG`.

The collection has the passages of `training/reader/written` that the regressions know. `OUT` gets the questions
about those that the reader of sentences never learnt from, so its odds are honest there. They are about tables,
registers, rules and manuals, which the public sets lack. `LONG` gets every third question about the longer passages
(files `x…`). An earlier reader never learnt from these.
"""

import asyncio
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

sys.path.append(str(Path(__file__).parents[1] / "reader"))
from written import Written, read_written

from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.evals.answers.cases import build_cases, write_cases
from sourcebound.evals.answers.questions import Question, QuestionSet
from sourcebound.evals.model.questions import Kind

EMBEDDER: Final = "minilm"
LONGER: Final = "x"
LONGER_STEP: Final = 3
LATER: Final = ("y", "z")
"""The passages that came after the regressions. Most of their questions do not say what they are about."""
ROW: Final = re.compile(r"[^:;]+: [^;]+(?:; [^:;]+: [^;]+)?")
"""The first cells of a row, which tell it from the others."""


def read_sets() -> tuple[QuestionSet, QuestionSet]:
    """Return all passages, with the questions about those that are only measured on, and about the longer others."""
    passages = [each for each in read_written() if not each.package.startswith(LATER)]
    documents = tuple({"title": each.title, "text": write_tables(each.text)} for each in passages)
    held, longer = list[Question](), list[Question]()
    for number, each in enumerate(passages):
        if each.held:
            held += _ask("written", number, each, step=1)
        elif each.package.startswith(LONGER):
            longer += _ask("long", number, each, step=LONGER_STEP)
    return QuestionSet("written", documents, tuple(held)), QuestionSet("long", documents, tuple(longer))


def _ask(name: str, number: int, passage: Written, step: int) -> Iterator[Question]:
    for place, (numbers, text) in list(enumerate(passage.questions))[::step]:
        yield Question(
            f"{name}-{number}-{place}",
            Kind.ANSWERABLE if numbers else Kind.UNANSWERABLE,
            text,
            tuple(_gold(passage.text[slice(*passage.sentences[line])]) for line in sorted(numbers)),
            held=False,
        )


def write_tables(text: str) -> str:
    """Return a text with its rows as tables of Markdown, which the product's loader reads as rows again."""
    lines, heads = list[str](), list[str]()
    for line in text.split("\n"):
        pairs = [part.split(": ", 1) for part in line.split("; ")]
        own = [pair[0] for pair in pairs] if len(pairs) > 1 and all(len(pair) == 2 for pair in pairs) else []
        if own and own != heads:
            lines += ["", f"| {' | '.join(own)} |", "|---" * len(own) + "|"]
        if heads and not own:
            lines.append("")
        lines.append(f"| {' | '.join(pair[1] for pair in pairs)} |" if own else line)
        heads = own
    return "\n".join(lines)


def _gold(sentence: str) -> str:
    """Return what an answer must say: the sentence, or the first cells of a row."""
    match = ROW.match(sentence) if sentence.count(": ") > 1 and "; " in sentence else None
    return match[0] if match else sentence


def main() -> None:
    """Build and write the cases of both sets."""
    out_of_held, out_of_longer = sys.argv[1:]
    for each, out in zip(read_sets(), (out_of_held, out_of_longer), strict=True):
        cases = asyncio.run(build_cases([each], load_shipped_policy("SOURCEBOUND_V2"), EMBEDDER))
        write_cases(Path(out), cases)
        print(each.name, len(cases), "cases,", sum(case.is_asked for case in cases), "asked")


if __name__ == "__main__":
    main()
