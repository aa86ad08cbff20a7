"""R5-8: a table that goes on in another chunk has the scale that stands above it."""

from typing import Any

import pytest

from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.literals.continued import scale_above
from support.builders import answer_bundle, chunk

POLICY = load_shipped_policy("SOURCEBOUND_V2")
ABOVE = (
    "Cash Flows\n\nCash flows were as follows ($ in millions):\n"
    "Operating activities; 2023: $ 1,824; 2022: $ 3,252\nInvesting activities; 2023: (962); 2022: (1,372)"
)
BELOW = "Financing activities; 2023: (1,806); 2022: (4,297)\nEffect of exchange rates; 2023: (8); 2022: (3)"
PLACE: dict[str, Any] = {"knowledge_id": "10-k", "page_number": 29, "section": "Cash Flows"}


def scale(above: str = ABOVE, below: str = BELOW, **changes: Any) -> str:
    first = chunk(0, above, **{**PLACE, "char_start": 0})
    last = chunk(1, below, **{**PLACE, "char_start": 500, **changes})
    return scale_above(last, [last, first])


@pytest.mark.contract("R5-8")
def test_rows_of_the_same_columns_have_the_scale_of_the_chunk_above() -> None:
    assert scale() == "($ in millions)"
    assert scale(ABOVE.replace("($ in millions)", "(In thousands)")) == "(In thousands)"
    # the scale of the second table, which the rows continue
    assert scale(f"{ABOVE}\n\nOther flows (in thousands):\nFees; 2023: 1; 2022: 2") == "(in thousands)"


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    "changes",
    [
        {"knowledge_id": "10-q"},
        {"page_number": 30},
        {"page_number": None},
        {"section": "Other"},
        {"char_start": 0},
        {"char_start": None},
        # other columns, no rows, and a text before the rows
        {"below": BELOW.replace("2022", "2021")},
        {"below": "We used 1,806 for financing activities."},
        {"below": f"Financing\n{BELOW}"},
        # no scale, and the scale of one row
        {"above": ABOVE.replace(" ($ in millions)", "")},
        {"above": ABOVE.replace(" ($ in millions)", "").replace("Investing activities", "Investing (in millions)")},
    ],
)
def test_other_rows_have_no_scale(changes: dict[str, Any]) -> None:
    assert scale(**changes) == ""


@pytest.mark.contract("R5-8")
def test_the_nearest_scale_counts() -> None:
    assert scale(f"{ABOVE}\n\nOther flows (€ in millions):\nFees; 2023: 1; 2022: 2") == "(€ in millions)"
    far = chunk(2, ABOVE.replace("($ in millions)", "(In thousands)"), **{**PLACE, "char_start": 0})
    near = chunk(0, ABOVE, **{**PLACE, "char_start": 250})
    last = chunk(1, BELOW, **{**PLACE, "char_start": 500})
    assert scale_above(last, [far, near, last]) == scale_above(last, [near, far, last]) == "($ in millions)"


@pytest.mark.contract("R5-8")
def test_a_document_without_pages_is_one_page() -> None:
    first = chunk(0, ABOVE, **{**PLACE, "page_number": None, "char_start": 0})
    last = chunk(1, BELOW, **{**PLACE, "page_number": None, "char_start": 500})
    assert scale_above(last, [first, last]) == "($ in millions)"
    unplaced = first.model_copy(update={"char_start": None})
    assert scale_above(last, [unplaced, last]) == ""


@pytest.mark.contract("R5-8")
def test_a_chunk_that_ends_in_another_section_gives_none() -> None:
    later = {"start": len(ABOVE) - 40, "section": "Next"}
    first = chunk(0, ABOVE, **{**PLACE, "char_start": 0, "later_sections": [later]})
    last = chunk(1, BELOW, **{**PLACE, "char_start": 500})
    assert scale_above(last, [first, last]) == ""


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("said", "reason"),
    [("$1,806 million", None), ("$1.806 billion", None), ("$1,806 thousand", "UNSUPPORTED_LITERAL")],
)
def test_the_firewall_reads_a_value_at_the_scale_above(said: str, reason: str | None) -> None:
    bundle = answer_bundle(ABOVE, BELOW, question="What did financing activities use in 2023?", **PLACE)
    first, last = bundle.selected_evidence
    bundle = bundle.model_copy(update={"selected_evidence": (first.model_copy(update={"char_start": 0}), last)})
    answer = f"Financing activities used {said} in 2023 [C1]."
    assert validate(answer, bundle, POLICY).failure_reason == reason
    alone = bundle.model_copy(update={"selected_evidence": (last,), "anchor_map": {"C1": last.chunk_id}})
    assert validate(answer, alone, POLICY).failure_reason == "UNSUPPORTED_LITERAL"
