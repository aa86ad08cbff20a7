"""Many processes that ask one question at once.

As a program, it forks them after the imports. Each prints its answer or the code of its fault as a line of JSON, and
keeps its services open until the standard input is closed.
"""

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

from pydantic import SecretStr

from sourcebound.errors import SourceboundError
from sourcebound.graph.engine import Engine
from sourcebound.settings import Settings
from sourcebound.wiring import open_services
from support.places import ROOT

DEADLINE_SECONDS = 120


async def ask(url: str, question: str) -> None:
    """Ask on a database, and print the result."""
    try:
        async with open_services(Settings(database_url=SecretStr(url))) as services:
            response = await Engine(services).ask({"question": question})
            say(response.answer)
            await asyncio.to_thread(sys.stdin.read)
    except SourceboundError as error:
        say(error.failure_code)


def say(text: str) -> None:
    """Print a line in one write, so that the lines of several processes do not mix."""
    os.write(1, (json.dumps(text) + "\n").encode())


def ask_at_once(url: str, question: str, processes: int, *, stay: bool = True) -> list[str]:
    """Ask from many processes.

    Args:
        url: The database.
        question: The question.
        processes: The number of processes.
        stay: Whether each process stays connected until all have their answers.

    Returns:
        The answers, and the codes of faults.
    """
    command = [sys.executable, "-m", "support.processes.asking", url, question, str(processes)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, process_group=0
    ) as program:
        assert program.stdout is not None
        assert program.stdin is not None
        deadline = threading.Timer(DEADLINE_SECONDS, os.killpg, (program.pid, signal.SIGKILL))
        deadline.start()
        if not stay:
            program.stdin.close()
        lines = [program.stdout.readline() for _ in range(processes)]
        deadline.cancel()
        program.stdin.close()
    return [json.loads(line) for line in lines]


def main(arguments: Sequence[str]) -> None:
    url, question, processes = arguments
    children = []
    gc.freeze()  # no child copies the memory of the imports
    for _ in range(int(processes)):
        child = os.fork()
        if child == 0:
            asyncio.run(ask(url, question))
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(sys.argv[1:])
