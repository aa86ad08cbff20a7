"""The sections of a chunk: their places outlive sanitization, and a part of a text is in those that it touches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.evidence.answer_bundle import EvidenceChunk
from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.evidence.sections import name_sections, place_sections, sections_within
from sourcebound.contracts.retrieval.retrieval_bundle import LaterSection, RetrievalBundle
from sourcebound.contracts.text.sanitize import MODES, SanitizationMode, sanitize
from support.builders import CHARGE, JsonObject, bundle, policy, row, row_of_two_sections, rows, run

SEAL, OIL = "3 Seal > 3.4 Leak test", "4 Bearings > 4.1 Oil change"
LINES = st.text(alphabet=st.sampled_from("ab .é\u0301\t\u200b\u00ad\\[C0|]=<|im_end|>"), max_size=30)


def evidence(form: JsonObject, **tables: JsonObject) -> EvidenceChunk:
    (chunk,) = assemble(bundle([form]), policy(**tables), run()).selected_evidence
    return chunk


@pytest.mark.contract("R1-10")
def test_evidence_knows_where_the_sections_begin_in_its_sanitized_text() -> None:
    form = row_of_two_sections()
    hidden = "\u200b\u200b" + form["chunk_text"].replace("\n\n", "\n\n\n\n")
    start = hidden.index("4.1")
    chunk = evidence({**form, "chunk_text": hidden, "later_sections": [{"start": start, "section": OIL}]})
    (later,) = chunk.later_sections
    assert later.start != start
    assert chunk.sanitized_text[later.start :].startswith("4.1 Oil change")
    assert (chunk.section, later.section) == (SEAL, OIL)


@pytest.mark.contract("R1-10")
@pytest.mark.contract("R2-S6")
def test_a_section_that_was_cut_off_is_none_of_the_evidence() -> None:
    form = row_of_two_sections()
    long = form["chunk_text"].replace("ten minutes.", "ten minutes. " + "Then wait for a moment. " * 200)
    later = [{"start": long.index("4.1"), "section": OIL}]
    chunk = evidence({**form, "chunk_text": long, "later_sections": later})
    assert chunk.kept_end is not None
    assert chunk.later_sections == ()


@pytest.mark.contract("CP-10")
def test_a_row_and_a_chunk_of_one_section_have_the_json_of_earlier_versions() -> None:
    parsed = RetrievalBundle.model_validate(bundle(rows(1, section=SEAL)))
    assert "later_sections" not in parsed.model_dump(mode="json")["results"][0]
    assert "later_sections" not in evidence(row(section=SEAL)).model_dump(mode="json")


@pytest.mark.contract("R2-V1")
@pytest.mark.parametrize(
    "later", ["4.1", [{"start": 0, "section": OIL}], [{"start": 3, "section": ""}], [{"start": 3}]]
)
def test_a_row_with_malformed_sections_is_invalid(later: object) -> None:
    assembled = assemble(bundle([row(later_sections=later)]), policy(), run())
    assert assembled.outcome.failure_code == "INVALID_SCHEMA"
    assert {violation.field for violation in assembled.outcome.violations} == {"later_sections"}


@pytest.mark.contract("R6-2")
def test_a_part_of_a_text_is_in_the_sections_that_it_touches() -> None:
    chunk = evidence(row_of_two_sections())
    text = chunk.sanitized_text
    heading, said = text.index("4.1"), text.index(CHARGE)
    assert sections_within(chunk, 0, heading) == (SEAL,)
    assert sections_within(chunk, heading, heading + 3) == (OIL,)
    assert sections_within(chunk, said, len(text)) == (OIL,)
    assert sections_within(chunk, heading - 4, said) == sections_within(chunk) == (SEAL, OIL)
    unnamed = chunk.model_copy(update={"section": None})
    assert sections_within(unnamed, 0, heading) == ()
    assert sections_within(unnamed) == (OIL,)


@pytest.mark.contract("R6-2")
@pytest.mark.parametrize(
    ("sections", "name"),
    [((), None), (("a",), "a"), (("a", "b", "c"), "a; b; c"), (("a", "b", "c", "d"), "a … d")],
)
def test_a_few_sections_are_named_one_by_one(sections: tuple[str, ...], name: str | None) -> None:
    assert name_sections(sections) == name


@pytest.mark.contract("R1-10")
@pytest.mark.parametrize("mode", MODES)
@given(before=LINES, after=LINES)
def test_a_section_is_found_again_in_sanitized_text(mode: SanitizationMode, before: str, after: str) -> None:
    stored = f"Begins.\n{before}\n\nHeading\n{after}"
    shown = sanitize(stored, mode).text
    (placed,) = place_sections([LaterSection(start=stored.index("Heading"), section="H")], stored, shown, mode)
    assert placed.start == shown.index("Heading")
