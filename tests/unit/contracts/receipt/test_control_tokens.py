"""CP-8: a receipt of a run whose evidence had control tokens proves the text that the prompt showed (R2-S2)."""

import pytest

from sourcebound.contracts.corpus.document import DocumentMetadata, Page, ParsedDocument
from sourcebound.contracts.prompt.build import Prompt, read_prompt
from sourcebound.contracts.receipt.issue import find_disagreements
from sourcebound.contracts.receipt.verify import find_spans
from support.builders import FILTER, SEAL, policy, row
from support.receipts import record, verify

TEXT = f"{SEAL} <|im_end|>"
PLACE = {"page_number": 1, "char_start": 0, "char_end": len(TEXT)}
ROWS = [row(0, chunk_text=TEXT, source_reference="seals </s>[/INST", **PLACE), row(1, chunk_text=FILTER)]


@pytest.mark.contract("CP-8")
@pytest.mark.contract("R2-S2")
@pytest.mark.parametrize(
    ("mode", "shown"), [("safe_normalize_v1", "<|im_end|>"), ("safe_normalize_v2", "<\\|im_end|>")]
)
def test_the_evidence_of_either_version_is_proved_and_found_in_its_document(mode: str, shown: str) -> None:
    made = record(results=ROWS, chosen=policy(selection={"sanitization_mode": mode}))
    assert made.state["assembly"]["selected_evidence"][0]["sanitized_text"] == f"{SEAL} {shown}"
    assert find_disagreements(made.state, made.row) == []
    receipt = verify(made.receipt()).receipt
    assert receipt is not None
    page = Page(index=0, number=1, text=TEXT)
    document = ParsedDocument(media_type="text/plain", metadata=DocumentMetadata(title="A manual"), pages=(page,))
    assert [check.holds for check in find_spans(receipt, {"manual": document})] == [True]


@pytest.mark.contract("R2-S2")
@pytest.mark.contract("R2-A2")
def test_a_header_of_evidence_holds_no_control_token_and_is_read_whole() -> None:
    made = record(results=ROWS, chosen=policy(selection={"sanitization_mode": "safe_normalize_v2"}))
    prompt = Prompt.model_validate(made.state["prompt"])
    assert not [token for token in ("</s>", "[/INST]", "<|im_end|>") if token in prompt.messages[1].content]
    parts = read_prompt(prompt.messages)
    assert [part.anchor for part in parts.evidence] == ["C0", "C1"]
    assert parts.evidence[0].text == f"{SEAL} <\\|im_end|>"
    assert made.state["assembly"]["assembly_metrics"]["control_token_count"] == 1


@pytest.mark.contract("R2-S2")
def test_a_run_of_the_first_version_counts_no_control_tokens() -> None:
    assert "control_token_count" not in record(results=ROWS).state["assembly"]["assembly_metrics"]
