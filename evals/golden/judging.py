"""The judgement on the outcome of an item, without a model: statuses, key facts, citations and literals.

Facts and literals are compared with the literal normalizer of the contract (R5-8), so that `1,200 mm` says `1200 mm`.
The verdict of the firewall is not trusted: the literals of a released answer are looked up again here.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sourcebound.contracts.certification.cases import contains_text
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, EvidenceChunk
from sourcebound.contracts.evidence.sections import name_sections, sections_within
from sourcebound.contracts.outcome import Outcome, Status
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.text.citations import CITATION
from sourcebound.contracts.validation.literals.check import ANSWER
from sourcebound.contracts.validation.literals.reading import read_literals
from sourcebound.contracts.validation.quotes import cited_sections
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
    places = [_cited_place(seen, chunk) for chunk in chunks]
    answer = seen.validation.validated_answer_text if released and seen.validation else ""
    said = CITATION.sub(" ", answer)
    facts_said = sum(any(contains_text(said, form) for form in fact) for fact in item.facts) if released else 0
    places_cited = sum(any(place.meets_any(expected) for place in places) for expected in item.citations)
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
        cited=tuple(map(_to_citation, places)),
        facts=len(item.facts),
        facts_said=facts_said,
        places=len(item.citations),
        places_cited=places_cited,
        citations_right=sum(any(place.meets_any(each) for each in item.citations) for place in places),
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
    """The place that a citation names, or that of a candidate."""

    document: str
    page: int | None
    sections: tuple[str, ...]
    """The sections of the quoted words; of a candidate, all sections that it runs through."""

    def meets(self, expected: ExpectedCitation) -> bool:
        """Whether it is the expected place."""
        if self.document != expected.document or expected.page not in (None, self.page):
            return False
        return expected.section is None or any(_plain(expected.section) in _plain(name) for name in self.sections)

    def meets_any(self, alternatives: Iterable[ExpectedCitation]) -> bool:
        """Whether it is one of the expected places."""
        return any(self.meets(expected) for expected in alternatives)


def cited_chunks(seen: Observed) -> list[EvidenceChunk]:
    """Return the chunks that a released answer cites."""
    assert seen.validation is not None
    assert seen.assembly is not None
    by_anchor = {chunk.anchor: chunk for chunk in seen.assembly.selected_evidence}
    return [by_anchor[anchor] for anchor in seen.validation.validated_citations if anchor in by_anchor]


def _cited_place(seen: Observed, chunk: EvidenceChunk) -> _Place:
    return _Place(chunk.knowledge_id, chunk.page_number, cited_sections(seen.validation, chunk))


def _to_citation(place: _Place) -> ExpectedCitation:
    page = place.page if place.page and place.page > 0 else None
    return ExpectedCitation(document=place.document, page=page, section=name_sections(place.sections))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _find_ranks(item: GoldenItem, bundle: RetrievalBundle | None) -> Iterator[int | None]:
    """Return the rank of the first candidate from each place that the answer must cite."""
    rows = bundle.results if bundle else ()
    places = [_Place(row.knowledge_id, row.page_number, sections_within(row)) for row in rows]
    for alternatives in item.citations:
        yield next((rank for rank, place in enumerate(places) if place.meets_any(alternatives)), None)


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
