"""Recorded runs, built by the layers themselves with the data that the stores would hold."""

from typing import Any, cast

from sourcebound.contracts.audit.hash_chain import GENESIS, ChainedRow, audit_columns, record_hash
from sourcebound.contracts.audit.record import AuditRecord, audit_record
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.facts.selection import FactsSelection, request_choice, select_by_choice, select_locally
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import build_prompt
from sourcebound.contracts.request import Run
from sourcebound.contracts.response.public import package_response
from sourcebound.contracts.run_page.page import RunPage, RunRecord, documents_of, make_run_page
from sourcebound.contracts.state import State
from sourcebound.contracts.validation.firewall import validate
from support.builders import QUESTION, SEAL, JsonObject, bundle, generation, policy, row, run

ANSWER = f"{SEAL} [C0]"
NODES = (("accept", "OK", 2.0), ("retrieve", "OK", 8.0), ("package", "OK", 0.5))
ENFORCING = {"literal_grounding": "enforce"}


def recorded(
    answer: str | Generation = ANSWER,
    results: list[JsonObject] | None = None,
    *,
    question: str = QUESTION,
    earlier: tuple[str, ...] = (),
    head: JsonObject | None = None,
    validation: JsonObject | None = None,
    facts: JsonObject | None = None,
    choice: str = "",
    **asked: Any,
) -> RunRecord:
    """Build a run over some rows with an answer, after the rejected answers `earlier`.

    If the policy has a facts table, `choice` is the text of the model that chooses.
    """
    tables = {"validation": {**ENFORCING, **(validation or {})}, "retrieval": {"min_top_similarity": 0.5}}
    chosen = policy(**tables, facts=facts)
    identity = run(question=question, policy_sha256=chosen.sha256, **asked)
    form = bundle(results if results is not None else [row(chunk_text=SEAL)], user_question=question)
    state = _layers(form, chosen, identity, answer, earlier, choice)
    ended = state["outcome"]
    described = {
        name: getattr(identity, name)
        for name in ("run_id", "request_id", "thread_id", "collection", "policy_version", "model", "started_at")
    }
    ending = {"status": ended["status"], "reason": ended["failure_code"] or ended["refusal_code"]}
    finished = {"finished_at": "2024-03-03T12:00:01+00:00", "question": question}
    return RunRecord({**described, **ending, **finished, **(head or {})}, state, NODES, [_record(state)])


def page_of(kept: RunRecord, readable: frozenset[str] | None = None, *, with_prompt: bool = False) -> RunPage:
    """Build the page of a recorded run. By default every document may be read."""
    return make_run_page(kept, documents_of(kept.state) if readable is None else readable, with_prompt=with_prompt)


def _layers(
    form: JsonObject, chosen: Policy, identity: Run, answer: str | Generation, earlier: tuple[str, ...], choice: str
) -> State:
    state: JsonObject = {
        "run": identity.model_dump(mode="json"),
        "policy": chosen.model_dump(mode="json"),
        "retrieval": form,
    }
    assembled = assemble(form, chosen, identity)
    outcome, made, verdict, attempts = assembled.outcome, None, None, []
    if chosen.facts and outcome.status is Status.OK:
        phase, assembled = _select_facts(assembled, chosen, choice)
        outcome, state["facts"] = phase.outcome, phase.model_dump(mode="json")
    state["assembly"] = assembled.model_dump(mode="json")
    for said in (*earlier, answer) if outcome.status is Status.OK else ():
        built = build_prompt(assembled, chosen, [v.code for v in verdict.outcome.violations] if verdict else [])
        made = said if isinstance(said, Generation) else generation(said)
        verdict = validate(made.raw_model_text, built.bundle, chosen) if made.outcome.status is Status.OK else None
        outcome = verdict.outcome if verdict else made.outcome
        attempts.append({
            "prompt": built.prompt.model_dump(mode="json"),
            "generation": made.model_dump(mode="json"),
            "validation": verdict.model_dump(mode="json") if verdict else None,
        })  # fmt: skip
    if attempts:
        state |= {**attempts[-1], "attempts": attempts[:-1]}
    response = package_response(identity, outcome, assembled, made, verdict, latency_ms=12.5)
    state |= {"outcome": outcome.model_dump(mode="json"), "response": response.model_dump(mode="json")}
    took = form.get("retrieval_latency_ms") if assembled.trace else None
    record = audit_record(identity, outcome, "2024-03-03T12:00:01+00:00", took, assembled, made, verdict)
    return cast("State", {**state, "audit": record.model_dump(mode="json")})


def _select_facts(assembled: AnswerBundle, chosen: Policy, choice: str) -> FactsSelection:
    if chosen.facts and chosen.facts.filter == "local":
        return select_locally(assembled, chosen, chosen.facts.min_question_overlap or 0.0)
    request = request_choice(assembled, chosen)
    said = generation(choice, prompt_sha256=request.prompt.prompt_sha256)
    return select_by_choice(assembled, chosen, request, said)


def _record(state: State) -> ChainedRow:
    columns = audit_columns(AuditRecord.model_validate(state["audit"]))
    return ChainedRow(1, GENESIS, record_hash(columns, GENESIS), columns)
