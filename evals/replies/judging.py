"""Judges the replies to written prompts as a run would: a rejected one is asked for again, once (R5-12)."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from sourcebound.contracts.calibration.gate_minima import Share, wilson_interval
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import RefusalCode, Status, proceed
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.prompt.build import build_prompt
from sourcebound.contracts.validation.attempts import may_repeat
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.result import ValidationResult
from sourcebound.evals.natural.questions import HELD
from sourcebound.evals.replies.prompts import Prompted, show


class Judged(NamedTuple):
    """A question with the verdicts on its replies."""

    key: str
    asked: Prompted
    verdicts: tuple[ValidationResult, ...]
    """One for each reply, at most two."""

    @property
    def status(self) -> Status:
        """The outcome of the last reply."""
        return self.verdicts[-1].outcome.status


def judge_replies(folder: Path) -> list[Judged]:
    """Judge every reply in a folder, and write `KEY.prompt2.txt` for each first reply that is rejected.

    Args:
        folder: As `write_prompts` wrote it, with `KEY.reply.txt` and `KEY.reply2.txt` for some keys.

    Returns:
        The questions that have a reply.
    """
    paths = {path: path.name.removesuffix(".question.json") for path in sorted(folder.glob("*.question.json"))}
    return [_judge_one(path, folder / key) for path, key in paths.items() if _reply(folder / key, "").exists()]


def _judge_one(path: Path, stem: Path) -> Judged:
    asked = Prompted.model_validate_json(path.read_text("utf-8"))
    policy = load_shipped_policy(asked.policy)
    verdicts = [validate(_reply(stem, "").read_text("utf-8").strip(), asked.bundle, policy)]
    if may_repeat(verdicts[0], Generation(outcome=proceed("generate")), policy, finished=0):
        again = build_prompt(asked.bundle, policy, [violation.code for violation in verdicts[0].outcome.violations])
        stem.with_name(f"{stem.name}.prompt2.txt").write_text(show(again.prompt.messages), "utf-8")
        if _reply(stem, "2").exists():
            verdicts.append(validate(_reply(stem, "2").read_text("utf-8").strip(), again.bundle, policy))
    return Judged(stem.name, asked, tuple(verdicts))


def _reply(stem: Path, attempt: str) -> Path:
    return stem.with_name(f"{stem.name}.reply{attempt}.txt")


def render(judged: Sequence[Judged]) -> str:
    """Render how many answers are released at the first and at the second attempt as a Markdown table.

    Exact refusals are no answers, and are counted apart.
    """
    names = list(dict.fromkeys(each.asked.set for each in judged))
    groups = [(name, [each for each in judged if each.asked.set == name]) for name in names]
    return "\n".join(
        [
            "| questions | replies | refused | answers | released at first | released at last |",
            "|---|---|---|---|---|---|",
            *(_row(name, members) for name, members in [*groups, ("**all**", judged)]),
        ]
    )


def _row(name: str, judged: Sequence[Judged]) -> str:
    refused = sum(each.verdicts[-1].outcome.refusal_code is RefusalCode.MODEL_REFUSED for each in judged)
    answers = len(judged) - refused
    first = sum(each.verdicts[0].outcome.status is Status.OK for each in judged)
    last = sum(each.status is Status.OK for each in judged)
    return f"| {name} | {len(judged)} | {refused} | {answers} | {_share(first, answers)} | {_share(last, answers)} |"


def _share(successes: int, total: int) -> str:
    if not total:
        return "–"
    low, high = wilson_interval(Share(successes, total))
    return f"{successes} of {total}: {successes / total:.1%} ({100 * low:.1f}–{100 * high:.1f})"


def list_rejected(judged: Iterable[Judged]) -> str:
    """Return a line for each rejected reply with its reasons; those of the part `held` stay unread."""
    return "\n".join(
        f"{each.key} ({each.asked.id}), attempt {number}: "
        + "; ".join(f"{violation.code}: {violation.value}" for violation in verdict.outcome.violations)
        for each in judged
        if each.asked.part != HELD
        for number, verdict in enumerate(each.verdicts, start=1)
        if verdict.outcome.status is Status.FAILED
    )
