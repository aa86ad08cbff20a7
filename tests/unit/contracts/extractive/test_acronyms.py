"""R4-9: an acronym that the evidence writes out is read as its words."""

import pytest

from sourcebound.contracts.extractive.wording.acronyms import write_acronyms_out
from sourcebound.contracts.prompt.build import EvidencePart

EVIDENCE = (
    EvidencePart(
        "C0",
        "water.md",
        "Total organic carbon is measured daily by the Office of Health and Safety. Low total organic carbon is good. "
        "Order new test strips from QMS. Never touch samples. The air handling unit is off. Each air handling unit is "
        "loud. The auxiliary heating unit is on. An auxiliary heating unit is old. The Relief Valve Seat (RVS) is new. "
        "Install `pip`: `lock everything`. Install `pip`: `lock everything` again. Clean each heat exchanger plate. "
        "Dry a heat exchanger plate. HEP is the main part. Nitrogen of oil tanks is dry. No nitrogen of oil tanks is. "
        "Use pumps kept dry.\n\n- magnetic field meter\n- (new gauge plate)\n- salt water tank is full\n\n"
        "Users see backups.\n\nNote: open the exit doors; then leave. FIRE KIT LOCKED NOW. Red bus lane. Red bus lane. "
        "Total Odd Maß is low.\n\n| Part | Seal |\n|---|---|\n| upper gate lock | grey oil filter ring |\n\n"
        "(keep every valve open)\n\nRated power input: 5 kW; Class: B",
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
        ("Which USB port is used?", "Which USB port is used?"),
        ("What is OED?", "What is OED?"),
        ("What is FKL?", "What is FKL?"),
        ("What is RBL?", "What is RBL?"),
        ("What is TOM?", "What is total odd mass?"),
        ("Where is the UGL?", "Where is the upper gate lock?"),
        ("What is the RPI?", "What is the rated power input?"),
        ("Where is the GOF?", "Where is the GOF?"),
        ("Where is the OFR?", "Where is the OFR?"),
        ("Who is KEV?", "Who is KEV?"),
        ("Where is the SWT?", "Where is the SWT?"),
        ("Where is the PKD?", "Where is the PKD?"),
        ("Where is the MFM?", "Where is the magnetic field meter?"),
        ("Where is the NGP?", "Where is the new gauge plate?"),
        ("What is a QNT?", "What is a QNT?"),
        ("What is IPL?", "What is IPL?"),
        ("Is the RVS of steel?", "Is the RVS of steel?"),
        ("When is the HEP cleaned?", "When is the heat exchanger plate (HEP) cleaned?"),
    ],
)
def test_an_acronym_is_read_as_the_only_words_with_its_letters(asked: str, read: str) -> None:
    assert write_acronyms_out(EVIDENCE, asked) == read
