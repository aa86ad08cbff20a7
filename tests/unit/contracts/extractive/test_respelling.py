"""R4-9: a mistyped question is read in the spelling of its evidence."""

import pytest

from sourcebound.contracts.extractive.wording.respelling import in_the_spelling_of
from sourcebound.contracts.prompt.build import EvidencePart

EVIDENCE = (
    EvidencePart("C0", "pump-manual.pdf", "The breather filter is changed every six months. Zorbel oil is used."),
)

pytestmark = pytest.mark.contract("R4-9")


@pytest.mark.parametrize(
    ("asked", "read"),
    [
        ("how often is the braether fliter chnaged", "how often is the breather filter changed"),
        ("wich oil is used", "which oil is used"),
        ("how often is the filters changed", "how often is the filters changed"),
        ("is zorbel oil used", "is zorbel oil used"),
        ("how many mouths is it", "how many mouths is it"),
    ],
)
def test_words_that_neither_the_evidence_nor_english_knows_are_respelled(asked: str, read: str) -> None:
    assert in_the_spelling_of(EVIDENCE, asked) == read
