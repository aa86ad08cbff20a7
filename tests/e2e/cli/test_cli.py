"""The command line as real processes: exit codes, stdout, stderr and messages."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from sourcebound.contracts.policy.releases import SHIPPED
from sourcebound.contracts.prompt.build import REFUSAL
from support.builders import SEAL, bundle, row
from support.processes.commands import MANUALS, PROGRAM, Finished, Program

ANSWERED = "How often is the shaft of a stored HP-200 turned by hand?"
OFF_TOPIC = "Which orchestra played at the opening of the Sydney Opera House?"
COMMANDS = ("ingest", "ask", "chat", "search", "collections", "documents", "doctor", "runs", "policy", "db")
HEAVY = (
    "langgraph",
    "langchain_core",
    "psycopg",
    "psycopg_pool",
    "pydantic",
    "numpy",
    "onnxruntime",
    "httpx",
    "asyncio",
    "jinja2",
)
PUBLIC = {
    "schema_version", "request_id", "run_id", "status", "answer", "citations", "token_usage", "latency_ms",
    "support_level", "refusal_code", "failure_code", "message", "policy_version",
    "conversation_id", "search_query", "notices",
}  # fmt: skip
NOWHERE = Program({"SOURCEBOUND_HOME": "/dev/null/nowhere"})
"""A program whose database cannot be opened: what it can do, it does without one."""


@pytest.fixture(scope="module")
def answered(demo: Program) -> Finished:
    """A question that was answered."""
    return demo("ask", ANSWERED, "--json")


@pytest.fixture(scope="module")
def refused(demo: Program) -> Finished:
    """A question that was refused."""
    return demo("ask", OFF_TOPIC, "--json")


def _json(done: Finished) -> dict[str, Any]:
    """Parse the output of `--json`; anything else on stdout is an error."""
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def _check_fault(done: Finished, exit_code: int, failure_code: str) -> None:
    """A fault is two lines on stderr, a message with its code and the next step, and nothing on stdout."""
    message, next_step = done.stderr.splitlines()
    assert (done.code, done.stdout) == (exit_code, ""), done.stderr
    assert message.startswith("Error: ")
    assert message.endswith(f"[{failure_code}]")
    assert next_step.startswith("  Next: ")


def test_an_answer_is_shown_with_its_sources_and_ends_with_0(demo: Program) -> None:
    done = demo("ask", ANSWERED)
    assert (done.code, done.stderr) == (0, "")
    assert "14 days" in done.stdout
    assert re.search(r"\[C\d\] HP-200 Circulation Pump", done.stdout)
    assert "hp-200-manual-rev-c.pdf, p. 16" in done.stdout
    assert "policy SOURCEBOUND_V2" in done.stdout


@pytest.mark.contract("R6-1")
def test_an_answer_as_json_is_alone_on_stdout(answered: Finished) -> None:
    response = _json(answered)
    assert (answered.code, answered.stderr, response["status"]) == (0, "", "OK")
    assert set(response) == PUBLIC
    assert (response["failure_code"], response["refusal_code"], response["message"]) == (None, None, "")
    anchors = list(dict.fromkeys(re.findall(r"\[(C\d+)\]", response["answer"])))
    assert [citation["anchor"] for citation in response["citations"]] == anchors != []


@pytest.mark.contract("R6-4")
def test_a_refusal_says_why_and_ends_with_3(demo: Program, refused: Finished) -> None:
    done = demo("ask", OFF_TOPIC)
    assert (done.code, refused.code) == (3, 3)
    assert REFUSAL.replace(" ", "") in re.sub(r"\s", "", done.stdout)
    assert "below_similarity_gate: " in done.stdout
    assert "\nNext: " in done.stdout
    assert "\nNearest passages (passages, not an answer)\n" in done.stdout
    response = _json(refused)
    assert set(response) == {*PUBLIC, "advice"}
    assert (response["status"], response["answer"], response["citations"]) == ("NO_EVIDENCE", REFUSAL, [])


@pytest.mark.contract("R1-2")
def test_an_unknown_collection_is_a_refusal(demo: Program) -> None:
    done = demo("ask", ANSWERED, "--json", "--collection", "nowhere")
    response = _json(done)
    assert (done.code, response["refusal_code"]) == (3, "collection_not_found")
    assert "sourcebound ingest PATH --collection nowhere" in response["message"]


@pytest.mark.contract("R1-2")
@pytest.mark.parametrize("command", ["ask", "search", "chat"])
def test_a_mistyped_collection_is_bad_usage_that_names_the_nearest(demo: Program, command: str) -> None:
    question = () if command == "chat" else (ANSWERED,)
    done = demo(command, *question, "--collection", "demoe")
    _check_fault(done, 2, "COLLECTION_MISTYPED")
    assert "Did you mean 'demo'?" in done.stderr


@pytest.mark.contract("R1-8")
def test_filters_narrow_the_answer(demo: Program) -> None:
    question = "To what torque are the gland bolts of the mechanical seal tightened?"
    done = demo("ask", question, "--json", "--filter", "equipment_id=HP-300", "--filter", "event_date_to=2023-12-31")
    response = _json(done)
    assert (done.code, {citation["equipment_id"] for citation in response["citations"]}) == (0, {"HP-300"})
    assert "34 N·m" in response["answer"]


@pytest.mark.contract("R1-8")
def test_several_documents_are_named_one_by_one(demo: Program) -> None:
    question = "How often is the shaft of a stored HP-200 turned by hand?"
    names = ["hp-200-spare-parts.csv", "sb-2024-07-hp-200-gland-bolts.html"]
    done = demo("ask", question, "--json", *(part for name in names for part in ("--filter", f"knowledge_ids={name}")))
    assert {citation["knowledge_id"] for citation in _json(done)["citations"]} <= set(names)
    everything = _json(demo("ask", question, "--json"))
    assert not {citation["knowledge_id"] for citation in everything["citations"]} <= set(names)


@pytest.mark.contract("R1-1")
@pytest.mark.parametrize("entry", ["file", "stdin"])
def test_a_bundle_from_elsewhere_is_answered(demo: Program, tmp_path: Path, entry: str) -> None:
    text = json.dumps(bundle([row(chunk_text=SEAL)]))
    path = tmp_path / "bundle.json"
    path.write_text(text)
    done = (
        demo("ask", "--json", "--bundle", path)
        if entry == "file"
        else demo("ask", "--json", "--bundle", "-", stdin=text)
    )
    response = _json(done)
    assert (done.code, response["answer"]) == (0, f"{SEAL} [C0]")
    assert (response["request_id"], response["policy_version"]) == ("request-1", "R2_POLICY_V1")
    assert [citation["knowledge_id"] for citation in response["citations"]] == ["doc-0"]


@pytest.mark.contract("R2-V1")
@pytest.mark.contract("R6-5")
@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"results": []}, "EMPTY_WITHOUT_STATUS"),
        ({"results": [row(0), row(0)]}, "INVALID_RANK"),
        ({"retrieval_status": "FAILED"}, "RETRIEVAL_FAILED"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bundle_that_breaks_its_contract_ends_with_4(demo: Program, changed: dict[str, Any], code: str) -> None:
    done = demo("ask", "--json", "--bundle", "-", stdin=json.dumps(bundle() | changed))
    response = _json(done)
    assert (done.code, response["status"], response["failure_code"]) == (4, "FAILED", code)
    assert (response["answer"], response["citations"]) == ("", [])
    assert response["message"]
    assert response["latency_ms"] > 0


@pytest.mark.contract("R1-1")
def test_a_stream_of_bundles_is_answered_in_order_and_ends_with_its_worst(demo: Program) -> None:
    good = [bundle([row(chunk_text=SEAL)], request_id=f"good-{number}") for number in range(3)]
    refused = bundle([row(similarity_score=0.1)], request_id="refused")
    stream = "\n".join([*map(json.dumps, [good[0], refused, good[1]]), "oops", json.dumps(good[2], indent=2)])
    done = demo("ask", "--json", "--bundle", "-", stdin=stream)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.code, done.stderr) == (4, "")
    assert [response["status"] for response in found] == ["OK", "NO_EVIDENCE", "OK", "FAILED", "OK"]
    assert [found[place]["request_id"] for place in (0, 1, 2, 4)] == ["good-0", "refused", "good-1", "good-2"]
    assert found[3]["failure_code"] == "INVALID_SCHEMA"
    assert found[3]["message"].startswith(
        "unreadable: line 4 of the stream is no bundle: it is not JSON: Expecting value"
    )
    assert demo("ask", "--bundle", "-", stdin=json.dumps(good[0]) + json.dumps(refused)).code == 3
    assert "\nrecord     1  " in demo("runs", "show", found[3]["run_id"]).stdout


def test_a_reader_that_leaves_after_the_first_response_ends_a_stream_quietly(demo: Program, tmp_path: Path) -> None:
    path = tmp_path / "bundles.jsonl"
    path.write_text("\n".join(json.dumps(bundle([row(chunk_text=SEAL)], request_id=f"r-{n}")) for n in range(40)))
    command = [str(PROGRAM), "ask", "--json", "--bundle", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=demo.variables()) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["status"] == "OK"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.contract("R1-1")
def test_a_table_of_candidates_is_answered(demo: Program, tmp_path: Path) -> None:
    path, asked = tmp_path / "candidates", {**bundle(), "results": None, "filters_applied": None}
    names = [{**asked, "request_id": f"r-{number}", **row(chunk_text=SEAL)} for number in range(2)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(names), path)
    done = demo("ask", "--json", "--bundle", path, "--at-once", "1")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.code, [(response["request_id"], response["status"]) for response in found]) == (
        0,
        [("r-0", "OK"), ("r-1", "OK")],
    )


def test_a_failure_is_shown_without_an_answer(demo: Program) -> None:
    done = demo("ask", "--bundle", "-", stdin=json.dumps(bundle([])))
    assert done.code == 4
    assert "No answer is released." in done.stdout
    assert "EMPTY_WITHOUT_STATUS: " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (["ask"], "", "either a question or --bundle"),
        (["ask", "why?", "--bundle", "-"], "{}", "either a question or --bundle"),
        (["ask", "  "], "", "the question is empty"),
        (["ask", "why?", "--filter", "colour=red"], "", "Known filters: equipment_id"),
        (["ask", "why?", "--filter", "event_date_from=soon"], "", "event_date_from"),
        (["ask", "why?", "--filter", "equipment_id"], "", "equipment_id"),
        (
            ["ask", "why?", "--filter", "equipment_id=A", "--filter", "equipment_id=B"],
            "",
            "'equipment_id' is given more",
        ),
        (["ask", "why?", "--limit", "min_sources=4", "--limit", "min_sources=1"], "", "'min_sources' is given more"),
        (["ask", "--bundle", "/nowhere/bundle.json"], "", "cannot be read: No such file"),
        (["ask", "--bundle", "-"], "not json", "is not JSON"),
        (["ask", "--bundle", "-"], "[]", "holds no JSON object"),
        (["ask", "--bundle", "-"], "\n", "stdin holds no bundle"),
        (["ask", "--bundle", "-", "--collection", "demo"], "{}", "apply to a question"),
        (["ingest", "/nowhere", "--equipment-id", " "], "", "--equipment-id is empty"),
    ],
)
def test_what_cannot_be_asked_so_is_said_before_any_database_is_opened(
    arguments: list[str], stdin: str, words: str
) -> None:
    done = NOWHERE(*arguments, stdin=stdin)
    _check_fault(done, 2, "BAD_REQUEST")
    assert words in done.stderr


@pytest.mark.parametrize(
    ("option", "value", "code", "known"),
    [
        ("--policy", "NO_SUCH_POLICY", "UNKNOWN_POLICY", "SOURCEBOUND_V1"),
        ("--model", "no-such-model", "UNKNOWN_MODEL", "extractive"),
    ],
)
def test_an_unknown_policy_or_model_is_bad_usage_that_lists_what_there_is(
    demo: Program, option: str, value: str, code: str, known: str
) -> None:
    done = demo("ask", ANSWERED, option, value, "--json")
    _check_fault(done, 2, code)
    assert value in done.stderr
    assert known in done.stderr


@pytest.mark.contract("P-1")
def test_a_policy_file_is_obeyed_and_a_bad_one_is_bad_usage(demo: Program, tmp_path: Path) -> None:
    text = demo("policy", "show", "SOURCEBOUND_V1").stdout
    strict, broken = tmp_path / "strict.toml", tmp_path / "broken.toml"
    strict.write_text(
        re.sub(r"min_top_similarity = .*", "min_top_similarity = 0.99", text).replace("SOURCEBOUND_V1", "STRICT_V1")
    )
    broken.write_text(text.replace("top_k", "top_kay"))
    done = demo("ask", ANSWERED, "--json", "--policy", strict)
    response = _json(done)
    assert (done.code, response["refusal_code"], response["policy_version"]) == (
        3,
        "below_similarity_gate",
        "STRICT_V1",
    )
    refused = demo("ask", ANSWERED, "--policy", broken)
    _check_fault(refused, 2, "INVALID_POLICY")
    assert "top_kay" in refused.stderr
    assert NOWHERE("policy", "check", strict).stdout.startswith("STRICT_V1  ")
    _check_fault(NOWHERE("policy", "check", broken), 2, "INVALID_POLICY")


@pytest.mark.contract("P-6")
def test_policies_are_listed_shown_and_checked_without_a_database() -> None:
    listed = NOWHERE("policy", "list")
    assert (listed.code, [line.split()[0] for line in listed.stdout.splitlines()]) == (0, list(SHIPPED))
    shown = NOWHERE("policy", "show", "R2_POLICY_V1")
    assert (shown.code, 'policy_version = "R2_POLICY_V1"' in shown.stdout) == (0, True)
    checked = NOWHERE("policy", "check")
    assert (checked.code, "has changed" in checked.stdout) == (0, True), checked.stderr
    _check_fault(NOWHERE("policy", "show", "NO_SUCH_POLICY"), 2, "UNKNOWN_POLICY")


@pytest.mark.contract("S-2")
def test_runs_are_listed_and_shown(demo: Program, answered: Finished) -> None:
    run = _json(answered)["run_id"]
    listed = demo("runs", "list", "--limit", "1000").stdout
    assert re.search(rf"  {run}  OK\n    {re.escape(ANSWERED)}\n", listed)
    as_json = [json.loads(line) for line in demo("runs", "list", "--limit", "1000", "--json").stdout.splitlines()]
    assert (run, "OK", ANSWERED) in [(found["run_id"], found["status"], found["question"]) for found in as_json]
    assert [found["started_at"] for found in as_json] == sorted((f["started_at"] for f in as_json), reverse=True)
    shown = demo("runs", "show", run).stdout
    for node in ("accept", "retrieve", "assemble", "build_prompt", "generate", "validate", "record", "package"):
        assert re.search(rf"^node +{node}  OK  \d", shown, re.MULTILINE), node
    assert re.search(r"^candidate +0  0\.\d+  0  0 .*  ADMITTED C0  ", shown, re.MULTILINE)
    assert re.search(r"^record +1  \d+  PASSED  [0-9a-f]{64}  matches", shown, re.MULTILINE)
    assert "\nprompt     system message" not in shown
    state = _json(demo("runs", "show", run[:30], "--json"))
    assert (state["run"]["run_id"], state["run"]["question"]) == (run, ANSWERED)


@pytest.mark.contract("R6-7")
def test_a_run_is_written_as_a_page_of_its_own(demo: Program, answered: Finished, tmp_path: Path) -> None:
    run, page = _json(answered)["run_id"], tmp_path / "run.html"
    done = demo("runs", "show", run, "--html", page)
    assert (done.code, done.stdout, done.stderr) == (0, "", f"written to {page}\n")
    text = page.read_text("utf-8")
    assert (text.startswith("<!DOCTYPE html>"), f'<h1 dir="auto">{ANSWERED}</h1>' in text) == (True, True)
    assert "SYSTEM INSTRUCTION" not in text
    assert demo("runs", "show", run, "--html", "-").stdout == text + "\n"
    assert "SYSTEM INSTRUCTION" in demo("runs", "show", run, "--html", "-", "--prompt").stdout
    nowhere = demo("runs", "show", run, "--html", tmp_path / "missing" / "run.html")
    _check_fault(nowhere, 2, "BAD_REQUEST")


@pytest.mark.usefixtures("answered", "refused")
def test_a_run_that_is_not_there_is_bad_usage(demo: Program) -> None:
    _check_fault(demo("runs", "show", "no-such-run"), 2, "RUN_NOT_FOUND")
    ambiguous = demo("runs", "show", "0")
    _check_fault(ambiguous, 2, "RUN_NOT_FOUND")
    assert "more than one run" in ambiguous.stderr


def test_collections_and_doctor_say_what_there_is(demo: Program) -> None:
    collections = demo("collections")
    assert collections.code == 0
    assert re.match(
        r"demo  9 documents, \d+ chunks  minilm:all-MiniLM-L6-v2@53aa5117  english  ix-[0-9a-f]{16}\n",
        collections.stdout,
    )
    doctor = demo("doctor")
    assert doctor.code == 0, doctor.stdout
    assert "ok  collections demo (9 documents, english)" in doctor.stdout
    assert re.search(
        r"^ok  database +embedded, .*; the data belongs to the (account|user id) ", doctor.stdout, re.MULTILINE
    )
    assert 'Next: sourcebound ask "…" --collection demo' in doctor.stdout


def test_doctor_ends_with_1_and_the_next_step_where_there_is_no_database() -> None:
    done = NOWHERE("doctor")
    assert done.code == 1
    assert re.search(r"^NO  database +.*/dev/null/nowhere", done.stdout, re.MULTILINE)
    assert "Next: Set SOURCEBOUND_HOME to another folder" in done.stdout


def test_a_database_that_cannot_be_opened_is_a_fault() -> None:
    for arguments in (["ask", ANSWERED, "--json"], ["collections"], ["runs", "list"], ["ingest", str(MANUALS)]):
        _check_fault(NOWHERE(*arguments), 1, "STORE_UNAVAILABLE")


@pytest.mark.parametrize(
    ("variable", "value", "code"),
    [
        ("DATABASE_URL", "nonsense", "BAD_DATABASE_URL"),
        ("SOURCEBOUND_MAX_FILE_MEGABYTES", "many", "BAD_SETTING"),
        ("SOURCEBOUND_MODEL", "no-such-model", "UNKNOWN_MODEL"),
    ],
)
def test_a_bad_setting_is_bad_configuration(demo: Program, variable: str, value: str, code: str) -> None:
    program = Program({**demo.environment, variable: value})
    _check_fault(program("ask", ANSWERED), 2, code)


def test_an_unknown_embedder_is_bad_configuration(demo: Program) -> None:
    done = Program({**demo.environment, "SOURCEBOUND_EMBEDDER": "word2vec"})("ingest", MANUALS)
    _check_fault(done, 2, "BAD_CONFIGURATION")
    assert "lexical" in done.stderr


def test_ingest_without_an_embedder_announces_lexical_retrieval(fresh: Program, tmp_path: Path) -> None:
    (tmp_path / "pump.md").write_text("# Pump\n\nThe pump P-7 runs at 5 bar.\n")
    lexical = Program({**fresh.environment, "SOURCEBOUND_EMBEDDER": "lexical"})
    done = lexical("ingest", tmp_path, "--equipment-id", "P-7")
    assert (done.code, done.stdout) == (
        0,
        "default: 1 added, 0 replaced, 0 unchanged, 0 skipped; 1 new chunks (lexical)\n",
    )
    assert "searched by words only" in done.stderr
    response = _json(fresh("ask", "At how many bar does the pump P-7 run?", "--json"))
    assert (response["answer"], response["policy_version"]) == (
        "The pump P-7 runs at 5 bar. [C0]",
        "SOURCEBOUND_LEXICAL_V2",
    )


def test_ingest_reports_each_file_that_it_skipped(demo: Program, tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("# Good\n\nThis is fine.\n")
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.7 nothing")
    (tmp_path / "caf\udce9.md").write_text("# Name\n\nIt is no text.\n")
    done = demo("ingest", tmp_path, "--collection", "scratch")
    assert (done.code, "1 added" in done.stdout, "2 skipped" in done.stdout) == (1, True, True)
    assert done.stderr.count("    Next: ") == 2
    assert ("skipped [UNREADABLE] bad.pdf" in done.stderr, "skipped [BAD_NAME]" in done.stderr) == (True, True)
    missing = demo("ingest", tmp_path / "missing", "--collection", "scratch")
    assert (missing.code, "skipped [PATH_MISSING]" in missing.stderr) == (2, True)


def test_the_embedded_server_is_started_named_and_stopped(fresh: Program) -> None:
    before = fresh("db", "status")
    started = fresh("db", "start")
    running = fresh("db", "status")
    migrated = fresh("db", "migrate")
    stopped, again, after = fresh("db", "stop"), fresh("db", "stop"), fresh("db", "status")
    assert [done.code for done in (before, started, running, migrated, stopped, again, after)] == [0] * 7
    assert "not running" in before.stdout
    assert "running, until `sourcebound db stop`" in started.stdout
    assert running.stdout == started.stdout
    assert "applied 0001_documents" in migrated.stdout
    assert (stopped.stdout, again.stdout) == ("stopped\n", "was not running\n")
    assert "not running" in after.stdout


def test_without_db_start_the_server_lives_as_long_as_its_command(fresh: Program) -> None:
    assert fresh("collections").code == 0
    assert "not running" in fresh("db", "status").stdout


def test_a_collection_is_made_in_a_language_and_keeps_it(fresh: Program, tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("Die Dichtungen für das Kühlwasser werden jährlich geprüft.\n")
    german = Program({**fresh.environment, "SOURCEBOUND_EMBEDDER": "lexical", "SOURCEBOUND_LANGUAGE": "french"})
    german("db", "start")
    arguments = ("ingest", note, "--collection", "werk")
    unknown = german(*arguments, "--language", "klingon")
    assert (unknown.code, "[UNKNOWN_LANGUAGE]" in unknown.stderr, "greek" in unknown.stderr) == (2, True, True)
    assert german(*arguments, "--language", "german").code == 0
    assert german(*arguments).code == 0
    other = german(*arguments, "--language", "english")
    assert (other.code, "[INDEX_LANGUAGE_MISMATCH]" in other.stderr) == (2, True)
    assert german("ingest", note, "--collection", "usine").code == 0
    listed = german("collections").stdout.splitlines()
    assert [re.split(r"  +", line)[0::3][:2] for line in listed] == [["usine", "french"], ["werk", "german"]]
    found = german("search", "Dichtung Kuhlwasser", "--collection", "werk")
    assert found.code == 0, found.stdout


def test_db_start_is_refused_where_database_url_is_set() -> None:
    done = Program({"DATABASE_URL": "postgresql:///elsewhere"})("db", "start")
    assert (done.code, "DATABASE_URL is set" in done.stderr) == (2, True)


def test_help_lists_the_commands_and_the_version_is_printed() -> None:
    helped = NOWHERE("--help")
    assert helped.code == 0
    assert [name for name in COMMANDS if not re.search(rf"^  {name} ", helped.stdout, re.MULTILINE)] == []
    version = NOWHERE("--version")
    assert (version.code, re.fullmatch(r"\d+\.\d+\.\d+\S*\n", version.stdout) is not None) == (0, True)
    unknown = NOWHERE("frobnicate")
    assert (unknown.code, "frobnicate" in unknown.stderr) == (2, True)


def test_the_command_line_imports_nothing_heavy() -> None:
    script = "import sys, sourcebound.cli.main; print(*(name for name in sys.modules if '.' not in name))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert "typer" in imported
    assert imported & set(HEAVY) == set()
