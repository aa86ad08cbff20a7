"""The deadline for work on one file in this process, which cannot be killed: the work checks the time itself."""

from collections.abc import Callable
from pathlib import Path
from time import monotonic

from sourcebound.ingest.sandbox import failures

Clock = Callable[[], float]
"""A function that returns seconds since a fixed moment."""


class Deadline:
    """The deadline of one file. Its time starts when it is created.

    Args:
        path: The file, for the message.
        seconds: The longest time for it.
        clock: The clock that measures the time.
    """

    def __init__(self, path: Path, seconds: float, clock: Clock = monotonic) -> None:
        self._path = path
        self._seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    def check(self) -> None:
        """Check that there is time left.

        Raises:
            DocumentError: The time is over (`TOO_SLOW`).
        """
        if self._clock() > self._end:
            raise failures.too_slow(self._path, self._seconds, "cut into chunks")
