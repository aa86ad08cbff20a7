"""CP-8: a receipt held against what a third party has: the answer, the question, the documents."""

from collections.abc import Mapping

from sourcebound.contracts.canonical import text_sha256
from sourcebound.contracts.citations import find_citations
from sourcebound.contracts.document import ParsedDocument
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.prompt import REFUSAL
from sourcebound.contracts.receipt import SignedReceipt, Span
from sourcebound.contracts.receipt_checks import ReceiptCheck
from sourcebound.contracts.sanitize import sanitize


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
        span.anchor: [name for name, document in documents.items() if _stands_in(span, document)]
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


def _stands_in(span: Span, document: ParsedDocument) -> bool:
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
