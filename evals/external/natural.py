"""The section of natural questions over mixed files, through the whole graph: those of the project, and any others."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from sourcebound.contracts.calibration.gate_minima import Share
from sourcebound.contracts.state import RunContext
from sourcebound.evals.external.report import ExternalFigure, Section, figure_of_share
from sourcebound.evals.external.sets.discovery import FoundSet
from sourcebound.evals.external.sets.records import DataFault, Reader
from sourcebound.evals.natural.asking import COLLECTION, ask_all, open_corpus
from sourcebound.evals.natural.judging import Verdict
from sourcebound.evals.natural.questions import Question, StaleQuestion, check_place, read_questions
from sourcebound.evals.natural.report import Judged, judge_all
from sourcebound.evals.natural.sources import collect, read_corpus

PROJECT: Final = "natural questions of the project"
EMBEDDER: Final = "minilm"
HIGH: Final = "HIGH"
ROOT: Final = Path(__file__).resolve().parents[2]


class NaturalSet(NamedTuple):
    """Natural questions whose files hold the facts that they ask for."""

    folder: Path
    questions: list[Question]


@contextmanager
def project_set(data: Path) -> Iterator[NaturalSet]:
    """Collect the files of the project's own questions: of this checkout, of installed packages, and of the data.

    Raises:
        FileNotFoundError: This is no checkout.
    """
    if not (ROOT / "requirements").is_dir():
        raise FileNotFoundError(2, "does not exist", str(ROOT / "requirements"))
    with tempfile.TemporaryDirectory(prefix="sourcebound-natural-") as name:
        collect(read_corpus(), Path(name), ROOT, data)
        yield NaturalSet(Path(name), _usable(read_questions(), Path(name)))


@contextmanager
def found_set(found: FoundSet, reader: Reader) -> Iterator[NaturalSet]:
    """Copy the files next to natural questions.

    Raises:
        DataFault: A question is malformed, or no place of it says one of its facts.
    """
    file = found.files["items"]
    questions = reader.read(file, Question)
    with tempfile.TemporaryDirectory(prefix="sourcebound-natural-") as name:
        target = Path(name) / "documents"
        shutil.copytree(found.folder, target, ignore=shutil.ignore_patterns("*.jsonl"))
        usable = _usable(questions, target)
        if not usable:
            raise DataFault(f"{reader.name(file)}: no file says the facts of a question")
        yield NaturalSet(target, usable)


def _usable(questions: Sequence[Question], folder: Path) -> list[Question]:
    """Return the questions whose files are there and say their facts."""
    usable = []
    for question in questions:
        try:
            check_place(question, folder)
        except StaleQuestion:
            continue
        usable.append(question)
    return usable


async def ask_natural(natural: NaturalSet, most: int | None) -> list[Judged]:
    """Ask natural questions through the whole graph, and judge the answers."""
    async with open_corpus(natural.folder, EMBEDDER) as (engine, _):
        outcomes = await ask_all(engine, natural.questions[:most], f"{COLLECTION}-{EMBEDDER}", RunContext())
    return judge_all(outcomes)


def count_natural(name: str, judged: Sequence[Judged]) -> list[ExternalFigure]:
    """Count right, partial and wrong answers, and refusals where the files have no answer."""
    answerable = [each for each in judged if each.outcome.question.answerable]
    absent = [each for each in judged if not each.outcome.question.answerable]
    high = [each for each in answerable if each.outcome.support_level == HIGH]
    good = (Verdict.RIGHT, Verdict.PARTIAL)
    rows = (
        ("answerable", "right", answerable, (Verdict.RIGHT,)),
        ("answerable", "right or partial", answerable, good),
        ("answerable", "wrong", answerable, (Verdict.WRONG,)),
        ("answerable", "right, of support HIGH", high, (Verdict.RIGHT,)),
        ("absent subject", "status right", absent, (Verdict.RIGHT,)),
        ("absent subject", "wrong", absent, (Verdict.WRONG,)),
    )
    return [
        figure_of_share(
            Section.NATURAL, name, metric, Share(sum(each.verdict in counted for each in group), len(group)), kind
        )
        for kind, metric, group, counted in rows
        if group
    ]
