"""`sourcebound chat` as a person and as a pipe meet it (CP-6)."""

import json
import os
import select
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from support.processes.commands import DEADLINE_SECONDS, PROGRAM, Finished, Program
from support.processes.databases import rows, single
from support.processes.model_servers import ModelServer

BOLTS = "To what torque are the gland bolts of the mechanical seal tightened on the HP-200?"
OTHER = "To what torque are the gland bolts of the mechanical seal tightened on the HP-300?"
AGAIN_SECONDS = 1.0
OFF_TOPIC = "Which orchestra played at the opening of the Sydney Opera House?"


class Terminal:
    """The program at a terminal.

    Args:
        program: The program.
        arguments: Its arguments.
    """

    def __init__(self, program: Program, *arguments: str) -> None:
        self._master, slave = os.openpty()
        self.process = subprocess.Popen(
            [PROGRAM, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**program.variables(), "TERM": "dumb", "COLUMNS": "200", "LINES": "50"},
            process_group=0,
        )
        os.close(slave)
        self._seen = ""

    def expect(self, text: str) -> str:
        """Reads until a text has come, and returns all that came up to it."""
        end = monotonic() + DEADLINE_SECONDS
        while text not in self._seen:
            ready, _, _ = select.select([self._master], [], [], max(0.0, end - monotonic()))
            assert ready, f"{text!r} did not come; what came: {self._seen!r}"
            self._seen += os.read(self._master, 65536).decode(errors="replace")
        before, _, self._seen = self._seen.partition(text)
        return before

    def enter(self, line: str) -> None:
        """Types a line."""
        os.write(self._master, f"{line}\n".encode())

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def interrupt_until(self, text: str) -> None:
        """Ctrl-C, again if need be: a prompt that is being written may miss the first."""
        while text not in self._seen:
            self.interrupt()
            if select.select([self._master], [], [], AGAIN_SECONDS)[0]:
                self._seen += os.read(self._master, 65536).decode(errors="replace")
        self.expect(text)

    def close(self) -> int:
        """Ctrl-D, and the exit code."""
        os.write(self._master, b"\x04")
        return self.process.wait(DEADLINE_SECONDS)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@pytest.fixture
def program(library: str) -> Program:
    """The program over a database of the test's own with the example manuals."""
    return Program({"DATABASE_URL": library})


def _responses(done: Finished) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.contract("CP-6")
def test_a_pipe_is_answered_line_by_line_and_can_be_gone_on_with(program: Program, library: str) -> None:
    done = program("chat", "--json", stdin=f"{BOLTS}\n\n  and for the HP-300?  \n{OFF_TOPIC}\nand for the HP-200?\n")
    assert done.code == 0, done.stderr
    first, second, third, fourth = _responses(done)
    assert [response["status"] for response in (first, second, third)] == ["OK", "OK", "NO_EVIDENCE"]
    assert (first["search_query"], second["search_query"], third["search_query"]) == (None, OTHER, None)
    assert "34 N·m" in second["answer"]
    assert (fourth["search_query"], len(fourth["notices"])) == (BOLTS, 1)
    assert done.stderr == f"conversation {first['conversation_id']}\n"
    again = program("chat", "--json", "--conversation", first["conversation_id"], stdin="and for the HP-300?")
    assert _responses(again)[0]["search_query"] == OTHER
    assert "4 questions so far" in again.stderr
    assert [ordinal for (ordinal,) in rows(library, "SELECT ordinal FROM runs ORDER BY ordinal")] == [1, 2, 3, 4, 5]


@pytest.mark.contract("CP-6")
@pytest.mark.contract("R3-4")
def test_a_reader_sees_what_was_searched_for_and_the_commands_do_as_they_say(program: Program, library: str) -> None:
    lines = ["/sources", BOLTS, "and for the HP-300?", "/sources", "/help", "/nope now", "/new", "and for the HP-300?"]
    done = program("chat", stdin="\n".join([*lines, "/quit", "never asked"]))
    assert done.code == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert f"searched for: {OTHER}" in text
    assert text.count("searched for:") == 1
    assert "Fit the four gland bolts" in text or "34 N·m" in text
    assert done.stderr.startswith("conversation ")
    assert [line.split()[0] for line in done.stderr.splitlines()] == [
        "conversation", "There", "/sources", "There", "conversation",
    ]  # fmt: skip
    assert "There is no command /nope." in done.stderr
    assert single(library, "SELECT count(*) FROM conversations") == 2
    assert single(library, "SELECT count(*) FROM runs") == 3


@pytest.mark.contract("CP-6")
def test_what_cannot_be_asked_ends_a_pipe_with_the_reason(program: Program) -> None:
    for arguments in (["--conversation", "nowhere"], ["--policy", "NO_V1"]):
        done = program("chat", *arguments, stdin=f"{BOLTS}\n")
        assert (done.code, done.stdout) == (2, "")
        assert "Error: " in done.stderr
        assert "Next: " in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.contract("R1-8")
def test_filters_and_limits_hold_for_every_question(program: Program) -> None:
    arguments = ("chat", "--json", "--filter", "equipment_id=HP-300", "--limit", "max_chunks=1")
    first, second = _responses(program(*arguments, stdin=f"{BOLTS}\nand for the HP-300?\n"))
    assert {citation["equipment_id"] for citation in first["citations"] + second["citations"]} <= {"HP-300"}
    assert len(second["citations"]) == 1


@pytest.fixture
def terminal(program: Program) -> Iterator[Terminal]:
    with Terminal(program, "chat") as opened:
        yield opened


@pytest.mark.contract("CP-6")
def test_at_a_terminal_ctrl_c_takes_back_the_line_and_ctrl_d_leaves(terminal: Terminal) -> None:
    terminal.expect("/quit ends.")
    terminal.expect("? ")
    terminal.interrupt_until("? ")
    terminal.enter("   ")
    terminal.expect("? ")
    terminal.enter(BOLTS)
    assert "generate …" in terminal.expect("Sources")
    terminal.expect("\r\n? ")
    assert terminal.close() == 0


@pytest.mark.contract("CP-6")
def test_no_ctrl_c_of_many_at_the_prompt_ends_the_conversation(terminal: Terminal) -> None:
    terminal.expect("\r\n? ")
    for turn in range(3000):
        terminal.interrupt()
        sleep(turn % 7 * 0.0001)
    terminal.enter("")
    terminal.enter("/sources")
    terminal.expect("There is no answer with sources yet.")
    terminal.expect("\r\n? ")
    assert terminal.close() == 0


@pytest.mark.contract("CP-6")
def test_at_a_terminal_a_fault_is_said_and_the_conversation_goes_on(program: Program) -> None:
    with Terminal(program, "chat", "--policy", "NO_V1") as terminal:
        terminal.expect("\r\n? ")
        terminal.enter(BOLTS)
        terminal.expect("Error: there is no policy 'NO_V1'")
        terminal.expect("\r\n? ")
        terminal.enter("/quit")
        assert terminal.process.wait(DEADLINE_SECONDS) == 0


@pytest.mark.contract("CP-6")
@pytest.mark.contract("CP-2")
def test_ctrl_c_ends_an_answer_and_not_the_conversation(
    library: str, model_server: ModelServer, tmp_path: Path
) -> None:
    model_server.models += ["chat"]
    model_server.think_seconds = 30.0
    registry = tmp_path / "models.toml"
    registry.write_text('[models."openai:chat"]\nwire = "chat_completions"\n')
    program = Program(
        {
            "DATABASE_URL": library,
            "OPENAI_BASE_URL": model_server.openai_url,
            "OPENAI_API_KEY": "sk-right-0123456789",
            "SOURCEBOUND_MODELS_FILE": str(registry),
        }
    )
    with Terminal(program, "chat", "--model", "openai:chat") as terminal:
        terminal.expect("\r\n? ")
        terminal.enter(BOLTS)
        terminal.expect("build_prompt …")
        terminal.interrupt()
        terminal.expect("Interrupted. The question stays in the conversation")
        model_server.think_seconds = 0.0
        terminal.expect("\r\n? ")
        terminal.enter("and for the HP-300?")
        terminal.expect(f"searched for: {OTHER}")
        terminal.expect("\r\n? ")
        assert terminal.close() == 0
    statuses = rows(library, "SELECT ordinal, status = 'RUNNING' FROM runs ORDER BY ordinal")
    assert statuses == [(1, True), (2, False)]
