"""Builds prompts of questions about written passages: `python training/generator/written_cases.py OUT`.

The questions are about passages of `training/reader/written` that the reader of sentences never learnt from, so its
odds are honest there: tables, registers, rules and manuals, which the public sets lack. There are three collections:
the registers (files `r…`), the articles (`n…`), and the earlier passages, of which every third question is asked. The
files `y…` and `z…` bring none: most of their questions do not say what they are about, so that nothing finds their
passage.
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
LATER: Final = {"registers": "r", "articles": "n"}
"""The first letters of the files of a collection."""
WITHOUT_SUBJECT: Final = ("y", "z")
EARLIER_STEP: Final = 3
ROW: Final = re.compile(r"[^:;]+: [^;]+(?:; [^:;]+: [^;]+)?")
"""The first cells of a row, which tell it from the others."""


def read_sets() -> list[QuestionSet]:
    """Return each collection, with the questions about those passages that are only measured on."""
    passages = list(read_written())
    apart = (*LATER.values(), *WITHOUT_SUBJECT)
    later = {name: [each for each in passages if each.package.startswith(first)] for name, first in LATER.items()}
    earlier = [each for each in passages if not each.package.startswith(apart)]
    return [*(_collect(name, own) for name, own in later.items()), _collect("written", earlier, EARLIER_STEP)]


def _collect(name: str, passages: list[Written], step: int = 1) -> QuestionSet:
    documents = tuple({"title": each.title, "text": write_tables(each.text)} for each in passages)
    held = [each for each in passages if each.held]
    return QuestionSet(name, documents, tuple(asked for each in held for asked in _ask(name, each, step)))


def _ask(name: str, passage: Written, step: int) -> Iterator[Question]:
    for place, (numbers, text) in list(enumerate(passage.questions))[::step]:
        yield Question(
            f"{name}-{passage.digest}-{place}",
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
    """Build and write the cases."""
    (out,) = sys.argv[1:]
    sets = read_sets()
    cases = asyncio.run(build_cases(sets, load_shipped_policy("SOURCEBOUND_V2"), EMBEDDER))
    write_cases(Path(out), cases)
    for each in sets:
        own = [case for case in cases if case.set == each.name]
        print(each.name, len(own), "cases,", sum(case.is_asked for case in own), "asked")


if __name__ == "__main__":
    main()
