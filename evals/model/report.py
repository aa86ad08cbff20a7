"""The report: what each policy released, refused and rejected, and every released answer that is not right."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.calibration.gate_minima import Share, wilson_interval
from sourcebound.contracts.policy.releases import read_template
from sourcebound.contracts.policy.schema import Policy
from sourcebound.evals.model.asking import Outcome
from sourcebound.evals.model.questions import Kind, Question
from sourcebound.evals.model.scoring import find_emptiness, is_right

MAX_WRONG: Final = 0.05
"""The largest share of the questions whose released answer may be wrong."""


class Judged(NamedTuple):
    """An outcome with its question and our judgement."""

    question: Question
    outcome: Outcome
    verdict: str
    """`right`, `wrong`, `refused` or `rejected`."""
    emptiness: str
    """`loop`, `echo` or `filler`, if a released answer is one."""


class Tally(NamedTuple):
    """The outcomes of one policy."""

    policy: str
    questions: int
    verdicts: Mapping[str, int]
    by_kind: Mapping[tuple[str, str], int]
    """Counts by kind of question and verdict."""
    codes: Mapping[str, int]
    emptiness: Mapping[str, int]

    @property
    def released(self) -> int:
        """The number of answers that left the product."""
        return self.verdicts["right"] + self.verdicts["wrong"]

    @property
    def passed(self) -> bool:
        """Whether no released answer is empty and few are wrong."""
        return not self.emptiness and self.verdicts["wrong"] <= MAX_WRONG * self.questions


def judge(question: Question, outcome: Outcome, policy: Policy) -> Judged:
    """Judge one outcome. A released answer to a question without an answer is wrong."""
    if outcome.status != "OK":
        return Judged(question, outcome, "refused" if outcome.status == "NO_EVIDENCE" else "rejected", "")
    verdict = "right" if is_right(outcome.answer, question.gold) else "wrong"
    instructions = read_template(policy.prompt.template)
    return Judged(
        question, outcome, verdict, find_emptiness(outcome.answer, question.text, instructions, outcome.cited)
    )


def count(policy: str, judged: Sequence[Judged]) -> Tally:
    """Count the judged outcomes of one policy."""
    return Tally(
        policy=policy,
        questions=len(judged),
        verdicts=Counter(each.verdict for each in judged),
        by_kind=Counter((each.question.kind.value, each.verdict) for each in judged),
        codes=Counter(each.outcome.code for each in judged if each.outcome.code),
        emptiness=Counter(each.emptiness for each in judged if each.emptiness),
    )


def render(tallies: Sequence[Tally], model: str, chunks: int, *, held: bool) -> str:
    """Render the tallies in Markdown."""
    half = "the held half" if held else "the development half"
    kinds = Counter({kind: sum(n for (name, _), n in tallies[0].by_kind.items() if name == kind) for kind in Kind})
    drawn = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    return "\n".join(
        [
            f"Model: {model}. Questions: {drawn}; drawn from {half} of the data. "
            f"At most {chunks} chunks of evidence.\n",
            *_outcome_table(tallies),
            "\nReleased answers by kind of question (right + wrong of all questions of the kind):\n",
            *_kind_table(tallies, kinds),
            "\nRefusals and rejections by code:\n",
            *_code_table(tallies),
            "",
        ]
    )


def _outcome_table(tallies: Iterable[Tally]) -> list[str]:
    columns = "policy | released | right | wrong | refused | rejected | loops, echoes, fillers released"
    rows = [f"| {columns} |", "|" + "---|" * 7]
    for tally in tallies:
        shares = [Share(tally.released, tally.questions)]
        shares += [Share(tally.verdicts[each], tally.questions) for each in ("right", "wrong", "refused", "rejected")]
        cells = [_show(share) for share in shares]
        empty = ", ".join(f"{number} {name}" for name, number in sorted(tally.emptiness.items())) or "0"
        rows.append(f"| {' | '.join([tally.policy, *cells, empty])} |")
    return rows


def _kind_table(tallies: Sequence[Tally], kinds: Mapping[Kind, int]) -> list[str]:
    rows = [f"| policy | {' | '.join(kinds)} |", "|" + "---|" * (len(kinds) + 1)]
    for tally in tallies:
        cells = [
            f"{tally.by_kind[kind.value, 'right']} + {tally.by_kind[kind.value, 'wrong']} of {number}"
            for kind, number in kinds.items()
        ]
        rows.append(f"| {' | '.join([tally.policy, *cells])} |")
    return rows


def _code_table(tallies: Sequence[Tally]) -> list[str]:
    totals = Counter[str]()
    for tally in tallies:
        totals.update(tally.codes)
    rows = [f"| code | {' | '.join(tally.policy for tally in tallies)} |", "|" + "---|" * (len(tallies) + 1)]
    for code, _ in totals.most_common():
        rows.append(f"| `{code}` | {' | '.join(str(tally.codes.get(code, 0)) for tally in tallies)} |")
    return rows


def _show(share: Share) -> str:
    low, high = wilson_interval(share)
    return f"{share.part} ({100 * low:.0f} to {100 * high:.0f} %)"


def render_doubtful(judged: Iterable[Judged]) -> str:
    """Render every released answer that is not right, or that says nothing, for a person to read."""
    parts = []
    for each in judged:
        if each.verdict != "wrong" and not each.emptiness:
            continue
        cited = "".join(f"\n> {' '.join(text.split())}\n" for text in each.outcome.cited)
        parts.append(
            f"## {each.outcome.policy}: {each.question.id} ({each.question.kind}; {each.verdict}"
            f"{f', {each.emptiness}' if each.emptiness else ''})\n\n"
            f"- Question: {each.question.text}\n- Accepted: {'; '.join(each.question.gold) or 'no answer'}\n"
            f"- Released: {each.outcome.answer}\n{cited}"
        )
    return "# Released answers that are not right\n\n" + "\n".join(parts)
