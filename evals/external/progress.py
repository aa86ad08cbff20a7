"""The results of an external evaluation so far, in a file, so that an interrupted one continues."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

from pydantic import ValidationError

from sourcebound.contracts.base import Contract
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.versions import THIS_VERSION, Versions
from sourcebound.errors import RequestError
from sourcebound.evals.external.report import ExternalFigure, LeftOut, Section
from sourcebound.evals.golden.results import find_commit

SUFFIX: Final = ".progress"


class Circumstances(Contract):
    """Everything that the figures depend on."""

    files: str
    """The digest of the names, sizes and times of the files."""
    sections: tuple[Section, ...]
    most_questions: int | None
    policy: str
    """The digest of the policy."""
    versions: Versions
    commit: str | None

    @classmethod
    def find(cls, data: Path, policy: Policy, sections: Iterable[Section], most: int | None) -> Self:
        """Return the circumstances of an evaluation.

        Args:
            data: The folder of the data.
            policy: The policy.
            sections: The sections that are measured.
            most: The most questions of a set and kind.
        """
        digest = hashlib.sha256()
        for path in sorted(data.rglob("*")):
            if path.is_file():
                status = path.stat()
                digest.update(f"{path.relative_to(data)} {status.st_size} {status.st_mtime_ns}\n".encode())
        return cls(
            files=digest.hexdigest(),
            sections=tuple(sorted(sections)),
            most_questions=most,
            policy=policy.sha256,
            versions=THIS_VERSION,
            commit=find_commit(),
        )

    def differences(self, other: Self) -> list[str]:
        """Return the names of the fields that differ."""
        return [name for name in type(self).model_fields if getattr(self, name) != getattr(other, name)]


class Result(Contract):
    """The figures of one set, and their cost."""

    unit: str
    questions: int = 0
    """The questions that were asked."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    """The processor time of this process, without the database."""
    load: float = 0.0
    """The load of the machine at the end (the average over one minute)."""
    figures: tuple[ExternalFigure, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


class Progress:
    """The file that keeps the results until the summary is written. Its first line has the circumstances.

    Args:
        summary: The file of the summary, which names it; None to keep nothing.
    """

    def __init__(self, summary: Path | None) -> None:
        self._path = summary.with_name(summary.name + SUFFIX) if summary else None

    def begin(self, circumstances: Circumstances, *, again: bool = False) -> dict[str, Result]:
        """Begin an evaluation, or continue an interrupted one.

        Args:
            circumstances: The circumstances of this evaluation.
            again: Whether to begin from the start.

        Returns:
            What was measured before, by unit. A line that the interruption cut is dropped.

        Raises:
            RequestError: The file holds an evaluation under other circumstances, or something else.
        """
        if self._path is None:
            return {}
        if again or not self._path.exists():
            self._path.write_text(circumstances.model_dump_json() + "\n", "utf-8")
            return {}
        head, *lines = self._path.read_text("utf-8").split("\n")
        if differences := self._parse(head).differences(circumstances):
            raise RequestError(
                f"{self._path} holds an interrupted evaluation with another {', '.join(differences)}.",
                "Name another file with --json, or add --again to begin from the start.",
                code="EVALUATION_CHANGED",
            )
        complete = lines[:-1]
        self._path.write_text("\n".join([head, *complete, ""]), "utf-8")
        return {each.unit: each for each in map(Result.model_validate_json, complete)}

    def append(self, result: Result) -> None:
        """Keep a result."""
        if self._path:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(result.model_dump_json() + "\n")

    def end(self) -> None:
        """Remove the file, because the summary was written."""
        if self._path:
            self._path.unlink(missing_ok=True)

    def _parse(self, line: str) -> Circumstances:
        try:
            return Circumstances.model_validate_json(line)
        except ValidationError as error:
            raise RequestError(
                f"{self._path} is not the progress of an external evaluation.",
                "Name another file with --json, or remove this one.",
                code="INVALID_EVALUATION",
            ) from error
