"""`sourcebound eval perturb`: the perturbed set of a golden set."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from sourcebound.cli.console import say

RELATIVE = "relative to the set; without it, that kind is left out"


def perturb(
    golden_set: Annotated[Path, typer.Option("--set", help="A golden set, JSON Lines.")],
    output: Annotated[
        Path | None, typer.Option(help="The perturbed set. Default: SET_perturb.jsonl next to the set.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses the items and the changes; the same seed, the same bytes.")] = 1,
    per_kind: Annotated[int, typer.Option(min=1, help="The most items of each kind.")] = 30,
    injected: Annotated[
        str | None, typer.Option(help=f"A folder of documents with injected instructions, {RELATIVE}.")
    ] = None,
    distractors: Annotated[
        str | None, typer.Option(help=f"A folder of documents about similar things, {RELATIVE}.")
    ] = None,
    counterfactual: Annotated[
        str | None,
        typer.Option(
            help=f"The folder to write documents with other values to, {RELATIVE}. It is new, empty, or holds only "
            "what the replaced set made."
        ),
    ] = None,
) -> None:
    """Change the questions or the documents of a golden set in ways after which the outcome is still known.

    The kinds are typing errors, case, paraphrases, word order, politeness, abbreviations, units, injected instructions
    in the question or in documents, distractors, and documents with other values. Each item names its kind, its seed
    and the item that it was made from.
    """
    from sourcebound.evals.golden.perturb.files import perturb_file
    from sourcebound.evals.golden.perturb.make import Folders

    path = output or golden_set.with_name(f"{golden_set.stem}_perturb.jsonl")
    made = perturb_file(golden_set, path, seed, per_kind, Folders(injected, distractors, counterfactual))
    for kind, count in Counter(item.perturbation.kind for item in made.items if item.perturbation).items():
        print(f"{kind}  {count}")
    say(f"{len(made.items)} items are in {path}.")
