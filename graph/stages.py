"""A run as a stream: its stages while it runs, then the validated response (CP-12)."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from sourcebound.contracts.response.public import PublicResponse


async def stream_stages(
    ask: Callable[[Callable[[str], None]], Awaitable[PublicResponse]],
) -> AsyncGenerator[str | PublicResponse, None]:
    """Run the graph once, and interrupt it if the stream is closed before its end.

    Args:
        ask: Runs the graph. It calls its argument with the name of each stage that ends.

    Yields:
        The names, then the response.

    Raises:
        SourceboundError: As `ask`.
    """
    stages: asyncio.Queue[str | None] = asyncio.Queue()
    run = asyncio.ensure_future(ask(stages.put_nowait))
    run.add_done_callback(lambda _: stages.put_nowait(None))
    try:
        while (stage := await stages.get()) is not None:
            yield stage
        yield await run
    finally:
        if run.cancel():
            await asyncio.wait([run])
