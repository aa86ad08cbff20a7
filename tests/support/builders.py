"""Builders of contract values: each builds a valid value, and a test changes only the fields that it tests."""

from typing import Any

from sourcebound.contracts.audit.record import AuditRecord, audit_record
from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.evidence.answer_bundle import (
    AnswerBundle,
    AssemblyMetrics,
    EvidenceChunk,
    LedgerEntry,
    RowOutcome,
    Trace,
)
from sourcebound.contracts.evidence.answer_bundle import render_block as render
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import FailureCode, Outcome, fail, proceed
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Filters, Run

JsonObject = dict[str, Any]
QUESTION = "How often must the shaft seal be checked?"
SEAL = "Check the shaft seal every 12 hours at 5 bar."
FILTER = "Replace the intake filter HP-200 on 3 March 2024."


def row(rank: int = 0, **changes: Any) -> JsonObject:
    """Build a row of a retrieval bundle as JSON. Its text shares no word trigram with that of another rank."""
    return {
        "chunk_id": f"chunk-{rank:04d}",
        "knowledge_id": f"doc-{rank}",
        "rank": rank,
        "similarity_score": 0.9,
        "chunk_text": f"Pump {rank} runs at {10 + rank} bar.",
        "knowledge_type_effective": "manual",
        "source_reference": f"manual-{rank}.pdf",
    } | changes


def rows(count: int, **changes: Any) -> list[JsonObject]:
    """Build rows of the ranks 0, 1, …"""
    return [row(rank, **changes) for rank in range(count)]


def bundle(results: list[JsonObject] | None = None, **changes: Any) -> JsonObject:
    """Build a retrieval bundle as JSON."""
    return {
        "request_id": "request-1",
        "run_id": "retrieval-run-1",
        "user_question": QUESTION,
        "retrieval_status": "SUCCESS",
        "index_version": "ix-1",
        "embedding_model": "embedder-1",
        "top_k": 8,
        "results": [row()] if results is None else results,
        "policy_version": "R2_POLICY_V1",
        "filters_applied": {},
        "retrieval_latency_ms": 4.5,
    } | changes


def without(value: JsonObject, *names: str) -> JsonObject:
    """Copy an object without some of its fields."""
    return {name: item for name, item in value.items() if name not in names}


def policy(**changes: JsonObject | None) -> Policy:
    """Build `R2_POLICY_V1` with other values in some of its tables: `policy(selection={"max_chunks": 2})`."""
    form = load_shipped_policy("R2_POLICY_V1").model_dump(mode="json")
    for table, values in changes.items():
        form[table] = {**(form.get(table) or {}), **values} if values is not None else None
    return Policy.model_validate(form)


def enforcing_policy() -> Policy:
    """Build `R2_POLICY_V1` with literal grounding enforced."""
    return policy(validation={"literal_grounding": "enforce"})


def run(**changes: Any) -> Run:
    """Build the identity of a run."""
    form: JsonObject = {
        "request_id": "request-1",
        "run_id": "run-1",
        "thread_id": "thread-1",
        "question": QUESTION,
        "collection": "manuals",
        "filters": Filters(),
        "model": "extractive",
        "policy_version": "R2_POLICY_V1",
        "policy_sha256": policy().sha256,
        "entry": "question",
        "started_at": "2024-03-03T12:00:00+00:00",
    }
    return Run.model_validate(form | changes)


def chunk(index: int, text: str, **changes: Any) -> EvidenceChunk:
    """Build an evidence chunk under the anchor of its index."""
    form: JsonObject = {
        "anchor": f"C{index}",
        "chunk_id": f"chunk-{index:04d}",
        "knowledge_id": f"doc-{index}",
        "rank": index,
        "similarity_score": 0.9,
        "sanitized_text": text,
        "token_count": 40,
        "source_reference": f"manual-{index}.pdf",
        "title": f"Manual {index}",
        "section": "Maintenance > Seals",
        "page_number": 7 + index,
        "event_date": "2024-03-03",
        "equipment_id": "HP-200",
        "authority": "SOPS",
        "char_start": 100,
        "char_end": 100 + len(text),
    }
    return EvidenceChunk.model_validate(form | changes)


def answer_bundle(
    *texts: str, outcome: Outcome | None = None, question: str = QUESTION, **changes: Any
) -> AnswerBundle:
    """Build an answer bundle whose chunks hold these texts, by default `SEAL` and `FILTER`."""
    evidence = tuple(chunk(index, text, **changes) for index, text in enumerate(texts or (SEAL, FILTER)))
    return AnswerBundle(
        request_id="request-1",
        user_question=question,
        outcome=outcome or proceed("assemble"),
        selected_evidence=evidence,
        anchor_map={item.anchor: item.chunk_id for item in evidence},
        evidence_block_text=render(evidence),
        trace=Trace(
            run_id="run-1",
            retrieval_run_id="retrieval-run-1",
            index_version="ix-1",
            embedding_model="embedder-1",
            policy_version="R2_POLICY_V1",
            policy_sha256=policy().sha256,
            top_k=8,
        ),
        assembly_metrics=AssemblyMetrics(
            retrieved_k=len(evidence),
            selected_k=len(evidence),
            drop_counts={},
            evidence_tokens=sum(item.token_count for item in evidence),
            truncation_applied=False,
            reordered=False,
            rank_gaps=0,
            structure_escaped_count=0,
        ),
        drop_ledger=tuple(
            LedgerEntry(chunk_id=item.chunk_id, rank=item.rank, outcome=RowOutcome.ADMITTED) for item in evidence
        ),
    )


def generation(text: str = f"{SEAL} [C0]", **changes: Any) -> Generation:
    """Build the result of a model."""
    form: JsonObject = {
        "outcome": proceed("generate"),
        "raw_model_text": text,
        "model_name": "model-1-2024-03-03",
        "provider": "fake",
        "prompt_sha256": "ab" * 32,
        "response_id": "response-1",
        "finish_reason": "stop",
        "attempts": 1,
        "llm_latency_ms": 12.5,
        "prompt_tokens_actual": 300,
        "completion_tokens_actual": 20,
        "total_tokens_actual": 320,
    }
    return Generation.model_validate(form | changes)


def collection(**changes: Any) -> Collection:
    """Build a collection that has documents."""
    form: JsonObject = {
        "collection_id": 1,
        "name": "manuals",
        "embedder": "minilm",
        "embedding_model": "embedder-1",
        "dimensions": 3,
        "metric": "cosine",
        "chunker": "chunker-1",
        "documents": 2,
        "chunks": 9,
        "documents_digest": "00ff",
    }
    return Collection.model_validate(form | changes)


def audit_entry(number: int = 1, **changes: Any) -> AuditRecord:
    """Build the audit record of the failed run `run-<number>`, with other values in some of its fields."""
    failed = fail("retrieve", FailureCode.RETRIEVAL_FAILED, "the store is away")
    asked = run(run_id=f"run-{number}", request_id=f"request-{number}")
    record = audit_record(asked, failed, "2024-03-03T12:00:05+00:00", None, None, None, None)
    return AuditRecord.model_validate(record.model_dump(mode="json") | changes)


LEAK = "Hold the seal chamber at 5 bar for ten minutes."
CHARGE = "The bearing frame takes an oil charge of 1.10 litres."
TWO_SECTIONS = f"3.4 Leak test\n\n{LEAK}\n\n4.1 Oil change\n\n{CHARGE}"
"""A text that runs from section 3.4 on into section 4.1."""


def row_of_two_sections(rank: int = 0, **changes: Any) -> JsonObject:
    """Build a row that begins in section 3.4, and in which section 4.1 begins."""
    later = [{"start": TWO_SECTIONS.index("4.1"), "section": "4 Bearings > 4.1 Oil change"}]
    values = {"chunk_text": TWO_SECTIONS, "section": "3 Seal > 3.4 Leak test", "later_sections": later}
    return row(rank, **values | changes)
