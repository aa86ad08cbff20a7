"""The process that reads documents, and draws pages.

Its command is `python -m sourcebound.ingest.sandbox.worker MEGABYTES SECONDS [ocr]`.

For each file it receives the name and the bytes, and replies with the content, until its input ends. It receives
nothing else: no connection, no key and no path to open. Its replies are JSON, which the parent validates and never
executes. An unexpected exception or a lack of memory ends the process, and the parent starts a new one.
"""

import json
import os
import signal
import struct
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final

from sourcebound.contracts.corpus.document import ParsedDocument
from sourcebound.contracts.corpus.page_view import PageRequest
from sourcebound.errors import DocumentError
from sourcebound.ingest.loaders.pdf.ocr import open_recognizer
from sourcebound.ingest.loaders.pdf.page_view import view_page
from sourcebound.ingest.loaders.select import parse_document
from sourcebound.ingest.sandbox.confinement import confine
from sourcebound.ingest.sandbox.failures import DocumentFailure
from sourcebound.ingest.sandbox.preload import preload

REQUEST: Final = struct.Struct(">cIQQ")
"""The header of a request: its kind, the length of the name, the length of the file, and the size limit. Name and file
follow. A request for a page has a `PageRequest` in JSON in place of the name."""
PARSE, VIEW = b"P", b"V"
REPLY: Final = struct.Struct(">cQ")
"""The header of a reply: the kind and the length of its payload."""
READY, DOCUMENT, REFUSAL, DEFECT, IMAGE, MARKS = b"R", b"D", b"E", b"X", b"I", b"M"
OCR: Final = "ocr"
"""The argument of a process that reads pictures."""
GRACE_SECONDS: Final = 5
"""The seconds after the parent's deadline after which this process ends itself, in case the parent no longer exists."""
Load = Callable[[Path, bytes, int], ParsedDocument]


def serve(
    memory_megabytes: int, seconds: float, load: Load = parse_document, prepare: Callable[[], Load] | None = None
) -> None:
    """Answer requests on standard input until it ends.

    Args:
        memory_megabytes: The largest memory that this process may use.
        seconds: The longest time for one file.
        load: Reads a file.
        prepare: Opens what another reader of files needs, and returns that reader.
    """
    requests, replies = sys.stdin.buffer, _redirect_stdout()
    sys.excepthook = _make_exception_hook(replies)
    preload()
    load = prepare() if prepare else load
    confinement = confine(memory_megabytes, kept=(0, 1, 2, replies.fileno()))
    _reply(replies, READY, confinement.model_dump_json().encode())
    while header := requests.read(REQUEST.size):
        asked, name_size, size, max_bytes = REQUEST.unpack(header)
        name, data = requests.read(name_size), requests.read(size)
        _set_alarm(seconds + GRACE_SECONDS)
        try:
            if asked == VIEW:
                kind, payload = _view(name, data)
            else:
                parsed = load(Path(os.fsdecode(name)), data, max_bytes)
                kind, payload = DOCUMENT, parsed.model_dump_json().encode()
        except DocumentError as error:
            kind, payload = REFUSAL, json.dumps([error.message, error.next_step, error.failure_code]).encode()
        _reply(replies, kind, payload)
        _set_alarm(0)


def _view(request: bytes, data: bytes) -> tuple[bytes, bytes]:
    try:
        seen = view_page(data, PageRequest.model_validate_json(request))
    except ValueError as error:
        raise DocumentError("the page cannot be shown.", "Read its text.", code=DocumentFailure.UNREADABLE) from error
    return (IMAGE, seen) if isinstance(seen, bytes) else (MARKS, seen.model_dump_json().encode())


def _redirect_stdout() -> BinaryIO:
    """Return a stream for the replies, and discard what libraries print to standard output."""
    replies = os.fdopen(os.dup(1), "wb")
    null_device = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_device, 1)
    os.close(null_device)
    return replies


def _make_exception_hook(
    replies: BinaryIO,
) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    """Return a hook that reports only the name of the exception that ends this process."""

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


def _load_with_ocr() -> Load:
    return partial(parse_document, recognize=open_recognizer())


if __name__ == "__main__":
    serve(int(sys.argv[1]), float(sys.argv[2]), prepare=_load_with_ocr if sys.argv[3:] == [OCR] else None)
