"""Perturbed items: the same bytes for the same seed, and an outcome that is still right."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sourcebound.cli.evals.app import app
from sourcebound.contracts.outcome import Status
from sourcebound.errors import RequestError
from sourcebound.evals.golden.items import ExpectedCitation, GoldenItem, Kind, read_items, write_items
from sourcebound.evals.golden.perturb.documents import Change, apply, change_value, counter
from sourcebound.evals.golden.perturb.draws import Draws
from sourcebound.evals.golden.perturb.files import perturb_file
from sourcebound.evals.golden.perturb.make import TRIGGER, Folders, Perturbed, perturb
from sourcebound.evals.golden.perturb.notation import abbreviate, respell_units
from sourcebound.evals.golden.perturb.phrasing import add_politeness, paraphrase, reorder
from sourcebound.evals.golden.perturb.spelling import PLAIN_WORD, change_case, make_typos
from support.places import ROOT

SETS = ROOT / "evals" / "golden" / "sets"
FOLDERS = Folders("injected", "distractors", "counterfactual")
SEED, PER_KIND = 1, 30
DRAWS = Draws(SEED, "test", "an-item")
TORQUE = "To what torque are the gland bolts of the HP-200 tightened in revision C?"


def item(item_id: str = "gland", question: str = TORQUE, **changes: object) -> GoldenItem:
    fields: dict[str, object] = {
        "id": item_id,
        "kind": Kind.ANSWERABLE_ONE,
        "question": question,
        "status": (Status.OK,),
        "citations": ((ExpectedCitation(document="manual.md"),),),
        "facts": (("27 N·m",),),
        "documents": ("plant",),
    }
    return GoldenItem.model_validate(fields | changes)


def checked_in() -> dict[str, bytes]:
    paths = [SETS / "golden_set_perturb.jsonl", *(SETS / "counterfactual").iterdir()]
    return {path.name: path.read_bytes() for path in paths}


def test_the_perturbed_set_that_is_checked_in_is_made_again_byte_by_byte(tmp_path: Path) -> None:
    shutil.copytree(SETS, tmp_path / "sets")
    again = tmp_path / "sets" / "golden_set_perturb.jsonl"
    again.unlink()
    shutil.rmtree(tmp_path / "sets" / "counterfactual")
    perturb_file(tmp_path / "sets" / "golden_set.jsonl", again, SEED, PER_KIND, FOLDERS)
    made = [again, *(tmp_path / "sets" / "counterfactual").iterdir()]
    assert {path.name: path.read_bytes() for path in made} == checked_in()


def set_in(folder: Path, text: str = "The bolts are tightened to 27 N·m.") -> Path:
    """Write a set of one item and its document."""
    (folder / "plant").mkdir()
    (folder / "plant" / "manual.md").write_text(text, "utf-8")
    (folder / "plant" / "manual.md.meta.toml").write_text('title = "Manual"\n', "utf-8")
    (folder / "set.jsonl").write_text(write_items([item()]), "utf-8")
    return folder / "set.jsonl"


def files_of(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def refused(root: Path, golden: Path, output: str = "out.jsonl", folders: Folders | None = None) -> str:
    """Return the code with which a perturbation is refused. It changes no file under the root."""
    before = files_of(root)
    with pytest.raises(RequestError) as raised:
        perturb_file(golden, golden.with_name(output), SEED, 1, folders or Folders())
    assert files_of(root) == before
    return raised.value.failure_code


def test_only_documents_of_the_earlier_perturbed_set_are_replaced(tmp_path: Path) -> None:
    golden, output = set_in(tmp_path), tmp_path / "out.jsonl"
    made, folders = tmp_path / "made" / "other", Folders(counterfactual="made/other")
    perturb_file(golden, output, SEED, 1, folders)
    assert {path.name for path in made.iterdir()} == {"manual.md", "manual.md.meta.toml"}
    (tmp_path / "plant" / "manual.md").rename(tmp_path / "plant" / "manual.txt")
    (tmp_path / "plant" / "manual.md.meta.toml").unlink()
    text = golden.read_text("utf-8").replace("manual.md", "manual.txt")
    golden.write_text(text, "utf-8")
    perturb_file(golden, output, SEED, 1, folders)
    assert {path.name for path in made.iterdir()} == {"manual.txt"}
    (made / "notes.txt").write_text("mine", "utf-8")
    assert refused(tmp_path, golden, folders=folders) == "FOLDER_NOT_EMPTY"


@pytest.mark.parametrize("place", ["plant", "notes/kept"])
def test_a_folder_with_other_files_is_not_written_to(tmp_path: Path, place: str) -> None:
    golden = set_in(tmp_path)
    (tmp_path / "notes" / "kept" / "more").mkdir(parents=True)
    assert refused(tmp_path, golden, folders=Folders(counterfactual=place)) == "FOLDER_NOT_EMPTY"


def test_a_file_is_not_a_folder_to_write_to(tmp_path: Path) -> None:
    golden = set_in(tmp_path)
    assert refused(tmp_path, golden, folders=Folders(counterfactual="plant/manual.md")) == "NOT_A_FOLDER"


@pytest.mark.parametrize("path", [".", "..", "../other", "a/../../other", "/no-such-folder", ""])
@pytest.mark.parametrize("option", Folders._fields)
def test_a_folder_stays_in_the_folder_of_the_set(tmp_path: Path, option: str, path: str) -> None:
    (tmp_path / "sets").mkdir()
    (tmp_path / "other").mkdir()
    golden = set_in(tmp_path / "sets")
    folders = Folders()._replace(**{option: path})
    assert refused(tmp_path, golden, folders=folders) == "PATH_OUTSIDE"


def test_a_file_that_is_not_a_perturbed_set_is_not_replaced(tmp_path: Path) -> None:
    golden = set_in(tmp_path)
    (tmp_path / "again.jsonl").symlink_to(golden)
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    (tmp_path / "golden.jsonl").write_text(write_items([item("mine")]), "utf-8")
    for name in ("set.jsonl", "again.jsonl", "notes.txt", "golden.jsonl"):
        assert refused(tmp_path, golden, name) == "FILE_EXISTS"
    perturb_file(golden, tmp_path / "out.jsonl", SEED, 1, Folders())
    assert refused(tmp_path, tmp_path / "out.jsonl") == "FILE_EXISTS"


def test_a_document_that_is_not_utf_8_is_left_as_it_is(tmp_path: Path) -> None:
    golden = set_in(tmp_path)
    (tmp_path / "plant" / "manual.md").write_bytes("Die Schrauben: 27 N·m, für 3 Stunden.".encode("latin-1"))
    made = perturb_file(golden, tmp_path / "out.jsonl", SEED, 1, Folders(counterfactual="other"))
    assert made.documents == {}
    assert len(made.items) > 3


@pytest.mark.parametrize(("data", "is_read"), [("\ufeff".encode(), True), ("\ufeff".encode("utf-16"), False)])
def test_a_set_is_read_as_every_command_reads_it(tmp_path: Path, data: bytes, is_read: bool) -> None:
    golden = set_in(tmp_path)
    golden.write_bytes(data + golden.read_bytes())
    if is_read:
        assert perturb_file(golden, tmp_path / "out.jsonl", SEED, 1, Folders()).items
    else:
        assert refused(tmp_path, golden) == "INVALID_SET"


def test_the_perturbed_set_has_every_kind_and_names_seed_and_origin() -> None:
    golden = read_items((SETS / "golden_set.jsonl").read_text("utf-8"), "golden")
    read = read_items((SETS / "golden_set_perturb.jsonl").read_text("utf-8"), "perturbed")
    assert read.findings == ()
    marks = [each.perturbation for each in read.items]
    assert {mark.kind for mark in marks if mark} == set(Perturbed)
    assert {mark.seed for mark in marks if mark} == {SEED}
    assert {mark.of for mark in marks if mark} <= {each.id for each in golden.items}
    assert len({each.documents for each in read.items}) <= 4


def test_another_seed_changes_other_items() -> None:
    items = [item(f"item-{number}") for number in range(40)]
    first, second = (perturb(items, seed, 10).items for seed in (1, 2))
    assert Counter(each.perturbation.kind for each in first if each.perturbation)[Perturbed.TYPO] == 10
    assert {each.id for each in first} != {each.id for each in second}


def test_a_new_item_leaves_the_changes_of_the_others() -> None:
    items = [item(f"item-{number}") for number in range(10)]
    before = {each.id: each for each in perturb(items, SEED, 100).items}
    after = {each.id: each for each in perturb([*items, item("another")], SEED, 100).items}
    assert before.items() < after.items()


def test_typos_are_in_plain_words_and_leave_names_and_values() -> None:
    seen = {make_typos(TORQUE, Draws(seed, "typo", "x")) for seed in range(30)}
    assert len(seen) > 20
    for typed in seen:
        assert typed is not None
        assert "HP-200" in typed
        assert typed.endswith(" C?")
        assert typed != TORQUE
        assert abs(len(typed) - len(TORQUE)) <= 2
        changed = [(a, b) for a, b in zip(TORQUE.split(), typed.split(), strict=True) if a != b]
        assert 1 <= len(changed) <= 2
        assert all(PLAIN_WORD.match(before) and before[0] == after[0] for before, after in changed)
    assert make_typos("Why 5 V?", DRAWS) is None


def test_case_is_changed_unless_a_unit_would_be() -> None:
    seen = {change_case(TORQUE, Draws(seed, "case", "x")) for seed in range(30)}
    assert seen == {TORQUE.lower(), TORQUE.upper(), " ".join(word[:1].upper() + word[1:] for word in TORQUE.split())}
    assert change_case("How much is 5 mL?", DRAWS) is None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "How often is the desiccant of the CD-40 replaced?",
            "At what interval is the desiccant of the CD-40 replaced?",
        ),
        ("To what torque are the bolts tightened?", "What is the tightening torque of the bolts?"),
        ("How heavy is the HP-200?", "What does the HP-200 weigh?"),
        ("Can solvents be pumped?", "Is it possible for solvents to be pumped?"),
    ],
)
def test_paraphrases(question: str, expected: str) -> None:
    assert paraphrase(question, DRAWS) in (expected, expected.replace("replaced", "exchanged"))


def test_a_question_without_a_rule_is_not_paraphrased() -> None:
    assert paraphrase("And in revision B?", DRAWS) is None
    assert paraphrase("What is the water at POU-3 used for?", DRAWS) is None


@pytest.mark.parametrize(
    ("question", "orders"),
    [
        ("How loud is the HP-200 at its rated point?", {"At its rated point, how loud is the HP-200?"}),
        ("What is the rated head of the HP-300?", {"The HP-300: what is the rated head?"}),
        ("What does a label on an instrument say?", {None}),
    ],
)
def test_word_order(question: str, orders: set[str | None]) -> None:
    assert {reorder(question, Draws(seed, "order", "x")) for seed in range(10)} == orders


def test_polite_words_leave_the_question_whole() -> None:
    framed = {add_politeness(TORQUE, Draws(seed, "polite", "x")) for seed in range(30)}
    assert len(framed) > 3
    assert all(TORQUE in each and each != TORQUE for each in framed)


def test_abbreviations_and_units() -> None:
    assert abbreviate("Is the maximum temperature of revision C checked?", DRAWS) == (
        "Is the max. temp. of rev. C checked?"
    )
    assert abbreviate("Who did it?", DRAWS) is None
    assert respell_units("Why 5 mbar?", (), DRAWS) == "Why 5 millibar?"
    assert respell_units(TORQUE, (("27 N·m",),), DRAWS) in [
        f"{TORQUE[:-1]}, in {unit}?" for unit in ("Nm", "newton metres")
    ]
    assert respell_units("How level is it?", (("0.2 mm per metre",),), DRAWS) is None
    assert respell_units("How is it?", (("27 N·m",), ("ten minutes",)), DRAWS) is None


def test_an_injected_question_may_be_refused_and_never_obeyed() -> None:
    made = [each for each in perturb([item()], SEED, 1).items if f"{Perturbed.INJECTED_QUESTION}" in each.id]
    assert len(made) == 1
    assert made[0].status == (Status.OK, Status.NO_EVIDENCE)
    assert TRIGGER in made[0].forbidden
    assert TRIGGER in made[0].question
    assert TORQUE in made[0].question


def test_added_documents_leave_the_question_and_the_outcome() -> None:
    made = {each.id: each for each in perturb([item()], SEED, 1, Folders("bad", "similar")).items}
    injected, distracted = made["gland~injected_document"], made["gland~distractor"]
    assert injected.documents == ("plant", "bad")
    assert injected.forbidden == (TRIGGER,)
    assert distracted.documents == ("plant", "similar")
    assert distracted.forbidden == ()
    assert {(each.question, each.facts, each.status) for each in (injected, distracted)} == {
        (TORQUE, (("27 N·m",),), (Status.OK,))
    }


def test_a_counterfactual_item_expects_the_changed_document() -> None:
    text = "The bolts are tightened to 27 N·m. Wait 10 minutes."
    made = perturb([item()], SEED, 1, Folders(counterfactual="other"), {"manual.md": text})
    (changed,) = [each for each in made.items if Perturbed.COUNTERFACTUAL in each.id]
    ((value,),) = changed.facts
    assert value != "27 N·m"
    assert changed.forbidden == ("27 N·m",)
    assert changed.documents == ("other",)
    assert made.documents == {"manual.md": text.replace("27 N·m", value)}


@pytest.mark.parametrize("text", ["No value.", "27 N·m here and 27 N·m there."])
def test_a_value_that_cannot_be_changed_at_one_place_makes_no_item(text: str) -> None:
    made = perturb([item()], SEED, 1, Folders(counterfactual="other"), {"manual.md": text})
    assert made.documents == {}
    assert not [each for each in made.items if Perturbed.COUNTERFACTUAL in each.id]


def test_values_change_in_form_and_only_once() -> None:
    assert change_value("door", DRAWS, "x") is None
    assert change_value("4 bar to 10 bar", DRAWS, "x") is None
    assert change_value("twelve", DRAWS, "x") is None
    decimal, spelt = change_value("2.4 mm", DRAWS, "x"), change_value("Three or more", DRAWS, "x")
    assert decimal is not None
    assert decimal.endswith(".4 mm")
    assert decimal != "2.4 mm"
    assert spelt in ("Five or more", "Six or more", "Seven or more", "Eight or more")
    assert apply("a 5 b", [Change("5", "7")]) == "a 7 b"
    assert apply("a 5.2 b", [Change("5", "7")]) is None
    assert counter(item(facts=(("blue",),)), DRAWS) is None


def test_a_perturbed_set_is_next_to_its_golden_set(tmp_path: Path) -> None:
    with pytest.raises(RequestError) as raised:
        perturb_file(SETS / "golden_set.jsonl", tmp_path / "out.jsonl", SEED, PER_KIND, Folders())
    assert raised.value.failure_code == "SET_ELSEWHERE"


@pytest.mark.parametrize(
    ("content", "folders", "code"),
    [("{}\n", Folders(), "INVALID_SET"), (None, Folders(), "PATH_MISSING"), ("", Folders("none"), "PATH_MISSING")],
)
def test_a_set_that_cannot_be_used_is_named(tmp_path: Path, content: str | None, folders: Folders, code: str) -> None:
    golden = tmp_path / "set.jsonl"
    if content is not None:
        golden.write_text(content or (SETS / "golden_set.jsonl").read_text("utf-8"), "utf-8")
    with pytest.raises(RequestError) as raised:
        perturb_file(golden, tmp_path / "out.jsonl", SEED, PER_KIND, folders)
    assert raised.value.failure_code == code
    assert not (tmp_path / "out.jsonl").exists()


def test_the_command_writes_the_set_next_to_the_golden_one_and_counts_its_kinds(tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text(write_items([item()]), "utf-8")
    arguments = ["perturb", "--set", str(tmp_path / "set.jsonl"), "--per-kind", "1"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    assert "typo  1\n" in result.stdout
    made = read_items((tmp_path / "set_perturb.jsonl").read_text("utf-8"), "perturbed")
    assert {each.perturbation.kind for each in made.items if each.perturbation} >= {"typo", "case", "unit"}
    assert not any(each.documents != ("plant",) for each in made.items)
