"""`ask` and `chat` show a released answer in the presentation of its policy, or in the one that is asked for (R6-8)."""

import json
import re

import pytest

from support.processes.commands import Program

QUESTION = "How often is the shaft of a stored HP-200 turned by hand?"
BOUNDED = ("--policy", "SOURCE_BOUNDED_V1")
GROUNDED = ("--policy", "GROUNDED_RAG_V1")


@pytest.mark.contract("R6-8")
def test_the_answer_alone_is_on_stdout_in_the_form_of_its_policy(demo: Program) -> None:
    done = demo("ask", QUESTION, *BOUNDED)
    assert done.code == 0, done.stderr
    assert re.fullmatch(
        r"Answer:\n.+ \[C\d+\]\n\nSources:\n(- \[C\d+\] \S+\.(pdf|docx), .+ \(score: 0\.\d\d\)\n)+",
        done.stdout,
        re.DOTALL,
    )
    assert re.fullmatch(r"run \S+\n", done.stderr)


@pytest.mark.contract("R6-8")
@pytest.mark.contract("P-4")
def test_another_presentation_may_be_asked_for_and_a_limit_that_is_too_high_is_named(demo: Program) -> None:
    other = demo("ask", QUESTION, *GROUNDED, "--limit", "min_sources=0", "--presentation", "numbered_confidence")
    assert other.code == 0, other.stderr
    assert re.match(r"ANSWER:\n1\. .+ \(hp-200-manual-rev-c\.pdf, p\d+, \S+\)\n", other.stdout)
    assert re.search(r"\nCONFIDENCE: (High|Medium|Low)\n$", other.stdout)
    over = demo("ask", QUESTION, *GROUNDED, "--limit", "min_sources=11")
    assert (over.code, over.stdout) == (2, "")
    assert "limit min_sources is over 10" in over.stderr


@pytest.mark.contract("R6-8")
def test_a_refusal_is_the_sentence_of_the_presentation_and_ends_with_3(demo: Program) -> None:
    done = demo("ask", "Who composed the second symphony for zeppelin and harpsichord?", *GROUNDED)
    assert done.code == 3
    shown = json.loads(done.stdout)
    assert (shown["refusal_reason"], shown["sources"]) == ("no_relevant_content", [])
    assert shown["answer"] == "I don't have enough information..."
    assert done.stderr.startswith("no_relevant_content: ")


@pytest.mark.parametrize(
    ("flags", "code"),
    [(["--presentation", "haiku"], "UNKNOWN_PRESENTATION"), (["--presentation", "plain", "--json"], "")],
)
def test_what_cannot_be_presented_so_is_bad_usage(flags: list[str], code: str) -> None:
    done = Program({"SOURCEBOUND_HOME": "/dev/null/nowhere"})("ask", QUESTION, *flags)
    assert done.code == 2
    assert code in done.stderr
    assert "answer_sources" in done.stderr if code else "exclude each other" in done.stderr


@pytest.mark.contract("R6-8")
@pytest.mark.contract("CP-6")
def test_a_conversation_keeps_its_presentation(demo: Program) -> None:
    done = demo("chat", *BOUNDED, stdin=f"{QUESTION}\nHow often is the shaft of a stored HP-200 turned?\n")
    assert done.code == 0, done.stderr
    assert done.stdout.count("Sources:\n- [C") == 2
    assert done.stdout.startswith("Answer:\n")
    assert "policy SOURCE_BOUNDED_V1" not in done.stdout
