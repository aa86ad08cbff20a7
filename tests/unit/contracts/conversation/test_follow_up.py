"""CP-6, R3-4: a follow-up becomes a standalone question, and a whole question stays unchanged."""

import json
import tomllib
from itertools import islice
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.conversation.antecedents import find_topic
from sourcebound.contracts.conversation.follow_up import Rule, needs_context, resolve_follow_up
from sourcebound.contracts.conversation.question_grammar import read_marks, read_phrases, shape
from sourcebound.contracts.conversation.turns import Turn, resolve
from support.places import ROOT

ASSET = ROOT / "tests" / "assets" / "follow_ups.toml"
DATA = ROOT.parent / "shared" / "data"
BOLTS = "How often are the gland bolts of the HP-200 checked?"


class Case(NamedTuple):
    """A question, what was asked before it, and what it must become."""

    earlier: str
    question: str
    query: str | None = None
    missed: bool = False


CASES = [Case(**case) for case in tomllib.loads(ASSET.read_text("utf-8"))["cases"]]
RESOLVED = [case for case in CASES if case.query and not case.missed]
MISSED = [case for case in CASES if case.missed]
KEPT = [case for case in CASES if case.query is None]


@pytest.mark.contract("CP-6")
@pytest.mark.contract("R3-4")
@pytest.mark.parametrize("case", RESOLVED, ids=lambda case: case.question)
def test_a_follow_up_becomes_the_question_that_it_stands_for(case: Case) -> None:
    found = resolve_follow_up(case.question, case.earlier)
    assert found is not None
    assert found.query == case.query


@pytest.mark.contract("CP-6")
@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.question)
def test_a_whole_question_stays_as_it_is(case: Case) -> None:
    assert resolve_follow_up(case.question, case.earlier) is None


@pytest.mark.parametrize("case", MISSED, ids=lambda case: case.question)
def test_what_the_rules_do_not_resolve_yet_stays_as_it_is(case: Case) -> None:
    assert resolve_follow_up(case.question, case.earlier) is None


def test_the_table_holds_enough_of_both_kinds() -> None:
    assert len(RESOLVED) >= 60
    assert len(KEPT) >= 40
    assert len(MISSED) <= len(RESOLVED) / 5


@pytest.mark.contract("CP-6")
@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.question)
def test_no_earlier_question_at_all_is_mixed_into_a_whole_one(case: Case) -> None:
    if not needs_context(case.question):
        assert {resolve_follow_up(case.question, other.earlier) for other in CASES} == {None}


@pytest.mark.contract("CP-6")
def test_what_is_resolved_stands_alone_itself() -> None:
    assert not [case.query for case in RESOLVED if case.query and needs_context(case.query)]


@pytest.mark.parametrize(
    ("question", "rule"),
    [
        ("and for the HP-300?", Rule.ANOTHER_VALUE),
        ("and its weight?", Rule.ANOTHER_ATTRIBUTE),
        ("by whom?", Rule.ANOTHER_QUESTION_WORD),
        ("what about the drain plugs?", Rule.ANOTHER_PHRASE),
        ("and during storage?", Rule.ADDED_CONDITION),
        ("how are they replaced?", Rule.PRONOUN),
    ],
)
def test_the_rule_that_fired_is_named(question: str, rule: Rule) -> None:
    found = resolve_follow_up(question, BOLTS)
    assert found is not None
    assert found.rule is rule


@pytest.mark.parametrize(
    ("question", "earlier"),
    [
        ("and for the HP-300?", "What is the torque of the HP-200 and of the HP-250?"),
        ("and for the HP-300 and the HP-400?", BOLTS),
        ("and for the HP-300?", "How often is the intake filter changed?"),
        ("and for the HP-300?", "What does SB-2024-07 require?"),
        ("and by the HP-300?", "Is the WFI-1 filled?"),
        ("and in 2023?", "What were the sales in Q1 2022?"),
        ("and of the seal?", "What is the torque of the bolt of the flange of the pump?"),
        ("and on Sundays?", "What depends on the load on hot days when idle?"),
        ("and the weight?", "How often is the filter changed?"),
        ("and the seals?", "How often is the filter changed?"),
        ("what about warranty?", "How often is the filter changed?"),
        ("what about the motor?", "How often does the operator check the filter?"),
        ("what about the motor?", "How often is the HP-200 serviced?"),
        ("and their torque?", "How often is the filter changed?"),
        ("and its torque?", "What is the torque of the HP-200 and of the HP-300?"),
        ("how is its torque when?", "Are there any pumps?"),
        ("what is its and?", "How often is the HP-200 serviced?"),
        ("what is their torque?", "How often is the HP-200 serviced?"),
        ("Who is famed for their spirit?", "How long are the logs kept?"),
        ("and during the day with that?", BOLTS),
        ("and in revision B?", "What does revision C and revision D say?"),
    ],
)
def test_two_readings_or_none_leave_the_question_alone(question: str, earlier: str) -> None:
    assert resolve_follow_up(question, earlier) is None


@pytest.mark.parametrize(
    ("before", "plural", "topic"),
    [
        ("How often is the shaft seal of the HP-200 checked", False, "the shaft seal of the HP-200"),
        ("How often are the gland bolts of the HP-200 checked", False, "the HP-200"),
        ("What is the weight of HP-200", False, "HP-200"),
        ("Which bolts of HP-200 leak", False, "HP-200"),
        ("How often are the gland bolts of the HP-200 checked", True, "the gland bolts of the HP-200"),
        ("Does the pump have a valve", False, "the pump"),
        ("Can the pump run against a closed valve", False, "the pump"),
        ("Can the pump run dry", False, ""),
        ("Does the closed valve leak", False, ""),
        ("How do I drain the housing", False, "the housing"),
        ("Who did the Mongols send", True, ""),
        ("Is the pump safe", False, ""),
    ],
)
def test_the_topic_of_a_question_is_what_a_pronoun_would_mean(before: str, plural: bool, topic: str) -> None:
    assert find_topic(before, plural=plural) == topic


def test_marks_are_read_by_family_and_none_inside_another() -> None:
    text = "Model B of HP 200 and HP-300, rev. C, in March 2024, SB-2024-07, 5 kg"
    marks = [(mark.family, mark.written) for mark in read_marks(text)]
    assert marks == [
        ("label model", "B"),
        ("identifier hp", "HP 200"),
        ("identifier hp", "HP-300"),
        ("label revision", "C"),
        ("month", "March"),
        ("year", "2024"),
        ("identifier sb", "SB-2024-07"),
    ]


def test_identifiers_are_alike_by_their_shape() -> None:
    hp, wfi, sb, bolt = (shape(mark) for mark in read_marks("HP-200 WFI-1 SB-2024-07 M12"))
    assert hp == wfi != sb
    assert bolt not in (hp, sb)


def test_a_subject_ends_at_its_verb_and_an_adjective_is_none() -> None:
    found = read_phrases("the closed valve of the pump checked by hand")
    assert [(phrase.preposition, phrase.text) for phrase in found] == [("", "the closed valve"), ("of", "the pump")]
    assert read_phrases("the operator checks the seal") == []


@given(st.text(max_size=60), st.sampled_from(CASES))
def test_no_text_breaks_the_rules(text: str, case: Case) -> None:
    for found in (resolve_follow_up(text, case.earlier), resolve_follow_up(case.question, text)):
        assert found is None or found.query


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason="needs the external evaluation data")
@pytest.mark.contract("CP-6")
def test_real_questions_of_search_engines_and_readers_stay_as_they_are() -> None:
    """One in a thousand may look like a follow-up; those that do are ("When did they raise the price of oil?")."""
    questions: set[str] = set()
    for name in ("squad2/questions", "offtopic_nq_open/questions", "pubmedqa/questions", "covidqa_long/questions"):
        with (DATA / "answerability" / f"{name}.jsonl").open(encoding="utf-8") as lines:
            questions |= {" ".join(json.loads(line)["question"].split()) for line in islice(lines, 1500)}
    assert len(questions) > 1500
    found = sorted(question for question in questions if needs_context(question))
    assert found == [
        "What is it vectored by, in Asia?",
        "When did they raise the price of oil to $5.11?",
    ]


@pytest.mark.contract("CP-6")
@pytest.mark.parametrize(
    ("earlier", "question", "query"),
    [
        (
            "What is the alert limit for total organic carbon in WFI-1?",
            "And the action limit?",
            "What is the action limit for total organic carbon in WFI-1?",
        ),
        (
            "What is the alarm limit for high motor current?",
            "What about the trip limit?",
            "What is the trip limit for high motor current?",
        ),
    ],
)
def test_the_word_before_the_same_noun_is_replaced(earlier: str, question: str, query: str) -> None:
    assert resolve_follow_up(question, earlier) == (Rule.ANOTHER_MODIFIER, query)
    assert resolve_follow_up(question, earlier, version=1) is None


@pytest.mark.contract("CP-6")
@pytest.mark.parametrize(
    "earlier",
    [
        "What is the limit for total organic carbon?",
        "Is the alert limit below the alarm limit?",
        "What is the action limit?",
    ],
)
def test_the_word_before_a_noun_is_kept_unless_one_place_has_another(earlier: str) -> None:
    found = resolve_follow_up("And the action limit?", earlier)
    assert found is None or found.rule is not Rule.ANOTHER_MODIFIER


@pytest.mark.contract("CP-6")
@pytest.mark.parametrize(
    ("earlier", "question", "query"),
    [
        (
            "How tight are the bolts of the HP-200 in revision C?",
            "And for the HP-300?",
            "How tight are the bolts of the HP-300?",
        ),
        (
            "How tight are the bolts of the HP-200 in revision C?",
            "And for the HP-300 in revision A?",
            "How tight are the bolts of the HP-300 in revision A?",
        ),
        (
            "How tight are the bolts of the HP-200 in revision C?",
            "And in revision B?",
            "How tight are the bolts of the HP-200 in revision B?",
        ),
        (
            "How do revision B and revision C of the HP-200 differ?",
            "And of the HP-300?",
            "How do revision B and revision C of the HP-300 differ?",
        ),
    ],
)
def test_a_revision_goes_with_the_thing_that_it_was_named_with(earlier: str, question: str, query: str) -> None:
    assert resolve_follow_up(question, earlier) == (Rule.ANOTHER_VALUE, query)


@pytest.mark.contract("CP-6")
@pytest.mark.parametrize(
    "earlier",
    [
        "Who approved issue 3 of the HP-200 manual?",
        "What is the version 2 firmware limit of the HP-200?",
        "Does the HP-200 conform to ISO 9001 issue 4?",
        "Who is named in issue 3 of the HP-200 manual?",
    ],
)
def test_a_revision_within_another_phrase_is_asked_back(earlier: str) -> None:
    found = resolve_follow_up("And for the HP-300?", earlier)
    assert found is None


@pytest.mark.contract("CP-6")
def test_the_wish_for_a_unit_is_no_part_of_a_follow_up() -> None:
    earlier = Turn(run_id="1", thread_id="t", ordinal=1, status="OK", question="How heavy is the HP-200, in kg?")
    assert resolve("And the HP-300, in lbs?", [earlier]).search_query == "How heavy is the HP-300?"
    assert resolve("And the HP-300, in lbs?", [earlier], version=1).search_query is None


@pytest.mark.contract("CP-6")
@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("And in revission B?", "How tight are the bolts of the HP-200 in revision B?"),
        ("And for the nuts in revison B?", None),
        ("And in zone B?", None),
    ],
)
def test_a_mistyped_word_of_a_follow_up_is_read_as_the_earlier_question_spells_it(
    question: str, query: str | None
) -> None:
    found = resolve_follow_up(question, "How tight are the bolts of the HP-200 in revision C?")
    assert (found.query if found and found.rule is Rule.ANOTHER_VALUE else None) == query
    assert resolve_follow_up("And in revission B?", "How tight is it in revision C?", version=1) is None
