r"""R6-8: presentations. Each renders a released answer as text from what was recorded, and does not change the answer.

Every sentence was checked by the firewall and is cut as the firewall cut it. A line of the answer that looks like a
line of the presentation gets a leading backslash, as in a prompt (R2-S2), so that no text can forge a list of sources
or a level of confidence. A failure looks the same in every text presentation, and never like a refusal.
"""

from collections.abc import Callable, Mapping
from typing import Final

from sourcebound.contracts.evidence.answer_bundle import EvidenceChunk, document_name
from sourcebound.contracts.outcome import RefusalSource, Status
from sourcebound.contracts.policy.schema import Presentation
from sourcebound.contracts.presentation.answer_view import AnswerView
from sourcebound.contracts.presentation.rag_query import rag_answer
from sourcebound.contracts.text.citations import strip_citations
from sourcebound.contracts.text.sanitize import NOT_A_LETTER, fold_to_latin, one_line
from sourcebound.contracts.validation.result import SupportLevel

NOT_RELEASED: Final = "No answer is released."
LOW_CONFIDENCE: Final = "Answer (LOW CONFIDENCE — limited source coverage):"
NOTHING_FOUND: Final = "No supporting documentation found in indexed sources."
NOT_CONTAINED: Final = "The indexed documentation does not contain this information."
NOT_IN_PDFS: Final = "Not found in provided PDFs"
CONFIDENCE: Final = {SupportLevel.HIGH: "High", SupportLevel.MEDIUM: "Medium", SupportLevel.LOW: "Low"}
OWN_LINES: Final = frozenset(
    {"answer", "answerlowconfidencelimitedsourcecoverage", "sources", "confidence"}
    | {f"confidence{level.casefold()}" for level in CONFIDENCE.values()}
)
"""The letters of the lines that a presentation itself writes."""


def present(view: AnswerView, presentation: Presentation | None = None) -> str:
    """Render what a run released (R6-8).

    Args:
        view: The released answer, refusal or failure.
        presentation: The presentation; by default that of the run's policy.

    Returns:
        The text, without a line break at its end. It is meant for a reader, except `source_markers`, which is JSON. It
        holds the characters of the answer unchanged, so a terminal may have to escape control characters.
    """
    name = presentation or view.presentation
    if view.response.status is Status.FAILED and name != "source_markers":
        return f"{NOT_RELEASED}\n{view.response.failure_code}: {view.response.message}"
    return PRESENTATIONS[name](view)


def _plain(view: AnswerView) -> str:
    return view.response.answer


def _answer_sources(view: AnswerView) -> str:
    if view.response.status is Status.NO_EVIDENCE:
        return NOT_CONTAINED if view.refusal_source is RefusalSource.MODEL else NOTHING_FOUND
    head = LOW_CONFIDENCE if view.response.support_level is SupportLevel.LOW else "Answer:"
    answer = "\n".join(map(_escape_line, view.response.answer.splitlines()))
    return "\n".join(
        [head, answer, "", "Sources:", *(_render_source(chunk, view.section_of(chunk)) for chunk in view.cited)]
    )


def _render_source(chunk: EvidenceChunk, section: str | None) -> str:
    page = f"p. {chunk.page_number}" if chunk.page_number is not None else None
    parts = (document_name(chunk), one_line(section or ""), page)
    return f"- [{chunk.anchor}] {', '.join(part for part in parts if part)} (score: {chunk.similarity_score:.2f})"


def _numbered_confidence(view: AnswerView) -> str:
    level = view.response.support_level
    if level is None:
        return NOT_IN_PDFS
    chunks = {chunk.anchor: chunk for chunk in view.evidence}
    lines, number = ["ANSWER:"], 0
    for statement in view.statements:
        sentence = one_line(strip_citations(statement.text))
        if not statement.anchors:
            lines.append(_escape_line(sentence))
            continue
        number += 1
        lines.append(
            " ".join([f"{number}. {sentence}", *(_render_place(chunks[anchor]) for anchor in statement.anchors)])
        )
    return "\n".join([*lines, f"CONFIDENCE: {CONFIDENCE[level]}"])


def _render_place(chunk: EvidenceChunk) -> str:
    page = f"p{chunk.page_number}" if chunk.page_number is not None else None
    return f"({', '.join(filter(None, (document_name(chunk), page, one_line(chunk.chunk_id))))})"


def _source_markers(view: AnswerView) -> str:
    return rag_answer(view).model_dump_json(indent=2)


def _escape_line(line: str) -> str:
    """Return a line of the answer, with a backslash if a reader could mistake it for a line of the presentation."""
    letters = NOT_A_LETTER.sub("", fold_to_latin(strip_citations(line))).casefold()
    return "\\" + line if letters in OWN_LINES else line


PRESENTATIONS: Final[Mapping[Presentation, Callable[[AnswerView], str]]] = {
    "plain": _plain,
    "answer_sources": _answer_sources,
    "numbered_confidence": _numbered_confidence,
    "source_markers": _source_markers,
}
