"""Measures the sections of an external evaluation. A set whose files are absent is left out by name.

Each section reads its sets one by one. A set that cannot be read never stops the others (contract S-4).
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Final, TypeVar

from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.versions import THIS_VERSION
from sourcebound.evals.external.report import ExternalFigure, ExternalSummary, LeftOut, Section
from sourcebound.evals.golden.results import find_commit
from sourcebound.wiring import DEFAULT_POLICY, find_policy

EMBEDDER: Final = "minilm"
MODEL: Final = "extractive"
Set = TypeVar("Set")
DATA_FAULTS: Final = (OSError, ValueError, LookupError, TypeError)
"""The errors that the data of other people cause."""


@dataclass
class Measuring:
    """The state of an evaluation: its data, and what was measured and left out so far.

    Args:
        data: The folder of the data.
        policy: The policy.
        most: The most questions of a set; None for all.
        say: Receives a line of progress.
    """

    data: Path
    policy: Policy
    most: int | None = None
    say: Callable[[str], None] = lambda _: None
    figures: list[ExternalFigure] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def each_set(
        self, section: Section, openers: Mapping[str, Callable[[], AbstractContextManager[Set]]]
    ) -> Iterator[tuple[str, Set]]:
        """Yield each set that can be read, with its name. The others are left out.

        Args:
            section: The section.
            openers: Opens each set, by its name.
        """
        for name, opener in openers.items():
            with ExitStack() as stack:
                try:
                    opened = stack.enter_context(opener())
                except DATA_FAULTS as error:
                    self.leave_out(section, name, error)
                    continue
                self.say(f"{section}: {name}")
                yield name, opened

    def leave_out(self, section: Section, name: str, error: Exception) -> None:
        """Note that a set was left out, and why."""
        absent = isinstance(error, FileNotFoundError)
        reason = f"{type(error).__name__}: {error}"
        if absent and isinstance(error, FileNotFoundError) and error.filename:
            file = Path(error.filename)
            reason = f"{file.relative_to(self.data) if file.is_relative_to(self.data) else file.name} does not exist"
        self.left_out.append(LeftOut(section=section, set=name, reason=reason, is_absent=absent))
        self.say(f"{section}: {name} is left out: {reason}")

    def limited(self, values: Iterable[Any]) -> list[Any]:
        """Return the first values, as many as the evaluation may ask."""
        return list(values)[: self.most]


def ready(make: Callable[[], Set]) -> Callable[[], AbstractContextManager[Set]]:
    """Make an opener of a function that reads a set at once."""
    return lambda: nullcontext(make())


@contextmanager
def existing(path: Path) -> Iterator[Path]:
    """Yield a path that exists.

    Raises:
        FileNotFoundError: It does not.
    """
    if not path.exists():
        raise FileNotFoundError(2, "does not exist", str(path))
    yield path


Measure = Callable[[Measuring], Awaitable[None]]


async def measure_all(
    data: Path,
    sections: Mapping[Section, Measure],
    most: int | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> ExternalSummary:
    """Measure sections over a folder of data.

    Args:
        data: The folder.
        sections: The sections to measure.
        most: The most questions of a set; None for all.
        say: Receives a line of progress.

    Returns:
        The summary.
    """
    measuring = Measuring(data, find_policy(DEFAULT_POLICY, embedding_model=EMBEDDER), most, say)
    seconds = {}
    for section in [section for section in Section if section in sections]:
        started = perf_counter()
        await sections[section](measuring)
        seconds[section.value] = round(perf_counter() - started, 1)
    return ExternalSummary(
        data=data.name,
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=find_commit(),
        versions=THIS_VERSION,
        policy=measuring.policy.policy_version,
        model=MODEL,
        most_questions=most,
        seconds=seconds,
        figures=tuple(measuring.figures),
        left_out=tuple(measuring.left_out),
    )
