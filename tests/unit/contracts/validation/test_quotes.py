"""The quotes of an answer, and the section that a citation names: that of the quoted words, not that of the chunk."""

import pytest

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.quotes import cited_section, find_quotes
from sourcebound.contracts.validation.result import ValidationResult
from support.builders import CHARGE, LEAK, SEAL, bundle, policy, row, row_of_two_sections, run

pytestmark = pytest.mark.contract("R6-2")
TEST, OIL = "3 Seal > 3.4 Leak test", "4 Bearings > 4.1 Oil change"
EVIDENCE = assemble(bundle([row_of_two_sections(), row(1, chunk_text=SEAL, section="5 Care")]), policy(), run())
CHUNK, OTHER = EVIDENCE.selected_evidence


def checked(text: str, assembled: AnswerBundle = EVIDENCE, *, with_verifier: bool = False) -> ValidationResult:
    verdict = validate(text, assembled, load_shipped_policy("SOURCEBOUND_V2") if with_verifier else policy())
    assert verdict.outcome.status == "OK", verdict.outcome
    return verdict


@pytest.mark.parametrize(("said", "section"), [(LEAK, TEST), (CHARGE, OIL)])
def test_a_citation_names_the_section_of_the_words_that_it_quotes(said: str, section: str) -> None:
    verdict = checked(f"{said} [C0]")
    (quote,) = find_quotes(verdict, CHUNK)
    assert CHUNK.sanitized_text[quote.start : quote.end] == said
    assert quote.section == cited_section(verdict, CHUNK) == section


def test_a_paraphrase_is_named_by_the_sentences_that_the_verifier_compared() -> None:
    verdict = checked("An oil charge of 1.10 litres is what the bearing frame takes. [C0]", with_verifier=True)
    assert {quote.section for quote in find_quotes(verdict, CHUNK)} == {OIL}
    assert cited_section(verdict, CHUNK) == OIL


def test_a_citation_of_two_quotes_names_both_sections_in_the_order_of_the_document() -> None:
    verdict = checked(f"{CHARGE} [C0] {LEAK} [C0]")
    assert [(quote.statement, quote.section) for quote in find_quotes(verdict, CHUNK)] == [(2, TEST), (1, OIL)]
    assert cited_section(verdict, CHUNK) == f"{TEST}; {OIL}"


def test_each_source_has_its_own_quotes() -> None:
    verdict = checked(f"{CHARGE} [C0] {SEAL} [C1]")
    assert (cited_section(verdict, CHUNK), cited_section(verdict, OTHER)) == (OIL, "5 Care")


def test_without_quoted_words_the_passage_is_named_by_all_its_sections() -> None:
    paraphrase = checked("Litres of oil 1.10 has the charge, and the bearing frame takes it. [C0]")
    assert paraphrase.support is None
    assert find_quotes(paraphrase, CHUNK) == ()
    assert cited_section(paraphrase, CHUNK) == cited_section(None, CHUNK) == f"{TEST}; {OIL}"


@pytest.mark.parametrize("given", ["", None, "5 Care"])
def test_a_passage_of_one_section_is_named_as_its_source_named_it(given: str | None) -> None:
    (chunk,) = assemble(bundle([row(0, chunk_text=SEAL, section=given)]), policy(), run()).selected_evidence
    assert cited_section(None, chunk) == given


def test_an_answer_that_was_not_released_has_no_quotes() -> None:
    rejected = validate(f"{CHARGE} [C7]", EVIDENCE, policy())
    assert rejected.outcome.status == "FAILED"
    assert find_quotes(rejected, CHUNK) == ()
