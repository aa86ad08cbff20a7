"""The confinement of parsers: native code in one reaches nothing, and each measure holds without the others."""

import os
import pwd
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sourcebound.ingest.loaders.select import parse_document
from sourcebound.ingest.sandbox.parser_pool import WORKER, ParserPool
from support.office_files import OFFICE_FILES
from support.places import ROOT
from support.processes.commands import PROGRAM
from support.processes.databases import MANUALS
from support.processes.native_payload import DONE, REFUSED, Plan, may_leave_network, run

ORDINARY_UID = pwd.getpwnam("daemon").pw_uid
WORD = "sk-a-key-of-the-operator"
LIMIT = 10_000_000
PDF = (MANUALS / "hp-300-manual-rev-a.pdf").read_bytes()
NEEDS_PRIVILEGES = {
    *("trace a process", "enter a namespace", "load a program into the kernel", "load a module", "become root"),
    *("make a namespace", "mount", "change the root folder", "read a process", "use io_uring"),
}
"""The acts that some machines refuse to an account without privileges."""
ONLY_FILTERED = {"change its personality", "share memory", "use a keyring", "open a file to others"}
"""The acts that only the filter of system calls refuses. None of them reads a file or leaves the machine."""
SENSELESS = {"read a process", "use io_uring", "load a program into the kernel", "load a module"}
"""The acts whose arguments make no sense, so that the kernel refuses them with an error of its own."""
OLDER_KERNEL = ROOT / "tests" / "support" / "processes" / "older_kernel.py"
LANDLOCK = ("landlock_create_ruleset", "landlock_restrict_self")
SETTING_USERS = ("setuid", "setgid")
LIMITS = ("prlimit64",)
LACKED = () if may_leave_network() else ("network namespace",)
"""The measures that the machine of the test may lack."""


def _can_act_as_another() -> bool:
    """Whether this account can run our interpreter as another one: root can, unless only root may read it."""
    if os.geteuid() != 0:
        return False
    try:
        return subprocess.run([sys.executable, "-c", ""], user=ORDINARY_UID, check=False).returncode == 0
    except PermissionError:
        return False


needs_root = pytest.mark.skipif(
    not _can_act_as_another(), reason="needs root, and an interpreter that other accounts may run"
)


@pytest.fixture(params=["own", pytest.param("ordinary", marks=needs_root)])
def user(request: pytest.FixtureRequest) -> int | None:
    """The account that ingests: this one and, for root, an ordinary one."""
    return None if request.param == "own" else ORDINARY_UID


@pytest.fixture
def plan(user: int | None) -> Iterator[Plan]:
    """The targets of the payload, which belong to the account that ingests."""
    with (
        tempfile.TemporaryDirectory() as name,
        socket.create_server(("127.0.0.1", 0)) as port,
        socket.socket(socket.AF_UNIX) as server,
        subprocess.Popen(["sleep", "600"], user=user) as victim,
    ):
        folder = Path(name)
        server.bind(f"{folder}/unix")
        server.listen()
        for file in ("secret", "old", "shortened", "opened"):
            (folder / file).write_text(WORD)
            (folder / file).chmod(0o600)
        for path in (folder, *folder.iterdir()):
            os.chown(path, *(-1, -1) if user is None else (user, -1))
        yield {
            "secret": f"{folder}/secret",
            "folder": name,
            "unix": f"{folder}/unix",
            "port": port.getsockname()[1],
            "victim": victim.pid,
            "word": WORD,
        }
        victim.kill()


def _run(mode: str, plan: Plan, user: int | None, *absent: str) -> dict[str, str]:
    return run(mode, plan, user, {**os.environ, "OPENAI_API_KEY": WORD}, absent)


def _permitted(outcomes: dict[str, str]) -> dict[str, str]:
    return {act: outcome for act, outcome in outcomes.items() if outcome not in REFUSED}


def _is_privileged() -> bool:
    """Return whether this process may administer the machine, which root in a container may not."""
    status = Path("/proc/self/status").read_text()
    capabilities = int(status.partition("CapEff:")[2].split()[0], base=16)
    return all(capabilities >> number & 1 for number in (7, 18, 19, 21))  # user ids, root folder, tracing, the rest


def _without(*names: str) -> tuple[str, ...]:
    """Return a command that starts a parser as on a machine whose kernel does not have these calls."""
    return (sys.executable, "-P", str(OLDER_KERNEL), ",".join(names), *WORKER)


@pytest.mark.contract("IX-2")
def test_native_code_in_a_parser_reaches_nothing(plan: Plan, user: int | None) -> None:
    before = sorted(path.name for path in Path(plan["folder"]).iterdir())
    outcomes = _run("confined", plan, user)
    assert _permitted(outcomes) == {}
    assert sorted(path.name for path in Path(plan["folder"]).iterdir()) == before
    assert Path(plan["folder"], "shortened").read_text() == WORD


@pytest.mark.contract("IX-2")
def test_the_filter_of_system_calls_alone_refuses_everything(plan: Plan, user: int | None) -> None:
    outcomes = _run("confined", plan, user, "unshare", *LANDLOCK, *SETTING_USERS, *LIMITS)
    assert _permitted(outcomes) == {}


@pytest.mark.contract("IX-2")
def test_without_the_filter_of_system_calls_the_other_measures_remain(plan: Plan, user: int | None) -> None:
    outcomes = _run("confined", plan, user, "seccomp")
    assert {act for act, outcome in outcomes.items() if outcome == DONE} <= ONLY_FILTERED


@pytest.mark.contract("IX-2")
def test_the_same_code_reaches_everything_without_the_confinement(plan: Plan, user: int | None) -> None:
    """The control: the payload can do what it tries, so that its refusal means something."""
    outcomes = _run("free", plan, user)
    expected = outcomes.keys() - (set() if user is None and _is_privileged() else NEEDS_PRIVILEGES)
    assert {act: outcomes[act] for act in expected - SENSELESS if outcomes[act] != DONE} == {}
    assert not {outcomes[act] for act in expected & SENSELESS} & REFUSED


@pytest.mark.contract("IX-2")
@pytest.mark.parametrize(
    ("absent", "missing"),
    [
        ((), ()),
        (("seccomp",), ("seccomp",)),
        (LANDLOCK, ("Landlock",)),
        (("unshare",), ("network namespace",)),
        pytest.param(SETTING_USERS, ("own user id",), marks=needs_root),
        pytest.param(("CAP_KILL",), ("own user id",), marks=needs_root),
        (LIMITS, ("memory limit",)),
    ],
)
def test_a_parser_says_which_measure_the_machine_lacks(absent: tuple[str, ...], missing: tuple[str, ...]) -> None:
    with ParserPool(30, 512, processes=1, command=_without(*absent)) as pool:
        confinement = pool.describe_confinement()
        assert pool.parse(MANUALS / "hp-300-manual-rev-a.pdf", PDF, LIMIT).pages
    assert set(confinement.missing) == {*missing, *LACKED}
    assert not confinement.reachable, "another measure refuses it"


def _examine(*absent: str) -> tuple[int, str, str]:
    """Run `doctor` without a database; return its exit code, the line on the parser and the next one."""
    command = [sys.executable, "-P", str(OLDER_KERNEL), ",".join(absent), str(PROGRAM), "doctor"]
    environment = {**os.environ, "SOURCEBOUND_HOME": "/dev/null/nowhere"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    lines = done.stdout.splitlines()
    index = next(index for index, line in enumerate(lines) if line[4:10] == "parser")
    return done.returncode, lines[index], lines[index + 1]


@pytest.mark.contract("IX-2")
def test_doctor_says_what_the_machine_enforces() -> None:
    _, line, _ = _examine()
    assert re.match(
        r"ok  parser      enforced: (network namespace, )?(own user id, )?no_new_privs, Landlock \(ABI \d+\), "
        "memory limit, seccomp",
        line,
    )
    assert ("own user id" in line) == (os.geteuid() == 0)
    assert ("not enforced" in line) == bool(LACKED)


@pytest.mark.contract("IX-2")
def test_doctor_warns_of_what_the_machine_does_not_enforce() -> None:
    code, line, next_line = _examine("unshare", "seccomp", *LANDLOCK, *SETTING_USERS, *LIMITS)
    assert code == 1
    assert line.startswith("NO  parser      enforced: no_new_privs; not enforced by this machine: network namespace, ")
    assert "Landlock, memory limit, seccomp; a hostile document could reach files, sockets, new processes" in line
    assert next_line == (
        "    Next: Ingest only documents that you trust, or ingest on Linux 5.13 or newer with seccomp and Landlock."
    )


@pytest.mark.contract("IX-2")
def test_where_nothing_is_enforced_documents_are_read_with_what_there_is() -> None:
    absent = ("unshare", "seccomp", *LANDLOCK, *SETTING_USERS, *LIMITS)
    with ParserPool(30, 512, processes=1, command=_without(*absent)) as pool:
        assert pool.describe_confinement().enforced == ("no_new_privs",)
        assert pool.parse(MANUALS / "hp-300-manual-rev-a.pdf", PDF, LIMIT).pages


def test_a_confined_parser_reads_what_an_ordinary_process_reads(tmp_path: Path) -> None:
    """The import of a library or of a codec that comes too late would show here."""
    text = "Насос работает при температуре 80 °C. Проверяйте уплотнение каждый месяц, затем закройте клапан.\n" * 20
    for encoding in ("koi8_r", "cp1251", "utf_16", "mac_cyrillic", "iso8859_5"):
        (tmp_path / f"{encoding}.txt").write_bytes(text.encode(encoding, errors="ignore"))
    for name, content in OFFICE_FILES.items():
        (tmp_path / name).write_bytes(content())
    paths = [path for path in (*MANUALS.iterdir(), *tmp_path.iterdir()) if path.suffix != ".toml"]
    kinds = {".pdf", ".docx", ".html", ".md", ".csv", ".txt"} | {Path(name).suffix for name in OFFICE_FILES}
    assert {path.suffix for path in paths} == kinds
    with ParserPool(30, 512, processes=1) as pool:
        for path in paths:
            data = path.read_bytes()
            assert pool.parse(path, data, LIMIT) == parse_document(path, data, LIMIT)
