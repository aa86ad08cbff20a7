"""What the firewall catches on real answers, and what it wrongly rejects; both figures count (contract R5).

Public sets of answers with human judgements are brought into one shape: an answer, its sources, and whether people
found something unsupported in it. Where a set has no citations, every statement is made to cite every source, so that
what is measured is the check of content and not of form.

    python -m sourcebound.evals.grounding --data ../shared/data [--failures SET]
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from sourcebound.contracts.bundles import bundle_of_texts
from sourcebound.contracts.evidence import AnswerBundle
from sourcebound.contracts.policy import load_shipped_policy
from sourcebound.contracts.segmentation import SegmentKind, segment
from sourcebound.contracts.validation import Validation, validate

LITERAL_RULE: Final = "UNSUPPORTED_LITERAL"


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
        """Harmonic mean of precision and recall of rejecting what is unsupported."""
        rejected = self.caught + self.wrongly_rejected
        return 2 * self.caught / (rejected + self.unsupported) if rejected + self.unsupported else 0.0


def load_items(data: Path) -> Iterator[Item]:
    """All sets under `data/grounding`."""
    for reader in READERS:
        yield from reader(data / "grounding")


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _ragtruth(folder: Path) -> Iterator[Item]:
    """The prompts of this set number their passages, and answers speak of "passage 2".

    The numbers belong to the source.
    """
    sources = {row["source_id"]: row for row in _rows(folder / "ragtruth" / "sources.jsonl")}
    for row in _rows(folder / "ragtruth" / "responses.jsonl"):
        passages = sources[row["source_id"]]["passages"]
        texts = tuple(f"passage {number}:\n{text}" for number, text in enumerate(passages, start=1))
        task, question = sources[row["source_id"]]["task"], sources[row["source_id"]]["question"]
        yield Item(row["id"], f"ragtruth {task}", row["response"], texts, row["hallucinated"], question)


def _faithbench(folder: Path) -> Iterator[Item]:
    for row in _rows(folder / "faithbench" / "items.jsonl"):
        bad = row["worst_label"] in ("unwanted", "questionable")
        yield Item(row["id"], "faithbench", row["response"], (row["source"],), bad)


def _attributionbench(folder: Path) -> Iterator[Item]:
    for row in _rows(folder / "attributionbench" / "dev_400.jsonl"):
        yield Item(row["id"], "attributionbench", row["claim"], tuple(row["references"]), not row["attributable"])


def _fever(folder: Path) -> Iterator[Item]:
    for row in _rows(folder / "fever_symmetric" / "dev.jsonl"):
        yield Item(row["id"], "fever_symmetric", row["claim"], (row["evidence"],), row["label"] == "REFUTES")


READERS: Final[tuple[Callable[[Path], Iterable[Item]], ...]] = (_ragtruth, _faithbench, _attributionbench, _fever)


def cite_everything(answer: str, sources: int) -> str:
    """The answer with every source cited after every statement."""
    marks = " " + " ".join(f"[C{number}]" for number in range(sources))
    pieces, position = [], 0
    for part in segment(answer):
        pieces.append(answer[position : part.end])
        pieces.append("" if part.kind is SegmentKind.HEADING else marks)
        position = part.end
    return "".join(pieces) + answer[position:]


def check(item: Item) -> Validation:
    """The firewall's verdict on one item."""
    bundle: AnswerBundle = bundle_of_texts(item.sources, item.question)
    return validate(cite_everything(item.answer, len(item.sources)), bundle, load_shipped_policy("SOURCEBOUND_V1"))


def measure(items: Iterable[Item]) -> dict[tuple[str, str], Rates]:
    """Rates by set and rule; the rule `any` counts an item that any rule rejects."""
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


def render(rates: Mapping[tuple[str, str], Rates]) -> str:
    """The rates as a Markdown table."""
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
    """Prints the table, or what one set's clean answers were rejected for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--failures", metavar="SET", help="list the violations of a set's clean answers")
    arguments = parser.parse_args()
    items = list(load_items(arguments.data))
    if arguments.failures:
        _show_failures(items, arguments.failures)
    else:
        print(render(measure(items)))


if __name__ == "__main__":
    main()
