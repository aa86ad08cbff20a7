"""`sourcebound ask --bundle`: a stream of retrieval bundles in, a stream of responses out, in the same order (R1-1).

Each bundle is one run with its own record. Only a few bundles are read ahead, so a stream may have any length. A bundle
that cannot be read becomes a failed run, and the stream continues.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sourcebound.cli.answering.response_view import (
    EXIT_CODES,
    OutputFormat,
    RenderedResponse,
    print_response,
    render_response,
)
from sourcebound.cli.console import ANSWERED, FAILED, NO_EVIDENCE, say
from sourcebound.errors import RequestError, SourceboundError

if TYPE_CHECKING:
    from sourcebound.contracts.state import AskInput, RunContext

    Bundle = dict[str, Any] | str

READ_BYTES: Final = 65536
STDIN: Final = 0
WORST: Final = (ANSWERED, NO_EVIDENCE, FAILED)
"""Exit codes from best to worst. A stream ends with the worst of its bundles."""


async def answer_bundles(
    path: Path, request: "AskInput", context: "RunContext", at_once: int, output_format: OutputFormat
) -> int:
    """Answer every bundle of a file or of stdin.

    Args:
        path: JSON, JSON lines, Parquet or Arrow; `-` is stdin.
        request: The part of the request that all bundles share.
        context: Policy and model.
        at_once: The most bundles that are read and not answered yet.
        output_format: The form of the responses; JSON is one line each.

    Returns:
        The exit code of the worst response.

    Raises:
        SourceboundError: The input does not begin with a bundle, or a run could not be recorded.
    """
    from sourcebound.graph.engine import Engine

    printer = _Printer(as_json=output_format.as_json)
    async with aclosing(_bundles(path)) as bundles:
        first = await anext(bundles, None)
        if first is None:
            raise RequestError(f"{_name(path)} holds no bundle.", "Give retrieval bundles as JSON objects.")
        requests = _requests(request, first, bundles)
        async with Engine.open() as engine, aclosing(engine.ask_many(requests, context, at_once=at_once)) as responses:
            try:
                async for response in responses:
                    printer.show(await render_response(engine, response, response.run_id, output_format))
            except SourceboundError:
                if printer.count:
                    say(f"{printer.count} bundles are answered. Continue with number {printer.count + 1}.")
                raise
    return printer.worst


class _Printer:
    """Prints responses in order and keeps the worst exit code."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self.count = 0
        self.worst = ANSWERED

    def show(self, rendered: RenderedResponse) -> None:
        print(end="\n" if self.count and not self._as_json else "")
        print_response(rendered)
        sys.stdout.flush()
        self.count += 1
        self.worst = max(self.worst, EXIT_CODES[rendered.response.status], key=WORST.index)


async def _requests(shared: "AskInput", first: "Bundle", rest: "AsyncIterator[Bundle]") -> "AsyncIterator[AskInput]":
    yield {**shared, "retrieval_bundle": first}
    async for bundle in rest:
        yield {**shared, "retrieval_bundle": bundle}


async def _bundles(path: Path) -> "AsyncGenerator[Bundle, None]":
    """Yield the bundles of a file or of stdin one by one.

    Raises:
        RequestError: The input cannot be read, or does not begin with a bundle. No run is made of such an input.
    """
    with _opened(path) as file:
        async for bundle in _of_table(path) if _is_table(file, path) else _of_json(file, path):
            yield bundle


async def _of_json(file: int, path: Path) -> "AsyncIterator[Bundle]":
    from sourcebound.contracts.evidence.bundle_readers import BundleReader

    reader, is_first = BundleReader(), True
    while True:
        await _until_readable(file)
        data = os.read(file, READ_BYTES)
        for item in reader.feed(data) if data else reader.close():
            if is_first and item.fault:
                raise RequestError(f"{_name(path)}: {item.fault}.", "Give retrieval bundles as JSON objects.")
            is_first = False
            yield item.bundle
        if not data:
            return


async def _of_table(path: Path) -> "AsyncIterator[Bundle]":
    from sourcebound.store.search.candidate_tables import bundles_from_table

    for bundle in bundles_from_table(path):
        yield bundle


def _is_table(file: int, path: Path) -> bool:
    from sourcebound.store.search.candidate_tables import is_table

    return str(path) != "-" and path.is_file() and is_table(os.pread(file, 8, 0))


async def _until_readable(file: int) -> None:
    """Wait for input without blocking the runs in progress. A regular file is always readable."""
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.add_reader(file, readable.set)
    except PermissionError:
        return
    try:
        await readable.wait()
    finally:
        loop.remove_reader(file)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        if str(path) == "-":
            yield STDIN
            return
        file = os.open(path, os.O_RDONLY)
        try:
            yield file
        finally:
            os.close(file)
    except OSError as error:
        raise RequestError(f"{_name(path)} cannot be read: {error.strerror}.", "Check the path.") from error


def _name(path: Path) -> str:
    return "stdin" if str(path) == "-" else str(path)
