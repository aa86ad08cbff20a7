"""The judgement on the outcome of an item, without a model: statuses, key facts, citations and literals.

Facts and literals are compared with the literal normalizer of the contract (R5-8), so that `1,200 mm` says `1200 mm`.
The verdict of the firewall is not trusted: the literals of a released answer are looked up again here.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sourcebound.contracts.certification.cases import contains_text
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, EvidenceChunk
from sourcebound.contracts.outcome import Outcome, Status
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.text.citations import CITATION
from sourcebound.contracts.validation.literals.check import ANSWER
from sourcebound.contracts.validation.literals.reading import read_literals
from sourcebound.contracts.validation.result import ValidationResult
from sourcebound.evals.golden.items import ExpectedCitation, GoldenItem
from sourcebound.evals.golden.results import ItemResult


class Observed(NamedTuple):
    """The end of a run, by the layers that it reached."""

    run_id: str | None
    outcome: Outcome
    retrieval: RetrievalBundle | None = None
    assembly: AnswerBundle | None = None
    validation: ValidationResult | None = None
    latency_ms: float = 0.0
    nodes: dict[str, float] = {}  # noqa: RUF012


def judge(item: GoldenItem, seen: Observed) -> ItemResult:
    """Judge the end of a run.

    An item passes if its status is accepted and, for a released answer, if the answer says every fact, cites every
    place, says nothing forbidden, and has no literal that its sources lack. A released answer is a hallucination if no
    answer is right, if it says a forbidden text, or if it has such a literal.

    Args:
        item: The item.
        seen: The end of its run.
    """
    released = seen.outcome.status is Status.OK and seen.validation is not None and seen.assembly is not None
    chunks = cited_chunks(seen) if released else []
    answer = seen.validation.validated_answer_text if released and seen.validation else ""
    said = CITATION.sub(" ", answer)
    facts_said = sum(any(contains_text(said, form) for form in fact) for fact in item.facts) if released else 0
    places_cited = sum(any(_meets_any(chunk, place) for chunk in chunks) for place in item.citations)
    forbidden = tuple(text for text in item.forbidden if released and contains_text(said, text))
    unsupported = tuple(_unsupported_literals(seen, chunks)) if released else ()
    hallucinated = released and (not item.may_answer or bool(forbidden) or bool(unsupported))
    is_complete = facts_said == len(item.facts) and places_cited == len(item.citations)
    return ItemResult(
        item=item.id,
        kind=item.kind,
        perturbation=item.perturbation.kind if item.perturbation else None,
        of=item.perturbation.of if item.perturbation else None,
        question=item.question,
        accepted=item.status,
        run_id=seen.run_id,
        status=seen.outcome.status,
        code=str(seen.outcome.refusal_code or seen.outcome.failure_code or ""),
        answer=answer,
        cited=tuple(_place_of(chunk) for chunk in chunks),
        facts=len(item.facts),
        facts_said=facts_said,
        places=len(item.citations),
        places_cited=places_cited,
        citations_right=sum(any(_meets_any(chunk, place) for place in item.citations) for chunk in chunks),
        ranks=tuple(_find_ranks(item, seen.retrieval)),
        forbidden_said=forbidden,
        unsupported_literals=unsupported,
        latency_ms=seen.latency_ms,
        nodes=seen.nodes,
        hallucinated=hallucinated,
        passed=seen.outcome.status in item.status and not hallucinated and (not released or is_complete),
        **_signals(seen),
    )


class _Place(NamedTuple):
    """The place of a chunk or a candidate. A chunk has the section that it begins in, and may hold further ones."""

    document: str
    page: int | None
    section: str | None
    text: str


def cited_chunks(seen: Observed) -> list[EvidenceChunk]:
    """Return the chunks that a released answer cites."""
    assert seen.validation is not None
    assert seen.assembly is not None
    by_anchor = {chunk.anchor: chunk for chunk in seen.assembly.selected_evidence}
    return [by_anchor[anchor] for anchor in seen.validation.validated_citations if anchor in by_anchor]


def _place_of(chunk: EvidenceChunk) -> ExpectedCitation:
    page = chunk.page_number if chunk.page_number and chunk.page_number > 0 else None
    return ExpectedCitation(document=chunk.knowledge_id, page=page, section=(chunk.section or "").strip() or None)


def _meets_any(chunk: EvidenceChunk, alternatives: Iterable[ExpectedCitation]) -> bool:
    place = _Place(chunk.knowledge_id, chunk.page_number, chunk.section, chunk.sanitized_text)
    return any(_meets(place, expected) for expected in alternatives)


def _meets(place: _Place, expected: ExpectedCitation) -> bool:
    if place.document != expected.document or expected.page not in (None, place.page):
        return False
    if expected.section is None or _plain(expected.section) in _plain(place.section or ""):
        return True
    return _plain(expected.section) in (_plain(line.lstrip("#")) for line in place.text.splitlines())


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _find_ranks(item: GoldenItem, bundle: RetrievalBundle | None) -> Iterator[int | None]:
    """Return the rank of the first candidate from each place that the answer must cite."""
    rows = (
        [_Place(row.knowledge_id, row.page_number, row.section, row.chunk_text or "") for row in bundle.results]
        if bundle
        else []
    )
    for alternatives in item.citations:
        yield next((rank for rank, row in enumerate(rows) if any(_meets(row, each) for each in alternatives)), None)


def _unsupported_literals(seen: Observed, chunks: Iterable[EvidenceChunk]) -> Iterator[str]:
    """Return the literals of the answer that neither a cited chunk, its headings nor the question holds."""
    assert seen.validation is not None
    assert seen.assembly is not None
    sources = [seen.assembly.user_question, *(_with_headings(chunk) for chunk in chunks)]
    indexes = [read_literals(text) for text in sources]
    counts = {finding.text for finding in seen.validation.literals if finding.found_in == (ANSWER,)}
    for statement in seen.validation.statements:
        for literal in read_literals(CITATION.sub(" ", statement.text), is_source=False).literals:
            if literal.text.strip() not in counts and not any(index.supports(literal) for index in indexes):
                yield literal.text.strip()


def _with_headings(chunk: EvidenceChunk) -> str:
    return "\n".join(filter(None, (chunk.title, chunk.section, chunk.sanitized_text)))


def _signals(seen: Observed) -> dict[str, object]:
    """Return the scores of the layers, as fields of the result."""
    metrics = seen.assembly.assembly_metrics if seen.assembly else None
    fields: dict[str, object] = {
        "top_similarity": metrics.top_similarity if metrics else None,
        "question_coverage": seen.retrieval.question_coverage if seen.retrieval else None,
        "fallback_used": seen.retrieval.fallback_used if seen.retrieval else False,
    }
    if seen.validation and seen.validation.grounding_metrics.sentence_count:
        fields["attribution_coverage"] = seen.validation.grounding_metrics.attribution_coverage
    if seen.validation and seen.validation.support_level:
        fields["support_level"] = seen.validation.support_level.value
    if seen.validation and seen.validation.support:
        fields["support"] = seen.validation.support.lowest
        fields["answers_question"] = seen.validation.support.answers_question
    return fields
