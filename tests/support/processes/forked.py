"""Processes of the program that need not import it again: each is a fork of one that has imported it and run nothing.

Most of the processor time of a short command is the start of the interpreter and its imports. A fork is a process like
any other: it has its own environment, working folder, arguments and standard streams, and ends with an exit code.
"""

import atexit
import io
import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.context import ForkServerContext
from multiprocessing.reduction import DupFd
from tempfile import TemporaryFile
from typing import IO, Any

IMPORTED = ["sourcebound.cli.main", "sourcebound.graph.engine", "sourcebound.ingest.pipeline"]
READ_LATE = ("SOURCEBOUND_", "DATABASE_URL", "OPENAI_", "OLLAMA_")
"""Variables that the program reads when a command runs. Others, such as those of Python, are read at its start."""


def can_fork(variables: Mapping[str, str]) -> bool:
    """Whether a fork sees these variables as a process that was started with them does."""
    return all(name.startswith(READ_LATE) for name in variables)


def run_program() -> None:
    """Run the program with the arguments of this process."""
    from sourcebound.cli.main import main

    main()


def run_forked(
    command: Sequence[str],
    stdin: str,
    environment: Mapping[str, str],
    folder: str,
    seconds: float,
    program: Callable[[], object] = run_program,
) -> tuple[int, str, str]:
    """Run the program to its end.

    Its streams are files, because a process that it leaves behind may keep them open for ever.

    Args:
        command: The program's path and its arguments.
        stdin: What it reads.
        environment: Its whole environment.
        folder: Its working folder.
        seconds: The time after which it is killed.
        program: The program; another one in the test of this function.

    Returns:
        Its exit code, and what it wrote to standard output and standard error.

    Raises:
        TimeoutError: It did not end in time.
    """
    with TemporaryFile() as given, TemporaryFile() as output, TemporaryFile() as errors:
        given.write(stdin.encode(errors="backslashreplace"))
        given.seek(0)
        streams = (given.fileno(), output.fileno(), errors.fileno())
        process = _forking().Process(target=_Run(streams, command, environment, folder, program))
        process.start()
        process.join(seconds)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutError(f"{command} did not end in {seconds} seconds")
        code = process.exitcode
        process.close()
        return code, _read(output), _read(errors)


class _Run:
    """What a fork does: it becomes the program.

    Args:
        streams: The file descriptors of its standard input, output and error.
        command: The program's path and its arguments.
        environment: Its whole environment.
        folder: Its working folder.
        program: The program.
    """

    def __init__(
        self,
        streams: Sequence[int],
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: str,
        program: Callable[[], object],
    ) -> None:
        self._streams: Sequence[Any] = streams
        self._command, self._environment, self._folder, self._program = command, environment, folder, program

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_streams": [DupFd(stream) for stream in self._streams]}

    def __call__(self) -> None:
        for number, stream in enumerate(self._streams):
            given = stream.detach()
            os.dup2(given, number)
            os.close(given)
        sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), encoding="utf-8", newline="\n")  # noqa: SIM115
        sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), encoding="utf-8", newline="\n")  # noqa: SIM115
        sys.stderr = io.TextIOWrapper(
            open(2, "wb", closefd=False),  # noqa: SIM115
            encoding="utf-8",
            errors="backslashreplace",
            newline="\n",
            line_buffering=True,
        )
        sys.argv = [*self._command]
        os.environ.clear()
        os.environ.update(self._environment)
        os.chdir(self._folder)
        try:
            self._program()
        finally:
            atexit._run_exitfuncs()


def _forking() -> ForkServerContext:
    """Return the means to fork from a process that has imported the program. It is started with the first fork."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    return context


def _read(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode(errors="backslashreplace").replace("\r\n", "\n").replace("\r", "\n")
