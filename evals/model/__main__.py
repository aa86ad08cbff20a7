"""Ask a real small model questions with known answers through the product, under each policy.

Run `python -m sourcebound.evals.model --data DATA`. Outcomes and the model's replies are kept in the folder of `--out`:
an interrupted evaluation continues, and after a change of the firewall the same replies are judged again without the
model. The exit code is 1 if a released answer is a loop, an echo or a filler, or if more than one
question in twenty has a wrong answer that was released.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Final

from sourcebound.contracts.policy.releases import SHIPPED, load_shipped_policy
from sourcebound.evals.marked_page import update_page
from sourcebound.evals.model.asking import Outcome, ask_all, embedder_of, open_collections
from sourcebound.evals.model.questions import draw, read_documents, read_pools
from sourcebound.evals.model.report import Tally, count, judge, render, render_doubtful
from sourcebound.evals.retrieval import DATA
from sourcebound.models.local.server import CONTEXT_TOKENS, SMALL_MODEL, find_small_model, serve_model
from sourcebound.store.server.embedded import stop_on_sigterm

OWN: Final = tuple(name for name in SHIPPED if name.startswith("SOURCEBOUND_"))
CHUNKS: Final = 3
"""A small model reads slowly on one thread. A request may ask for less evidence than its policy allows (P-4)."""


async def evaluate(options: argparse.Namespace) -> list[Tally]:
    """Ask every question and write the outcomes, the tables and the answers to read into the folder of the options."""
    questions = draw(read_pools(options.data), options.questions, held=options.held)
    policies = [load_shipped_policy(name) for name in options.policies]
    path: Path = options.gguf or find_small_model()
    name = SMALL_MODEL if options.gguf is None else path.stem
    options.out.mkdir(parents=True, exist_ok=True)
    with serve_model(path, name, CONTEXT_TOKENS, drafts=True) as model:
        embedders = sorted({embedder_of(policy) for policy in policies})
        documents, replies = read_documents(options.data), options.out / f"replies-{name}.jsonl"
        async with open_collections(model, CONTEXT_TOKENS, documents, embedders, replies) as engine:
            outcomes = await ask_all(
                engine,
                f"openai:{name}",
                questions,
                policies,
                {"max_chunks": options.chunks},
                options.out / "outcomes.jsonl",
                _Progress(len(questions) * len(policies)).show,
            )
    by_id = {question.id: question for question in questions}
    policy_of = {policy.policy_version: policy for policy in policies}
    judged = [judge(by_id[each.question_id], each, policy_of[each.policy]) for each in outcomes]
    tallies = [count(name, [each for each in judged if each.outcome.policy == name]) for name in policy_of]
    table = render(tallies, name, options.chunks, held=options.held)
    (options.out / "report.md").write_text(table, "utf-8")
    (options.out / "doubtful.md").write_text(render_doubtful(judged), "utf-8")
    if options.page:
        update_page(options.page, "eval-model", table)
    print(table)
    return tallies


class _Progress:
    """Prints each outcome with its number."""

    def __init__(self, total: int) -> None:
        self._number, self._total, self._started = 0, total, perf_counter()

    def show(self, outcome: Outcome) -> None:
        self._number += 1
        minutes = (perf_counter() - self._started) / 60
        text = (
            f"{self._number}/{self._total}  {minutes:5.1f} min  {outcome.policy:<26}{outcome.status:<12}{outcome.code}"
        )
        print(text, file=sys.stderr, flush=True)


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m sourcebound.evals.model", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the evaluation data")
    parser.add_argument("--questions", type=int, default=100, help="how many questions to ask under each policy")
    parser.add_argument("--policies", nargs="+", choices=SHIPPED, default=OWN, metavar="POLICY")
    parser.add_argument("--held", action="store_true", help="draw from the half that no rule is tuned on")
    parser.add_argument("--chunks", type=int, default=CHUNKS, help="the most chunks of evidence in a prompt")
    parser.add_argument("--gguf", type=Path, help="another model file; by default the small model of the wheel")
    parser.add_argument("--out", type=Path, default=Path("build/model"), help="the folder of the results")
    parser.add_argument("--page", type=Path, help="a page whose marked place receives the tables")
    return parser.parse_args(arguments)


def main() -> None:
    """Print the tables. Exit with 1 if a policy released what it must not."""
    options = parse_options()
    stop_on_sigterm()
    tallies = asyncio.run(evaluate(options))
    failed = [tally.policy for tally in tallies if not tally.passed]
    if failed:
        sys.exit(f"released too many wrong answers, or an answer that says nothing: {', '.join(failed)}")


if __name__ == "__main__":
    main()
