"""The outcome of a case after the firewall: right, wrong, refused with its code, or failed.

An answer is right by the one measure of `sourcebound.evals.model.scoring`. To a question without an answer every
released answer is wrong.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.calibration.gate_minima import Share
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.text.citations import CITATION
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.result import SupportLevel
from sourcebound.evals.answers.cases import Case
from sourcebound.evals.model.questions import Kind
from sourcebound.evals.model.scoring import is_right

RIGHT: Final = "right"
WRONG: Final = "wrong"


class Judgement(NamedTuple):
    """The judgement on a case."""

    case: Case
    verdict: str
    """`right`, `wrong`, or the refusal or failure code."""
    answer: str
    """The raw text of the generator; empty if it was not called."""
    sentences: tuple[str, ...]
    """The released statements, without citations."""
    level: str
    """The `support_level`; empty if nothing was released."""


def judge(case: Case, generation: Generation | None, policy: Policy) -> Judgement:
    """Judge a generator's answer after the firewall.

    Args:
        case: The case.
        generation: The generator's result; None if the case was refused before.
        policy: The policy of the run.
    """
    if generation is None:
        outcome = case.prompt.outcome
        return Judgement(case, str(outcome.refusal_code or outcome.failure_code), "", (), "")
    result = validate(generation.raw_model_text, case.bundle, policy)
    if result.outcome.status is not Status.OK:
        code = str(result.outcome.refusal_code or result.outcome.failure_code)
        return Judgement(case, code, generation.raw_model_text, (), "")
    verdict = RIGHT if is_right(result.validated_answer_text, case.gold) else WRONG
    sentences = tuple(CITATION.sub("", statement.text).strip() for statement in result.statements)
    return Judgement(case, verdict, result.validated_answer_text, sentences, str(result.support_level))


def holds_answer(case: Case) -> bool:
    """Whether the evidence of the prompt holds an accepted answer."""
    return is_right(" ".join(chunk.sanitized_text for chunk in case.bundle.selected_evidence), case.gold)


class Tally(NamedTuple):
    """The counts of one kind of question of one set."""

    name: str
    kind: Kind
    right: Share
    wrong: Share
    in_evidence: Share
    """The questions whose prompt holds an accepted answer."""
    hitting: Share
    """The quoted sentences that hold an accepted answer, or are held by one."""
    several: Share
    """The released answers of more than one sentence."""
    levels: dict[str, Share]
    """The right answers of each `support_level`."""
    codes: dict[str, int]
    """How often each code ended a question."""


def count(judged: Sequence[Judgement]) -> list[Tally]:
    """Count the judgements of each set and kind, in their order."""
    groups: dict[tuple[str, Kind], list[Judgement]] = {}
    for each in judged:
        groups.setdefault((each.case.set, each.case.kind), []).append(each)
    return [_count_group(name, kind, group) for (name, kind), group in groups.items()]


def _count_group(name: str, kind: Kind, group: Sequence[Judgement]) -> Tally:
    released = [each for each in group if each.verdict in (RIGHT, WRONG)]
    pairs = [(sentence, each.case.gold) for each in released for sentence in each.sentences]
    codes: dict[str, int] = {}
    for each in group:
        codes[each.verdict] = codes.get(each.verdict, 0) + 1
    return Tally(
        name,
        kind,
        _share(group, lambda each: each.verdict == RIGHT),
        _share(group, lambda each: each.verdict == WRONG),
        _share(group, lambda each: holds_answer(each.case)),
        Share(sum(_hits(sentence, gold) for sentence, gold in pairs), len(pairs)),
        _share(released, lambda each: len(each.sentences) > 1),
        {
            level.value: _share([each for each in released if each.level == level], lambda each: each.verdict == RIGHT)
            for level in SupportLevel
        },
        {code: number for code, number in sorted(codes.items()) if code not in (RIGHT, WRONG)},
    )


def _hits(sentence: str, gold: Sequence[str]) -> bool:
    """Whether a sentence holds an accepted answer, or is a part of a long one."""
    return is_right(sentence, gold) or any(is_right(each, [sentence]) for each in gold)


def _share(group: Sequence[Judgement], test: Callable[[Judgement], bool]) -> Share:
    return Share(sum(map(test, group)), len(group))
