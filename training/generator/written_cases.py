"""Builds prompts of questions about written passages: `python training/generator/written_cases.py OUT`.

The collection has every passage of `training/reader/written`. The questions are those about the passages that the
reader of sentences never learnt from, so its odds are honest there. They are about tables, registers, rules and
manuals, which the public sets lack.
"""

import asyncio
import re
import sys
from pathlib import Path
from typing import Final

sys.path.append(str(Path(__file__).parents[1] / "reader"))
from written import read_written

from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.evals.answers.cases import build_cases, write_cases
from sourcebound.evals.answers.questions import Question, QuestionSet
from sourcebound.evals.model.questions import Kind

EMBEDDER: Final = "minilm"
ROW: Final = re.compile(r"[^:;]+: [^;]+(?:; [^:;]+: [^;]+)?")
"""The first cells of a row, which tell it from the others."""


def read_set() -> QuestionSet:
    """Return all passages, and the questions about those that are only measured on."""
    passages = list(read_written())
    documents = tuple({"title": each.title, "text": write_tables(each.text)} for each in passages)
    questions = [
        Question(
            f"written-{number}-{place}",
            Kind.ANSWERABLE if numbers else Kind.UNANSWERABLE,
            text,
            tuple(_gold(each.text[slice(*each.sentences[line])]) for line in sorted(numbers)),
            held=False,
        )
        for number, each in enumerate(passages)
        if each.held
        for place, (numbers, text) in enumerate(each.questions)
    ]
    return QuestionSet("written", documents, tuple(questions))


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
    cases = asyncio.run(build_cases([read_set()], load_shipped_policy("SOURCEBOUND_V2"), EMBEDDER))
    write_cases(Path(sys.argv[1]), cases)
    print(len(cases), "cases,", sum(case.is_asked for case in cases), "asked")


if __name__ == "__main__":
    main()
