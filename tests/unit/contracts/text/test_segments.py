"""`segment_v1`: an answer is cut into statements, and each citation goes with its own (R5-5)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.text.citations import CITATION, find_citations
from sourcebound.contracts.text.segments import segment, sentence_ends
from support.places import ROOT

GOLDEN_RULES = ROOT.parent / "shared" / "data" / "segmentation" / "golden_rules_en.jsonl"
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
    more = {
        rule["id"]: rule
        for rule in rules
        if [part.text for part in segment(rule["text"], version=2)] != rule["sentences"]
    }
    assert more.keys() <= missed.keys()
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


EVEN_GOLDEN_RULES = {
    2: ("What is your name? My name is Jonas.", ["What is your name?", "My name is Jonas."]),
    4: ("My name is Jonas E. Smith.", ["My name is Jonas E. Smith."]),
    6: ("Were Jane and co. at the party?", ["Were Jane and co. at the party?"]),
    8: ("Let's ask Jane and co. They should know.", ["Let's ask Jane and co.", "They should know."]),
    10: ("I can see Mt. Fuji from here.", ["I can see Mt. Fuji from here."]),
    12: ("That is JFK Jr.'s book.", ["That is JFK Jr.'s book."]),
    14: ("I live in the E.U. How about you?", ["I live in the E.U.", "How about you?"]),
    16: ("I work for the U.S. Government in Virginia.", ["I work for the U.S. Government in Virginia."]),
    18: (
        "At 5 a.m. Mr. Smith went to the bank. He left the bank at 6 P.M. Mr. Smith then went to the store.",
        ["At 5 a.m. Mr. Smith went to the bank.", "He left the bank at 6 P.M.", "Mr. Smith then went to the store."],
    ),
    20: ("She has $100.00. It is in her bag.", ["She has $100.00.", "It is in her bag."]),
    22: (
        "Her email is Jane.Doe@example.com. I sent her an email.",
        ["Her email is Jane.Doe@example.com.", "I sent her an email."],
    ),
    24: ("She turned to him, 'This is great.' she said.", ["She turned to him, 'This is great.' she said."]),
    26: (
        'She turned to him, "This is great." She held the book out to show him.',
        ['She turned to him, "This is great."', "She held the book out to show him."],
    ),
    28: ("Hello?? Who is there?", ["Hello??", "Who is there?"]),
    30: ("Hello?! Is that you?", ["Hello?!", "Is that you?"]),
    32: ("1.) The first item. 2.) The second item.", ["1.) The first item.", "2.) The second item."]),
    34: ("1) The first item. 2) The second item.", ["1) The first item.", "2) The second item."]),
    36: ("1. The first item. 2. The second item.", ["1. The first item.", "2. The second item."]),
    38: ("⁃9. The first item ⁃10. The second item", ["⁃9. The first item", "⁃10. The second item"]),
    40: (
        "You can find it at N°. 1026.253.553. That is where the treasure is.",
        ["You can find it at N°. 1026.253.553.", "That is where the treasure is."],
    ),
    42: (
        "We make a good team, you and I. Did you see Albert I. Jones yesterday?",
        ["We make a good team, you and I.", "Did you see Albert I. Jones yesterday?"],
    ),
    44: (
        '"Bohr [...] used the analogy of parallel stairways [...]" (Smith 55).',
        ['"Bohr [...] used the analogy of parallel stairways [...]" (Smith 55).'],
    ),
    46: ("I never meant that.... She left the store.", ["I never meant that....", "She left the store."]),
    48: (
        "One further habit which was somewhat weakened . . . "
        "was that of combining words into self-interpreting compounds. . . . The practice was not abandoned. . . .",
        [
            "One further habit which was somewhat weakened . . . "
            "was that of combining words into self-interpreting compounds.",
            ". . . The practice was not abandoned. . . .",
        ],
    ),
}
"""The even-numbered English golden rules; number 48 begins a sentence with the ellipsis of the one before it."""
WHOLE = [
    "The tolerance is ±0.05 mm at 20 °C.",
    "Firmware v4.12.0-rc.2 is needed.",
    "See Figs. 3 and 4, pp. 12–14, of Vol. 2.",
    "See Fig. A for the layout.",
    "Contact J. R. R. Meyer in the workshop.",
    "Wait … then close the valve.",
    "Wait... then close the valve.",
    "Open file C:\\logs\\pump.log at once.",
    "The address is 192.168.0.1 by default.",
    "Use part No. 17.4.2 only.",
    "The display shows “E.04. Call service.” when it fails.",
    "The display shows «Stop. Call service.» when it fails.",
    "Das Ventil (z. B. V-12) bleibt zu.",
    "Der Druck beträgt ca. 5 bar.",
    "La pression est de 5 bar max. en service.",
    "Run `pump.start(); pump.stop()` first.",
    "It lasts approx. 2 hrs. at full load.",
    "The pump (see Sec. 4.2.) is hot.",
    "The U.S. Food and Drug Administration approved it.",
    "Tighten it to 5 N·m (max. 6 N·m).",
    "The shift ends at 6 p.m. on Fridays.",
    "Read No. 5 first.",
    "Use M. Smith's key.",
    "It was made by Acme Ltd. in 2019.",
    "Do it on 3 Mar. 2024 only.",
    "See Tab. 3 resp. App. B.",
    "It weighs 2 lb. when dry.",
    "The value of pi is 3.14159.",
    "It is 1.234.567,89 EUR in total.",
    "Use e.g. Viton seals.",
    "See cf. Table 3 here.",
    "See App. B.",
    "Contact J. Smith at once.",
    "He said “Use valve B. Open it.” to all.",
    "**Note:** It runs.",
    "**It runs.**",
]
"""One statement each."""
CUT = [
    ("It runs. [C0][C1] [C2]\n\nIt stops. [C1]", ["It runs. [C0][C1] [C2]", "It stops. [C1]"]),
    ("It runs.\n[C0] [C1]\nIt stops.\n[C1]", ["It runs.\n[C0] [C1]", "It stops.\n[C1]"]),
    ("It runs! [C0] Does it stop? [C1]", ["It runs! [C0]", "Does it stop? [C1]"]),
    ("It runs. [C0]. It stops. [C1].", ["It runs. [C0].", "It stops. [C1]."]),
    (
        "- It runs. [C0]\n  - It hums. [C1]\n    - It glows. [C2]",
        ["- It runs. [C0]", "- It hums. [C1]", "- It glows. [C2]"],
    ),
    (
        "1. It runs. [C0]\n   a. It hums. [C1]\n   b. It glows. [C2]",
        ["1. It runs. [C0]", "a. It hums. [C1]", "b. It glows. [C2]"],
    ),
    ("| a | b |\n|---|---|\n| 1 | x [C0] |\n| 2 | y | [C1]", ["| a | b |", "| 1 | x [C0] |", "| 2 | y | [C1]"]),
    ("泵运行。[C0]它很热！[C1]停下？[C2]", ["泵运行。[C0]", "它很热！[C1]", "停下？[C2]"]),
    ("泵运行[C0]。它很热[C1]。", ["泵运行[C0]。", "它很热[C1]。"]),
    ("ポンプが動く。[C0]とまる。[C1]", ["ポンプが動く。[C0]", "とまる。[C1]"]),
    ("المضخة تعمل. [C0] إنها ساخنة. [C1]", ["المضخة تعمل. [C0]", "إنها ساخنة. [C1]"]),
    ("هل تعمل؟ [C0] نعم. [C1]", ["هل تعمل؟ [C0]", "نعم. [C1]"]),
    ("पंप चलता है। [C0] यह गरम है। [C1]", ["पंप चलता है। [C0]", "यह गरम है। [C1]"]),
    (
        "Η αντλία λειτουργεί. [C0] Είναι ζεστή; [C1] Ναι. [C2]",
        ["Η αντλία λειτουργεί. [C0]", "Είναι ζεστή; [C1]", "Ναι. [C2]"],
    ),
    ("펌프가 작동합니다. [C0] 뜨겁습니다. [C1]", ["펌프가 작동합니다. [C0]", "뜨겁습니다. [C1]"]),
    ("ปั๊มทำงาน [C0]\nมันร้อน [C1]", ["ปั๊มทำงาน [C0]", "มันร้อน [C1]"]),
    ("המשאבה פועלת. [C0] היא חמה. [C1]", ["המשאבה פועלת. [C0]", "היא חמה. [C1]"]),
    ("Պոմպը աշխատում է։ [C0] Այն տաք է։ [C1]", ["Պոմպը աշխատում է։ [C0]", "Այն տաք է։ [C1]"]),
    ("ፓምፑ ይሰራል። [C0] ሞቃት ነው። [C1]", ["ፓምፑ ይሰራል። [C0]", "ሞቃት ነው። [C1]"]),
    ("یہ پمپ چلتا ہے۔ [C0] یہ گرم ہے۔ [C1]", ["یہ پمپ چلتا ہے۔ [C0]", "یہ گرم ہے۔ [C1]"]),
    ("> It runs. [C0]\n> It stops. [C1]", ["It runs. [C0]", "It stops. [C1]"]),
    ("**It runs.** [C0] *It stops.* [C1]", ["**It runs.** [C0]", "*It stops.* [C1]"]),
    ("**It runs.** It stops. [C1]", ["**It runs.**", "It stops. [C1]"]),
    ('He said "Stop." [C0] Then it ran. [C1]', ['He said "Stop." [C0]', "Then it ran. [C1]"]),
    ("It runs (fast). [C0] It stops (slowly.) [C1]", ["It runs (fast). [C0]", "It stops (slowly.) [C1]"]),
    ("It runs. it stops. [C0]", ["It runs.", "it stops. [C0]"]),
    ("It runs [C0]; it stops [C1].", ["It runs [C0]; it stops [C1]."]),
    ("```\na. b. c.\n``` \n[C0]\n\nIt runs. [C1]", ["```\na. b. c.\n``` \n[C0]", "It runs. [C1]"]),
    ("It runs.It stops. [C0]", ["It runs.", "It stops. [C0]"]),
    ("It runs. 5 bar is the limit. [C0]", ["It runs.", "5 bar is the limit. [C0]"]),
    ("Set it to 5. Then wait. [C0]", ["Set it to 5.", "Then wait. [C0]"]),
    ("Turn to p. 5. Then wait. [C0]", ["Turn to p. 5.", "Then wait. [C0]"]),
    ("The oil is ISO VG 46. The grease is NLGI 2. [C0]", ["The oil is ISO VG 46.", "The grease is NLGI 2. [C0]"]),
    ("See Fig. 2. It shows the pump. [C0]", ["See Fig. 2.", "It shows the pump. [C0]"]),
    ("It takes 10 min. The pump stops. [C0]", ["It takes 10 min.", "The pump stops. [C0]"]),
    ("Use bolts, nuts, etc. The cover is hot. [C0]", ["Use bolts, nuts, etc.", "The cover is hot. [C0]"]),
    ("Use valve A. The pump stops. [C0]", ["Use valve A.", "The pump stops. [C0]"]),
    ("Use valve B. Open it. [C0]", ["Use valve B.", "Open it. [C0]"]),
    ("Это насос модели А. Он горячий. [C0]", ["Это насос модели А.", "Он горячий. [C0]"]),
    ("The tank holds 5 L. The pump is off. [C0]", ["The tank holds 5 L.", "The pump is off. [C0]"]),
    ("It is in plan C. It runs. [C0]", ["It is in plan C.", "It runs. [C0]"]),
    ("Do it at 20 °C. The pump runs. [C0]", ["Do it at 20 °C.", "The pump runs. [C0]"]),
    ("Das Ventil ist zu. Öffnen Sie es. [C0]", ["Das Ventil ist zu.", "Öffnen Sie es. [C0]"]),
    ("La vanne est fermée. Été comme hiver. [C0]", ["La vanne est fermée.", "Été comme hiver. [C0]"]),
    ("¿Funciona? Sí. ¡Pare! Está caliente. [C0]", ["¿Funciona?", "Sí.", "¡Pare!", "Está caliente. [C0]"]),
    ("It leaks… The pump is hot. [C0]", ["It leaks…", "The pump is hot. [C0]"]),
    ('It says "Stop. Go." The pump runs. [C0]', ['It says "Stop. Go."', "The pump runs. [C0]"]),
    ("It runs.\u2028It stops. [C0]", ["It runs.", "It stops. [C0]"]),
    ("It runs.\u3000It stops. [C0]", ["It runs.", "It stops. [C0]"]),
    ("It runs.\u00a0It stops. [C0]", ["It runs.", "It stops. [C0]"]),
    ("It runs.\tIt stops. [C0]", ["It runs.", "It stops. [C0]"]),
    ("It runs. • It stops. [C0] • It hums. [C1]", ["It runs.", "• It stops. [C0]", "• It hums. [C1]"]),
    ("The limit is 5.The pump runs. [C0]", ["The limit is 5.", "The pump runs. [C0]"]),
    ("The bore is 2.4 mm. A bolt turns. [C0]", ["The bore is 2.4 mm.", "A bolt turns. [C0]"]),
    ("Ask Acme Inc. Visible leaks are reported. [C0]", ["Ask Acme Inc.", "Visible leaks are reported. [C0]"]),
    ("Open the app. A pump runs. [C0]", ["Open the app.", "A pump runs. [C0]"]),
    ("Use valve B. 电机是绿色的。 [C0]", ["Use valve B.", "电机是绿色的。 [C0]"]),
]
"""Answers and their statements."""


@pytest.mark.contract("R5-5")
def test_the_golden_rules_of_even_number_hold_but_for_one() -> None:
    missed = [number for number, (text, sentences) in EVEN_GOLDEN_RULES.items() if _texts(text) != sentences]
    assert len(EVEN_GOLDEN_RULES) == 24
    assert missed == [48]


@pytest.mark.data
@pytest.mark.contract("R5-5")
@pytest.mark.skipif(not GOLDEN_RULES.is_file(), reason="the external evaluation data is not beside the repository")
def test_at_least_47_of_the_48_golden_rules_hold() -> None:
    rules = [(rule["text"], rule["sentences"]) for rule in _golden_rules()] + list(EVEN_GOLDEN_RULES.values())
    assert len(rules) == 48
    assert sum(_texts(text) == sentences for text, sentences in rules) >= 47


@pytest.mark.contract("R5-5")
@pytest.mark.parametrize("sentence", WHOLE)
def test_a_hard_statement_stays_whole(sentence: str) -> None:
    assert _texts(sentence) == [sentence]
    assert _texts(f"{sentence} [C0]") == [f"{sentence} [C0]"]


@pytest.mark.contract("R5-5")
@pytest.mark.parametrize(("answer", "segments"), CUT)
def test_a_hard_answer_is_cut_where_its_statements_end(answer: str, segments: list[str]) -> None:
    assert _texts(answer) == segments


def test_half_a_character_is_no_error() -> None:
    assert _texts("It runs \ud800. It stops.") == ["It runs \ud800.", "It stops."]


@pytest.mark.contract("R5-5")
@pytest.mark.parametrize(
    "statements",
    [
        ["It is sold in the U.S.", "Millions of people use it."],
        ["It opened in Washington D.C.", "Thousands came."],
        ["It is rated at 5 bar min.", "Above it stops."],
        ["The limit is 10 bar.", "(The old one failed in 2019.)", "It is red. [C0]"],
        ["The limit is 10 bar [C0]", "(it was 5 bar in 2019)."],
        ["I work for the U.S. Government in Virginia."],
        ["**No. 2:** Tell it within 5 minutes."],
        ["È vietato dall’art. 6.3 del contratto.", "Non vale di domenica."],
        ["The limit is 10 bar (it was 5 bar in 2019) [C0]."],
        ["The limit is 10 bar [C0] (see the manual, which is red)."],
        ["The limit [C0] (the pressure that must not be exceeded) is 10 bar. [C1]"],
        ['He said "in the U.S. The law" and left.'],
    ],
)
def test_merged_sentences_are_cut_for_statements(statements: list[str]) -> None:
    assert [part.text for part in segment(" ".join(statements), version=2)] == statements


@pytest.mark.contract("R5-5")
def test_a_particle_with_a_citation_of_its_own_stays_alone() -> None:
    for answer, count in [("Yes. [C0] The pump runs. [C1]", 2), ("Yes. The pump runs. [C1]", 1)]:
        assert len(segment(answer, 2, says_yes_or_no=True)) == count


@pytest.mark.contract("R5-5")
def test_a_particle_with_its_verb_belongs_to_the_sentence_after_it() -> None:
    for answer in (
        "No, they don't. They differ. [C0]",
        "Yes, it is. It is red. [C0]",
        "No, you cannot. It is red. [C0]",
    ):
        assert [part.text for part in segment(answer, 2, says_yes_or_no=True)] == [answer]
    assert len(segment("No, but later. They differ. [C0]", 2, says_yes_or_no=True)) == 2


@pytest.mark.contract("R5-5")
@pytest.mark.parametrize("item", ["2. Dig to a depth of 3.5 m [C0].", "3. Run `migrate --to 4.0` [C0]."])
def test_a_number_with_decimals_begins_no_item(item: str) -> None:
    assert [part.text for part in segment(item, 2)] == [item]
    assert len(segment(item, 1)) == 2, "a run of the first version is judged as it was"


@pytest.mark.contract("R5-5")
def test_items_of_one_line_are_still_cut() -> None:
    assert len(segment("1. Open it [C0]. 2. Close it [C0]. 3.Go on [C0].", 2)) == 3
