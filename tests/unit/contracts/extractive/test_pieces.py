"""Pieces of a chunk that may be quoted: indented prose, placeholders, and commands in lines of their own (R4-9)."""

import pytest

from sourcebound.contracts.extractive.pieces.quotes import is_quotable
from sourcebound.contracts.extractive.sentences import Sentence, read_evidence
from sourcebound.contracts.prompt.build import EvidencePart
from sourcebound.contracts.text.segments import SegmentKind


def read(text: str) -> list[Sentence]:
    """Return the sentences of a chunk."""
    return read_evidence([EvidencePart("C0", "manual.txt", text)])


PROSE = [
    "    Keep the folders of both copies apart (see page 9), one for\n    each user of the machine.",
    "    Start it with -c to name another folder, and wait (one minute).",
    "    The name of the folder (a short one) also sounds much better ;)",
]
CODE = [
    "    copy -c FOLDER (see below)\n    wait = 5",
    "    wait(5); copy(FOLDER, 5)",
    '    run "copy" -c 5 [FOLDER].',
    "    copy(FOLDER) now please.",
    "    wait = copy(FOLDER, 5) and leave the rest_1 rest_2 rest_3 rest_4 rest_5 of(b).",
    "    SELECT name FROM pumps (p) WHERE housing IS red;",
    "    [INFO] Starting the copy of the folder.",
    "    # Keep the folders of both copies apart (see page 9).",
]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize("paragraph", PROSE)
def test_indented_prose_is_no_code(paragraph: str) -> None:
    title, sentence = read(f"1.2 Two copies\n\n{paragraph}")
    assert (sentence.kind, sentence.is_quotable) == (SegmentKind.SENTENCE, True)
    assert sentence.text == " ".join(paragraph.split())
    assert title.is_heading


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize("paragraph", CODE)
def test_indented_lines_of_a_program_are_code(paragraph: str) -> None:
    assert [each.kind for each in read(f"1.2 Two copies\n\n{paragraph}")][1:] == [SegmentKind.CODE]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    "head", ["$ in millions, except per share amounts", "$ and shares in millions", "% of revenue"]
)
def test_the_head_of_a_table_is_no_command(head: str) -> None:
    *_, row = read(f"Statements of earnings\n\n{head}\nRevenue; 2023: $ 46,298; 2022: $ 51,761")
    assert (row.text, row.is_row) == ("Revenue; 2023: $ 46,298; 2022: $ 51,761", True)
    (command, _) = read("$ install all of it\n\nIt is installed.")
    assert command.kind is SegmentKind.CODE


@pytest.mark.contract("R4-9")
def test_prose_that_is_announced_as_code_is_code() -> None:
    assert read(f"It prints::\n\n{PROSE[0]}")[-1].kind is SegmentKind.CODE


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    "sentence",
    [
        "Run copy <source folder> <target> to make a second copy.",
        "Press <Enter> and then <F10> to save the file.",
        "The resolution -r<dpi> or --res=<resolution_in_dpi> is 300 by default.",
        "allow [to|from] <address list> - lets the hosts in again.",
    ],
)
def test_a_placeholder_is_no_markup(sentence: str) -> None:
    assert is_quotable(sentence)


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    "sentence",
    [
        "Use the <b>small</b> pump for the tank.",
        'See <a href="x.html">the page on pumps for more.',
        "The pump<br>has two valves and a tank.",
        "Add <dependency> and </dependency> to the file.",
        "The pump <!-- old --> has two valves.",
        "The pump <part/> has two valves.",
    ],
)
def test_a_tag_is_markup(sentence: str) -> None:
    assert not is_quotable(sentence)


@pytest.mark.contract("R4-9")
def test_a_command_in_a_line_of_its_own_is_part_of_its_sentence() -> None:
    text = (
        "A log host is simple. Start the daemon with\n\nsyslogd -r\n\nand wait for a minute. Type\n\nls\n\nNow it runs."
    )
    assert [each.text for each in read(text)] == [
        "A log host is simple.",
        "Start the daemon with syslogd -r and wait for a minute.",
        "Type",
        "ls",
        "Now it runs.",
    ]


@pytest.mark.contract("R4-9")
def test_what_leads_in_or_begins_anew_is_not_joined() -> None:
    text = "Start the daemon with:\n\nsyslogd -r\n\nThe valve\n\nIt is closed by hand."
    assert [each.text for each in read(text)][1:] == ["syslogd -r", "The valve", "It is closed by hand."]


@pytest.mark.contract("R4-9")
def test_a_name_in_the_next_line_goes_on_with_its_sentence() -> None:
    _, sentence = read("1.2 The system\n\nThe system was delivered by\nSiemens in 2019.")
    assert sentence.text == "The system was delivered by Siemens in 2019."


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize("heading", ["Who this guide is for", "How to sign in", "4.2 What to look out for"])
def test_a_heading_that_ends_in_a_preposition_is_not_joined(heading: str) -> None:
    first, second = read(f"{heading}\n\nThe operator opens the valve by hand.")
    assert (first.text, first.is_heading) == (heading, True)
    assert second.text == "The operator opens the valve by hand."


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("sentence", "quoted"),
    [
        ("冷蔵庫の温度は四度に設定します。", True),
        ("اضغط على الزر الأحمر ثم انتظر دقيقة.", True),
        ("安全", False),
        ("안전 밸브 개방", True),
        ("PUMP AND VALVE", False),
    ],
)
def test_a_sentence_in_a_script_without_cases_is_quotable(sentence: str, quoted: bool) -> None:
    assert is_quotable(sentence) is quoted


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize("heading", ["5.3. The 513 driver does not start", "4.9. Use of the lower valve", "2.1 Valves"])
def test_a_line_with_the_number_of_its_section_is_a_heading(heading: str) -> None:
    first, second = read(f"{heading}\n\nThe valve is closed by hand.")
    assert (first.text, first.is_heading, first.is_quotable) == (heading, True, False)
    assert not second.is_heading


@pytest.mark.contract("R4-9")
def test_a_sentence_with_the_number_of_its_section_is_a_sentence() -> None:
    first, _ = read("4.9. The valve is closed by hand.\n\n4.10. The pump is started by hand.")
    assert (first.is_heading, first.is_quotable) == (False, True)


@pytest.mark.contract("R4-9")
def test_what_would_be_several_statements_alone_is_cut_there() -> None:
    sentences = [
        "In 2017, a cluster of cases was reported to the CDPH.",
        "The laboratory at the CDPH detected the virus in 19 of 30 patients (63%).",
    ]
    wrapped = "In December 2007, an airplane of the type that is called (Global\n5000), N50DS, was damaged on a runway."
    assert [each.text for each in read(wrapped)] == [" ".join(wrapped.split())]
    read_ones = [each for each in read("(2) . " + " ".join(sentences)) if each.is_quotable]
    assert [each.text.removeprefix("(2) . ") for each in read_ones] == sentences


CAPITALS = "IN NO EVENT WILL THE LIABILITY OF THE SELLER EXCEED US$10.00."


@pytest.mark.contract("R4-9")
def test_a_statement_in_capitals_may_be_quoted_and_a_title_not() -> None:
    title, first, second = read(f"LIMITATION OF LIABILITY\n\nThe seller is liable for the pump. {CAPITALS}")
    assert (title.is_quotable, first.is_quotable, second.is_quotable) == (False, True, True)
    assert second.text == CAPITALS
    assert not is_quotable("THE SELLER IS LIABLE.")
    assert not is_quotable("LIABILITY OF THE SELLER FOR THE PUMP AND THE SEAL")


@pytest.mark.contract("R4-9")
def test_a_number_that_is_repeated_in_figures_begins_no_item() -> None:
    text = (
        "The source code must remain available for at least twelve (12) months, or at least six\n"
        "(6) months after a later version has been made available. You keep it."
    )
    first, second = read(text)
    assert (first.kind, first.text) == (SegmentKind.SENTENCE, " ".join(text.split()).removesuffix(" You keep it."))
    assert second.text == "You keep it."
    assert [each.kind for each in read("The owner must do these\n(6) months of work.")][1] is SegmentKind.LIST_ITEM


@pytest.mark.contract("R4-9")
def test_the_sentences_of_an_item_with_its_marker_in_brackets_are_apart() -> None:
    assert [each.text for each in read("(a) Open the valve. Wait 5 minutes.")] == [
        "(a) Open the valve.",
        "Wait 5 minutes.",
    ]


@pytest.mark.contract("R4-9")
def test_a_lead_in_in_bold_letters_leads_in_its_list() -> None:
    lead, first, _ = read("**Risk factors for a leak:**\n\n1. A worn seal in the pump\n2. A loose bolt in the pump")
    assert (lead.leads, first.leads) == (True, False)


@pytest.mark.contract("R4-9")
def test_a_line_of_a_drawing_and_the_rest_of_a_sentence_around_code_are_not_quoted() -> None:
    assert not is_quotable("The patient has a complicated infection |")
    assert not is_quotable("| the patient has an infection")
    around = read("The page has the placeholder\n\n```\n$<table>$\n```\n\nfor adding a table of all the pumps.")
    assert [each.is_quotable for each in around][-1] is False
    after = read("The page has a placeholder.\n\n```\n$<table>$\n```\n\nfor adding a table of all the pumps.")
    assert [each.is_quotable for each in after][-1] is True


@pytest.mark.contract("R4-9")
def test_a_finding_about_evidence_may_be_quoted_and_a_refusal_not() -> None:
    assert is_quotable("Insufficient evidence to support use in children; approved for adults only.")
    assert not is_quotable("There is insufficient evidence to support an answer to the question.")
