"""R1-4: the lexicon, in all forms of a word."""

import hashlib

import pytest

from sourcebound.contracts.languages.lexicon import LANGUAGES, LEXICON, look_up, split_compound
from support.places import ROOT

FOLDER = ROOT / "contracts" / "languages" / LEXICON
DIGEST = "004cdd89844db7267f3198545efb69868beb764a706b416c943468bb08385ce4"


@pytest.mark.contract("R1-4")
def test_a_changed_lexicon_gets_another_name() -> None:
    content = b"".join((FOLDER / f"{language}.tsv").read_bytes() for language in LANGUAGES)
    assert (LEXICON, hashlib.sha256(content).hexdigest()) == ("lexicon_v1", DIGEST)


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_line_has_an_english_phrase_and_its_translations(language: str) -> None:
    lines = [line.split("\t") for line in (FOLDER / f"{language}.tsv").read_text("utf-8").splitlines()]
    assert all(len(line) == 2 for line in lines)
    assert all(english.isascii() and english == english.lower().strip() for english, _ in lines)
    assert all(word and word == word.strip() for _, words in lines for word in words.split(", "))
    assert len({english for english, _ in lines}) == len(lines) > 6000


@pytest.mark.parametrize(
    ("language", "word", "english"),
    [
        ("de", "Ventil", "valve"),
        ("de", "gewechselt", "change"),  # a participle
        ("de", "eingestellt", "set"),  # of a verb with a prefix
        ("de", "einzustellen", "set"),  # an infinitive with `zu`
        ("de", "prüft", "check"),
        ("fr", "contrôlez", "check"),
        ("fr", "remplacent", "replaced"),
        ("es", "válvulas", "valve"),
        ("it", "garanzia", "warranty"),
        ("nl", "gecontroleerd", "check"),
        ("pt", "válvula", "valve"),
    ],
)
def test_a_word_is_found_in_its_forms(language: str, word: str, english: str) -> None:
    assert english in look_up(language, [word])


def test_the_nearest_form_comes_first() -> None:
    assert look_up("fr", ["formats"])[0] == "format"
    assert "training" not in look_up("fr", ["formats"])
    assert look_up("fr", ["règles"])[0] == "rule"


def test_a_german_noun_is_no_verb() -> None:
    assert look_up("de", ["Reifen"])[0] == "tyres"
    assert look_up("de", ["reifen"])[0] in ("ripen", "mature")


def test_a_function_word_is_no_form_of_another_word() -> None:
    assert "stop" not in look_up("es", ["para"])
    assert "laser" not in look_up("es", ["las"])


def test_a_compound_is_split_where_the_lexicon_has_its_parts() -> None:
    assert split_compound("de", "Ölwechselintervall") == ("ölwechsel", "intervall")
    assert split_compound("de", "Wartungsvertrag") == ("wartungs", "vertrag")
    assert split_compound("de", "Dichtungsöl") == ("dichtungs", "öl")
    assert split_compound("de", "Zorblaxian") == ()
    assert split_compound("fr", "portemanteau") == ()
    assert split_compound("de", "Umgebungsvariable" * 3) == ()  # too long
