"""Measure the firewall on labelled statements and answers of many sets: what is caught and what is wrongly rejected.

Each set says of a statement, or of a whole answer, whether its evidence supports it. The synthetic sets change one
supported statement in one way. Nothing has citations, so every statement is made to cite all its evidence. Documents
are split in two halves. Failures of the half `read` may be read to improve the rules, those of `held` may not.

    python -m sourcebound.evals.statements --data ../shared/data [--half held] [--failures GROUP] [--page PAGE]
"""

import argparse
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.outcome import FailureCode, Violation
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.validation.firewall import validate
from sourcebound.evals.grounding import MOST, TARGET, cite_everything
from sourcebound.evals.marked_page import update_page
from sourcebound.evals.metrics import Interval, share_by_group

POLICY: Final = "SOURCEBOUND_V2"
HALVES: Final = ("read", "held")
ANSWERS: Final = "answers of "
SHOWN: Final = (
    *(f"{ANSWERS}{name}" for name in ("ragtruth/qa", "faithjudge/qa", "lfqa_verif")),
    *("ragtruth/qa", "faithjudge/qa", "lfqa_verif", "attributionbench/id", "qcnli_factscore"),
    *(f"synthetic {kind}" for kind in ("number_swap", "date_swap", "unit_swap", "negation_flip", "antonym_flip")),
    *(
        f"synthetic {kind}"
        for kind in ("role_swap", "entity_swap", "other_document", "paraphrase", "merge", "verbatim")
    ),
)
"""The groups on the page."""
RULES: Final = {
    "literal rule": frozenset({FailureCode.UNSUPPORTED_LITERAL}),
    "verifier": frozenset({FailureCode.UNSUPPORTED_STATEMENT}),
    "both": frozenset({FailureCode.UNSUPPORTED_LITERAL, FailureCode.UNSUPPORTED_STATEMENT}),
}


class Case(NamedTuple):
    """One labelled statement or answer with its evidence."""

    id: str
    group: str
    """The set, or for a synthetic statement the kind of its change."""
    document: str
    question: str
    text: str
    sources: tuple[str, ...]
    supported: bool


class Judged(NamedTuple):
    """A case and the rules that it breaks."""

    case: Case
    violations: tuple[Violation, ...]

    def breaks(self, codes: frozenset[FailureCode]) -> bool:
        """Return whether one of the rules of `codes` rejects the case."""
        return any(violation.code in codes for violation in self.violations)


def load_cases(folder: Path, half: str | None = None, most: int = MOST) -> list[Case]:
    """Load the cases of a folder with `statements.jsonl`, `answers.jsonl` and `evidence.jsonl`.

    Args:
        folder: The folder.
        half: `read` or `held`; without it, both.
        most: The most cases of each group and label, chosen by the hash of their ids.

    Returns:
        The cases, those with the same evidence next to each other.
    """
    texts = {row["id"]: tuple(row["texts"]) for row in _read_rows(folder / "evidence.jsonl")}
    rows = (*_read_rows(folder / "statements.jsonl"), *_read_rows(folder / "answers.jsonl"))
    return choose_cases(rows, texts, half, most)


def choose_cases(
    rows: Iterable[Mapping[str, Any]], texts: Mapping[str, tuple[str, ...]], half: str | None, most: int
) -> list[Case]:
    """Choose cases of labelled statements and answers.

    Args:
        rows: The records.
        texts: The texts of each evidence, by its id.
        half: As in `load_cases`.
        most: As in `load_cases`.

    Raises:
        KeyError: A record names evidence that does not exist.
    """
    groups: dict[tuple[str, bool], list[tuple[bytes, str, Case]]] = defaultdict(list)
    for row in rows:
        if half is None or half_of(row["doc"]) == half:
            case = _case(row, texts[row["evidence_id"]])
            order = hashlib.sha256(case.id.encode()).digest()
            groups[case.group, case.supported].append((order, row["evidence_id"], case))
    chosen = [item for items in groups.values() for item in sorted(items)[:most]]
    return [case for _, _, case in sorted(chosen, key=lambda item: (item[1], item[0]))]


def half_of(document: str) -> str:
    """Return the half of a document, by the hash of its name."""
    return HALVES[hashlib.sha256(document.encode()).digest()[0] % 2]


def _read_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _case(row: Mapping[str, Any], sources: tuple[str, ...]) -> Case:
    is_answer = "answer" in row
    label = row["answer_label"] if is_answer else row["label"]
    group = f"{ANSWERS}{row['set']}" if is_answer else row["set"]
    if row["set"] == "synthetic":
        group = f"synthetic {row['kind']}"
    if row["set"].startswith("ragtruth"):  # its prompts number the passages, and its answers mention "passage 2"
        sources = tuple(f"passage {number}:\n{text}" for number, text in enumerate(sources, start=1))
    text = row["answer"] if is_answer else row["statement"]
    return Case(row["id"], group, row["doc"], row["question"] or "", text, sources, label == "supported")


def judge(cases: Iterable[Case], policy: str = POLICY) -> Iterator[Judged]:
    """Yield the verdict of the whole firewall on each case."""
    rules = load_shipped_policy(policy)
    for case in cases:
        bundle = bundle_of_texts(case.sources, case.question)
        result = validate(cite_everything(case.text, len(case.sources)), bundle, rules)
        yield Judged(case, tuple(result.outcome.violations))


def rejected_share(judged: Iterable[Judged], codes: frozenset[FailureCode]) -> Interval:
    """Return the share of cases that rules reject, with its interval over documents."""
    groups: dict[str, list[bool]] = defaultdict(list)
    for item in judged:
        groups[item.case.document].append(item.breaks(codes))
    return share_by_group([(sum(group), len(group)) for group in groups.values()])


def render(judged: Sequence[Judged]) -> str:
    """Render the shares of each group and rule as a Markdown table."""
    lines = [
        f"| set or change | label | items | {' | '.join(f'rejected by {rule}' for rule in RULES)} |",
        "|---|---|---|" + "---|" * len(RULES),
    ]
    for group in sorted({item.case.group for item in judged}):
        for supported in (True, False):
            items = [item for item in judged if item.case.group == group and item.case.supported is supported]
            if items:
                cells = [_show(rejected_share(items, codes)) for codes in RULES.values()]
                label = "supported" if supported else "not supported"
                lines.append(f"| {group} | {label} | {len(items)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _show(share: Interval) -> str:
    return f"{100 * share.mean:.1f} % ({100 * share.low:.1f}–{100 * share.high:.1f})"


def list_failures(judged: Iterable[Judged], group: str) -> str:
    """Return one line for each wrong verdict of a group on the half `read`; the half `held` stays unread."""
    wrong = [
        item
        for item in judged
        if item.case.group == group
        and half_of(item.case.document) == "read"
        and item.breaks(RULES["both"]) is item.case.supported
    ]
    return "\n".join(
        f"{item.case.id}: {'; '.join(f'{each.code.value} {each.value}' for each in item.violations) or 'passed'}"
        f" | {' '.join(item.case.text.split())}"
        for item in wrong
    )


def main() -> None:
    """Print the table, or the wrong verdicts of a group on the half `read`."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--half", choices=HALVES, help="the documents to measure on; without it, all")
    parser.add_argument("--groups", nargs="+", help="the groups to measure; without it, all")
    parser.add_argument("--most", type=int, default=MOST, help="the most items of a group and label")
    parser.add_argument("--failures", metavar="GROUP", help="list the wrong verdicts of a group on the half read")
    parser.add_argument("--page", type=Path, help="a page whose marked place receives the table; printed when omitted")
    arguments = parser.parse_args()
    groups = [arguments.failures] if arguments.failures else arguments.groups or (SHOWN if arguments.page else None)
    half = "read" if arguments.failures else arguments.half
    cases = load_cases(arguments.data / "support", half, arguments.most)
    judged = list(judge(case for case in cases if not groups or case.group in groups))
    table = list_failures(judged, arguments.failures) if arguments.failures else render(judged)
    if arguments.page:
        update_page(arguments.page, TARGET, table)
    else:
        print(table)


if __name__ == "__main__":
    main()
