"""Waits for files to change, by looking again and again: no file system is too odd for that, network drives included.

Files are looked at from outside only; that something looks different is the reason for an ingest, and what has really
changed is decided there, by content.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Final

from sourcebound.ingest.discovery import traits_of

POLL_SECONDS: Final = 1.0


async def changed(paths: Sequence[Path], poll_seconds: float = POLL_SECONDS) -> AsyncGenerator[None, None]:
    """Yields at once, and then whenever files have changed and stand still again.

    Args:
        paths: Files and folders.
        poll_seconds: Time between two looks; files stand still when two looks in a row see the same.

    Yields:
        When it is time for an ingest; what changes during the ingest is yielded for next.
    """
    before = handled = await asyncio.to_thread(traits_of, paths)
    yield
    while True:
        await asyncio.sleep(poll_seconds)
        now = await asyncio.to_thread(traits_of, paths)
        if now == before and now != handled:
            handled = now
            yield
        before = now
