"""Judge the replies of any model, or of a person, to real prompts.

    python -m sourcebound.evals.replies write DIR [--set foreign --set natural] [--number 30] [--part held]
    python -m sourcebound.evals.replies judge DIR [--rejected]

`write` puts each prompt into `KEY.prompt.txt`, as a model receives it. Put the reply into `KEY.reply.txt`. `judge`
writes the second prompt of each rejected one into `KEY.prompt2.txt`; put its reply into `KEY.reply2.txt` and judge
again.
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from sourcebound.contracts.policy.releases import SHIPPED, load_shipped_policy
from sourcebound.evals.natural.questions import DEV, HELD
from sourcebound.evals.replies.judging import judge_replies, list_rejected, render
from sourcebound.evals.replies.prompts import INVENTED, write_prompts
from sourcebound.evals.retrieval import DATA


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m sourcebound.evals.replies", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    write = commands.add_parser("write", help="write the prompts")
    write.add_argument("--set", action="append", dest="sets", help="natural, languages, foreign or a set of the data")
    write.add_argument("--number", type=int, default=30, help="the questions of each set")
    write.add_argument("--part", choices=(DEV, HELD), default="", help="only the questions of a part")
    write.add_argument("--seed", type=int, default=1)
    write.add_argument("--policy", choices=SHIPPED, default="SOURCEBOUND_V2")
    write.add_argument("--data", type=Path, default=DATA, help="the folder of the external evaluation data")
    judge = commands.add_parser("judge", help="judge the replies")
    judge.add_argument("--rejected", action="store_true", help=f"list the rejected ones, without the part {HELD}")
    for command in (write, judge):
        command.add_argument("folder", type=Path)
    return parser.parse_args(arguments)


def main() -> None:
    """Write the prompts, or judge the replies and print the table."""
    options = parse_options()
    if options.command == "judge":
        judged = judge_replies(options.folder)
        if not judged:
            raise SystemExit(f"{options.folder} has no KEY.reply.txt next to a KEY.question.json. Write prompts first.")
        print(render(judged))
        if options.rejected:
            print(f"\n{list_rejected(judged)}")
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    if any(options.folder.glob("*.question.json")):
        raise SystemExit(f"{options.folder} has prompts already, and replies belong to them. Name another folder.")
    policy = load_shipped_policy(options.policy)
    names = options.sets or sorted(INVENTED)
    try:
        written = asyncio.run(
            write_prompts(options.folder, names, options.data, options.number, options.seed, options.part, policy)
        )
    except LookupError as error:
        raise SystemExit(str(error)) from error
    print("\n".join(f"{name}: {number} prompts" for name, number in written.items()))


if __name__ == "__main__":
    main()
