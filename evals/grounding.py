"""Measure the firewall on real answers: the right and the wrong rejections, which both matter (contract R5).

Public sets of answers with human judgements are brought into one shape: an answer, its sources, and whether people
found an unsupported claim in it. The sets have no citations, so every statement is made to cite every source. This
measures the check of content, not of form.

    python -m sourcebound.evals.grounding --data ../shared/data [--failures SET]
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.text.segments import SegmentKind, segment
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.literals.check import LiteralFinding, LiteralKind
from sourcebound.contracts.validation.result import ValidationResult
from sourcebound.evals.marked_page import marks

REPORT: Final = """# The firewall on real answers: right and wrong rejections

Measured by `make eval-grounding` on public sets of answers that people judged (RAGTruth, FaithBench,
AttributionBench, FEVER-symmetric), under SOURCEBOUND_V2. The sets have no citations, so every statement was made to
cite every source. This measures the check of content, not of form. *Caught*: rejected answers with an unsupported
claim. *Wrongly rejected*: rejected answers in which people found no unsupported claim. A rule about literals cannot
detect a wrong claim without a literal.

## By rule

{rules}

Summaries of RAGTruth and FaithBench often open with their own number of words ("in 63 words") or count items themselves
("two films"). Such numbers are in no source, so the rule rejects them.

## The trade-off

The literal rule alone, as more kinds of literals are enforced.

{curve}

## Labelled statements, and answers of further sets

Measured on documents whose failures were not read while the rules were made, at most {most} items of each label, with
intervals over documents. The sets *synthetic …* change one sentence of a source in one way; other sets have statements
and answers of language models. Some labels come from a judging model (faithjudge), and a synthetic swap is harmless
now and then.

{statements}"""
TARGET: Final = "eval-grounding"
MOST: Final = 250
"""The most labelled statements of a set and label, so that large sets do not take the time of all."""
DIGIT: Final = re.compile(r"\d")
LEVELS: Final[tuple[tuple[str, Callable[[LiteralFinding], bool]], ...]] = (
    (
        "identifiers, addresses, dates, times",
        lambda found: found.kind not in (LiteralKind.NUMBER, LiteralKind.QUOTATION),
    ),
    ("+ numbers in digits", lambda found: found.kind is LiteralKind.NUMBER and bool(DIGIT.search(found.text))),
    ("+ quotations", lambda found: found.kind is LiteralKind.QUOTATION),
    ("+ numbers and ordinals in words (all, as enforced)", lambda found: found.kind is LiteralKind.NUMBER),
)
"""Kinds of literals, in the order of rising wrong rejections; each level includes those before it."""


class Item(NamedTuple):
    """One judged answer."""

    name: str
    dataset: str
    answer: str
    sources: tuple[str, ...]
    unsupported: bool
    question: str = ""


class Rates(NamedTuple):
    """Counts of one rule over one set."""

    caught: int
    unsupported: int
    wrongly_rejected: int
    clean: int

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall of rejecting unsupported answers."""
        rejected = self.caught + self.wrongly_rejected
        return 2 * self.caught / (rejected + self.unsupported) if rejected + self.unsupported else 0.0


def load_items(data: Path) -> Iterator[Item]:
    """Load all sets under `data/grounding`."""
    for reader in READERS:
        yield from reader(data / "grounding")


def _read_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _read_ragtruth(folder: Path) -> Iterator[Item]:
    """Read RAGTruth. Its prompts number the passages and its answers mention "passage 2", so sources have numbers."""
    sources = {row["source_id"]: row for row in _read_rows(folder / "ragtruth" / "sources.jsonl")}
    for row in _read_rows(folder / "ragtruth" / "responses.jsonl"):
        passages = sources[row["source_id"]]["passages"]
        texts = tuple(f"passage {number}:\n{text}" for number, text in enumerate(passages, start=1))
        task, question = sources[row["source_id"]]["task"], sources[row["source_id"]]["question"]
        yield Item(row["id"], f"ragtruth {task}", row["response"], texts, row["hallucinated"], question)


def _read_faithbench(folder: Path) -> Iterator[Item]:
    for row in _read_rows(folder / "faithbench" / "items.jsonl"):
        bad = row["worst_label"] in ("unwanted", "questionable")
        yield Item(row["id"], "faithbench", row["response"], (row["source"],), bad)


def _read_attributionbench(folder: Path) -> Iterator[Item]:
    for row in _read_rows(folder / "attributionbench" / "dev_400.jsonl"):
        yield Item(row["id"], "attributionbench", row["claim"], tuple(row["references"]), not row["attributable"])


def _read_fever(folder: Path) -> Iterator[Item]:
    for row in _read_rows(folder / "fever_symmetric" / "dev.jsonl"):
        yield Item(row["id"], "fever_symmetric", row["claim"], (row["evidence"],), row["label"] == "REFUTES")


READERS: Final[tuple[Callable[[Path], Iterable[Item]], ...]] = (
    _read_ragtruth,
    _read_faithbench,
    _read_attributionbench,
    _read_fever,
)


def cite_everything(answer: str, sources: int) -> str:
    """Return the answer with every source cited after every statement."""
    marks = " " + " ".join(f"[C{number}]" for number in range(sources))
    parts, position = [], 0
    for part in segment(answer):
        parts.append(answer[position : part.end])
        parts.append("" if part.kind is SegmentKind.HEADING else marks)
        position = part.end
    return "".join(parts) + answer[position:]


def check(item: Item) -> ValidationResult:
    """Return the firewall's verdict on one item."""
    bundle: AnswerBundle = bundle_of_texts(item.sources, item.question)
    return validate(cite_everything(item.answer, len(item.sources)), bundle, load_shipped_policy("SOURCEBOUND_V2"))


def measure(items: Iterable[Item]) -> dict[tuple[str, str], Rates]:
    """Count rates by set and rule. The rule `any` counts the items that any rule rejects."""
    totals: Counter[tuple[str, bool]] = Counter()
    found: Counter[tuple[str, str, bool]] = Counter()
    for item in items:
        totals[item.dataset, item.unsupported] += 1
        codes = {violation.code.value for violation in check(item).outcome.violations}
        for rule in codes | ({"any"} if codes else set()):
            found[item.dataset, rule, item.unsupported] += 1
    rules = sorted({(dataset, rule) for dataset, rule, _ in found})
    return {
        (dataset, rule): Rates(
            found[dataset, rule, True], totals[dataset, True], found[dataset, rule, False], totals[dataset, False]
        )
        for dataset, rule in rules
    }


def curve(items: Iterable[Item]) -> dict[tuple[str, str], Rates]:
    """Count rates of the literal rule alone, by set, as more kinds of literals are enforced."""
    totals: Counter[tuple[str, bool]] = Counter()
    found: Counter[tuple[str, str, bool]] = Counter()
    datasets: dict[str, None] = {}
    for item in items:
        datasets[item.dataset] = None
        totals[item.dataset, item.unsupported] += 1
        missing = [finding for finding in check(item).literals if not finding.supported]
        for level, (name, _) in enumerate(LEVELS):
            if any(enforced(finding) for finding in missing for _, enforced in LEVELS[: level + 1]):
                found[item.dataset, name, item.unsupported] += 1
    return {
        (dataset, name): Rates(
            found[dataset, name, True], totals[dataset, True], found[dataset, name, False], totals[dataset, False]
        )
        for dataset in datasets
        for name, _ in LEVELS
    }


def render(rates: Mapping[tuple[str, str], Rates]) -> str:
    """Render the rates as a Markdown table."""
    lines = ["| set | rule | caught | wrongly rejected | F1 |", "|---|---|---|---|---|"]
    for (dataset, rule), rate in rates.items():
        caught, wrong = rate.caught / max(1, rate.unsupported), rate.wrongly_rejected / max(1, rate.clean)
        lines.append(
            f"| {dataset} | {rule} | {caught:.1%} ({rate.caught}/{rate.unsupported}) "
            f"| {wrong:.1%} ({rate.wrongly_rejected}/{rate.clean}) | {rate.f1:.2f} |"
        )
    return "\n".join(lines)


def _show_failures(items: Iterable[Item], dataset: str) -> None:
    for item in items:
        if item.dataset != dataset or item.unsupported:
            continue
        for violation in check(item).outcome.violations:
            print(f"{item.name}: {violation.code.value} {violation.value!r}")


def main() -> None:
    """Print the report, or the reasons why clean answers of one set were rejected."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--failures", metavar="SET", help="list the violations of a set's clean answers")
    parser.add_argument("--report", type=Path, help="where to write the report; printed when omitted")
    arguments = parser.parse_args()
    items = list(load_items(arguments.data))
    if arguments.failures:
        _show_failures(items, arguments.failures)
        return
    report = REPORT.format(
        rules=render(measure(items)), curve=render(curve(items)), most=MOST, statements="".join(marks(TARGET))
    )
    if arguments.report:
        arguments.report.write_text(report, "utf-8")
    else:
        print(report, end="")


if __name__ == "__main__":
    main()
