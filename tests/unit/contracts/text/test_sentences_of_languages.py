"""R5-5: abbreviations, ordinals, series and ranges do not end a sentence."""

from time import process_time

import pytest

from sourcebound.contracts.text.segments import segment
from sourcebound.contracts.text.sentences import split_sentences

WHOLE = [
    "Der Umsatz stieg auf 312,7 Mio. EUR.",
    "Es waren 25 Mio. €, davon 11 Mio. € in Wien.",
    "Der Vertrag gilt vom 1. März an.",
    "Im 3. Quartal stieg er.",
    "Nach § 5 Abs. 2 gilt das.",
    "Der Beitrag ist zum 1. des zweiten Monats fällig.",
    "Er gilt vom 1. bis zum 15. und im Winter nicht.",
    "Es dauert 2 Std. oder mehr.",
    "Los trabajos valen 40 pts. cada uno.",
    "Das Ventil bzw. Die Pumpe steht.",
    "Véase el art. 5 y la pág. 3.",
    "Lo dice il Sig. Rossi.",
    "It is vectored by *Ae. aegypti* and Ae. albopictus.",
]
CUT = [
    "Der Umsatz stieg um 5 Mio. Das EBIT fiel.",
    "Sie endet am 30. Das ist die Frist.",
    "Es dauert 2 Std. Das ist die Frist.",
    "Es gilt Satz 5. Der Vertrag endet.",
    "It is vectored by *Ae. aegypti*. Ae. albopictus is another.",
]


SERIES = [
    "The codes 1, 2, ..., 9 are shown.",
    "The names A, B, ..., Z are kept.",
    "It reads x1; x2; ...; x9 at once.",
    "The values a1, a2, ... , an are read.",
]
CODE = [
    "Make it executable with `chmod u+x run` and try it with `./run. Then` at once.",
    "If `?` is the mark of missing data, both handle it.",
    "Write `a. B` there.",
]
SECTIONS = ["5.3. The pump does not start", "4.10.2. Use of the lower valve"]
RANGES = ["It fails outside U+0000..U+007F because of UTF-8.", "Letters are [a..Z] here.", "The ports are 1024..65535."]


def _sentences(text: str, version: int) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text, version)]


@pytest.mark.contract("R5-5")
@pytest.mark.parametrize("text", WHOLE)
def test_an_abbreviation_or_an_ordinal_does_not_end_a_sentence(text: str) -> None:
    assert _sentences(text, 2) == [text]


@pytest.mark.contract("R5-5")
@pytest.mark.parametrize("text", CUT)
def test_what_states_something_new_is_a_sentence(text: str) -> None:
    assert len(_sentences(text, 2)) == 2


@pytest.mark.contract("R5-5")
@pytest.mark.parametrize("text", SERIES)
def test_an_ellipsis_within_a_series_does_not_end_a_sentence(text: str) -> None:
    assert _sentences(text, 2) == [text]
    assert len(_sentences(text, 1)) == 2


@pytest.mark.contract("R5-5")
@pytest.mark.parametrize("text", RANGES)
def test_the_dots_of_a_range_do_not_end_a_sentence(text: str) -> None:
    assert _sentences(text, 2) == [text]
    assert len(_sentences(f"{text[:-1]}.. The rest fails.", 2)) == 2


@pytest.mark.contract("R5-5")
def test_a_mark_directly_after_a_question_mark_goes_on_with_the_sentence() -> None:
    assert _sentences("Task: Mail; Done?: TRUE", 2) == ["Task: Mail; Done?: TRUE"]
    assert _sentences("Task: Mail; Done?: TRUE", 1) == ["Task: Mail; Done?", ": TRUE"]
    assert _sentences("See below. :ref:`it` says so.", 2) == ["See below.", ":ref:`it` says so."]


@pytest.mark.contract("R5-5")
def test_a_comma_ends_no_sentence_and_a_full_stop_apart_from_its_bracket_does() -> None:
    sentences = [
        "It induces CD4 + and CD8 + T cell responses (Mooij et al., 2008) .",
        "Viruses such as E. coli phages do so too (Weyer et al., 2009) .",
        "They work.",
    ]
    assert [each.text for each in segment(" ".join(sentences), 2)] == sentences


@pytest.mark.contract("R5-5")
@pytest.mark.parametrize("text", CODE)
def test_code_within_a_sentence_does_not_end_it(text: str) -> None:
    assert _sentences(text, 2) == [text]
    assert len(_sentences(f"It runs `run`. {text}", 2)) == 2


@pytest.mark.contract("R5-5")
@pytest.mark.parametrize(
    "text",
    [
        "Use the tool `. The pump has a red housing.` at 5 bar.",
        "The housing is red..The pump runs at 5 bar.",
        "The housing is red..A pump runs at 5 bar.",
        "It runs at 5..The pump stops.",
    ],
)
def test_two_sentences_without_a_blank_or_with_a_stray_mark_stay_two(text: str) -> None:
    assert len(_sentences(text, 2)) == 2


@pytest.mark.contract("R5-5")
@pytest.mark.parametrize("unit", ["If `?` is ", "U+0..U+1 "])
def test_a_text_of_joined_sentences_is_read_once(unit: str) -> None:
    text = unit * 4000
    started = process_time()
    assert len(_sentences(text, 2)) == 1
    assert process_time() - started < 3


@pytest.mark.contract("R5-5")
def test_a_mark_that_begins_a_quotation_or_is_alone_joins_nothing() -> None:
    for text in [
        "The key is `a'. The other key is `b'.",
        "The key is `a'. K2 is `b'.",
        "The ` is a mark. It is old.",
        "Say `a. " + "B " * 99 + "is `c.",
    ]:
        assert len(_sentences(text, 2)) == 2


@pytest.mark.contract("R5-5")
@pytest.mark.parametrize("text", SECTIONS)
def test_the_number_of_a_section_is_no_sentence(text: str) -> None:
    assert _sentences(text, 2) == [text]
    assert len(_sentences(text, 1)) == 2
    assert _sentences(f"See part {text}", 2) == [f"See part {text.split(' ')[0]}", text.split(" ", 1)[1]]


@pytest.mark.contract("CP-10")
def test_the_first_version_cuts_as_it_did() -> None:
    assert len(_sentences(WHOLE[0], 1)) == 2


@pytest.mark.contract("R5-5")
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("blank", ["\u00a0", "\u202f"])
def test_a_wide_blank_after_a_capital_ends_no_process(version: int, blank: str) -> None:
    assert _sentences(f"It is plan A{blank}. It works.", version)
