"""The evaluation of a small model: what is drawn, what counts as right, and what counts as saying nothing."""

import re
from pathlib import Path

import pytest

from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import proceed
from sourcebound.contracts.policy.releases import load_shipped_policy, read_template
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.evals.marked_page import marks, update_page
from sourcebound.evals.model.asking import Outcome, embedder_of, write_profile
from sourcebound.evals.model.questions import Kind, Pool, Question, draw
from sourcebound.evals.model.remembered import RememberedModels
from sourcebound.evals.model.report import count, judge, render, render_doubtful
from sourcebound.evals.model.scoring import find_emptiness, is_right, token_f1
from sourcebound.models.local.server import ServedModel
from sourcebound.models.profiles import Registry
from sourcebound.models.registry import Models
from sourcebound.settings import Settings
from support.places import ROOT

POLICY = load_shipped_policy("SOURCEBOUND_V1")
BEGIN, END = marks("eval-model")
INSTRUCTIONS = read_template(POLICY.prompt.template)
ASKED = Question("q1", Kind.ANSWERABLE, "squad2", "How often is the filter changed?", ("every six months",))
SOURCE = "The filter is changed every six months. Rinse it before."


def pool(name: str, size: int, share: float) -> Pool:
    return Pool(share, [Question(f"{name}-{n:03}", Kind.ANSWERABLE, "squad2", "Why?", ()) for n in range(size)])


def outcome(answer: str = "", code: str = "", status: str = "OK") -> Outcome:
    return Outcome(
        policy="SOURCEBOUND_V1",
        question_id="q1",
        status=status,
        code=code,
        answer=answer,
        raw_text="",
        cited=(SOURCE,),
        seconds=1,
        prompt_tokens=1,
        completion_tokens=1,
    )


def test_a_draw_is_repeatable_and_shares_nothing_with_the_held_half() -> None:
    pools = [pool("a", 100, 0.7), pool("b", 40, 0.3)]
    drawn, held = draw(pools, 30), draw(pools, 30, held=True)
    assert drawn == draw([pools[0], pools[1]._replace(questions=pools[1].questions[::-1])], 30)
    assert (len(drawn), len(held), len(draw(pools, 7))) == (30, 30, 7)
    assert not {question.id for question in drawn} & {question.id for question in held}
    assert sum(question.id.startswith("a") for question in drawn) == 21


def test_every_beginning_of_a_draw_has_all_kinds() -> None:
    beginning = draw([pool("a", 100, 0.7), pool("b", 40, 0.3)], 30)[:10]
    assert sum(question.id.startswith("a") for question in beginning) == 7


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        ("It is changed every six months. [C0]", "every six months", True),
        ("The capital is Paris [C0].", "the Paris", True),
        ("Every six months, or so. [C1]", "six whole months", True),
        ("It is changed every month. [C0]", "every six months", False),
        ("It has 112 parts. [C0]", "12", False),
        ("Style is checked by [Flake8](https://example.org/flake8/rules). [C0]", "Flake8", True),
        ("Style is checked by [it](https://example.org/Flake8). [C0]", "Flake8", False),
        ("Anything at all. [C0]", "", False),
    ],
)
def test_an_answer_is_right_if_it_contains_a_gold_answer_or_overlaps_enough(
    answer: str, gold: str, right: bool
) -> None:
    assert is_right(answer, [gold]) is right


def test_the_overlap_counts_a_repeated_word_once() -> None:
    assert token_f1("six six six", "six") == pytest.approx(0.5)
    assert token_f1("seven", "six") == 0


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("The filter is changed every six months. [C0]", ""),
        ("It is changed twice a year. [C0] It is changed twice a year. [C0]", "loop"),
        ("one two three four one two three four one two three four [C0]", "loop"),
        ("How often is the filter changed? [C0]", "echo"),
        ("State only what the evidence states, with care. [C0]", "echo"),
        ("The filter is changed. [C0]", "filler"),
        ("The evidence does not contain the months. [C0]", "filler"),
    ],
)
def test_an_answer_that_says_nothing_is_found(answer: str, found: str) -> None:
    assert find_emptiness(answer, ASKED.text, INSTRUCTIONS, [SOURCE]) == found


def test_a_repetition_of_the_source_itself_is_no_loop() -> None:
    song = "row the small boat home " * 3
    assert find_emptiness(song, ASKED.text, INSTRUCTIONS, [song]) == ""
    assert find_emptiness(song, ASKED.text, INSTRUCTIONS, [SOURCE]) == "loop"


def test_a_yes_to_a_yes_no_question_says_something() -> None:
    assert find_emptiness("The filter is changed. [C0]", "Is the filter changed?", INSTRUCTIONS, [SOURCE]) == ""


def test_what_is_released_without_an_answer_in_the_documents_is_wrong() -> None:
    said = outcome("It is changed every six months. [C0]")
    assert judge(ASKED, said, POLICY).verdict == "right"
    assert judge(ASKED._replace(gold=(), kind=Kind.OFF_TOPIC), said, POLICY).verdict == "wrong"
    assert judge(ASKED, outcome(code="model_refused", status="NO_EVIDENCE"), POLICY).verdict == "refused"
    assert judge(ASKED, outcome(code="DEGENERATE_ANSWER", status="FAILED"), POLICY).verdict == "rejected"


def test_one_released_loop_or_too_many_wrong_answers_fail_a_policy() -> None:
    right, wrong = (judge(ASKED, outcome(f"{text} [C0]"), POLICY) for text in ("Every six months.", "Every day."))
    loop = judge(ASKED, outcome("Every six months. [C0] Every six months. [C0]"), POLICY)
    assert count("p", [wrong, *[right] * 19]).passed
    assert not count("p", [wrong, *[right] * 18]).passed
    tally = count("p", [loop, *[right] * 19])
    assert (tally.passed, tally.released, dict(tally.emptiness)) == (False, 20, {"loop": 1})


def test_the_report_names_what_is_to_be_read_and_fills_its_place(tmp_path: Path) -> None:
    judged = [judge(ASKED, outcome(f"{text} [C0]"), POLICY) for text in ("Every six months.", "Every day.")]
    table = render([count("SOURCEBOUND_V1", judged)], "tiny", 3, held=True)
    assert "| SOURCEBOUND_V1 | 2 (34 to 100 %) | 1 (9 to 91 %) | 1 (9 to 91 %) |" in table
    assert "the held half" in table
    doubtful = render_doubtful(judged)
    assert "Every day." in doubtful
    assert "Every six months. [C0]" not in doubtful
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}old\n{END}after\n")
    update_page(page, "eval-model", table)
    text = page.read_text()
    assert (text.startswith("before\n"), text.endswith("after\n"), "old" in text, table in text) == (
        True,
        True,
        False,
        True,
    )
    page.write_text("no place\n")
    with pytest.raises(ValueError, match="has no place"):
        update_page(page, "eval-model", table)


def reply(text: str) -> Generation:
    return Generation(outcome=proceed("generate"), raw_model_text=text)


class CountingModel:
    """A model that counts how often it is asked."""

    def __init__(self, generation: Generation) -> None:
        self.asked, self.generation = 0, generation

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        self.asked += 1
        return self.generation


async def test_a_prompt_that_was_answered_once_is_not_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = CountingModel(reply("Every six months. [C0]"))

    async def open_model(*_: object) -> CountingModel:
        return model

    monkeypatch.setattr(Models, "open", open_model)
    prompt, other = (Prompt(outcome=proceed("build_prompt"), prompt_sha256=digit * 64) for digit in "ab")
    for _ in range(2):  # the second time reads the file
        models = RememberedModels(Settings(), tmp_path / "replies.jsonl")
        remembered = await models.open("openai:any")
        for each in (prompt, prompt, other):
            assert await remembered.generate(each, POLICY) == model.generation
    assert model.asked == 2
    await remembered.generate(prompt, load_shipped_policy("SOURCEBOUND_SENTENCES_V1"))
    assert model.asked == 3


async def test_a_fault_of_the_server_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = CountingModel(reply(""))

    async def open_model(*_: object) -> CountingModel:
        return model

    monkeypatch.setattr(Models, "open", open_model)
    remembered = await RememberedModels(Settings(), tmp_path / "replies.jsonl").open("openai:any")
    prompt = Prompt(outcome=proceed("build_prompt"), prompt_sha256="a" * 64)
    await remembered.generate(prompt, POLICY)
    await remembered.generate(prompt, POLICY)
    assert model.asked == 2


def test_a_policy_for_full_text_is_asked_of_an_index_without_vectors() -> None:
    assert embedder_of(POLICY) == "minilm"
    assert embedder_of(load_shipped_policy("SOURCEBOUND_LEXICAL_V1")) == "lexical"


def test_the_profile_of_the_documentation_and_ours_are_held_to_a_schema(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "models.md").read_text("utf-8")
    assert page.count(BEGIN) == page.count(END) == 1
    (shown,) = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "shown.toml").write_text(shown)
    write_profile(tmp_path / "ours.toml", ServedModel("http://127.0.0.1:8080/v1", "my-model"), 4608)
    for name in ("shown", "ours"):
        profile = Registry(tmp_path / f"{name}.toml").find("openai:my-model")
        assert (profile.known, profile.structured_output, profile.seed) == (True, True, True)
        assert profile.wire == "chat_completions"
        assert profile.base_url == "http://127.0.0.1:8080/v1"
