"""R4-9: an acronym that the evidence writes out is read as its words."""

import pytest

from sourcebound.contracts.extractive.wording.acronyms import write_acronyms_out
from sourcebound.contracts.prompt.build import EvidencePart

EVIDENCE = (
    EvidencePart(
        "C0",
        "water.md",
        "Total organic carbon is measured daily by the Office of Health and Safety. Order new test strips from QMS. "
        "Never touch samples. The air handling unit is off. The auxiliary heating unit is on. A relief valve seat "
        "(RVS) is of steel. Install `pip`: `lock everything`. Clean each heat exchanger plate. HEP is the main part. "
        "Nitrogen of oil tanks is dry.",
    ),
)

pytestmark = pytest.mark.contract("R4-9")


@pytest.mark.parametrize(
    ("asked", "read"),
    [
        ("How often is TOC measured?", "How often is total organic carbon measured?"),
        ("Does the OHS measure TOC?", "Does the office of health and safety measure total organic carbon?"),
        ("What does the QMS sell?", "What does the QMS sell?"),
        ("Is the AHU on?", "Is the AHU on?"),
        ("Is the EP the main part?", "Is the EP the main part?"),
        ("Where is TOC-120?", "Where is TOC-120?"),
        ("What is the toc?", "What is the toc?"),
        ("Which strips must NOT be used?", "Which strips must NOT be used?"),
        ("HOW OFTEN IS TOC MEASURED?", "HOW OFTEN IS TOC MEASURED?"),
        ("What is a QNT?", "What is a QNT?"),
        ("What is IPL?", "What is IPL?"),
        ("Is the RVS of steel?", "Is the RVS of steel?"),
        ("When is the HEP cleaned?", "When is the heat exchanger plate (HEP) cleaned?"),
    ],
)
def test_an_acronym_is_read_as_the_only_words_with_its_letters(asked: str, read: str) -> None:
    assert write_acronyms_out(EVIDENCE, asked) == read
