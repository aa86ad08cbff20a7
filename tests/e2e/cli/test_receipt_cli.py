"""`sourcebound keys`, `runs receipt` and `receipt verify` as real processes: a stranger checks with files alone."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.processes.commands import MANUALS, Finished, Program
from support.processes.databases import Cluster

pytestmark = pytest.mark.contract("CP-8")
ANSWERED = "How often is the shaft of a stored HP-200 turned by hand?"
MANUAL = MANUALS / "hp-200-manual-rev-c.pdf"
STRANGER = Program({"SOURCEBOUND_HOME": "/dev/null/nowhere", "DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none"})
"""Somebody with the program and no database."""
CLOSED = """
import sys
sys.addaudithook(lambda event, _: sys.exit(f"{event} was tried") if event.startswith("socket.") else None)
from sourcebound.cli.main import main
try:
    main()
finally:
    print(*sorted({"psycopg", "langgraph", "httpx", "onnxruntime"} & set(sys.modules)), file=sys.stderr)
"""


class Issued(NamedTuple):
    """A receipt and what it is of."""

    program: Program
    response: dict[str, Any]
    file: Path
    public_key: str


def _fault(done: Finished, code: str) -> None:
    assert (done.code, done.stdout) == (2, ""), done.stderr
    message, next_step = done.stderr.splitlines()
    assert message.endswith(f"[{code}]")
    assert next_step.startswith("  Next: ")


def _verdicts(done: Finished) -> dict[str, str]:
    lines = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    return {line[1]: line[0] for line in lines if line[0] in ("OK", "NOT")}


@pytest.fixture(scope="module")
def issued(cluster: Cluster, filled: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Issued]:
    """One answered run and its receipt, over a database of the module's own."""
    folder, url = tmp_path_factory.mktemp("issued"), cluster.create(filled)
    program = Program({"DATABASE_URL": url, "SOURCEBOUND_SIGNING_KEY": str(folder / "key.pem")})
    made = program("keys", "init")
    assert made.code == 0, made.stderr
    response = json.loads(program("ask", ANSWERED, "--json").stdout)
    done = program("runs", "receipt", response["run_id"], "--output", folder / "receipt.json")
    assert (done.code, done.stdout) == (0, ""), done.stderr
    yield Issued(program, response, folder / "receipt.json", made.stdout.split()[5])
    cluster.drop(url)


def test_a_stranger_checks_an_answer_with_files_alone(issued: Issued, tmp_path: Path) -> None:
    (tmp_path / "answer.txt").write_text(issued.response["answer"] + "\n", "utf-8")
    (tmp_path / "question.txt").write_text(ANSWERED, "utf-8")
    (tmp_path / "pinned").write_text(issued.program("keys", "show").stdout, "utf-8")
    options: list[str | Path] = [
        "--answer",
        tmp_path / "answer.txt",
        "--question",
        tmp_path / "question.txt",
        "--document",
        MANUAL,
    ]
    done = STRANGER("receipt", "verify", issued.file, *options, "--public-key", tmp_path / "pinned")
    assert (done.code, done.stderr) == (0, "")
    subjects = ["form", "signature", "record", "agreement", "answer", "question", "C0"]
    assert set(_verdicts(done).items()) >= {(subject, "OK") for subject in subjects}
    assert "NOT" not in done.stdout
    assert f"run {issued.response['run_id']} of " in done.stdout
    assert "named" not in done.stdout


def test_no_connection_is_tried_and_nothing_is_loaded_for_one(issued: Issued) -> None:
    arguments = [sys.executable, "-c", CLOSED, "receipt", "verify", str(issued.file), "--document", str(MANUAL)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, env=STRANGER.variables())
    assert (done.returncode, done.stderr) == (0, "\n")
    assert "the key that it names itself" in done.stdout.replace("\n", " ")


def test_a_changed_answer_document_key_or_receipt_is_told(issued: Issued, tmp_path: Path) -> None:
    (tmp_path / "answer.txt").write_text(issued.response["answer"].replace("14", "15"), "utf-8")
    (tmp_path / "hostile.pdf").write_bytes(b"%PDF-1.4 nothing\x1b[31m")
    options: list[str | Path] = [
        "--answer",
        tmp_path / "answer.txt",
        "--document",
        MANUALS / "shift-handover-policy.txt",
    ]
    done = STRANGER("receipt", "verify", issued.file, *options, "--public-key", "ed25519:" + "0" * 64)
    assert done.code == 4
    expected = {"form": "OK", "signature": "NOT", "record": "OK", "agreement": "OK", "answer": "NOT", "C0": "NOT"}
    assert set(_verdicts(done).items()) >= set(expected.items())
    cut = tmp_path / "cut.json"
    cut.write_bytes(issued.file.read_bytes()[:-30])
    done = STRANGER("receipt", "verify", cut, "--document", MANUAL)
    assert (done.code, list(_verdicts(done))) == (4, ["form"])
    unread = STRANGER("receipt", "verify", issued.file, "--document", tmp_path / "hostile.pdf")
    assert (unread.code, "\x1b" in unread.stdout) == (4, False)
    assert _verdicts(unread)["C0"] == "NOT"


def test_bad_usage_says_what_to_do(issued: Issued, tmp_path: Path) -> None:
    _fault(issued.program("keys", "init"), "KEY_EXISTS")
    _fault(STRANGER("receipt", "verify", tmp_path / "nothing"), "BAD_REQUEST")
    _fault(STRANGER("receipt", "verify", issued.file, "--public-key", "ed25519:12"), "BAD_PUBLIC_KEY")
    _fault(STRANGER("receipt", "verify", issued.file, "--document", tmp_path / "nothing"), "BAD_REQUEST")
    again = issued.program("runs", "receipt", issued.response["run_id"], "--output", issued.file)
    _fault(again, "BAD_REQUEST")
    _fault(STRANGER("runs", "receipt", issued.response["run_id"]), "NO_SIGNING_KEY")
