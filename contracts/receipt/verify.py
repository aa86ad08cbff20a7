"""CP-8: a receipt is checked with nothing but itself: form, signature, audit record, agreement.

CP-8: a receipt held against what a third party has: the answer, the question, the documents.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from sourcebound.contracts.audit.hash_chain import GENESIS, record_hash
from sourcebound.contracts.corpus.document import ParsedDocument
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.receipt.sealed import VERSION, SignedReceipt, Span, signed_message
from sourcebound.contracts.text.canonical_json import canonical_json, text_sha256
from sourcebound.contracts.text.citations import find_citations
from sourcebound.contracts.text.sanitize import sanitize
from sourcebound.contracts.validation.result import ValidationStatus

VerifySignature = Callable[[str, bytes, bytes], bool]
"""Public key, message, signature."""
NEEDED_TO_ANSWER: Final = ("prompt_sha256", "index_version", "embedding_model")


class ReceiptCheck(NamedTuple):
    """One thing that was checked."""

    subject: str
    holds: bool
    found: str


class VerifiedReceipt(NamedTuple):
    """A receipt, if the file is one, and every check that needs nothing else."""

    receipt: SignedReceipt | None
    checks: list[ReceiptCheck]


def read_receipt(data: bytes, verify: VerifySignature, public_key: str | None = None) -> VerifiedReceipt:
    """Checks form, signature, audit record and agreement.

    Args:
        data: The file.
        verify: Whether an Ed25519 signature is that of a key.
        public_key: Whose receipt it should be; the key that it names itself when omitted.

    Returns:
        The checks in their order; a file that is no receipt of this version ends them.
    """
    try:
        form = json.loads(data)
        canonical = canonical_json(form) + b"\n"
    except (ValueError, RecursionError) as error:
        return _no_receipt(f"the file is not JSON: {error}")
    version = form.get("receipt_version") if isinstance(form, dict) else None
    if version != VERSION:
        return _no_receipt(
            "the file is no receipt"
            if version is None
            else f"a receipt of version {version!r}, and this program knows {VERSION!r}: use a newer one"
        )
    try:
        receipt = SignedReceipt.model_validate(form)
    except ValidationError as error:
        wrong = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_url=False))
        return _no_receipt("; ".join(wrong))
    checks = [
        _check_form(data == canonical),
        _check_signature(form, receipt, verify, public_key),
        _check_record(receipt),
        _check_agreement(receipt),
    ]
    return VerifiedReceipt(receipt, checks)


def _no_receipt(found: str) -> VerifiedReceipt:
    return VerifiedReceipt(None, [ReceiptCheck("form", False, found)])


def _check_form(is_canonical: bool) -> ReceiptCheck:
    if is_canonical:
        return ReceiptCheck("form", True, f"a receipt of version {VERSION}, in canonical form")
    return ReceiptCheck("form", False, "not in canonical form: the file is not as it was written")


def _check_signature(
    form: dict[str, Any], receipt: SignedReceipt, verify: VerifySignature, public_key: str | None
) -> ReceiptCheck:
    if public_key is not None and receipt.public_key != public_key:
        return ReceiptCheck("signature", False, f"signed by another key, {receipt.public_key}")
    if not verify(receipt.public_key, signed_message(form), bytes.fromhex(receipt.signature)):
        return ReceiptCheck("signature", False, f"not that of {receipt.public_key} on these bytes")
    return ReceiptCheck("signature", True, f"by {receipt.public_key}")


def _check_record(receipt: SignedReceipt) -> ReceiptCheck:
    place = receipt.chain
    if record_hash(receipt.record, place.previous_hash) != place.row_hash:
        return ReceiptCheck("record", False, "its columns do not give its row_hash")
    if (place.position == 1) != (place.previous_hash == GENESIS):
        return ReceiptCheck("record", False, f"position {place.position} does not fit its previous_hash")
    return ReceiptCheck("record", True, f"position {place.position} of the audit chain, row_hash {place.row_hash}")


def _check_agreement(receipt: SignedReceipt) -> ReceiptCheck:
    findings = list(_contradictions(receipt))
    if findings:
        return ReceiptCheck("agreement", False, "; ".join(findings))
    if receipt.answer_sha256 is None:
        return ReceiptCheck("agreement", True, "the record and the receipt both say that no answer was released")
    cited = ", ".join(receipt.citations) or "none"
    return ReceiptCheck("agreement", True, f"every citation ({cited}) is of a chunk that was shown")


def _contradictions(receipt: SignedReceipt) -> Iterator[str]:
    record, anchors = receipt.record, [span.anchor for span in receipt.spans]
    answered = record["generation_status"] == Status.OK
    if answered != (receipt.answer_sha256 is not None):
        yield "the record says that the run ended otherwise"
    if answered and record["validation_status"] != ValidationStatus.PASSED:
        yield "an answer was released that did not pass"
    if answered and any(record.get(name) is None for name in NEEDED_TO_ANSWER):
        yield f"an answer needs {', '.join(NEEDED_TO_ANSWER)}"
    if anchors != [f"C{number}" for number in range(len(anchors))]:
        yield "the anchors are not C0, C1, … in order"
    if len(set(receipt.citations)) != len(receipt.citations) or not set(receipt.citations) <= set(anchors):
        yield "a citation is of no chunk that was shown, or named twice"
    yield from (f"the place of {span.anchor} is none" for span in receipt.spans if not _has_sound_place(span))


def _has_sound_place(span: Span) -> bool:
    if span.char_start is None or span.char_end is None:
        return span.char_start is span.char_end
    return span.char_start < span.char_end


def compare_answer(receipt: SignedReceipt, text: str) -> ReceiptCheck:
    """Whether this is the text that was released, with the citations that the record has.

    Args:
        receipt: The receipt.
        text: The answer; one line break at its end does not count.
    """
    text = _without_line_break(text)
    if receipt.answer_sha256 is None:
        refused = receipt.record["generation_status"] == Status.NO_EVIDENCE and text == REFUSAL
        found = "the refusal, word for word" if refused else "the run released no answer"
        return ReceiptCheck("answer", refused, found)
    if text_sha256(text) != receipt.answer_sha256:
        return ReceiptCheck("answer", False, "not the text that was released: its hash is another")
    cited = list(dict.fromkeys(citation.anchor for citation in find_citations(text)))
    if cited != receipt.citations:
        return ReceiptCheck("answer", False, f"it cites {cited}, and the record says {receipt.citations}")
    return ReceiptCheck("answer", True, "the text that was released, to the letter")


def compare_question(receipt: SignedReceipt, text: str) -> ReceiptCheck:
    """Whether this is the question that was asked; one line break at its end does not count."""
    same = receipt.question_sha256 in (text_sha256(text), text_sha256(_without_line_break(text)))
    return ReceiptCheck("question", same, "the question that was asked" if same else "another was asked")


def find_spans(receipt: SignedReceipt, documents: Mapping[str, ParsedDocument]) -> list[ReceiptCheck]:
    """Looks for the chunks at their places in documents.

    Args:
        receipt: The receipt.
        documents: Documents as the loader reads them, by a name to call them.

    Returns:
        A check for each citation, which must be found in one of them; for each other chunk that was found; and for each
        document in which nothing was.
    """
    places = {
        span.anchor: [name for name, document in documents.items() if _is_in_document(span, document)]
        for span in receipt.spans
    }
    checks = []
    for span in receipt.spans:
        found = places[span.anchor]
        if found:
            checks.append(ReceiptCheck(span.anchor, True, f"stands in {', '.join(found)}{_place(span)}"))
        elif span.anchor in receipt.citations:
            checks.append(ReceiptCheck(span.anchor, False, f"does not stand in any of the documents{_place(span)}"))
    idle = sorted(documents.keys() - {name for found in places.values() for name in found})
    return [
        *checks,
        *(ReceiptCheck(name, False, "none of what was shown stands in it as it was read") for name in idle),
    ]


def _is_in_document(span: Span, document: ParsedDocument) -> bool:
    if span.char_start is None:
        return False
    texts = (page.text[span.char_start : span.char_end] for page in document.pages if page.number == span.page_number)
    return any(_is_chunk(span, text) for text in texts)


def _is_chunk(span: Span, text: str) -> bool:
    shown = sanitize(text).text[: span.kept_end]
    return (text_sha256(text), text_sha256(shown)) == (span.chunk_sha256, span.shown_sha256)


def _place(span: Span) -> str:
    page = "" if span.page_number is None else f", p. {span.page_number}"
    return f"{page}, characters {span.char_start} to {span.char_end}"


def _without_line_break(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")
