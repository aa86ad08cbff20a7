"""The gates: thresholds on the figures of an evaluation, in a versioned file (contract §11).

The value decides, not its interval. A gate without a case is not passed, because nothing was measured.
"""

import tomllib
from collections.abc import Iterable, Sequence
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from sourcebound.contracts.base import Contract
from sourcebound.errors import RequestError
from sourcebound.evals.golden.comparison import describe_end
from sourcebound.evals.golden.results import ItemResult
from sourcebound.evals.golden.summary import METRICS, Figure, Scope, measure


class Gate(Contract):
    """One threshold."""

    metric: str
    scope: Scope
    at_least: Annotated[float | None, Field(ge=0, le=1)] = None
    at_most: Annotated[float | None, Field(ge=0, le=1)] = None
    message: str = ""
    """The advice if the gate is not passed."""

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("a gate has either at_least or at_most")
        if self.metric not in METRICS:
            raise ValueError(f"{self.metric!r} is not a metric; the metrics are {', '.join(METRICS)}")
        return self

    @property
    def threshold(self) -> str:
        """The threshold as text."""
        return f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"

    def is_passed_by(self, value: float) -> bool:
        """Whether a value is on the right side of the threshold."""
        return value >= self.at_least if self.at_least is not None else value <= (self.at_most or 0.0)


class GateFile(Contract):
    """A versioned set of gates."""

    version: Annotated[str, Field(min_length=1)]
    gates: Annotated[tuple[Gate, ...], Field(min_length=1)]


class GateVerdict(StrEnum):
    """The verdict of a gate."""

    PASSED = "PASSED"
    NOT_PASSED = "NOT_PASSED"
    NOT_MEASURED = "NOT_MEASURED"
    """The evaluation has no item of its scope."""


class GateResult(Contract):
    """A gate, its figure and its verdict."""

    gate: Gate
    figure: Figure | None
    verdict: GateVerdict


class GateReport(Contract):
    """The verdicts on one or more evaluations."""

    version: str
    results: tuple[GateResult, ...]
    failing: tuple[str, ...]
    """The items that did not pass, with their runs."""

    @property
    def is_passed(self) -> bool:
        """Whether every gate is passed."""
        return all(each.verdict is GateVerdict.PASSED for each in self.results)


def load_gates(path: Path | None = None) -> GateFile:
    """Load the gates of a file; by default those of the contract.

    Raises:
        RequestError: The file cannot be read, or a field of it is wrong.
    """
    try:
        text = path.read_text("utf-8") if path else (files(__package__) / "gates.toml").read_text("utf-8")
        return GateFile.model_validate(tomllib.loads(text))
    except OSError as error:
        raise RequestError(
            f"{path} cannot be read: {error.strerror}.", "Check the path.", code="PATH_MISSING"
        ) from error
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        reason = f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}"
        raise _invalid_gates_error(path, reason) from error
    except ValueError as error:
        raise _invalid_gates_error(path, str(error)) from error


def check_gates(gates: GateFile, results: Sequence[ItemResult]) -> GateReport:
    """Hold results to gates.

    Args:
        gates: The gates.
        results: The results of one or more evaluations.
    """
    figures = {(figure.metric, figure.scope): figure for figure in measure(results)}
    verdicts = tuple(_judge(gate, figures.get((gate.metric, gate.scope))) for gate in gates.gates)
    return GateReport(version=gates.version, results=verdicts, failing=tuple(_list_failing(results)))


def _judge(gate: Gate, figure: Figure | None) -> GateResult:
    if figure is None or figure.value is None:
        return GateResult(gate=gate, figure=figure, verdict=GateVerdict.NOT_MEASURED)
    passed = gate.is_passed_by(figure.value)
    return GateResult(gate=gate, figure=figure, verdict=GateVerdict.PASSED if passed else GateVerdict.NOT_PASSED)


def _list_failing(results: Iterable[ItemResult]) -> Iterable[str]:
    for result in results:
        if not result.passed:
            yield f"{result.item}  {result.status}  {describe_end(result)}  {result.run_id or 'without a run'}"


def _invalid_gates_error(path: Path | None, reason: str) -> RequestError:
    return RequestError(
        f"{path} is not a file of gates: {reason}.", "docs/evaluation.md describes it.", code="INVALID_GATES"
    )
