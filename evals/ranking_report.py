"""The report of the ranking's measurement, in Markdown: tables, differences, and targets with their verdicts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.policy.schema import Policy
from sourcebound.evals.metrics import Estimate, estimate, paired_difference

DENSE: Final = "dense"
LEXICAL: Final = "lexical"
HYBRID: Final = "hybrid"
MMR: Final = "hybrid with MMR"


class Measured(NamedTuple):
    """What was measured on one set."""

    name: str
    questions: int
    documents: int
    chunks: int
    ingest_seconds: float
    search_seconds: float
    """Of every question under every variant."""
    scores: Mapping[str, Mapping[str, Sequence[float]]]
    """By variant and metric, one number a question, in the order of the questions."""


class Target(NamedTuple):
    """What the hybrid's mean must reach on a set; `beats` names variants that it must be better than."""

    name: str
    metric: str
    least: float
    beats: tuple[str, ...] = ()


TARGETS: Final = (
    Target("scifact_dev", "nDCG@10", 0.78, (DENSE, LEXICAL)),
    Target("emanual_s10", "nDCG@10", 0.84, (DENSE, LEXICAL)),
    Target("cranfield", "nDCG@10", 0.38),
    Target("chunking_eval", "token recall@5", 0.80),
    Target("financebench", "question found", 7 / 11),
)

PREAMBLE: Final = """# How well retrieval ranks

Written by `make eval-retrieval` (`python -m sourcebound.evals.ranking --data DATA`); do not edit.

The product's own ingest and retriever ran under `{policy}` on an embedded database; no answer was made. Its retrieval:
{released}.
Here `top_k` is 30, so that ten documents are ranked; a document ranks where its best chunk does. Beside that, only what
the table names was changed:

| variant | how it was made |
|---|---|
{variants}

Sets: scifact_dev (claims and abstracts), cranfield (aerodynamics), emanual_s10 (a telephone's manual, a section a
document); chunking_eval (two long texts in one collection, evidence known by its characters; the first five chunks are
judged); financebench (five financial reports; a question is found when a page of its evidence is among the
policy's own `top_k` of {top_k}). A question to which no document is relevant is left out. Gains are linear. After ±
stands the bootstrap standard error over the questions; a difference is taken question by question. The sets are small:
a difference of less than two standard errors may be chance.
"""


def describe(measured: Sequence[Measured], policy: Policy, made: Mapping[str, str], seconds: float) -> str:
    """The whole report.

    Args:
        measured: What was measured, a set each.
        policy: The released policy.
        made: How each variant was made, by its name.
        seconds: How long the whole took.
    """
    variants = "\n".join(f"| {name} | {how} |" for name, how in made.items())
    values = policy.retrieval.model_dump(mode="json", exclude_none=True).items()
    released = ", ".join(f"`{name} = {json.dumps(value)}`" for name, value in values)
    head = PREAMBLE.format(
        policy=policy.policy_version, released=released, variants=variants, top_k=policy.retrieval.top_k
    )
    parts = [head, "## Targets\n", *_targets(measured), ""]
    for each in measured:
        parts += [f"## {each.name}\n", *_table(each), ""]
    parts.append(f"The whole took {seconds:.0f} s.\n")
    return "\n".join(parts)


def _table(measured: Measured) -> Iterator[str]:
    metrics = list(measured.scores[HYBRID])
    yield (
        f"{measured.questions} questions, {measured.documents} documents, {measured.chunks} chunks; ingested in "
        f"{measured.ingest_seconds:.0f} s, searched in {measured.search_seconds:.0f} s.\n"
    )
    yield f"| | {' | '.join(metrics)} |"
    yield "|---" * (len(metrics) + 1) + "|"
    for variant, scores in measured.scores.items():
        yield _line(variant, [_plain(estimate(scores[metric])) for metric in metrics])
    hybrid = measured.scores[HYBRID]
    for variant, scores in measured.scores.items():
        if variant != HYBRID:
            differences = [paired_difference(hybrid[metric], scores[metric]) for metric in metrics]
            yield _line(f"hybrid minus {variant}", [_signed(each) for each in differences])


def _targets(measured: Sequence[Measured]) -> Iterator[str]:
    by_name = {each.name: each for each in measured}
    yield "| hybrid on | metric | target | measured | |"
    yield "|---|---|---|---|---|"
    for target in TARGETS:
        if (found := by_name.get(target.name)) is None:
            continue
        values = {variant: scores[target.metric] for variant, scores in found.scores.items()}
        reached = estimate(values[HYBRID])
        yield _verdict(target, f"at least {target.least:.2f}", _plain(reached), reached.mean >= target.least)
        for variant in target.beats:
            gained = paired_difference(values[HYBRID], values[variant])
            yield _verdict(target, f"better than {variant}", _signed(gained), gained.mean > 0)


def _verdict(target: Target, wanted: str, found: str, met: bool) -> str:
    return _line(target.name, [target.metric, wanted, found, "met" if met else "**missed**"])


def _line(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def _plain(value: Estimate) -> str:
    return f"{value.mean:.3f} ± {value.error:.3f}"


def _signed(value: Estimate) -> str:
    return f"{value.mean:+.3f} ± {value.error:.3f}"
