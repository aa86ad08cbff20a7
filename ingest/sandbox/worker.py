"""The process that reads documents: `python -m sourcebound.ingest.sandbox.worker MEMORY_MEGABYTES SECONDS`.

It gets a file's name and bytes, replies with its content, and so on until its input ends. It is never given more
than that: no connection, no key, no path that it would have to open. What it answers is JSON, which the other side
checks; nothing that it could send is ever executed. An exception that no loader foresaw, and memory that runs out, end
it; the other side starts the next one.
"""

import json
import os
import signal
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final

from sourcebound.contracts.corpus.document import ParsedDocument
from sourcebound.errors import DocumentError
from sourcebound.ingest.loaders.select import parse_document
from sourcebound.ingest.sandbox.confinement import confine

REQUEST: Final = struct.Struct(">IQQ")
"""Bytes of the name, bytes of the file, and the size limit; name and file follow."""
REPLY: Final = struct.Struct(">cQ")
"""What follows, and its bytes."""
READY, DOCUMENT, REFUSAL, DEFECT = b"R", b"D", b"E", b"X"
GRACE_SECONDS: Final = 5
"""Seconds after the parent's deadline at which this process ends itself, in case the parent is gone."""
Load = Callable[[Path, bytes, int], ParsedDocument]


def serve(memory_megabytes: int, seconds: float, load: Load = parse_document) -> None:
    """Answers requests on standard input until it ends.

    Args:
        memory_megabytes: The most memory that this process may use.
        seconds: The most time for one file.
        load: Reads a file.
    """
    requests, replies = sys.stdin.buffer, _take_stdout()
    sys.excepthook = _reporter(replies)
    confine(memory_megabytes)
    _reply(replies, READY, b"")
    while header := requests.read(REQUEST.size):
        name_size, size, max_bytes = REQUEST.unpack(header)
        path = Path(os.fsdecode(requests.read(name_size)))
        data = requests.read(size)
        _set_alarm(seconds + GRACE_SECONDS)
        try:
            kind, payload = DOCUMENT, load(path, data, max_bytes).model_dump_json().encode()
        except DocumentError as error:
            kind, payload = REFUSAL, json.dumps([error.message, error.next_step, error.failure_code]).encode()
        _reply(replies, kind, payload)
        _set_alarm(0)


def _take_stdout() -> BinaryIO:
    """The way back; whatever a library prints goes nowhere."""
    replies = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    return replies


def _reporter(replies: BinaryIO) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    """Says which exception ends this process, by its name alone."""

    def report(kind: type[BaseException], _error: BaseException, _trace: TracebackType | None) -> None:
        _reply(replies, DEFECT, kind.__name__.encode())

    return report


def _reply(replies: BinaryIO, kind: bytes, payload: bytes) -> None:
    replies.write(REPLY.pack(kind, len(payload)))
    replies.write(payload)
    replies.flush()


def _set_alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


if __name__ == "__main__":
    serve(int(sys.argv[1]), float(sys.argv[2]))
