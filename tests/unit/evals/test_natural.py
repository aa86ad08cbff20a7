"""The natural questions: every fact is at its place, the judgement counts what it must, `held` is not shown."""

import asyncio
import gzip
import json
from pathlib import Path

import pytest

from sourcebound.contracts.outcome import Status
from sourcebound.evals.marked_page import marks
from sourcebound.evals.natural.__main__ import evaluate, parse_options
from sourcebound.evals.natural.judging import Outcome, Verdict, judge
from sourcebound.evals.natural.questions import (
    ABSENT,
    DEV,
    ELSEWHERE,
    FOREIGN,
    HELD,
    LANGUAGES,
    Kind,
    Place,
    Question,
    StaleQuestion,
    check_place,
    read_questions,
    says,
)
from sourcebound.evals.natural.report import judge_all, list_failures, render, to_json
from sourcebound.evals.natural.sources import (
    Collected,
    Corpus,
    Elsewhere,
    collect,
    collect_invented,
    collect_unpacked,
    read_corpus,
    read_elsewhere,
    read_pins,
)
from support.places import ROOT

DATA = ROOT.parent / "shared" / "data"
LEAST_QUESTIONS = 150
LEAST_FILES = 200
PUMP = Question(
    id="pump",
    question="How often is the filter changed, and with what?",
    kind=Kind.HOW,
    places=(Place(file="pump.md"),),
    facts=(("every 6 months", "twice a year"), ("F-120",)),
)
MOON = Question(id="moon", question="How far is the moon?", kind=Kind.OFF_TOPIC)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Collected]:
    folder = tmp_path_factory.mktemp("corpus")
    return folder, collect(read_corpus(), folder, ROOT, DATA)


def outcome(answer: str, question: Question = PUMP, **changes: object) -> Outcome:
    fields: dict[str, object] = {
        "question": question,
        "run_id": "r1",
        "status": Status.OK,
        "code": "",
        "answer": answer,
        "cited": ("pump.md",),
        "support_level": "HIGH",
        "seconds": 0.1,
    }
    return Outcome(**{**fields, **changes})  # type: ignore[arg-type]


def refused(question: Question = PUMP) -> Outcome:
    return outcome("", question, status=Status.NO_EVIDENCE, code="below_similarity_gate", cited=(), support_level="")


def test_the_set_has_enough_questions_of_every_kind_over_enough_files(corpus: tuple[Path, Collected]) -> None:
    questions = read_questions()
    assert len(questions) >= LEAST_QUESTIONS
    assert len({each.id for each in questions}) == len({each.question for each in questions}) == len(questions)
    assert {each.kind for each in questions} == set(Kind)
    assert {each.language for each in questions} == {"en", "de", "fr", "es"}
    assert min(sum(each.part == part for each in questions) for part in (DEV, HELD)) >= 100
    assert len(corpus[1].files) >= LEAST_FILES
    assert {Path(name).suffix for name in corpus[1].files} >= {".md", ".rst", ".txt", ".pdf", ".docx", ".html", ".csv"}


def test_every_fact_is_at_its_place(corpus: tuple[Path, Collected]) -> None:
    folder, collected = corpus
    stale = []
    for question in read_questions():
        if any(place.file in collected.absent for place in question.places):
            continue
        try:
            check_place(question, folder)
        except StaleQuestion as error:
            stale.append(str(error))
    assert not stale


def test_every_package_of_the_corpus_is_locked() -> None:
    corpus, pins = read_corpus(), read_pins(ROOT / "requirements")
    assert {*corpus.descriptions, *corpus.licences, *corpus.package_files} <= pins.keys()


def test_a_package_of_another_version_and_an_altered_file_are_left_out_and_named(tmp_path: Path) -> None:
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "runtime.lock").write_text("typer==0.0.1 \\\n    --hash=sha256:00\n")
    (tmp_path / "memo.txt").write_text("altered")
    corpus = Corpus(
        descriptions=("typer",), licences=("rich",), project=(), package_files={}, data={"memo.txt": "0" * 64}
    )
    (tmp_path / "copies").mkdir()
    assert collect(corpus, tmp_path / "copies", tmp_path, tmp_path) == Collected(
        (), ("packages/typer.txt", "licences/rich.txt", "data/memo.txt")
    )


@pytest.mark.parametrize(
    ("text", "fact", "expected"),
    [
        ("It needs **Python 3.1** or newer.", "3.1", True),
        ("It needs Python 3.10.", "3.1", False),
        ("It weighs 13.1 kg.", "3.1", False),
        ("`--strict` turns it\noff.", "--strict turns it off", True),
        ("Set `user_data_dir`.", "user_data_dir", True),
        ("doesn’t do it", "doesn't do it", True),
        ("preferred", "prefer", False),
    ],
)
def test_a_fact_is_whole_words_and_whole_numbers(text: str, fact: str, expected: bool) -> None:
    assert says(text, (fact,)) is expected


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        (outcome("The filter F-120 is changed twice a year. [C0]"), Verdict.RIGHT),
        (outcome("It is changed every 6 months. [C0]"), Verdict.PARTIAL),
        (outcome("Clean the strainer. [C0]"), Verdict.WRONG),
        (outcome("The filter F-120 is changed twice a year. [C0]", cited=("other.md",)), Verdict.WRONG),
        (refused(), Verdict.REFUSED),
        (outcome("", status=Status.FAILED, code="UNSUPPORTED_LITERAL", cited=()), Verdict.REJECTED),
        (refused(MOON), Verdict.RIGHT),
        (outcome("It is far. [C0]", MOON), Verdict.WRONG),
    ],
)
def test_the_judgement(result: Outcome, verdict: Verdict) -> None:
    assert judge(result) is verdict


def test_a_question_has_places_exactly_if_it_has_an_answer() -> None:
    for changes in ({"places": ()}, {"facts": ()}, {"kind": ABSENT[0]}):
        with pytest.raises(ValueError, match="places and facts"):
            Question.model_validate({**PUMP.model_dump(), **changes})


def test_a_place_without_the_fact_or_the_section_is_stale(tmp_path: Path) -> None:
    (tmp_path / "pump.md").write_text("# Pump\n\n## Filter\n\nF-120, twice a year.\n\n## Oil\n\nNone.\n")
    check_place(PUMP, tmp_path)
    for section in ("Oil", "Seal"):
        elsewhere = PUMP.model_copy(update={"places": (Place(file="pump.md", section=section),)})
        with pytest.raises(StaleQuestion):
            check_place(elsewhere, tmp_path)


def test_the_report_counts_by_kind_and_level_and_shows_nothing_of_held() -> None:
    held = next(each for each in read_questions() if each.part == HELD and each.answerable)
    dev = next(each for each in read_questions() if each.part == DEV and each.answerable)
    judged = judge_all(
        [outcome("held text [C0]", held), outcome("dev text [C0]", dev), refused(MOON), outcome("Far. [C0]", MOON)]
    )
    table = render(judged)
    assert "| wrong of all | ≤ 8% | 3/4 = 75% (30–95) |" in table
    assert "| HIGH | 3 | 0/3 = 0% (0–56) | 0/3 = 0% (0–56) |" in table
    assert f"| HIGH, {HELD} | 1 | 0/1 = 0% (0–79) | 0/1 = 0% (0–79) |" in table
    assert "| absent, off topic | 2 | 1/2 = 50% (9–91) |" in table
    shown = list_failures(judged) + json.dumps(to_json(judged))
    assert "dev text" in shown
    assert "held text" not in shown
    assert held.question not in shown


def test_the_page_has_a_place_for_the_tables() -> None:
    page = (ROOT / "docs" / "answers.md").read_text("utf-8")
    names = ("eval-natural", "eval-elsewhere", "eval-languages", "eval-foreign")
    assert all(page.count(mark) == 1 for name in names for mark in marks(name))


def test_pages_that_are_not_there_are_named_in_order_and_end_the_evaluation(tmp_path: Path) -> None:
    elsewhere = read_elsewhere()
    assert collect_unpacked(elsewhere, tmp_path, tmp_path / "none").absent == tuple(sorted(elsewhere.files))
    with pytest.raises(SystemExit, match="None of the files that the questions name is in"):
        asyncio.run(evaluate(parse_options(["--elsewhere", str(tmp_path / "none")])))


def test_the_questions_elsewhere_ask_about_named_pages_of_named_packages() -> None:
    elsewhere, questions = read_elsewhere(), read_questions(ELSEWHERE)
    packages = {each.split("=")[0] for each in elsewhere.packages}
    assert {place.split("/")[0] for place in elsewhere.files.values()} == packages
    assert {place.file for question in questions for place in question.places} <= elsewhere.files.keys()
    assert len({question.id for question in questions}) == len(questions) > 150


def test_the_questions_in_other_languages_have_their_facts_in_english_documents(tmp_path: Path) -> None:
    collected, questions = collect_invented(LANGUAGES.stem, tmp_path), read_questions(LANGUAGES)
    assert collected.absent == ()
    assert {place.file for question in questions for place in question.places} == set(collected.files)
    for question in questions:
        check_place(question, tmp_path)
        assert question.part == question.id.split("/")[0]
        assert question.language != "en"
    assert len({question.id for question in questions}) == len(questions) > 250


def test_the_questions_about_documents_in_other_languages_have_their_facts(tmp_path: Path) -> None:
    collected, questions = collect_invented(FOREIGN.stem, tmp_path), read_questions(FOREIGN)
    assert {place.file for question in questions for place in question.places} == set(collected.files)
    for question in questions:
        check_place(question, tmp_path)
        assert question.part == question.id.split("/")[0]
        assert question.language in ("en", question.id.split("/")[1][:2])
    assert {path.split("/")[1][:2] for path in collected.files} == {"de", "fr", "es", "it", "nl", "pt"}
    assert sum(question.language == "en" for question in questions) == 72
    assert len({question.id for question in questions}) == len(questions) == 216


def test_pages_of_unpacked_packages_are_copied_and_unpacked(tmp_path: Path) -> None:
    (tmp_path / "pump/doc").mkdir(parents=True)
    (tmp_path / "pump/doc/faq.gz").write_bytes(gzip.compress(b"It runs."))
    elsewhere = Elsewhere(packages=("pump=1",), files={"faq.txt": "pump/doc/faq.gz", "a/b.txt": "pump/doc/b.txt"})
    assert collect_unpacked(elsewhere, tmp_path, tmp_path) == Collected(("faq.txt",), ("a/b.txt",))
    assert (tmp_path / "faq.txt").read_text("utf-8") == "It runs."
