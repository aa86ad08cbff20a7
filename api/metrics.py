"""Counts and times of the server in Prometheus' format: outcomes, stages and requests, never a word of a text (§12).

If the server has several workers, each stores its measurements as files of a common folder, and every worker reports
their sum. The files of a worker that has died keep its counts.
"""

import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from sourcebound.contracts.response.public import PublicResponse

FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable by which `prometheus_client` finds the common folder. It is read when that package is imported."""
SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The measurements of one server since its start."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._outcomes = Counter(
            "sourcebound_questions",
            "Recorded questions by their outcome.",
            ["status", "reason"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "sourcebound_question_seconds",
            "Time from a question to its record.",
            buckets=SECONDS,
            registry=self._registry,
        )
        self._stages = Histogram(
            "sourcebound_stage_seconds", "Time of a stage.", ["stage"], buckets=SECONDS, registry=self._registry
        )
        self._faults = Counter(
            "sourcebound_question_faults", "Questions that ended without a record.", registry=self._registry
        )
        self._turned_away = Counter(
            "sourcebound_questions_turned_away",
            "Questions refused because of the limit.",
            registry=self._registry,
        )
        self.in_progress = Gauge(
            "sourcebound_questions_in_progress",
            "Questions in progress.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self._requests = Counter(
            "sourcebound_http_requests", "Requests by route and status.", ["route", "status"], registry=self._registry
        )

    def time_question(self) -> "QuestionTimer":
        """Return the timer of a question that begins now."""
        return QuestionTimer(self._stages.labels, self._end_question)

    def turn_away(self) -> None:
        """Count a question that was refused because of the limit."""
        self._turned_away.inc()

    def count_request(self, route: str, status: int) -> None:
        """Count a request.

        Args:
            route: The pattern of its path, which has no ids.
            status: The status of its answer.
        """
        self._requests.labels(route, str(status)).inc()

    def render(self) -> bytes:
        """Return all measurements as text, those of the other workers included."""
        if folder := os.environ.get(FOLDER):
            _forget_dead_workers(folder)
            registry = CollectorRegistry()
            MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
            return generate_latest(registry)
        return generate_latest(self._registry)

    def _end_question(self, response: PublicResponse | None, seconds: float) -> None:
        if response is None:
            self._faults.inc()
            return
        self._seconds.observe(seconds)
        self._outcomes.labels(response.status, response.refusal_code or response.failure_code or "").inc()


class QuestionTimer:
    """The time of a question and of its stages.

    Args:
        stage: Returns the histogram of a stage.
        end: Receives the response, or None for a question without a record, and the seconds.
    """

    def __init__(self, stage: Callable[[str], Histogram], end: Callable[[PublicResponse | None, float], None]) -> None:
        self._stage = stage
        self._end = end
        self._began = self._last = perf_counter()

    def end_stage(self, name: str) -> None:
        """Record the end of a stage, which began at the end of the stage before it."""
        now = perf_counter()
        self._stage(name).observe(now - self._last)
        self._last = now

    def end(self, response: PublicResponse | None) -> None:
        """Record the end of the question."""
        self._end(response, perf_counter() - self._began)


def _forget_dead_workers(folder: str) -> None:
    """Remove the questions in progress of workers that have died. Their counts stay."""
    for file in Path(folder).glob("gauge_live*.db"):
        if not _is_alive(int(file.stem.rpartition("_")[2])):
            file.unlink(missing_ok=True)  # another worker may do so at the same time


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is of another user
        return True
    return True
