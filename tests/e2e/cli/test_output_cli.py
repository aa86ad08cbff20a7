"""Output in a pipe is plain and unwrapped; on a terminal it wraps, and no id is ever broken."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Iterator

import pytest

from support.places import ROOT
from support.processes.commands import PROGRAM, Finished, Program

QUESTION = "What oil charge does the bearing frame of the HP-200 take in revision C?"
REJECTED = ROOT / "examples" / "rejected"
COLUMNS = 40
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(scope="module")
def run_id(demo: Program) -> str:
    return str(json.loads(demo("ask", QUESTION, "--json").stdout)["run_id"])


def _commands(run_id: str) -> Iterator[list[str]]:
    yield ["ask", QUESTION]
    yield ["search", QUESTION]
    yield ["check", "--bundle", str(REJECTED / "sources.json"), "--answer", str(REJECTED / "answer.txt")]
    yield ["runs", "show", run_id]
    yield ["runs", "list"]
    yield ["audit", "show", run_id]
    yield ["collections"]
    yield ["documents", "list"]
    yield ["models", "list"]
    yield ["policy", "list"]
    yield ["doctor"]


def _on_a_terminal(program: Program, *arguments: str) -> str:
    """Run a command on a narrow terminal and return its output without colours."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    variables = {**program.variables(), "TERM": "xterm", "COLUMNS": str(COLUMNS)}
    with subprocess.Popen([PROGRAM, *arguments], stdin=slave, stdout=slave, stderr=slave, env=variables) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            shown += data
        process.wait()
    os.close(master)
    return ESCAPES.sub("", shown.decode()).replace("\r\n", "\n")


def test_a_pipe_gets_lines_without_trailing_blanks(demo: Program, run_id: str) -> None:
    for arguments in _commands(run_id):
        done = demo(*arguments)
        padded = [line for line in done.stdout.splitlines() if line != line.rstrip()]
        assert (padded, done.stdout == "") == ([], False), arguments


def test_a_pipe_gets_a_sentence_in_one_line(demo: Program) -> None:
    lines = demo("ask", QUESTION).stdout.splitlines()
    assert len(lines[0]) > 80
    assert re.search(r"\[C\d+\]$", lines[0])


def test_a_terminal_wraps_between_words(demo: Program) -> None:
    lines = _on_a_terminal(demo, "ask", QUESTION).splitlines()
    assert max(len(line) for line in lines[: lines.index("Sources")]) <= COLUMNS
    assert len(lines[: lines.index("Sources")]) > 2


def test_no_id_is_broken_on_a_narrow_terminal(demo: Program, run_id: str) -> None:
    asked = _on_a_terminal(demo, "ask", QUESTION)
    assert re.search(r"run [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", asked.rstrip())
    state = json.loads(demo("runs", "show", run_id, "--json").stdout)
    shown = _on_a_terminal(demo, "runs", "show", run_id)
    for unbroken in (
        run_id,
        state["run"]["policy_sha256"],
        state["prompt"]["prompt_sha256"] if "prompt" in state else "",
    ):
        assert unbroken in shown
    row_hash = re.search(r"^row_hash +([0-9a-f]{64})$", demo("audit", "show", run_id).stdout, re.MULTILINE)
    assert row_hash is not None
    assert row_hash[1] in shown


def test_the_question_is_read_from_stdin(demo: Program) -> None:
    done = demo("ask", "-", "--json", stdin=QUESTION + "\n")
    assert (done.code, json.loads(done.stdout)["status"]) == (0, "OK")
    run = json.loads(done.stdout)["run_id"]
    assert json.loads(demo("runs", "show", run, "--json").stdout)["run"]["question"] == QUESTION


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_stdin_is_bad_usage(text: str) -> None:
    done = Program()("ask", "-", stdin=text)
    assert (done.code, "the question is empty" in done.stderr) == (2, True)


@pytest.mark.parametrize("arguments", [[], ["ask"], ["runs"], ["runs", "prune"]])
def test_h_prints_the_help(arguments: list[str]) -> None:
    short, long = Program()(*arguments, "-h"), Program()(*arguments, "--help")
    assert (short.code, short.stdout) == (0, long.stdout)
    assert "Usage: sourcebound" in short.stdout


def _completions(words: str) -> Finished:
    variables = {"_SOURCEBOUND_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "1"}
    return Program(variables)()


def test_a_shell_completes_commands() -> None:
    assert "calibrate" in _completions("sourcebound cal").stdout.split()
    script = Program({"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"})("--show-completion", "bash")
    assert (script.code, "_SOURCEBOUND_COMPLETE" in script.stdout) == (0, True)


def test_a_node_is_logged_as_json_where_the_settings_ask_for_it_and_the_answer_stays_alone_on_stdout(
    demo: Program,
) -> None:
    log = {"SOURCEBOUND_LOG_FORMAT": "json", "SOURCEBOUND_LOG_LEVEL": "info"}
    done = Program({**demo.environment, **log})("ask", QUESTION, "--json")
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert {line["run_id"] for line in lines} == {json.loads(done.stdout)["run_id"]}
    assert [line["node"] for line in lines][-2:] == ["record", "package"]
    assert demo("ask", QUESTION, "--json").stderr == ""
