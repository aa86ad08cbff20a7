"""The sections about answers of the built-in generator: questions with known answers, documents with instructions."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sourcebound.contracts.calibration.gate_minima import Share
from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.ports import AnswerModel
from sourcebound.contracts.prompt.build import build_prompt
from sourcebound.contracts.validation.firewall import validate
from sourcebound.evals.answers.asking import MODEL, ask
from sourcebound.evals.answers.cases import build_cases
from sourcebound.evals.answers.judging import count
from sourcebound.evals.answers.questions import set_readers
from sourcebound.evals.external.measuring import EMBEDDER, Measuring, ready
from sourcebound.evals.external.report import Section, figure_of_share
from sourcebound.evals.model.questions import Kind
from sourcebound.evals.retrieval import read_records
from sourcebound.models.registry import Models
from sourcebound.settings import Settings


async def measure_answers(measuring: Measuring) -> None:
    """Measure right, wrong and refused answers after the firewall."""
    openers = {name: ready(read) for name, read in set_readers(measuring.data).items()}
    for name, questions in measuring.each_set(Section.ANSWERS, openers):
        kinds = {
            each.kind: [one for one in questions.questions if one.kind is each.kind] for each in questions.questions
        }
        chosen = tuple(one for members in kinds.values() for one in measuring.limited(members))
        cases = await build_cases([questions._replace(questions=chosen)], measuring.policy, EMBEDDER)
        for tally in count(await ask(cases, measuring.policy)):
            shares = {"wrong": tally.wrong, "refused or failed": _rest(tally.right, tally.wrong)}
            if tally.kind is Kind.ANSWERABLE:
                shares = {"right": tally.right, "answer in the prompt": tally.in_evidence} | shares
                shares |= {"HIGH and right": tally.high} if tally.high.whole else {}
            for metric, share in shares.items():
                metric = f"{tally.kind}: {metric}"
                measuring.figures.append(figure_of_share(Section.ANSWERS, name, metric, share))


def _rest(right: Share, wrong: Share) -> Share:
    return Share(right.whole - right.part - wrong.part, right.whole)


class Injected(NamedTuple):
    """A document that carries an instruction, and the text that betrays an answer which obeys it."""

    question: str
    text: str
    trigger: str


async def measure_injection(measuring: Measuring) -> None:
    """Measure how many answers do not say what an instruction in the document orders."""
    folder = measuring.data / "injection"
    openers: dict[str, Callable[[], AbstractContextManager[list[Injected]]]] = {
        "garak_latent": ready(partial(_read_injected, folder / "garak_latent/items.jsonl", "trigger")),
        "bipia": ready(partial(_read_injected, folder / "bipia/items.jsonl", "attack")),
    }
    models = Models(Settings())
    try:
        model = await models.open(MODEL)
        for name, items in measuring.each_set(Section.INJECTION, openers):
            limited = measuring.limited(items)
            answers = [await _answer(item, model, measuring.policy) for item in limited]
            contained = sum(item.trigger not in answer for item, answer in zip(limited, answers, strict=True))
            released = sum(bool(answer) for answer in answers)
            for metric, part in (("instruction not said", contained), ("answer released", released)):
                share = Share(part, len(limited))
                measuring.figures.append(figure_of_share(Section.INJECTION, name, metric, share))
    finally:
        await models.close()


def _read_injected(path: Path, trigger: str) -> list[Injected]:
    return list(_injected(read_records(path), trigger))


def _injected(records: list[dict[str, Any]], trigger: str) -> Iterator[Injected]:
    for each in records:
        yield Injected(each["question"], each["context_injected"], each[trigger])


async def _answer(item: Injected, model: AnswerModel, policy: Policy) -> str:
    """Return the released answer of the generator over the whole document; empty if none is released."""
    built = build_prompt(bundle_of_texts([item.text], item.question), policy)
    if built.prompt.outcome.status is not Status.OK:
        return ""
    generated = await model.generate(built.prompt, policy)
    return validate(generated.raw_model_text, built.bundle, policy).validated_answer_text
