"""`sourcebound ask --bundle`: a stream of retrieval bundles in, a stream of responses out, in the same order (R1-1).

Each bundle is one run with its own record. Few are read ahead of the responses, so a stream may be of any length; what
cannot be read is a run of its own too, which fails, and the stream goes on.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sourcebound.cli.answering.ask import EXIT_CODES, OutputFormat, RenderedResponse, prepare_response, print_response
from sourcebound.cli.console import ANSWERED, FAILED, NO_EVIDENCE, say
from sourcebound.errors import RequestError, SourceboundError

if TYPE_CHECKING:
    from sourcebound.contracts.state import AskInput, RunContext

    Bundle = dict[str, Any] | str

READ_BYTES: Final = 65536
STDIN: Final = 0
WORST: Final = (ANSWERED, NO_EVIDENCE, FAILED)
"""Exit codes from the best to the worst; the worst of a stream is the stream's."""


async def answer_bundles(
    path: Path, request: "AskInput", context: "RunContext", at_once: int, form: OutputFormat
) -> int:
    """Answers every bundle of a file or of stdin.

    Args:
        path: JSON, JSON lines, Parquet or Arrow; `-` is stdin.
        request: What every bundle has in common.
        context: Policy and model.
        at_once: Bundles that are read and have no response yet, at most.
        form: How responses are printed; as JSON, one line each.

    Returns:
        The exit code of the worst response.

    Raises:
        SourceboundError: There is no bundle at the beginning, or one could not be recorded at all.
    """
    from sourcebound.graph.engine import Engine

    printer = _Printer(as_json=form.as_json)
    async with aclosing(_bundles(path)) as bundles:
        first = await anext(bundles, None)
        if first is None:
            raise RequestError(f"{_name(path)} holds no bundle.", "Give retrieval bundles as JSON objects.")
        requests = _requests(request, first, bundles)
        async with Engine.open() as engine, aclosing(engine.ask_many(requests, context, at_once=at_once)) as responses:
            try:
                async for response in responses:
                    printer.show(await prepare_response(engine, response, response.run_id, form))
            except SourceboundError:
                if printer.shown:
                    say(f"{printer.shown} bundles have their response; go on with number {printer.shown + 1}.")
                raise
    return printer.worst


class _Printer:
    """Prints responses as they come, and keeps the worst exit code."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self.shown = 0
        self.worst = ANSWERED

    def show(self, shown: RenderedResponse) -> None:
        print(end="\n" if self.shown and not self._as_json else "")
        print_response(shown)
        sys.stdout.flush()
        self.shown += 1
        self.worst = max(self.worst, EXIT_CODES[shown.response.status], key=WORST.index)


async def _requests(shared: "AskInput", first: "Bundle", rest: "AsyncIterator[Bundle]") -> "AsyncIterator[AskInput]":
    yield {**shared, "retrieval_bundle": first}
    async for bundle in rest:
        yield {**shared, "retrieval_bundle": bundle}


async def _bundles(path: Path) -> "AsyncGenerator[Bundle, None]":
    """The bundles of a file or of stdin, one by one.

    Raises:
        RequestError: It cannot be read, or does not begin with a bundle: then it is no stream of them, and not one run
            is made of it.
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
        for found in reader.feed(data) if data else reader.close():
            if is_first and found.fault:
                raise RequestError(f"{_name(path)}: {found.fault}.", "Give retrieval bundles as JSON objects.")
            is_first = False
            yield found.bundle
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
    """Waits without holding up the runs under way; what cannot be waited for, such as a file, is always readable."""
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
