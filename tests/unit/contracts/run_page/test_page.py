"""The page of a run: every layer as it was recorded, for people, whatever is missing."""

import pytest

from sourcebound.contracts.evidence.answer_bundle import RowOutcome
from sourcebound.contracts.outcome import FailureCode, RefusalCode, fail
from sourcebound.contracts.run_page.attempts import StatementStatus
from sourcebound.contracts.run_page.code_labels import CODE_MESSAGES, ROW_OUTCOME_LABELS
from sourcebound.contracts.text.sanitize import one_line, visible
from support.builders import FILTER, SEAL, generation, row
from support.recorded_runs import ANSWER, page_of, recorded

TWO = [row(0, chunk_text=SEAL), row(1, chunk_text=FILTER), row(2, chunk_text=SEAL)]
WRONG = (
    f"{SEAL} [C0] It is blue. The filter is replaced every 99 days [C1]. See (C0) for more [C1]. As said before [C17]."
)


def test_an_answer_is_shown_with_all_that_led_to_it() -> None:
    page = page_of(recorded(ANSWER, TWO))
    assert (page.question, page.head.status, page.explanation) == (
        "How often must the shaft seal be checked?",
        "OK",
        "",
    )
    assert page.search is not None
    fates = [(found.rank, found.outcome, found.anchor) for found in page.search.candidates]
    assert fates == [
        (0, RowOutcome.ADMITTED, "C0"),
        (1, RowOutcome.ADMITTED, "C1"),
        (2, RowOutcome.DROP_DUP, None),
    ]
    assert [(s.chunk.anchor, s.chunk.sanitized_text, s.cited) for s in page.sources] == [
        ("C0", SEAL, True),
        ("C1", FILTER, False),
    ]
    (attempt,) = page.attempts
    assert attempt.prompt.messages == ()
    assert attempt.prompt.characters > len(SEAL)
    (statement,) = attempt.statements
    assert (statement.text, statement.verdict, statement.anchors) == (ANSWER, StatementStatus.CITED, ("C0",))
    assert [(found.text, found.found_in) for found in statement.literals] == [("12 hours", ("C0",)), ("5 bar", ("C0",))]
    assert [(node.node, node.share) for node in page.nodes] == [
        ("accept", 0.25),
        ("retrieve", 1.0),
        ("package", 0.0625),
    ]


def test_each_broken_rule_stands_at_the_statement_that_breaks_it() -> None:
    (attempt,) = page_of(recorded(WRONG, TWO)).attempts
    codes = [[violation.code for violation in statement.violations] for statement in attempt.statements]
    assert codes == [
        [],
        [FailureCode.UNCITED_FACTUAL_STATEMENT],
        [FailureCode.UNSUPPORTED_LITERAL],
        [FailureCode.MALFORMED_CITATION, FailureCode.UNSUPPORTED_LITERAL],
        [FailureCode.INVALID_CITATION_REFERENCE],
    ]
    assert [statement.verdict for statement in attempt.statements] == [StatementStatus.CITED] + [
        StatementStatus.BROKEN
    ] * 4
    assert attempt.other_violations == ()


def test_what_belongs_to_no_statement_stands_apart() -> None:
    (attempt,) = page_of(recorded("", TWO)).attempts
    assert attempt.statements == ()
    assert [violation.code for violation in attempt.other_violations] == [FailureCode.EMPTY_ANSWER]


def test_a_heading_needs_no_citation() -> None:
    (attempt,) = page_of(recorded(f"# Seal\n\n{ANSWER}")).attempts
    assert [statement.verdict for statement in attempt.statements] == [StatementStatus.EXEMPT, StatementStatus.CITED]


@pytest.mark.contract("R5-12")
def test_every_attempt_is_shown_and_none_twice() -> None:
    kept = recorded(ANSWER, TWO, earlier=(WRONG,))
    page = page_of(kept)
    assert [attempt.number for attempt in page.attempts] == [1, 2]
    assert [attempt.statements[-1].verdict for attempt in page.attempts] == [
        StatementStatus.BROKEN,
        StatementStatus.CITED,
    ]
    assert page.attempts[1].prompt.repair_template is not None
    cut_off = {**kept.state, **kept.state["attempts"][0]}
    assert len(page_of(kept._replace(state=cut_off)).attempts) == 1  # type: ignore[arg-type]


def test_a_model_that_did_not_answer_leaves_an_attempt_without_a_verdict() -> None:
    away = generation("", outcome=fail("generate", FailureCode.MODEL_TIMEOUT, "no answer in 60 s"))
    page = page_of(recorded(away))
    assert (page.head.reason, page.explanation) == ("MODEL_TIMEOUT", "The model did not answer within its time limit.")
    assert [(attempt.validation, attempt.statements) for attempt in page.attempts] == [(None, ())]


def test_a_refusal_has_no_attempt_and_says_what_the_gate_measured() -> None:
    page = page_of(recorded(results=[row(similarity_score=0.4)]))
    assert (page.head.reason, page.attempts, page.sources) == ("below_similarity_gate", (), ())
    assert page.search is not None
    assert (page.search.gate.top_similarity, page.search.candidates[0].outcome) == (0.4, RowOutcome.DROP_GATE)


def test_a_bundle_that_broke_its_contract_shows_its_violations_and_none_of_its_rows() -> None:
    page = page_of(recorded(results=[row(similarity_score=7)]))
    assert page.outcome is not None
    assert page.outcome.violations[0].code is FailureCode.INVALID_SIMILARITY
    assert page.search is not None
    assert (page.search.candidates, page.sources) == ((), ())


@pytest.mark.contract("R6-7")
def test_the_text_of_a_document_that_may_not_be_read_is_nowhere_on_the_page() -> None:
    page = page_of(recorded(ANSWER, TWO), frozenset({"doc-0"}), with_prompt=True)
    assert [(source.chunk.anchor, source.readable) for source in page.sources] == [("C0", True), ("C1", False)]
    assert page.search is not None
    assert [found.first_line for found in page.search.candidates] == [SEAL, "", ""]
    assert page.prompt_withheld
    assert FILTER not in page.model_dump_json()


@pytest.mark.contract("R6-7")
def test_the_prompts_are_shown_only_to_who_asks_and_may_read_all_that_is_in_them() -> None:
    kept = recorded(ANSWER, TWO)
    shown = page_of(kept, frozenset({"doc-0", "doc-1"}), with_prompt=True)  # doc-2 never came into the prompt
    assert [message.role for message in shown.attempts[0].prompt.messages] == ["system", "user"]
    assert FILTER in shown.attempts[0].prompt.messages[1].content
    assert not page_of(kept).prompt_withheld


@pytest.mark.contract("R5P-4")
def test_a_record_says_whether_it_fits_its_place() -> None:
    kept = recorded()
    (place,) = page_of(kept).records
    assert (place.position, place.finding) == (1, None)
    (whole,) = kept.records
    changed = whole._replace(columns={**whole.columns, "total_tokens": 7})
    assert "its columns do not give its row_hash" in str(page_of(kept._replace(records=[changed])).records[0].finding)
    old = whole._replace(position=None, previous_hash=None, row_hash=None)
    assert page_of(kept._replace(records=[old])).records[0].finding == "it is from before the chain"


def test_a_run_of_which_only_the_row_is_left_has_a_page() -> None:
    kept = recorded(head={"question": None})
    page = page_of(kept._replace(state={}, nodes=(), records=()))
    assert (page.question, page.run, page.search, page.attempts, page.nodes) == (None, None, None, (), ())


@pytest.mark.parametrize("code", [*FailureCode, *RefusalCode])
def test_every_reason_is_told_in_words(code: str) -> None:
    assert CODE_MESSAGES[code].endswith(".")


def test_every_fate_is_told_in_words() -> None:
    assert set(ROW_OUTCOME_LABELS) == set(RowOutcome)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb\x07", "a�[31mb�"),
        ("\u202egpj.exe", "�gpj.exe"),
        ("a\r\nb\u2028c\td", "a\nb\nc\td"),
        ("نمی\u200cدانم 👩\u200d🔧\ufe0f", "نمی\u200cدانم 👩\u200d🔧\ufe0f"),
        ("\ud800 \ufdd0 \U0001ffff \U000e0041", "� � � �"),
    ],
)
def test_what_cannot_be_shown_is_marked(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert one_line(text) == " ".join(shown.split())
