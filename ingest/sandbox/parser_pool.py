"""The pool of child processes that read documents, so that a hostile file affects only itself.

A child reads many files, because starting a child takes as long as reading ten files. It is killed when a file takes
too long. If a child ends for any reason, only the file that it was reading is refused. Threads can share the pool.
"""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from signal import Signals
from types import TracebackType
from typing import Final, NamedTuple

from pydantic import ValidationError

from sourcebound.contracts.corpus.document import ParsedDocument
from sourcebound.contracts.corpus.page_view import PageMarks, PageRequest
from sourcebound.errors import ConfigurationError, DocumentError
from sourcebound.ingest.loaders.pdf.ocr import ocr_unavailable
from sourcebound.ingest.sandbox import failures
from sourcebound.ingest.sandbox.confinement import Confinement
from sourcebound.ingest.sandbox.worker import (
    DEFECT,
    DOCUMENT,
    IMAGE,
    MARKS,
    OCR,
    PARSE,
    READY,
    REFUSAL,
    REPLY,
    REQUEST,
    VIEW,
)

WORKER: Final = (sys.executable, "-P", "-m", "sourcebound.ingest.sandbox.worker")
START_SECONDS: Final = 60.0
MAX_PROCESSES: Final = 4
INHERITED_VARIABLES: Final = frozenset(
    {
        *("PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "SYSTEMROOT"),
        *("LANG", "LC_ALL", "LC_CTYPE"),
        *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"),
    }
)
"""The names of the environment variables that a child inherits: those with which Python finds its files and its
encoding. Whole names, because `LANGSMITH_API_KEY` starts like a harmless one."""
OUT_OF_MEMORY: Final = "MemoryError"
REPLIES: Final = (READY, DOCUMENT, REFUSAL, DEFECT, IMAGE, MARKS)


class _Reply(NamedTuple):
    kind: bytes
    payload: bytes


class _Worker:
    """One child process.

    Args:
        command: The command of the child; the limits are appended to it.
        seconds: The longest time for one file.
        memory_megabytes: The largest memory for one file.
        extra: Further arguments of the child.

    Raises:
        ConfigurationError: The child does not start.
    """

    def __init__(
        self, command: Sequence[str], seconds: float, memory_megabytes: int, extra: Sequence[str] = ()
    ) -> None:
        self._seconds = seconds
        self._memory_bytes = memory_megabytes << 20
        self._expired = threading.Event()
        arguments = [*command, str(memory_megabytes), str(seconds), *extra]
        self._process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name in INHERITED_VARIABLES},
            start_new_session=True,  # Ctrl-C reaches only the parent
        )
        reply = self._exchange(None, START_SECONDS)
        try:
            self.confinement = Confinement.model_validate_json(reply.payload if reply else b"")
        except ValidationError as error:
            self.end()
            trial = " ".join([*command, "2048", "30", *extra])
            raise ConfigurationError(
                f"the parser process does not start ({self.describe_end()}).",
                f"Run `{trial}` to see why, or raise SOURCEBOUND_PARSE_MEMORY_MEGABYTES.",
                code="PARSER_UNAVAILABLE",
            ) from error

    @property
    def is_usable(self) -> bool:
        return self._process.poll() is None and not self._expired.is_set()

    def parse(self, path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
        payload = self._ask(path, os.fsencode(path), data, max_bytes, PARSE, DOCUMENT)
        with self._valid_reply(path):
            return ParsedDocument.model_validate_json(payload)

    def view(self, path: Path, data: bytes, request: PageRequest) -> bytes | PageMarks:
        kind = IMAGE if request.width else MARKS
        payload = self._ask(path, request.model_dump_json().encode(), data, 0, VIEW, kind)
        if kind == IMAGE:
            return payload
        with self._valid_reply(path):
            return PageMarks.model_validate_json(payload)

    def _ask(self, path: Path, name: bytes, data: bytes, max_bytes: int, asked: bytes, expected: bytes) -> bytes:
        """Return the payload of the reply to a request.

        Raises:
            DocumentError: The child refused the file, or failed on it.
        """
        request = REQUEST.pack(asked, len(name), len(data), max_bytes) + name
        reply = self._exchange((request, data), self._seconds)
        if reply is None or reply.kind not in (expected, REFUSAL):
            self.end()
            raise self._make_error(path, reply)
        if reply.kind == expected:
            return reply.payload
        with self._valid_reply(path):
            message, next_step, code = json.loads(reply.payload)
        raise DocumentError(message, next_step, code=code)

    @contextmanager
    def _valid_reply(self, path: Path) -> Iterator[None]:
        try:
            yield
        except (ValidationError, ValueError) as error:
            self.end()
            raise failures.parser_ended(path, "an invalid reply") from error

    def end(self) -> None:
        """End the child and close its pipes; only its current user may call this."""
        self.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(OSError):  # the rest of the buffer cannot be sent
                stream.close()

    def kill(self) -> None:
        """Kill the child; a thread that waits for its reply then returns."""
        self._process.kill()

    def describe_end(self) -> str:
        """Describe how the child ended."""
        code = self._process.returncode
        if code is None or code >= 0:
            return f"exit code {code}"
        return Signals(-code).name if -code in set(Signals) else f"signal {-code}"

    def _make_error(self, path: Path, reply: _Reply | None) -> DocumentError:
        if self._expired.is_set():
            return failures.too_slow(path, self._seconds)
        if reply is None:
            return failures.parser_ended(path, self.describe_end())
        exception = reply.payload.decode("ascii", errors="replace")
        if exception == OUT_OF_MEMORY:
            return failures.out_of_memory(path, self._memory_bytes >> 20)
        return failures.parser_ended(path, exception)

    def _exchange(self, request: tuple[bytes, bytes] | None, seconds: float) -> _Reply | None:
        """Send a request, if there is one, and wait for the reply; None if the child ended instead."""
        timer = threading.Timer(seconds, self._expire)
        timer.daemon = True
        timer.start()
        try:
            return self._send_and_receive(request)
        except (OSError, ValueError):  # the child, or another thread, closed the pipe
            return None
        finally:
            timer.cancel()
            timer.join()

    def _send_and_receive(self, request: tuple[bytes, bytes] | None) -> _Reply | None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        for part in request or ():
            stdin.write(part)
        stdin.flush()
        header = stdout.read(REPLY.size)
        if len(header) < REPLY.size:
            return None
        kind, size = REPLY.unpack(header)
        payload = stdout.read(size) if size <= self._memory_bytes else b""
        return _Reply(kind, payload) if len(payload) == size and kind in REPLIES else None

    def _expire(self) -> None:
        self._expired.set()
        self._process.kill()


class ParserPool:
    """The pool of children that read documents. Each child is started when it is first needed.

    Args:
        seconds: The longest time for one file.
        memory_megabytes: The largest memory for one file.
        processes: The number of files that are read at a time. Default: the number of processors, at most four.
        command: The command of a child.
        ocr: Whether pages without a text layer are read as pictures.
    """

    def __init__(
        self,
        seconds: float,
        memory_megabytes: int,
        processes: int | None = None,
        command: Sequence[str] = WORKER,
        ocr: bool = False,
    ) -> None:
        self.processes = processes or min(os.cpu_count() or 1, MAX_PROCESSES)
        self.seconds = seconds
        self._memory_megabytes = memory_megabytes
        self._command = command
        self._extra = (OCR,) if ocr else ()
        self._idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        self._lock = threading.Lock()
        self._workers: set[_Worker] = set()
        self._closed = threading.Event()
        for _ in range(self.processes):
            self._idle.put(None)

    def parse(self, path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
        """Parse a file (`DocumentParser`).

        Raises:
            DocumentError: The loader refused the file, or its child was too slow (`TOO_SLOW`), ran out of memory
                (`OUT_OF_MEMORY`) or failed (`PARSER_ENDED`).
            ConfigurationError: No child starts, or the pool is closed (`PARSER_UNAVAILABLE`). Or OCR was asked for and
                is not installed (`OCR_UNAVAILABLE`).
        """
        with self._worker() as worker:
            return worker.parse(path, data, max_bytes)

    def view(self, path: Path, data: bytes, request: PageRequest) -> bytes | PageMarks:
        """Draw a page of a PDF, or find words on it.

        Raises:
            DocumentError: The page cannot be shown, or the child failed, as in `parse`.
            ConfigurationError: No child starts, or the pool is closed (`PARSER_UNAVAILABLE`).
        """
        with self._worker() as worker:
            return worker.view(path, data, request)

    def describe_confinement(self) -> Confinement:
        """Start a child, and return the measures that this machine enforces on it (IX-2).

        Raises:
            ConfigurationError: No child starts, or the pool is closed (`PARSER_UNAVAILABLE`).
        """
        with self._worker() as worker:
            return worker.confinement

    def close(self) -> None:
        """End all children, also busy ones. Their callers receive an error."""
        with self._lock:
            self._closed.set()
            for worker in self._workers:
                worker.kill()
        idle: list[_Worker | None] = []
        with suppress(queue.Empty):
            while True:
                idle.append(self._idle.get_nowait())
        for idle_worker in idle:
            self._idle.put(self._reuse_worker(idle_worker))

    def __enter__(self) -> "ParserPool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _worker(self) -> Iterator[_Worker]:
        """Yield a child that no other thread uses meanwhile."""
        worker = self._idle.get()
        try:
            if worker is None:
                worker = self._start()
            yield worker
        finally:
            self._idle.put(self._reuse_worker(worker))

    def _start(self) -> _Worker:
        with self._lock:
            if self._closed.is_set():
                raise ConfigurationError("the parser pool is closed.", code="PARSER_UNAVAILABLE")
        if self._extra and find_spec("rapidocr") is None:
            raise ocr_unavailable()
        worker = _Worker(self._command, self.seconds, self._memory_megabytes, self._extra)
        with self._lock:
            self._workers.add(worker)
            if self._closed.is_set():
                worker.kill()
        return worker

    def _reuse_worker(self, worker: _Worker | None) -> _Worker | None:
        """Return the child if it can read another file; otherwise end it and return None."""
        if worker is None or (worker.is_usable and not self._closed.is_set()):
            return worker
        worker.end()
        with self._lock:
            self._workers.discard(worker)
        return None
