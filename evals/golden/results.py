"""The files of an evaluation: its circumstances, one result for each item, and the summary.

A folder holds `evaluation.json`, written first, `results.jsonl`, which grows, and `summary.json`, written last. An
evaluation without a summary was interrupted, and continues under the same circumstances only.
"""

import subprocess
import tomllib
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Final, Self, TypeVar

from pydantic import Field, ValidationError

from sourcebound.contracts.base import Contract
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.versions import Versions
from sourcebound.errors import RequestError
from sourcebound.evals.golden.items import ExpectedCitation, Kind

EVALUATION: Final = "evaluation.json"
RESULTS: Final = "results.jsonl"
SUMMARY: Final = "summary.json"
Model = TypeVar("Model", bound=Contract)
AGAIN: Final = "Name another folder with --output, or add --again to replace it."


class Circumstances(Contract):
    """Everything that the results of an evaluation depend on, and the time at which it began."""

    set_name: str
    set_sha256: str
    items: int
    policy_version: str
    policy_sha256: str
    model: str
    embedding_model: str
    index_versions: dict[str, str]
    """The index version of each collection, by its name."""
    versions: Versions
    commit: str | None
    """The commit of the code, if it runs from a checkout."""
    judge: str | None = None
    """The model that judges released answers, if any does."""
    started_at: str
    """UTC, ISO 8601."""

    def differences(self, other: Self) -> list[str]:
        """Return the names of the fields that differ, without the time."""
        names = [name for name in type(self).model_fields if name != "started_at"]
        return [name for name in names if getattr(self, name) != getattr(other, name)]


class ModelVerdict(StrEnum):
    """The verdict of a judge on a released answer."""

    RIGHT = "RIGHT"
    WRONG = "WRONG"
    UNREADABLE = "UNREADABLE"
    """Its reply does not begin with a verdict."""
    FAILED = "FAILED"
    """It did not reply."""


class ItemResult(Contract):
    """The outcome of one item and the judgement on it."""

    item: str
    kind: Kind
    perturbation: str | None = None
    of: str | None = None
    """The item that a perturbed one was made from."""
    question: str
    accepted: tuple[Status, ...]
    """The statuses that are right."""
    run_id: str | None
    """The recorded run; None if the item has its own evidence."""
    status: Status
    code: str = ""
    """The refusal or failure code; empty for a released answer."""
    answer: str = ""
    cited: tuple[ExpectedCitation, ...] = ()
    """The places that the answer cites."""
    facts: int = 0
    facts_said: int = 0
    places: int = 0
    """The places that the answer must cite."""
    places_cited: int = 0
    citations_right: int = 0
    """The citations that are one of the expected places."""
    ranks: tuple[int | None, ...] = ()
    """For each place, the rank of the first candidate from it, from 0; None if no candidate is."""
    attribution_coverage: float | None = None
    support_level: str | None = None
    support: int | None = None
    """The lowest support score of a statement, in thousandths (R5-17)."""
    answers_question: int | None = None
    """The score for answering the question, in thousandths (R5-18)."""
    top_similarity: float | None = None
    question_coverage: float | None = None
    fallback_used: bool = False
    forbidden_said: tuple[str, ...] = ()
    unsupported_literals: tuple[str, ...] = ()
    """The literals of the answer that neither a cited chunk nor the question holds."""
    latency_ms: float = 0.0
    nodes: dict[str, float] = Field(default_factory=dict)
    """The milliseconds of each node."""
    hallucinated: bool
    passed: bool
    model_verdict: ModelVerdict | None = None
    """The verdict of the optional judge on a released answer. It decides nothing."""

    @property
    def may_answer(self) -> bool:
        """Whether an answer is right."""
        return Status.OK in self.accepted

    @property
    def must_answer(self) -> bool:
        """Whether only an answer is right."""
        return self.accepted == (Status.OK,)

    @property
    def released(self) -> bool:
        """Whether an answer was released."""
        return self.status is Status.OK


def find_commit(code: Path = Path(__file__).parent) -> str | None:
    """Return the commit of the code with `-dirty` for local changes; None outside a checkout of this project.

    Args:
        code: A folder of the code. It can be installed inside the repository of another project.
    """
    top = _ask_git(code, "rev-parse", "--show-toplevel")
    try:
        project = tomllib.loads((Path(top) / "pyproject.toml").read_text("utf-8")) if top else {}
    except (OSError, ValueError):
        return None
    if project.get("project", {}).get("name") != "sourcebound":
        return None
    return _ask_git(code, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")


def _ask_git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() or None


class ResultFolder:
    """The files of one evaluation.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, circumstances: Circumstances, *, again: bool = False) -> list[ItemResult]:
        """Begin an evaluation, or continue an interrupted one.

        Args:
            circumstances: The circumstances of this evaluation.
            again: Whether to replace an earlier evaluation.

        Returns:
            The results of the interrupted evaluation; empty for a new one.

        Raises:
            RequestError: The folder holds a complete evaluation, one under other circumstances, or files of these names
                that no evaluation wrote.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        file = self.path / EVALUATION
        old = [self.path / name for name in (SUMMARY, RESULTS) if (self.path / name).exists()]
        if old and not file.exists():
            raise RequestError(
                f"{self.path} holds {old[0].name} and no {EVALUATION}, so no evaluation wrote it.",
                "Name another folder with --output.",
                code="FOLDER_NOT_EMPTY",
            )
        if again or not file.exists():
            for path in old:
                path.unlink()
            file.write_text(circumstances.model_dump_json(indent=2) + "\n", "utf-8")
            return []
        if (self.path / SUMMARY).exists():
            raise RequestError(f"{self.path} holds a complete evaluation.", AGAIN, code="EVALUATION_COMPLETE")
        if differences := _read(file, Circumstances).differences(circumstances):
            raise RequestError(
                f"{self.path} holds an interrupted evaluation with another {', '.join(differences)}.",
                AGAIN,
                code="EVALUATION_CHANGED",
            )
        return self._drop_broken_line()

    def append(self, result: ItemResult) -> None:
        """Add a result to the file."""
        with (self.path / RESULTS).open("a", encoding="utf-8") as file:
            file.write(result.model_dump_json() + "\n")

    def circumstances(self) -> Circumstances:
        """Return the circumstances of the evaluation.

        Raises:
            RequestError: The folder holds no evaluation.
        """
        return _read(self.path / EVALUATION, Circumstances)

    def results(self) -> list[ItemResult]:
        """Return the results of a complete evaluation.

        Raises:
            RequestError: The folder holds no evaluation, or an interrupted one.
        """
        expected = self.circumstances().items
        if not (self.path / SUMMARY).exists():
            raise RequestError(
                f"the evaluation in {self.path} was interrupted.",
                "Run the same `sourcebound eval run` again to continue it.",
                code="EVALUATION_INTERRUPTED",
            )
        found = _parse_lines(self.path / RESULTS)
        if len(found) != expected:
            raise RequestError(
                f"{self.path / RESULTS} has {len(found)} of {expected} results.", AGAIN, code="INVALID_EVALUATION"
            )
        return found

    def _drop_broken_line(self) -> list[ItemResult]:
        """Return the results so far. A line that an interruption cut is dropped from the file."""
        file = self.path / RESULTS
        if not file.exists():
            return []
        lines = file.read_text("utf-8").split("\n")
        file.write_text("".join(line + "\n" for line in lines[:-1]), "utf-8")
        return _parse_lines(file)


def write_summary(path: Path, text: str) -> None:
    """Write the summary, which completes the evaluation."""
    (path / SUMMARY).write_text(text, "utf-8")


def in_order(results: Iterable[ItemResult], ids: Iterable[str]) -> list[ItemResult]:
    """Return the results in the order of the items."""
    by_id = {result.item: result for result in results}
    return [by_id[each] for each in ids]


def _parse_lines(path: Path) -> list[ItemResult]:
    lines = path.read_text("utf-8").split("\n")
    return [_parse(line, ItemResult, f"{path}, line {number}") for number, line in enumerate(lines, 1) if line.strip()]


def _read(path: Path, model: type[Model]) -> Model:
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise RequestError(
            f"{path.parent} holds no evaluation.",
            "Give the folder that `sourcebound eval run` wrote.",
            code="PATH_MISSING",
        ) from error
    return _parse(text, model, str(path))


def _parse(text: str, model: type[Model], place: str) -> Model:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        field = ".".join(map(str, detail["loc"]))
        raise RequestError(
            f"{place}: {field}: {detail['msg']}.", "Run the evaluation again.", code="INVALID_EVALUATION"
        ) from error
