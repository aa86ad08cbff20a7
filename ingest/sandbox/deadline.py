"""The time that one file may take in this process, where nothing can be killed: work asks whether it may go on."""

from collections.abc import Callable
from pathlib import Path
from time import monotonic

from sourcebound.ingest.sandbox import failures

Clock = Callable[[], float]
"""Seconds, from any moment on."""


class Deadline:
    """Begins when it is made.

    Args:
        path: The file, for the message.
        seconds: The most time for it.
        clock: What tells the time.
    """

    def __init__(self, path: Path, seconds: float, clock: Clock = monotonic) -> None:
        self._path = path
        self._seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    def check(self) -> None:
        """Returns while there is time.

        Raises:
            DocumentError: TOO_SLOW.
        """
        if self._clock() > self._end:
            raise failures.too_slow(self._path, self._seconds, "cut into chunks")
