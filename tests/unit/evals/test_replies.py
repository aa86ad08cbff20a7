"""R5-12: the replies to written prompts are judged as a run would judge them, attempt by attempt."""

from pathlib import Path

import pytest

from sourcebound.contracts.outcome import RefusalCode, RefusalSource, refuse
from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.evals.natural.questions import DEV, HELD
from sourcebound.evals.replies.__main__ import main
from sourcebound.evals.replies.judging import Judged, judge_replies, list_rejected, render
from sourcebound.evals.replies.prompts import Prompted
from support.builders import answer_bundle

RIGHT = "The seal is replaced every 12 months [C0]."
WRONG = "The seal is replaced every 13 months [C0]."
POLICY = "SOURCEBOUND_V2"
SEAL = "The seal is replaced every 12 months."


def _write(folder: Path, key: str, *replies: str, part: str = DEV, policy: str = POLICY, text: str = SEAL) -> None:
    bundle = answer_bundle(SEAL, question="When is the seal replaced?")
    asked = Prompted(id=f"q-{key}", part=part, set="seals", policy=policy, bundle=bundle)
    (folder / f"{key}.question.json").write_text(asked.model_dump_json(), "utf-8")
    for number, reply in enumerate(replies, start=1):
        (folder / f"{key}.reply{number if number > 1 else ''}.txt").write_text(f"{reply}\n", "utf-8")


def _judged(folder: Path) -> dict[str, Judged]:
    return {each.key: each for each in judge_replies(folder)}


@pytest.mark.contract("R5-12")
def test_a_rejected_reply_gets_a_second_prompt_that_names_the_rule(tmp_path: Path) -> None:
    _write(tmp_path, "good", RIGHT)
    _write(tmp_path, "bad", WRONG)
    _write(tmp_path, "waiting")
    assert _judged(tmp_path).keys() == {"good", "bad"}
    assert [path.name for path in tmp_path.glob("*.prompt2.txt")] == ["bad.prompt2.txt"]
    assert "that stand in the very source you cite" in (tmp_path / "bad.prompt2.txt").read_text("utf-8")


@pytest.mark.contract("R5-12")
def test_a_policy_with_one_attempt_gets_no_second_prompt(tmp_path: Path) -> None:
    _write(tmp_path, "bad", WRONG, RIGHT, policy="SOURCEBOUND_LEXICAL_V1")
    assert len(_judged(tmp_path)["bad"].verdicts) == 1
    assert not list(tmp_path.glob("*.prompt2.txt"))


@pytest.mark.contract("R5-12", "R5-2")
def test_the_table_counts_both_attempts_and_leaves_refusals_out(tmp_path: Path) -> None:
    _write(tmp_path, "first", RIGHT)
    _write(tmp_path, "second", WRONG, RIGHT)
    _write(tmp_path, "never", WRONG, WRONG)
    _write(tmp_path, "refused", REFUSAL)
    table = render(list(_judged(tmp_path).values()))
    assert "| seals | 4 | 1 | 3 | 1 of 3: 33.3% (" in table
    assert "| 2 of 3: 66.7% (" in table
    assert table.splitlines()[-1].startswith("| **all** | 4 | 1 | 3 |")


@pytest.mark.contract("R5-18")
def test_an_answer_to_another_question_is_no_refusal(tmp_path: Path) -> None:
    _write(tmp_path, "other", RIGHT)
    (judged,) = judge_replies(tmp_path)
    outcome = refuse(
        "validate", RefusalCode.NOT_ANSWERED, RefusalSource.VALIDATION, "the answer is to another question"
    )
    judged = judged._replace(verdicts=(judged.verdicts[0].model_copy(update={"outcome": outcome}),))
    assert "| seals | 1 | 0 | 1 | 0 of 1: 0.0% (" in render([judged])


@pytest.mark.contract("R5-12")
def test_a_reply_that_no_second_prompt_mends_gets_none(tmp_path: Path) -> None:
    _write(tmp_path, "empty", "[C0]")
    assert len(_judged(tmp_path)["empty"].verdicts) == 1
    assert not list(tmp_path.glob("*.prompt2.txt"))


def test_prompts_are_not_written_over_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, "first", RIGHT)
    monkeypatch.setattr("sys.argv", ["replies", "write", str(tmp_path)])
    with pytest.raises(SystemExit, match="has prompts already"):
        main()


def test_a_folder_without_replies_is_said_to_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["replies", "judge", str(tmp_path)])
    with pytest.raises(SystemExit, match="Write prompts first"):
        main()


def test_rejected_replies_are_listed_except_those_that_stay_unread(tmp_path: Path) -> None:
    _write(tmp_path, "read", WRONG, WRONG)
    _write(tmp_path, "unread", WRONG, part=HELD)
    lines = list_rejected(judge_replies(tmp_path)).splitlines()
    assert lines == [
        "read (q-read), attempt 1: UNSUPPORTED_LITERAL: 13 months",
        "read (q-read), attempt 2: UNSUPPORTED_LITERAL: 13 months",
    ]
