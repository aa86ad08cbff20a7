"""The watch on files. It polls, because polling works on every file system, including network drives.

The watch compares the stamps of files and reads no content. A difference starts an ingest, and the ingest decides by
content which documents have changed.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Final

from sourcebound.ingest.discovery import read_stamps

POLL_SECONDS: Final = 1.0


async def watch_changes(paths: Sequence[Path], poll_seconds: float = POLL_SECONDS) -> AsyncGenerator[None, None]:
    """Yield at once, and then each time that files have changed and no longer change.

    Args:
        paths: Files and folders.
        poll_seconds: The time between two polls. Files no longer change when two consecutive polls are equal.

    Yields:
        None when an ingest must start. A change during that ingest leads to another one.
    """
    previous = ingested = await asyncio.to_thread(read_stamps, paths)
    yield
    while True:
        await asyncio.sleep(poll_seconds)
        current = await asyncio.to_thread(read_stamps, paths)
        if current == previous and current != ingested:
            ingested = current
            yield
        previous = current
