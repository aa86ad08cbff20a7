"""CP-8: the verification of a receipt, by itself and against the texts that a third party has.

Form, signature, audit record and agreement need only the receipt. An answer, a question and documents are compared with
it.
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
from sourcebound.contracts.text.citations import find_citations, first_use_order
from sourcebound.contracts.text.hidden import find_visible_citations
from sourcebound.contracts.text.sanitize import MODES, sanitize
from sourcebound.contracts.validation.result import ValidationStatus

VerifySignature = Callable[[str, bytes, bytes], bool]
"""A check of an Ed25519 signature: public key, message, signature."""
NEEDED_TO_ANSWER: Final = ("prompt_sha256", "index_version", "embedding_model")
"""The columns that the record of an answered run must have."""


class ReceiptCheck(NamedTuple):
    """The result of one check."""

    subject: str
    holds: bool
    found: str


class VerifiedReceipt(NamedTuple):
    """The receipt, if the file is one, and every check that needs only the file."""

    receipt: SignedReceipt | None
    checks: list[ReceiptCheck]


def read_receipt(data: bytes, verify: VerifySignature, public_key: str | None = None) -> VerifiedReceipt:
    """Check form, signature, audit record and agreement.

    Args:
        data: The bytes of the file.
        verify: Checks an Ed25519 signature.
        public_key: The expected key of the signer; by default the key that the receipt names.

    Returns:
        The checks in their order. For a file that is not a receipt of this version, only the check of the form.
    """
    try:
        form = json.loads(data)
        canonical = canonical_json(form) + b"\n"
    except (ValueError, RecursionError) as error:
        return _failed_form(f"the file is not JSON: {error}")
    version = form.get("receipt_version") if isinstance(form, dict) else None
    if version != VERSION:
        return _failed_form(
            "the file is not a receipt"
            if version is None
            else f"the receipt has version {version!r}, but this program reads only {VERSION!r}: use a newer version"
        )
    try:
        receipt = SignedReceipt.model_validate(form)
    except ValidationError as error:
        wrong = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_url=False))
        return _failed_form("; ".join(wrong))
    checks = [
        _check_form(data == canonical),
        _check_signature(form, receipt, verify, public_key),
        _check_record(receipt),
        _check_agreement(receipt),
    ]
    return VerifiedReceipt(receipt, checks)


def _failed_form(found: str) -> VerifiedReceipt:
    return VerifiedReceipt(None, [ReceiptCheck("form", False, found)])


def _check_form(is_canonical: bool) -> ReceiptCheck:
    if is_canonical:
        return ReceiptCheck("form", True, f"a receipt of version {VERSION}, in canonical form")
    return ReceiptCheck("form", False, "not in canonical form: the file was changed after it was written")


def _check_signature(
    form: dict[str, Any], receipt: SignedReceipt, verify: VerifySignature, public_key: str | None
) -> ReceiptCheck:
    if public_key is not None and receipt.public_key != public_key:
        return ReceiptCheck("signature", False, f"signed with another key, {receipt.public_key}")
    if not verify(receipt.public_key, signed_message(form), bytes.fromhex(receipt.signature)):
        return ReceiptCheck("signature", False, f"the signature by {receipt.public_key} is not valid for these bytes")
    return ReceiptCheck("signature", True, f"by {receipt.public_key}")


def _check_record(receipt: SignedReceipt) -> ReceiptCheck:
    place = receipt.chain
    if record_hash(receipt.record, place.previous_hash) != place.row_hash:
        return ReceiptCheck("record", False, "its row_hash does not match its columns")
    if (place.position == 1) != (place.previous_hash == GENESIS):
        return ReceiptCheck("record", False, f"position {place.position} and its previous_hash do not fit each other")
    return ReceiptCheck("record", True, f"position {place.position} of the audit chain, row_hash {place.row_hash}")


def _check_agreement(receipt: SignedReceipt) -> ReceiptCheck:
    findings = list(_find_contradictions(receipt))
    if findings:
        return ReceiptCheck("agreement", False, "; ".join(findings))
    if receipt.answer_sha256 is None:
        return ReceiptCheck("agreement", True, "the record and the receipt both say that no answer was released")
    cited = ", ".join(receipt.citations) or "none"
    return ReceiptCheck("agreement", True, f"every cited chunk ({cited}) was shown to the model")


def _find_contradictions(receipt: SignedReceipt) -> Iterator[str]:
    record, anchors = receipt.record, [span.anchor for span in receipt.spans]
    is_answered = record["generation_status"] == Status.OK
    if is_answered != (receipt.answer_sha256 is not None):
        yield "the record and the receipt disagree on whether an answer was released"
    if is_answered and record["validation_status"] != ValidationStatus.PASSED:
        yield "an answer was released that did not pass validation"
    if is_answered and any(record.get(name) is None for name in NEEDED_TO_ANSWER):
        yield f"the record of an answer needs {', '.join(NEEDED_TO_ANSWER)}"
    if anchors != [f"C{number}" for number in range(len(anchors))]:
        yield "the anchors are not C0, C1, … in order"
    if len(set(receipt.citations)) != len(receipt.citations) or not set(receipt.citations) <= set(anchors):
        yield "a citation names a chunk that was not shown, or is repeated"
    yield from (
        f"the place of {span.anchor} is not a valid range of characters"
        for span in receipt.spans
        if not _has_valid_place(span)
    )


def _has_valid_place(span: Span) -> bool:
    if span.char_start is None or span.char_end is None:
        return span.char_start is span.char_end
    return span.char_start < span.char_end


def compare_answer(receipt: SignedReceipt, text: str) -> ReceiptCheck:
    """Check whether a text is the released one, with the citations of the record.

    Args:
        receipt: The receipt.
        text: The answer. One line break at its end is ignored.
    """
    text = _without_line_break(text)
    if receipt.answer_sha256 is None:
        is_refused = receipt.record["generation_status"] == Status.NO_EVIDENCE and text == REFUSAL
        found = "exactly the refusal" if is_refused else "the run released no answer"
        return ReceiptCheck("answer", is_refused, found)
    if text_sha256(text) != receipt.answer_sha256:
        return ReceiptCheck("answer", False, "not the released text: the hashes differ")
    cited = list(first_use_order(citation.anchor for citation in find_citations(text)))
    visible = list(first_use_order(citation.anchor for citation in find_visible_citations(text)))
    if receipt.citations not in (cited, visible):
        return ReceiptCheck("answer", False, f"it cites {cited}, but the record has {receipt.citations}")
    return ReceiptCheck("answer", True, "exactly the released text")


def compare_question(receipt: SignedReceipt, text: str) -> ReceiptCheck:
    """Check whether a text is the question of the run. One line break at its end is ignored."""
    same = receipt.question_sha256 in (text_sha256(text), text_sha256(_without_line_break(text)))
    return ReceiptCheck("question", same, "exactly the question of the run" if same else "not the question of the run")


def find_spans(receipt: SignedReceipt, documents: Mapping[str, ParsedDocument]) -> list[ReceiptCheck]:
    """Look for the chunks at their places in documents.

    Args:
        receipt: The receipt.
        documents: Documents as the loader reads them, by name.

    Returns:
        A check for each cited chunk, which must be in one of the documents; for each other chunk that was found; and
        for each document in which no chunk was found.
    """
    places = {
        span.anchor: [name for name, document in documents.items() if _is_in_document(span, document)]
        for span in receipt.spans
    }
    checks = []
    for span in receipt.spans:
        found = places[span.anchor]
        if found:
            checks.append(ReceiptCheck(span.anchor, True, f"found in {', '.join(found)}{_describe_place(span)}"))
        elif span.anchor in receipt.citations:
            checks.append(ReceiptCheck(span.anchor, False, f"not found in any of the documents{_describe_place(span)}"))
    unmatched = sorted(documents.keys() - {name for found in places.values() for name in found})
    return [
        *checks,
        *(ReceiptCheck(name, False, "none of the chunks was found in this document") for name in unmatched),
    ]


def _is_in_document(span: Span, document: ParsedDocument) -> bool:
    if span.char_start is None:
        return False
    texts = (page.text[span.char_start : span.char_end] for page in document.pages if page.number == span.page_number)
    return any(_is_chunk(span, text) for text in texts)


def _is_chunk(span: Span, text: str) -> bool:
    if text_sha256(text) != span.chunk_sha256:
        return False
    return any(text_sha256(sanitize(text, mode).text[: span.kept_end]) == span.shown_sha256 for mode in MODES)


def _describe_place(span: Span) -> str:
    page = "" if span.page_number is None else f", p. {span.page_number}"
    return f"{page}, characters {span.char_start} to {span.char_end}"


def _without_line_break(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")
