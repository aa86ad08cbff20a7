"""The report of the ranking evaluation in Markdown: tables, differences, and targets with their verdicts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.policy.schema import Policy
from sourcebound.evals.metrics import Estimate, estimate, paired_difference

DENSE: Final = "dense"
LEXICAL: Final = "lexical"
HYBRID: Final = "hybrid"
MMR: Final = "hybrid with MMR"


class Measurement(NamedTuple):
    """The measurement of one set."""

    name: str
    questions: int
    documents: int
    chunks: int
    ingest_seconds: float
    search_seconds: float
    """The time for every question under every variant."""
    scores: Mapping[str, Mapping[str, Sequence[float]]]
    """By variant and metric, one number per question, in the order of the questions."""


class Target(NamedTuple):
    """The value that the hybrid's mean must reach on a set; `beats` names the variants that it must exceed."""

    name: str
    metric: str
    minimum: float
    beats: tuple[str, ...] = ()


TARGETS: Final = (
    Target("scifact_dev", "nDCG@10", 0.83, (DENSE, LEXICAL)),
    Target("emanual_s10", "nDCG@10", 0.91, (DENSE, LEXICAL)),
    Target("cranfield", "nDCG@10", 0.42),
    Target("chunking_eval", "token recall@5", 0.90),
    Target("financebench", "question found", 7 / 11),
)

PREAMBLE: Final = """# Ranking quality of retrieval

Written by `make eval-retrieval` (`python -m sourcebound.evals.ranking --data DATA`); do not edit.

The product's own ingest and retriever ran under `{policy}` on an embedded database. No answer was generated. The
policy's retrieval:
{released}.
Here `top_k` is 30, so that ten documents are ranked. A document has the rank of its best chunk. Apart from that, only
the values in the table were changed:

| variant | setup |
|---|---|
{variants}

Sets: scifact_dev (claims and abstracts), cranfield (aerodynamics), emanual_s10 (a telephone's manual, a section a
document); chunking_eval (two long texts in one collection, evidence given as characters; the first five chunks are
judged); financebench (five financial reports; a question is found if a page of its evidence is among the
policy's own `top_k` of {top_k}). A question without a relevant document is left out. Gains are linear. The number
after ± is the bootstrap standard error over the questions. A difference is computed question by question. The sets are
small, so a difference of less than two standard errors may be chance.
"""


def describe(measured: Sequence[Measurement], policy: Policy, setups: Mapping[str, str], seconds: float) -> str:
    """Write the report.

    Args:
        measured: One measurement per set.
        policy: The released policy.
        setups: The setup of each variant, by its name.
        seconds: The time of the whole evaluation.
    """
    variants = "\n".join(f"| {name} | {setup} |" for name, setup in setups.items())
    values = policy.retrieval.model_dump(mode="json", exclude_none=True).items()
    released = ", ".join(f"`{name} = {json.dumps(value)}`" for name, value in values)
    preamble = PREAMBLE.format(
        policy=policy.policy_version, released=released, variants=variants, top_k=policy.retrieval.top_k
    )
    parts = [preamble, "## Targets\n", *_targets(measured), ""]
    for each in measured:
        parts += [f"## {each.name}\n", *_table(each), ""]
    parts.append(f"Total time: {seconds:.0f} s.\n")
    return "\n".join(parts)


def _table(measured: Measurement) -> Iterator[str]:
    metrics = list(measured.scores[HYBRID])
    yield (
        f"{measured.questions} questions, {measured.documents} documents, {measured.chunks} chunks; ingested in "
        f"{measured.ingest_seconds:.0f} s, searched in {measured.search_seconds:.0f} s.\n"
    )
    yield f"| | {' | '.join(metrics)} |"
    yield "|---" * (len(metrics) + 1) + "|"
    for variant, scores in measured.scores.items():
        yield _row(variant, [_format(estimate(scores[metric])) for metric in metrics])
    hybrid = measured.scores[HYBRID]
    for variant, scores in measured.scores.items():
        if variant != HYBRID:
            differences = [paired_difference(hybrid[metric], scores[metric]) for metric in metrics]
            yield _row(f"hybrid minus {variant}", [_format_signed(each) for each in differences])


def _targets(measured: Sequence[Measurement]) -> Iterator[str]:
    by_name = {each.name: each for each in measured}
    yield "| hybrid on | metric | target | measured | |"
    yield "|---|---|---|---|---|"
    for target in TARGETS:
        if (result := by_name.get(target.name)) is None:
            continue
        values = {variant: scores[target.metric] for variant, scores in result.scores.items()}
        hybrid_mean = estimate(values[HYBRID])
        yield _verdict(
            target, f"at least {target.minimum:.2f}", _format(hybrid_mean), hybrid_mean.mean >= target.minimum
        )
        for variant in target.beats:
            difference = paired_difference(values[HYBRID], values[variant])
            yield _verdict(target, f"better than {variant}", _format_signed(difference), difference.mean > 0)


def _verdict(target: Target, requirement: str, result: str, met: bool) -> str:
    return _row(target.name, [target.metric, requirement, result, "met" if met else "**missed**"])


def _row(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def _format(value: Estimate) -> str:
    return f"{value.mean:.3f} ± {value.error:.3f}"


def _format_signed(value: Estimate) -> str:
    return f"{value.mean:+.3f} ± {value.error:.3f}"
