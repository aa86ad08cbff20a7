"""R5-17: a statement with a name that neither its chunks nor the question have is not supported."""

import pytest

from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.support.names import names_another

CHUNK = "The telescope was designed by the engineer Tomas Verhey, and Hargreave Steel built it. Okafor's team tests it."
SPANISH = "El aviso se dio en los barrios de El Molino y Las Eras, y lo firmó la alcaldesa."


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("statement", "chunk", "language", "expected"),
    [
        ("The telescope was designed by Daniel Okoro.", CHUNK, None, True),
        ("It was built by **Daniel Okoro**, the engineer.", CHUNK, None, True),
        ("It is tested by Mr Menon's team.", CHUNK, None, True),
        ("Engineer Okoro designed the telescope.", "The engineer Tomas Verhey designed the telescope.", None, True),
        ("El aviso lo firmó Benita Ruizgómez.", SPANISH, "es", True),
        # the chunk has a word of the name, or its first letters
        ("The telescope was designed by Tomas Verhey.", CHUNK, None, False),
        ("It is tested by Mr Okafor's team.", CHUNK, None, False),
        ("It was built by Hargreaves Steelworks.", CHUNK, None, False),
        ("It was built by Zorb Menon.", "It was built by the firm of Zorb.", None, False),
        ("It was approved by the Menon Zorblax Union.", "It was approved by the MZU.", None, False),
        # no name
        ("The Committee designed it on a Monday Morning.", CHUNK, None, False),
        ("Daniel designed the telescope.", CHUNK, None, False),
        ("- **The Zorblax Menon:** the engineer", CHUNK, None, False),
        ("In 1990, THE OKORO GROUP built it.", CHUNK, None, False),
        # another language than the chunk, and German
        ("The warning was signed by Benita Ruizgómez.", SPANISH, None, False),
        ("Der Antrag wurde von Daniel Okoro gestellt.", "Der Antrag wurde von Tomas Verhey gestellt.", "de", False),
    ],
)
def test_a_name_of_no_source_is_found(statement: str, chunk: str, language: str | None, expected: bool) -> None:
    assert names_another(statement, [chunk], [], language) is expected


@pytest.mark.contract("R5-17")
def test_the_question_and_the_titles_name_too() -> None:
    statement = "The telescope was designed by Daniel Okoro."
    assert not names_another(statement, [CHUNK], ["Did Daniel Okoro design it?"], None)
    assert not names_another(statement, [CHUNK], ["", "Okoro telescope"], None)


@pytest.mark.contract("R5-17")
def test_an_answer_with_a_name_of_no_source_is_rejected() -> None:
    def codes(name: str) -> list[str]:
        answer = f"The telescope was designed by the engineer {name}. [C0]"
        bundle = bundle_of_texts([CHUNK, "The pulsar was found by Daniel Okoro."], "Who designed the telescope?")
        verdict = validate(answer, bundle, load_shipped_policy("SOURCEBOUND_V2"))
        return [each.code.value for each in verdict.outcome.violations]

    assert codes("Tomas Verhey") == []
    assert codes("Daniel Okoro") == ["UNSUPPORTED_STATEMENT"]
