"""Reading in child processes: whatever a file does there, it is refused with a code, and the next one is read."""

import errno
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sourcebound.contracts.corpus.document import ParsedDocument
from sourcebound.errors import ConfigurationError, DocumentError
from sourcebound.ingest.chunking.chunker import chunk_document
from sourcebound.ingest.prepare import LexicalCounter
from sourcebound.ingest.sandbox.failures import DocumentFailure
from sourcebound.ingest.sandbox.parser_pool import ParserPool
from sourcebound.ingest.sandbox.worker import DOCUMENT, PARSE, READY, REPLY, REQUEST
from sourcebound.wiring import Services
from support.places import ROOT
from support.processes.databases import MANUALS, ingest, rows
from support.processes.homes import wait_until
from support.processes.native_payload import may_leave_network

HOSTILE = (sys.executable, "-P", str(ROOT / "tests" / "support" / "processes" / "hostile_worker.py"))
LIMIT = 10_000_000
AWKWARD = ROOT.parent / "shared" / "data" / "documents" / "ingestion" / "files"
MUTANTS = 200
MISPLACED = """
    SELECT d.knowledge_id FROM documents d LEFT JOIN chunks k USING (document_id) LEFT JOIN pages p
        ON p.document_id = k.document_id AND p.page_index = k.page_index
    WHERE k.text IS NULL OR substr(p.text, k.char_start + 1, k.char_end - k.char_start) IS DISTINCT FROM k.text
"""
DEADLINE_SECONDS = 30
MEMORY_MEGABYTES = 1024


@pytest.fixture
def pool() -> Iterator[ParserPool]:
    """Two processes in which a file does what its name says."""
    with ParserPool(seconds=1.5, memory_megabytes=512, processes=2, command=HOSTILE) as opened:
        yield opened


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server that would notice a connection."""
    with socket.create_server(("127.0.0.1", 0)) as opened:
        opened.setblocking(False)
        yield opened


def _act(pool: ParserPool, name: str, data: bytes = b"x") -> str:
    return pool.parse(Path(f"/nowhere/{name}.txt"), data, LIMIT).pages[0].text


def _refusal(pool: ParserPool, name: str, data: bytes = b"x") -> DocumentError:
    with pytest.raises(DocumentError) as raised:
        _act(pool, name, data)
    assert f"{name}.txt" in raised.value.message
    assert raised.value.next_step
    return raised.value


def _children() -> set[int]:
    """The processes that this one has started and that still live."""
    command = ["ps", "-o", "pid=,stat=,comm=", "--ppid", str(os.getpid())]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    found = (line.split(maxsplit=2) for line in listed.stdout.splitlines())
    return {int(pid) for pid, state, name in found if not state.startswith("Z") and name != "ps"}


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("hang", "TOO_SLOW", "within 1.5 seconds"),
        ("stick", "TOO_SLOW", "within 1.5 seconds"),
        ("devour", "OUT_OF_MEMORY", "more than 512 MB"),
        ("crash", "PARSER_ENDED", "SIGSEGV"),
        ("leave", "PARSER_ENDED", "exit code 7"),
        ("fail", "PARSER_ENDED", "KeyError"),
        ("nest", "PARSER_ENDED", "RecursionError"),
        ("lie", "PARSER_ENDED", "an invalid reply"),
        ("boast", "PARSER_ENDED", "SIGKILL"),
    ],
)
def test_a_hostile_file_is_refused_and_the_next_one_is_read(pool: ParserPool, name: str, code: str, words: str) -> None:
    error = _refusal(pool, name)
    assert error.failure_code == code
    assert words in error.message
    assert _act(pool, "ordinary", b"The pump runs.") == "The pump runs."


def test_a_file_that_is_refused_says_so_in_its_loaders_words(pool: ParserPool) -> None:
    error = _refusal(pool, "blank", b" ")
    assert (error.failure_code, error.message) == ("EMPTY", "blank.txt is empty.")


@pytest.mark.contract("IX-2")
def test_no_connection_leaves_the_child(pool: ParserPool, listener: socket.socket) -> None:
    port = str(listener.getsockname()[1]).encode()
    assert "PermissionError" in _refusal(pool, "connect", port).message
    with pytest.raises(BlockingIOError):
        listener.accept()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not confine native code")
def test_no_connection_of_native_code_leaves_the_child(pool: ParserPool, listener: socket.socket) -> None:
    port = str(listener.getsockname()[1]).encode()
    assert _act(pool, "native", port) == os.strerror(errno.EPERM)
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_no_program_is_started_by_the_child(pool: ParserPool) -> None:
    assert "PermissionError" in _refusal(pool, "run").message


def test_no_file_is_written_by_the_child(pool: ParserPool, tmp_path: Path) -> None:
    target = tmp_path / "written"
    assert "PermissionError" in _refusal(pool, "write", os.fsencode(target)).message
    assert not target.exists()


def test_what_a_library_prints_does_not_disturb(pool: ParserPool) -> None:
    assert [_act(pool, "print"), _act(pool, "print")] == ["printed", "printed"]


@pytest.mark.contract("IX-2")
def test_the_child_gets_no_secret(pool: ParserPool, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {"DATABASE_URL", "OPENAI_API_KEY", "SOURCEBOUND_ANYTHING", "PGPASSWORD", "LANGSMITH_API_KEY"}
    for name in secrets | {"PYTHONUTF8"}:
        monkeypatch.setenv(name, "1")
    names = set(_act(pool, "environment").split())
    assert "PYTHONUTF8" in names
    assert not secrets & names


def test_one_child_reads_many_files_and_ends_with_the_pool() -> None:
    before = _children()
    with ParserPool(30, 512, command=HOSTILE) as pool:
        assert _children() == before
        for _ in range(50):
            _act(pool, "ordinary", b"The pump runs.")
        assert len(_children() - before) == 1
    assert _children() == before


def test_files_are_read_beside_each_other() -> None:
    before = _children()
    with ParserPool(30, 512, processes=2, command=HOSTILE) as pool:
        threads = [threading.Thread(target=lambda: _refusal(pool, "hang")) for _ in range(2)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(_children() - before) == 2)  # one after the other would never have two children
        assert all(thread.is_alive() for thread in threads)
        pool.close()
        for thread in threads:
            thread.join()


def test_closing_ends_a_child_at_work_and_tells_who_waits() -> None:
    before = _children()
    pool = ParserPool(30, 512, processes=1, command=HOSTILE)
    codes: list[str] = []

    def read() -> None:
        try:
            _act(pool, "hang")
        except (DocumentError, ConfigurationError) as error:
            codes.append(error.failure_code)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(_children() - before) == 1)
    time.sleep(0.5)
    pool.close()
    for thread in threads:
        thread.join(timeout=5)
    assert sorted(codes) == ["PARSER_ENDED", "PARSER_UNAVAILABLE"]
    assert _children() == before


def test_a_child_whose_parent_is_gone_ends_itself() -> None:
    with subprocess.Popen(
        [*HOSTILE, "512", "0.2", "0.1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        assert child.stdin is not None
        child.stdin.write(REQUEST.pack(PARSE, 8, 1, LIMIT) + b"hang.txtx")
        child.stdin.flush()
        assert child.wait(timeout=10) == -14  # SIGALRM


def test_a_child_whose_input_ends_ends_itself() -> None:
    done = subprocess.run([*HOSTILE, "512", "1"], input=b"", capture_output=True, timeout=30, check=False)
    kind, size = REPLY.unpack(done.stdout[: REPLY.size])
    assert (done.returncode, kind, size) == (0, READY, len(done.stdout) - REPLY.size)
    assert DOCUMENT != READY


def test_a_child_that_does_not_start_is_a_fault_of_the_installation() -> None:
    with ParserPool(1, 512, command=(sys.executable, "-c", "raise SystemExit(9)")) as pool:
        with pytest.raises(ConfigurationError) as raised:
            _act(pool, "ordinary")
        assert raised.value.failure_code == "PARSER_UNAVAILABLE"
        assert "exit code 9" in raised.value.message


async def test_an_ingest_goes_on_past_hostile_files(services: Services, database: str, tmp_path: Path) -> None:
    names = ["a-good.txt", "crash.txt", "devour.txt", "hang.txt", "z-good.txt"]
    for name in names:
        (tmp_path / name).write_text(f"This is {name}.")
    with ParserPool(1.5, 512, command=HOSTILE) as pool:
        summary = await ingest(services, tmp_path, parser=pool)
    assert {skipped.path.name: skipped.code for skipped in summary.skipped} == {
        "crash.txt": "PARSER_ENDED",
        "devour.txt": "OUT_OF_MEMORY",
        "hang.txt": "TOO_SLOW",
    }
    assert rows(database, "SELECT knowledge_id FROM documents ORDER BY 1") == [("a-good.txt",), ("z-good.txt",)]


def _mutate(data: bytes, other: bytes, draw: random.Random) -> bytes:
    """Damage a copy: truncate it, flip bits, or remove, repeat, zero or replace a part."""
    start = draw.randrange(max(1, len(data)))
    end = min(len(data), start + draw.randrange(1, max(2, len(data) // 4)))
    kind = draw.randrange(6)
    if kind == 0:
        return data[:start]
    if kind == 1:
        damaged = bytearray(data)
        for _ in range(draw.randrange(1, 200)):
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        return bytes(damaged)
    middle = {2: b"", 3: data[start:end] * draw.choice((2, 50)), 4: bytes(end - start), 5: other[: end - start]}[kind]
    return data[:start] + middle + data[end:]


def _read(pool: ParserPool, path: Path, data: bytes) -> str:
    """Return the outcome of reading a file; the test fails without a clear outcome in time."""
    began = time.monotonic()
    try:
        document = pool.parse(path, data, LIMIT)
    except DocumentError as error:
        outcome, next_step = error.failure_code, error.next_step
    else:
        outcome, next_step = "READ", "none"
        _check(document)
    assert time.monotonic() - began < DEADLINE_SECONDS
    assert next_step
    assert outcome in {"READ", *DocumentFailure}
    return outcome


def _check(document: ParsedDocument) -> None:
    chunks = chunk_document(document, "KB", LexicalCounter(), LexicalCounter.max_tokens)
    assert chunks
    assert all(document.pages[c.page_index].text[c.char_start : c.char_end] == c.text for c in chunks)


def _read_mutants(originals: list[Path], count: int, lure: bytes = b"") -> list[str]:
    draw = random.Random(20251121)
    with ParserPool(DEADLINE_SECONDS - 1, MEMORY_MEGABYTES) as pool:
        outcomes = [_read(pool, path, path.read_bytes()) for path in originals]
        for number in range(count):
            path, other = originals[number % len(originals)], draw.choice(originals)
            mutant = _mutate(path.read_bytes(), other.read_bytes(), draw)
            place = draw.randrange(len(mutant) + 1)
            outcomes.append(_read(pool, path, mutant[:place] + lure + mutant[place:] if number % 2 else mutant))
    return outcomes


def _lure(listener: socket.socket) -> bytes:
    """Files that make a careless parser of each format fetch a resource."""
    url = b"http://127.0.0.1:%d/" % listener.getsockname()[1]
    return (
        b'<!DOCTYPE html [<!ENTITY % x SYSTEM "URL">%x;]><base href="URL"><link rel="stylesheet" href="URL">'
        b'<script src="URL"></script><img src="URL"><iframe src="URL"></iframe><xi:include href="URL"/>'
        b"![picture](URL) /F (URL) /URI (URL)"
    ).replace(b"URL", url)


def _check_confined(pids: set[int]) -> None:
    """The kernel's own account of processes that have read a lot: how much memory they ever had, what they may do."""
    assert pids
    for pid in pids:
        process = Path("/proc") / str(pid)
        peak = re.search(r"VmPeak:\s+(\d+) kB", (process / "status").read_text())
        assert peak is not None
        assert int(peak[1]) <= MEMORY_MEGABYTES * 1024
        limits = re.search(r"Max address space +(\d+) +(\d+)", (process / "limits").read_text())
        assert limits is not None
        assert {int(limit) for limit in limits.groups()} == {MEMORY_MEGABYTES << 20}
        assert not [link for link in _open_files(process) if link.startswith("socket:")]
        if may_leave_network():
            interfaces = (process / "net" / "dev").read_text().splitlines()[2:]
            assert [line.split(":")[0].strip() for line in interfaces] == ["lo"]


def _open_files(process: Path) -> list[str]:
    return [os.readlink(link) for link in (process / "fd").iterdir()]


def test_damaged_copies_of_the_examples_each_have_a_clear_outcome() -> None:
    originals = sorted(path for path in MANUALS.iterdir() if not path.name.endswith(".toml"))
    outcomes = _read_mutants(originals, 54)
    assert outcomes[: len(originals)] == ["READ"] * len(originals)
    assert {"READ", "UNREADABLE"} <= set(outcomes)
    assert "PARSER_ENDED" not in outcomes


@pytest.mark.data
@pytest.mark.skipif(not AWKWARD.is_dir(), reason="the external evaluation data is not beside the repository")
def test_damaged_copies_of_awkward_files_each_have_a_clear_outcome(listener: socket.socket) -> None:
    outcomes = _read_mutants(sorted(AWKWARD.iterdir()), MUTANTS, _lure(listener))
    assert len(outcomes) == 31 + MUTANTS
    assert {"READ", "UNREADABLE", "NO_TEXT"} <= set(outcomes)
    assert "PARSER_ENDED" not in outcomes
    with pytest.raises(BlockingIOError):
        listener.accept()


@pytest.mark.data
@pytest.mark.skipif(not AWKWARD.is_dir(), reason="the external evaluation data is not beside the repository")
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel keeps no account of processes as files")
async def test_an_ingest_of_damaged_files_ends_well_within_its_means(
    services: Services, database: str, tmp_path: Path, listener: socket.socket
) -> None:
    """Each file is stored whole or named with a reason. Stored text is at its offsets, and limits hold."""
    draw = random.Random(20251122)
    originals = sorted(AWKWARD.iterdir())
    for number in range(MUTANTS):
        path, other = originals[number % len(originals)], draw.choice(originals)
        mutant = _mutate(path.read_bytes(), other.read_bytes(), draw)
        (tmp_path / f"{number:03}{path.suffix}").write_bytes(mutant + _lure(listener) if number % 2 else mutant)
    before = _children()
    with ParserPool(DEADLINE_SECONDS, MEMORY_MEGABYTES, processes=2) as pool:
        summary = await ingest(services, tmp_path, parser=pool, max_bytes=LIMIT)
        _check_confined(_children() - before)
    stored = {knowledge_id for (knowledge_id,) in rows(database, "SELECT knowledge_id FROM documents")}
    skipped = {skipped.path.name: skipped for skipped in summary.skipped}
    assert stored | set(skipped) == {path.name for path in tmp_path.iterdir()}
    assert not stored & set(skipped)
    assert min(len(stored), len(skipped)) > 20
    assert {skipped.code for skipped in summary.skipped} <= set(DocumentFailure) - {DocumentFailure.PARSER_ENDED}
    assert all(skipped.next_step and skipped.path.name in skipped.message for skipped in summary.skipped)
    assert rows(database, MISPLACED) == []
    with pytest.raises(BlockingIOError):
        listener.accept()
