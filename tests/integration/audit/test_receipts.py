"""CP-8: receipts of real runs over real documents. A changed, erased or unrecorded run has no receipt."""

import json

import pytest

from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.receipt.sealed import SignedReceipt
from sourcebound.contracts.receipt.verify import compare_answer, find_spans
from sourcebound.errors import SourceboundError
from sourcebound.graph.engine import Engine
from sourcebound.graph.run_views.receipt import issue_receipt
from sourcebound.store.checkpoints.archive import PostgresHistory
from sourcebound.store.runs.log import RunSummary
from sourcebound.wiring import Services
from support.processes.databases import MANUALS, MAX_BYTES, PARSER, rows
from support.receipts import KEY, OTHER_KEY, broken, verify

pytestmark = pytest.mark.contract("CP-8")
ANSWERED = "How often is the shaft of a stored HP-200 turned by hand?"
OFF_TOPIC = "Who won the football world cup in 1974?"


async def _run(services: Services, run_id: str) -> RunSummary:
    (found,) = await services.run_log.find_runs(run_id)
    return found


async def _issue(services: Services, engine: Engine, run_id: str) -> bytes:
    history = PostgresHistory(services.pool)
    return await issue_receipt(engine, services.audit_log, history, await _run(services, run_id), KEY)


async def _refused(services: Services, engine: Engine, run_id: str) -> str:
    with pytest.raises(SourceboundError) as caught:
        await _issue(services, engine, run_id)
    assert caught.value.next_step
    return caught.value.failure_code


def _receipt(data: bytes) -> SignedReceipt:
    read = verify(data, KEY.public_key)
    assert read.receipt is not None
    return read.receipt


def _overrule(url: str, statement: str) -> None:
    """Change a row as only the owner of the database can."""
    rows(url, f"SET session_replication_role = replica; {statement}")


async def test_every_chunk_of_the_evidence_is_found_in_its_document_again(
    library_services: Services, engine: Engine
) -> None:
    response = await engine.ask({"question": ANSWERED})
    data = await _issue(library_services, engine, response.run_id)
    assert broken(data, KEY.public_key) == []
    assert broken(data, OTHER_KEY.public_key) == ["signature"]
    receipt = _receipt(data)
    assert compare_answer(receipt, response.answer).holds
    names = {span.knowledge_id for span in receipt.spans}
    documents = {name: PARSER.parse(MANUALS / name, (MANUALS / name).read_bytes(), MAX_BYTES) for name in sorted(names)}
    found = find_spans(receipt, documents)
    assert [(check.subject, check.holds) for check in found] == [(span.anchor, True) for span in receipt.spans]
    assert len(names) > 1


async def test_the_receipt_names_the_place_of_its_record_in_the_chain(
    library_services: Services, engine: Engine
) -> None:
    runs = [(await engine.ask({"question": question})).run_id for question in (ANSWERED, OFF_TOPIC)]
    receipts = [_receipt(await _issue(library_services, engine, run)) for run in runs]
    stored = await library_services.audit_log.find_records(runs[1])
    assert receipts[1].chain.model_dump() == {"position": 2, **_place(stored[0])}
    assert receipts[1].chain.previous_hash == receipts[0].chain.row_hash
    assert (await library_services.audit_log.verify()).end == (2, receipts[1].chain.row_hash)


def _place(row: object) -> dict[str, object]:
    return {name: getattr(row, name) for name in ("previous_hash", "row_hash")}


async def test_a_refusal_has_a_receipt_and_a_run_that_was_changed_or_erased_none(
    library_services: Services, engine: Engine, library: str
) -> None:
    response = await engine.ask({"question": OFF_TOPIC})
    run = response.run_id
    before = await _issue(library_services, engine, run)
    assert (response.refusal_code, _receipt(before).answer_sha256) == ("below_similarity_gate", None)
    assert compare_answer(_receipt(before), REFUSAL).holds
    _overrule(library, "UPDATE validations SET model_name = 'another'")
    assert await _refused(library_services, engine, run) == "RECEIPT_REFUSED"
    await engine.erase(run, run)
    assert await _refused(library_services, engine, run) == "RUN_ERASED"
    _overrule(library, "DELETE FROM validations")
    assert await _refused(library_services, engine, run) == "NOT_RECORDED"
    assert broken(before, KEY.public_key) == []


async def test_a_run_that_has_not_ended_or_is_not_in_the_chain_has_no_receipt(
    library_services: Services, engine: Engine, library: str
) -> None:
    response = await engine.ask({"question": ANSWERED})
    _overrule(library, "ALTER TABLE validations DROP CONSTRAINT validations_chained")
    _overrule(library, "UPDATE validations SET position = NULL, previous_hash = NULL, row_hash = NULL")
    assert await _refused(library_services, engine, response.run_id) == "NOT_CHAINED"
    other = await engine.ask({"question": ANSWERED, "run_id": response.run_id + "-2"})
    assert _receipt(await _issue(library_services, engine, other.run_id)).record["run_id"] == other.run_id
    _overrule(library, "DELETE FROM checkpoints WHERE (metadata ->> 'step')::int > 3")
    assert await _refused(library_services, engine, other.run_id) == "NOT_RECORDED"


async def test_a_receipt_of_a_bundle_from_elsewhere_holds_its_hashes(
    library_services: Services, engine: Engine
) -> None:
    text = "Check the shaft seal every 12 hours at 5 bar."
    row = {"chunk_id": "c", "knowledge_id": "k", "rank": 0, "similarity_score": 0.9, "chunk_text": text}
    bundle = {
        "request_id": "r", "run_id": "r", "user_question": "How often must the shaft seal be checked?",
        "retrieval_status": "SUCCESS", "index_version": "i", "embedding_model": "e", "top_k": 1,
        "results": [{**row, "knowledge_type_effective": "manual"}],
    }  # fmt: skip
    response = await engine.ask({"retrieval_bundle": bundle})
    assert response.status == "OK", response.message
    data = await _issue(library_services, engine, response.run_id)
    assert broken(data) == []
    (span,) = json.loads(data)["spans"]
    assert (span["page_number"], span["char_start"], span["char_end"]) == (None, None, None)
