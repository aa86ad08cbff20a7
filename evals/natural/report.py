"""The report: right, partial, wrong and refused by kind of question, and rightness by support level."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from sourcebound.contracts.calibration.gate_minima import Share, wilson_interval
from sourcebound.evals.natural.judging import Outcome, Verdict, judge
from sourcebound.evals.natural.questions import DEV, HELD, Kind

MIN_RIGHT: Final = 0.70
"""The least share of answerable questions with a right or partial answer."""
MAX_WRONG: Final = 0.08
"""The largest share of all questions with a wrong answer."""
MIN_HIGH_RIGHT: Final = 0.95
"""The least share of right answers among those with support HIGH."""
LEVELS: Final = ("HIGH", "MEDIUM", "LOW")


class Judged(NamedTuple):
    """An outcome and its verdict."""

    outcome: Outcome
    verdict: Verdict


def judge_all(outcomes: Iterable[Outcome]) -> list[Judged]:
    """Judge every outcome."""
    return [Judged(outcome, judge(outcome)) for outcome in outcomes]


LANGUAGES: Final = ("de", "fr", "es", "it", "nl", "pt")
"""The languages of questions, by their codes."""


def render(judged: Sequence[Judged]) -> str:
    """Render the tables in Markdown."""
    answerable = [each for each in judged if each.outcome.question.answerable]
    absent = [each for each in judged if not each.outcome.question.answerable]
    groups = [
        ("**answerable**", answerable),
        *_group_by(answerable, (DEV, HELD), lambda each: each.outcome.question.part),
        *_group_by(answerable, Kind, lambda each: each.outcome.question.kind),
        ("with typos", [each for each in answerable if each.outcome.question.typos]),
        ("in another language", [each for each in answerable if each.outcome.question.language != "en"]),
        *_group_by(answerable, LANGUAGES, lambda each: each.outcome.question.language),
        ("**absent subject**", absent),
        *_group_by(absent, Kind, lambda each: each.outcome.question.kind),
    ]
    rows = [_row(name, members) for name, members in groups if members]
    return "\n".join(
        [
            "| questions | n | right | partial | wrong | refused | rejected |",
            "|---|---|---|---|---|---|---|",
            *rows,
            "",
            *_bars(judged, answerable),
            "",
            "| support | released | right | right or partial |",
            "|---|---|---|---|",
            *(_level_row(level, _of_level(level, judged)) for level in LEVELS),
            *(
                _level_row(f"{level}, {part}", [each for each in members if each.outcome.question.part == part])
                for part in (DEV, HELD)
                for level in LEVELS
                for members in [_of_level(level, judged)]
            ),
            "",
            _codes(judged),
        ]
    )


def list_failures(judged: Iterable[Judged]) -> str:
    """Return what is not right in the part `dev`, for a person to read; the part `held` stays unread."""
    lines = []
    for outcome, verdict in judged:
        question = outcome.question
        if question.part != DEV or verdict is Verdict.RIGHT:
            continue
        said = " ".join(outcome.answer.split()) if verdict in (Verdict.PARTIAL, Verdict.WRONG) else outcome.code
        wanted = "; ".join(fact[0] for fact in question.facts) or "a refusal"
        lines.append(
            f"{verdict.upper()} {question.id} ({question.kind}, run {outcome.run_id})\n  {question.question}\n"
            f"  wanted: {wanted}\n  {outcome.support_level or 'no answer'}: {said}\n  cites: {', '.join(outcome.cited)}"
        )
    return "\n".join(lines)


def to_json(judged: Iterable[Judged]) -> list[dict[str, Any]]:
    """Return the items for a file. Those of the part `held` have no text."""
    items = []
    for outcome, verdict in judged:
        question = outcome.question
        item: dict[str, Any] = {
            "id": question.id,
            "part": question.part,
            "kind": question.kind,
            "verdict": verdict,
            "run_id": outcome.run_id,
            "status": outcome.status,
            "code": outcome.code,
            "support_level": outcome.support_level,
            "seconds": round(outcome.seconds, 3),
        }
        if question.part == DEV:
            item |= {"question": question.question, "answer": outcome.answer, "cited": list(outcome.cited)}
        items.append(item)
    return items


def _group_by(
    judged: Sequence[Judged], names: Iterable[str], key: Callable[[Judged], str]
) -> list[tuple[str, list[Judged]]]:
    return [(name, [each for each in judged if key(each) == name]) for name in names]


def _of_level(level: str, judged: Iterable[Judged]) -> list[Judged]:
    return [each for each in judged if each.outcome.support_level == level]


def _row(name: str, judged: Sequence[Judged]) -> str:
    counts = Counter(each.verdict for each in judged)
    cells = [_show(Share(counts[verdict], len(judged))) for verdict in Verdict]
    return f"| {name} | {len(judged)} | {' | '.join(cells)} |"


def _bars(judged: Sequence[Judged], answerable: Sequence[Judged]) -> list[str]:
    good = sum(each.verdict in (Verdict.RIGHT, Verdict.PARTIAL) for each in answerable)
    wrong = sum(each.verdict is Verdict.WRONG for each in judged)
    high = _of_level(LEVELS[0], judged)
    high_right = sum(each.verdict is Verdict.RIGHT for each in high)
    return [
        "| bar | needed | reached |",
        "|---|---|---|",
        f"| right or partial of answerable | ≥ {MIN_RIGHT:.0%} | {_show(Share(good, len(answerable)))} |",
        f"| wrong of all | ≤ {MAX_WRONG:.0%} | {_show(Share(wrong, len(judged)))} |",
        f"| right of support HIGH | ≥ {MIN_HIGH_RIGHT:.0%} | {_show(Share(high_right, len(high)))} |",
    ]


def _level_row(name: str, members: Sequence[Judged]) -> str:
    right = sum(each.verdict is Verdict.RIGHT for each in members)
    good = right + sum(each.verdict is Verdict.PARTIAL for each in members)
    return f"| {name} | {len(members)} | {_show(Share(right, len(members)))} | {_show(Share(good, len(members)))} |"


def _codes(judged: Iterable[Judged]) -> str:
    codes = Counter(each.outcome.code for each in judged if each.outcome.code and each.outcome.question.answerable)
    return "Answerable and not answered: " + (
        ", ".join(f"`{code}` {number}" for code, number in codes.most_common()) or "none"
    )


def _show(share: Share) -> str:
    if not share.whole:
        return "–"
    low, high = wilson_interval(share)
    return f"{share.part}/{share.whole} = {share.value:.0%} ({100 * low:.0f}–{100 * high:.0f})"
