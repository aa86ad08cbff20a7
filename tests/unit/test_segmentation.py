"""`segment_v1`: an answer is cut into statements, and each citation goes with its own (R5-5)."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.citations import CITATION, find_citations
from sourcebound.contracts.segmentation import segment, sentence_ends

GOLDEN_RULES = Path(__file__).parents[2].parent / "shared" / "data" / "segmentation" / "golden_rules_en.jsonl"
ALLOWED_MISSES = 1


def _texts(answer: str) -> list[str]:
    return [part.text for part in segment(answer)]


def _kinds(answer: str) -> list[tuple[str, str]]:
    return [(part.kind.value, part.text) for part in segment(answer)]


def _golden_rules() -> list[dict[str, Any]]:
    if not GOLDEN_RULES.is_file():
        return []
    return [json.loads(line) for line in GOLDEN_RULES.read_text("utf-8").splitlines()]


@pytest.mark.data
@pytest.mark.contract("R5-5")
@pytest.mark.skipif(not GOLDEN_RULES.is_file(), reason="the external evaluation data is not beside the repository")
def test_all_but_one_of_the_golden_rules_hold() -> None:
    rules = _golden_rules()
    missed = {rule["id"]: _texts(rule["text"]) for rule in rules if _texts(rule["text"]) != rule["sentences"]}
    assert len(rules) >= 24
    assert len(missed) <= ALLOWED_MISSES, missed


@pytest.mark.contract("R5-5")
@pytest.mark.parametrize(
    "sentence",
    [
        "The limit is 3.5 bar at most.",
        "Install version 2.3.1 of the firmware first.",
        "See e.g. the red valve, i.e. the one marked A.",
        "Dr. Smith approved it on behalf of Acme Inc. yesterday.",
        "Turn the screw approx. 3 times.",
        "See Fig. 4 and Sec. 2.1 for the torque.",
        "The page is https://example.org/a.b?c=d.e and holds the list.",
        "Write to john.doe@example.org for spare parts.",
        'The label says "Stop. Wait. Go." in red.',
        "The label says “Stop. Wait. Go.” in red.",
        "It takes 5 min. at 20 °C.",
        "The U.S. model differs from the others.",
    ],
)
def test_a_sentence_is_not_cut_inside(sentence: str) -> None:
    assert _texts(sentence) == [sentence]
    assert _texts(f"{sentence} [C0]") == [f"{sentence} [C0]"]


@pytest.mark.contract("R5-5")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("It runs.", "It stops."),
        ("Does it run?", "It does."),
        ("Stop!", "It is hot."),
        ("Насос работает.", "Он горячий."),
        ("泵正在运行。", "它很热。"),
        ("ポンプが動く。", "とまる。"),
        ("पंप चलता है।", "यह गरम है।"),
        ("هل تعمل المضخة؟", "نعم تعمل."),
        ("Η αντλία λειτουργεί.", "Είναι ζεστή."),
    ],
)
def test_sentences_end_in_every_script(first: str, second: str) -> None:
    assert _texts(f"{first} {second}") == [first, second]


@pytest.mark.contract("R5-5")
@pytest.mark.parametrize(
    ("answer", "segments"),
    [
        ("It runs. [C0] It stops. [C1]", ["It runs. [C0]", "It stops. [C1]"]),
        ("It runs.[C0] It stops.[C1]", ["It runs.[C0]", "It stops.[C1]"]),
        ("It runs [C0]. It stops [C1].", ["It runs [C0].", "It stops [C1]."]),
        ("It runs.[C0][C1] It stops.", ["It runs.[C0][C1]", "It stops."]),
        ("It runs. [C0] [C1] It stops. [C2]", ["It runs. [C0] [C1]", "It stops. [C2]"]),
        ("It runs. [C0]\nIt stops. [C1]", ["It runs. [C0]", "It stops. [C1]"]),
        ("It runs. [C0]\n\nIt stops. [C1]", ["It runs. [C0]", "It stops. [C1]"]),
        ("It runs. It stops. [C1]", ["It runs.", "It stops. [C1]"]),
        ("It is 3.5 [C0] or 4.5 bar [C1].", ["It is 3.5 [C0] or 4.5 bar [C1]."]),
    ],
)
def test_a_citation_after_a_full_stop_belongs_to_the_sentence_before_it(answer: str, segments: list[str]) -> None:
    assert _texts(answer) == segments


@pytest.mark.contract("R5-5")
def test_markdown_blocks_are_known() -> None:
    answer = (
        "## Seals\n\n"
        "Check the seal. [C0]\n\n"
        "- Open the cover. [C0]\n"
        "* Take the seal out. [C1]\n"
        "1. Close the cover. [C1]\n\n"
        "| part | limit |\n| --- | --- |\n| seal | 5 bar [C0] |\n\n"
        "```\nset seal=5\nset bar=3\n```\n"
    )
    assert _kinds(answer) == [
        ("heading", "## Seals"),
        ("sentence", "Check the seal. [C0]"),
        ("list_item", "- Open the cover. [C0]"),
        ("list_item", "* Take the seal out. [C1]"),
        ("list_item", "1. Close the cover. [C1]"),
        ("heading", "| part | limit |"),
        ("table_row", "| seal | 5 bar [C0] |"),
        ("code", "```\nset seal=5\nset bar=3\n```"),
    ]


@pytest.mark.contract("R5-5")
def test_a_table_without_outer_bars_ends_the_paragraph_before_it() -> None:
    assert _kinds("These are the limits:\npart | limit\n--- | ---\n| seal | 5 bar [C0] |") == [
        ("sentence", "These are the limits:"),
        ("heading", "part | limit"),
        ("table_row", "| seal | 5 bar [C0] |"),
    ]


@pytest.mark.contract("R5-5")
def test_a_list_item_of_two_sentences_is_two_statements() -> None:
    assert _texts("- Open it. [C0] Close it. [C1]") == ["- Open it. [C0]", "Close it. [C1]"]


@pytest.mark.contract("R5-5")
def test_a_wrapped_line_goes_on_and_a_new_statement_does_not() -> None:
    assert _texts("Check the seal\nevery day. [C0]") == ["Check the seal\nevery day. [C0]"]
    assert _texts("Check the seal [C0]\nClose the cover [C1]") == ["Check the seal [C0]", "Close the cover [C1]"]


@pytest.mark.contract("R5-5")
def test_a_fence_that_never_ends_holds_the_rest() -> None:
    assert _kinds("```\nrun. Now.\nstop.") == [("code", "```\nrun. Now.\nstop.")]


@pytest.mark.contract("R5-5")
def test_a_long_line_after_a_number_sign_is_a_statement_and_no_heading() -> None:
    line = "# The pump must be run at five bar for a whole hour before it is opened by anyone at all."
    assert [part.kind.value for part in segment(line)] == ["sentence"]


def test_nothing_holds_no_segments() -> None:
    assert segment("") == []
    assert segment(" \n\t\n") == []


ANSWERS = st.lists(
    st.sampled_from(
        [
            "It runs", "The limit is 3.5 bar", "see Fig. 2", "- ", "1. ", "## ", "| a | b |", "|---|---|", "```", "> ",
            "[C0]", "[C12]", ". ", "! ", "? ", "。", ": ", "\n", "\n\n", " ", '"Stop. Go."', "(approx. 3)",
            "\u2028", "é",
        ]
    ),
    max_size=25,
).map("".join)  # fmt: skip


@pytest.mark.contract("R5-5")
@given(ANSWERS | st.text(max_size=80))
def test_segments_keep_their_offsets_and_leave_only_marks_between_them(answer: str) -> None:
    position = 0
    parts = segment(answer)
    for part in parts:
        assert part.text == answer[part.start : part.end]
        assert position <= part.start < part.end
        position = part.end
    gaps = [
        answer[before:after]
        for before, after in zip([0, *(p.end for p in parts)], [*(p.start for p in parts), len(answer)], strict=True)
    ]
    assert not any(character.isalnum() for gap in gaps for character in gap)
    assert sentence_ends(answer) == [part.end for part in parts]


@pytest.mark.contract("R5-5")
@given(ANSWERS)
def test_every_citation_is_in_exactly_one_segment(answer: str) -> None:
    whole = [citation.anchor for citation in find_citations(answer)]
    parts = [match[0][1:-1] for part in segment(answer) for match in CITATION.finditer(part.text)]
    assert parts == whole
