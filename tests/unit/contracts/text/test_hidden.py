"""Citations that a reader does not see as such: in code and in HTML comments (R5-6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.text.hidden import blank_brackets, find_visible_citations


@pytest.mark.contract("R5-6")
@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("a [C0]", ["C0"]),
        ("a `[C0]` [C1]", ["C1"]),
        ("a ``[C0] ` [C1]`` [C2]", ["C2"]),
        ("a ` [C0] b", ["C0"]),
        ("a ` [C0]\n\nb ` [C1]", ["C0", "C1"]),
        ("`a` [C0] `b`", ["C0"]),
        ("a <!-- [C0] --> [C1]", ["C1"]),
        ("a <!-- [C0] --> [C1] <!-- [C2]", ["C1"]),
        ("```\n[C0]\n```\n[C1]", ["C1"]),
        ("~~~\n[C0]", []),
        ("<pre>[C0]</pre> [C1] <CODE class='a'>[C2]", ["C1"]),
        ("a < b [C0] > c", ["C0"]),
    ],
)
def test_a_citation_in_code_or_in_a_comment_is_none(text: str, anchors: list[str]) -> None:
    assert [citation.anchor for citation in find_visible_citations(text)] == anchors


@given(st.text(alphabet="`<!->~[C0] \na", max_size=80))
def test_every_character_keeps_its_place(text: str) -> None:
    blanked = blank_brackets(text)
    assert len(blanked) == len(text)
    assert all(new == old or (old in "[]" and new == " ") for new, old in zip(blanked, text, strict=True))
