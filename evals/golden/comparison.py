"""The comparison of two evaluations, item by item: differences with intervals, and every item whose verdict changed.

A change of policy or index is compared before it is released or promoted (contract EV-2). Only items of both
evaluations with the same question are compared. The intervals are bootstrap intervals of the paired differences.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from sourcebound.contracts.base import Contract
from sourcebound.contracts.policy.schema import Policy
from sourcebound.errors import RequestError
from sourcebound.evals.golden.items import Kind
from sourcebound.evals.golden.results import Circumstances, ItemResult
from sourcebound.evals.golden.summary import Scope, of_scope
from sourcebound.evals.json_files import read_json_file
from sourcebound.evals.metrics import mean_interval

VERSIONED: Final = re.compile(r"(?P<family>.+_V)(?P<number>[0-9]+)")


class Difference(Contract):
    """The change of a metric on the same items."""

    metric: str
    scope: Scope
    items: int
    before: float
    after: float
    change: float
    low: float
    high: float
    """The 95 % interval of the change."""


class Flip(Contract):
    """An item whose verdict changed."""

    item: str
    kind: Kind
    question: str
    before: str
    after: str
    run_before: str | None
    run_after: str | None


class Comparison(Contract):
    """A comparison of two evaluations."""

    version: Literal["comparison_v1"] = "comparison_v1"
    before: Circumstances
    after: Circumstances
    items: int
    """The compared items."""
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    """The items that are not compared, because the other evaluation lacks them or asks something else."""
    differences: tuple[Difference, ...]
    lost: tuple[Flip, ...]
    """The items that passed before and do not pass after."""
    won: tuple[Flip, ...]
    hallucinations: tuple[Flip, ...]
    """The items that hallucinated after and not before, whether they passed before or not."""

    @property
    def is_worse(self) -> bool:
        """Whether the pass rate certainly fell, or a hallucination is new."""
        falls = any(each.metric == "passed" and each.high < 0 for each in self.differences)
        return falls or bool(self.hallucinations)


VALUES: Final[Mapping[str, tuple[Callable[[ItemResult], bool], Callable[[ItemResult], float]]]] = {
    "passed": (lambda _: True, lambda each: float(each.passed)),
    "hallucinated": (lambda _: True, lambda each: float(each.hallucinated)),
    "without an answer": (lambda each: each.must_answer, lambda each: float(not each.released)),
    "key facts": (lambda each: each.facts > 0, lambda each: each.facts_said / each.facts),
    "places cited": (lambda each: each.places > 0, lambda each: each.places_cited / each.places),
    "fallback": (lambda _: True, lambda each: float(each.fallback_used)),
    "milliseconds": (lambda each: each.run_id is not None, lambda each: each.latency_ms),
}
"""The values of an item that are compared, and the items that have them."""


def compare(
    before: Circumstances, first: Sequence[ItemResult], after: Circumstances, second: Sequence[ItemResult]
) -> Comparison:
    """Compare two evaluations.

    Args:
        before: The circumstances of the first one.
        first: Its results.
        after: The circumstances of the second one.
        second: Its results.

    Raises:
        RequestError: They have no item in common.
    """
    by_key = {(each.item, each.question): each for each in second}
    pairs = [(each, by_key[each.item, each.question]) for each in first if (each.item, each.question) in by_key]
    if not pairs:
        raise RequestError("the two evaluations have no item in common.", "Evaluate the same set twice.")
    common = {old.item for old, _ in pairs}
    return Comparison(
        before=before,
        after=after,
        items=len(pairs),
        only_before=tuple(each.item for each in first if each.item not in common),
        only_after=tuple(each.item for each in second if each.item not in common),
        differences=tuple(_measure(pairs)),
        lost=tuple(_flip(old, new) for old, new in pairs if old.passed and not new.passed),
        won=tuple(_flip(old, new) for old, new in pairs if new.passed and not old.passed),
        hallucinations=tuple(_flip(old, new) for old, new in pairs if new.hallucinated and not old.hallucinated),
    )


def read_comparison(path: Path) -> Comparison:
    """Read the file of a comparison.

    Raises:
        RequestError: The file cannot be read, or is not a comparison.
    """
    next_step = "Write one: sourcebound eval compare BEFORE AFTER --output FILE"
    return read_json_file(path, Comparison, "a comparison of evaluations", next_step, "INVALID_COMPARISON")


def find_predecessor(name: str, released: Iterable[str]) -> str | None:
    """Return the released policy before a version: the same name with the next lower number; None if there is none."""
    match = VERSIONED.fullmatch(name)
    if match is None:
        return None
    found = [each for each in map(VERSIONED.fullmatch, released) if each and each["family"] == match["family"]]
    earlier = [each for each in found if int(each["number"]) < int(match["number"])]
    return max(earlier, key=lambda each: int(each["number"]))[0] if earlier else None


def check_policy_change(policy: Policy, predecessor: Policy, comparisons: Sequence[Comparison]) -> None:
    """Check that a policy was compared with the one before it (EV-2).

    Args:
        policy: The policy to release.
        predecessor: The released policy before it.
        comparisons: The comparisons that were given.

    Raises:
        RequestError: None of them compares these two policies, as they are now.
    """
    wanted = (predecessor.sha256, policy.sha256)
    if any((each.before.policy_sha256, each.after.policy_sha256) == wanted for each in comparisons):
        return
    old, new = predecessor.policy_version, policy.policy_version
    raise RequestError(
        f"{new} was not compared with {old}: {_say_what_is_there(comparisons)}.",
        f"Run `sourcebound eval run` with --policy {old} and with the file of {new}, then `sourcebound eval compare "
        "BEFORE AFTER --output FILE`, and give --comparison FILE.",
        code="COMPARISON_MISSING",
    )


def check_index_change(old: str, new: str, comparisons: Sequence[Comparison]) -> None:
    """Check that an index was compared with the one that it replaces (EV-2).

    Args:
        old: The index version of the current collection.
        new: The index version of the candidate.
        comparisons: The comparisons that were given.

    Raises:
        RequestError: None of them compares these two index versions.
    """
    for each in comparisons:
        if old in each.before.index_versions.values() and new in each.after.index_versions.values():
            return
    raise RequestError(
        f"the index {new} was not compared with {old}: {_say_what_is_there(comparisons)}.",
        "Run `sourcebound eval run` on both collections, then `sourcebound eval compare BEFORE AFTER --output FILE`, "
        "and give --comparison FILE.",
        code="COMPARISON_MISSING",
    )


def _say_what_is_there(comparisons: Sequence[Comparison]) -> str:
    if not comparisons:
        return "no comparison is given"
    pairs = [f"{each.before.policy_version} with {each.after.policy_version}" for each in comparisons]
    return f"the comparison is of {', '.join(pairs)}, in other versions or on other documents"


def _measure(pairs: Sequence[tuple[ItemResult, ItemResult]]) -> Iterable[Difference]:
    for scope in Scope:
        members = [pair for pair in pairs if of_scope(pair[:1], scope)]
        for metric, (has_value, value) in VALUES.items():
            values = [(value(old), value(new)) for old, new in members if has_value(old) and has_value(new)]
            if not values:
                continue
            change = mean_interval([new - old for old, new in values])
            yield Difference(
                metric=metric,
                scope=scope,
                items=len(values),
                before=sum(old for old, _ in values) / len(values),
                after=sum(new for _, new in values) / len(values),
                change=change.mean,
                low=change.low,
                high=change.high,
            )


def _flip(old: ItemResult, new: ItemResult) -> Flip:
    return Flip(
        item=old.item,
        kind=old.kind,
        question=old.question,
        before=describe_end(old),
        after=describe_end(new),
        run_before=old.run_id,
        run_after=new.run_id,
    )


def describe_end(result: ItemResult) -> str:
    """Return the end of an item in a few words."""
    if result.passed:
        return f"passed, {result.status}"
    return "hallucinated" if result.hallucinated else result.code or "wrong answer"
